"""A service of named counters on 127.0.0.1:8765."""

import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

COUNTER = re.compile(r"/counters/([a-z]{1,20})")
counters = {}
lock = Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=""):
        data = body.encode()
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if status != 204 and self.command != "HEAD":
            self.wfile.write(data)

    def serve(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        match = COUNTER.fullmatch(self.path)
        if self.path == "/health":
            return self.answer(200, "ok") if self.command == "GET" else self.answer(405)
        if match is None:
            return self.answer(404)
        name = match[1]
        with lock:
            if self.command == "POST":
                counters[name] = counters.get(name, 0) + 1
                return self.answer(200, str(counters[name]))
            if self.command == "GET":
                return self.answer(200, str(counters[name])) if name in counters else self.answer(404)
            if self.command == "DELETE":
                counters.pop(name, None)
                return self.answer(204)
        return self.answer(405)

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = do_HEAD = serve

    def log_message(self, *arguments):
        pass


ThreadingHTTPServer(("127.0.0.1", 8765), Handler).serve_forever()
