"""Checks each rule by name, and writes a CTRF report."""

import grp
import json
import os
import pwd
import stat
import sys

ROOT = "/work/share"
CONTENT = {
    "drafts/bob-plan.md": "the plan\n",
    "drafts/alice-outline.md": "an outline\n",
    "private/keys/deploy.pem": "not a real key\n",
    "private/notes.txt": "remember\n",
    "public/index.html": "<h1>Hello</h1>\n",
    "tools/tidy.sh": "#!/bin/sh\necho tidy\n",
    "tools/README.md": "how to tidy\n",
    "tools/to do.txt": "name with a space\n",
}
DIRECTORIES = [".", "drafts", "private", "private/keys", "public", "tools"]


def facts(path):
    found = os.lstat(os.path.join(ROOT, path))
    return stat.S_IMODE(found.st_mode), pwd.getpwuid(found.st_uid)[0], grp.getgrgid(found.st_gid)[0]


def mode(*paths):
    return [oct(facts(path)[0]) for path in paths]


def everything():
    return sorted(
        os.path.relpath(os.path.join(folder, name), ROOT)
        for folder, folders, files in os.walk(ROOT)
        for name in folders + files
    )


def link():
    target = os.stat("/work/outside/kept.txt")
    return (
        os.readlink(os.path.join(ROOT, "tools/kept")),
        facts("tools/kept")[1:],
        oct(stat.S_IMODE(target.st_mode)),
        (target.st_uid, target.st_gid),
    )


def content():
    found = {}
    for path in CONTENT:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            found[path] = file.read()
    return found


owned_by_alice = [p for p in DIRECTORIES + list(CONTENT) if not p.startswith("drafts/bob")]
checks = {
    "nothing is added or removed": lambda: everything() == sorted([*DIRECTORIES[1:], *CONTENT, "tools/kept"]),
    "contents are as they were": lambda: content() == CONTENT,
    "the owner is alice": lambda: {facts(path)[1] for path in owned_by_alice} == {"alice"},
    "the group is editors": lambda: {facts(p)[2] for p in DIRECTORIES + list(CONTENT)} == {"editors"},
    "bob owns his draft": lambda: facts("drafts/bob-plan.md")[1] == "bob",
    "the sticky bit is on drafts": lambda: mode("drafts") == ["0o1770"],
    "tools is for the team": lambda: mode("tools") == ["0o770"],
    "files are for the team": lambda: set(
        mode("drafts/bob-plan.md", "drafts/alice-outline.md", "tools/README.md", "tools/to do.txt")
    )
    == {"0o660"},
    "scripts can be run": lambda: mode("tools/tidy.sh") == ["0o750"],
    "the private folder is closed": lambda: mode("private") == ["0o700"],
    "the folder of keys is closed": lambda: mode("private/keys") == ["0o700"],
    "private files are closed": lambda: set(mode("private/keys/deploy.pem", "private/notes.txt")) == {"0o600"},
    "the public page can only be read": lambda: mode("public/index.html") == ["0o644"],
    "the way to the public page is open": lambda: set(mode(".", "public")) == {"0o775"},
    "the link and its target are as they were": lambda: link()
    == ("/work/outside/kept.txt", ("root", "root"), "0o640", (0, 0)),
}

tests = []
for name, check in checks.items():
    try:
        passed, message = check(), ""
    except (OSError, KeyError) as error:
        passed, message = False, str(error)
    tests.append({"name": name, "status": "passed" if passed else "failed", "duration": 0, "message": message})
    print("ok" if passed else "FAILED", name, message)

failed = sum(test["status"] == "failed" for test in tests)
summary = {"tests": len(tests), "passed": len(tests) - failed, "failed": failed}
summary.update(pending=0, skipped=0, other=0, start=0, stop=0)
with open("/logs/verifier/ctrf.json", "w", encoding="utf-8") as report:
    json.dump({"results": {"tool": {"name": "check.py"}, "summary": summary, "tests": tests}}, report)
sys.exit(1 if failed else 0)
