"""Talks to the running service, each request on a connection of its own."""

import http.client
import os
import sys

problems = []


def ask(method, path):
    connection = http.client.HTTPConnection("127.0.0.1", 8765, timeout=3)
    connection.request(method, path)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body


def expect(method, path, status, body=None):
    try:
        found = ask(method, path)
    except (OSError, http.client.HTTPException) as error:
        problems.append(f"{method} {path}: {error!r}")
        return
    if found[0] != status or (body is not None and found[1] != body):
        problems.append(f"{method} {path} answered {found}, and not {status} {body!r}")


expect("GET", "/health", 200, "ok")
expect("DELETE", "/counters/fresh", 204, "")
expect("GET", "/counters/fresh", 404)
for value in range(1, 4):
    expect("POST", "/counters/fresh", 200, str(value))
expect("POST", "/counters/other", 200)
expect("GET", "/counters/fresh", 200, "3")
expect("DELETE", "/counters/fresh", 204, "")
expect("POST", "/counters/fresh", 200, "1")
for path in ("/", "/counters/", "/counters/Upper", "/counters/" + "a" * 21, "/healthy", "/counters/a/b"):
    expect("GET", path, 404)
expect("POST", "/health", 405)
expect("PUT", "/counters/fresh", 405)
try:
    with open("/work/service.pid", encoding="ascii") as file:
        os.kill(int(file.read()), 0)
except (OSError, ValueError) as error:
    problems.append(f"service.pid names no running process: {error}")

print("\n".join(problems) or "all as asked for")
sys.exit(1 if problems else 0)
