"""Checks each rule of the inventory by name, and writes a CTRF report."""

import json
import sys

raw = b""
inventory = {}
try:
    with open("/work/inventory.json", "rb") as file:
        raw = file.read()
    inventory = json.loads(raw.decode("utf-8"))
except (OSError, ValueError) as error:
    print("inventory.json cannot be read:", error)


def exactly(value, expected):
    return json.dumps(value, sort_keys=True) == json.dumps(expected, sort_keys=True)


def column(key):
    return [host[key] for host in inventory["hosts"]]


checks = {
    "the file ends with a newline": lambda: raw.endswith(b"}\n"),
    "the keys are the ones asked for": lambda: sorted(inventory)
    == ["duplicates", "hosts", "retired", "sites", "unknown", "version", "widest"],
    "the version is the number 1": lambda: exactly(inventory["version"], 1),
    "the hosts are sorted and none is retired": lambda: column("name")
    == ["alder", "birch", "cedar", "dogwood", "elm", "fir", "hazel", "ivy"],
    "a host has its keys": lambda: {tuple(sorted(host)) for host in inventory["hosts"]}
    == {("address", "name", "ports", "role", "services", "site")},
    "addresses are kept": lambda: column("address")
    == [f"10.{n}" for n in ("1.0.4", "1.0.5", "1.0.6", "2.0.4", "2.0.5", "2.0.5", "2.0.7", "1.0.4")],
    "site names keep their letters": lambda: column("site") == ["Köln"] * 3 + ["Lyon"] * 4 + ["Köln"],
    "an empty role is null": lambda: column("role")
    == ["web", "web", "db", None, "cache", "cache", "web", "proxy"],
    "services are sorted": lambda: column("services")
    == [["nginx"], ["nginx"], ["postgres", "redis"], [], ["redis"], ["redis"], ["nginx", "redis"], ["haproxy", "nginx"]],
    "ports are numbers, each once": lambda: exactly(
        column("ports"), [[443], [443], [5432, 6379], [], [6379], [6379], [443, 6379], [443]]
    ),
    "sites are counted": lambda: exactly(inventory["sites"], {"Köln": 4, "Lyon": 4}),
    "duplicate addresses are named": lambda: inventory["duplicates"] == ["10.1.0.4", "10.2.0.5"],
    "unknown hosts are named": lambda: inventory["unknown"] == ["larch", "maple"],
    "retired hosts are counted": lambda: exactly(inventory["retired"], 2),
    "the widest service is named": lambda: inventory["widest"] == "nginx",
}

tests = []
for name, check in checks.items():
    try:
        passed, message = check() is True, ""
    except (KeyError, TypeError, AttributeError) as error:
        passed, message = False, repr(error)
    tests.append({"name": name, "status": "passed" if passed else "failed", "duration": 0, "message": message})
    print("ok" if passed else "FAILED", name, message)

failed = sum(test["status"] == "failed" for test in tests)
summary = {"tests": len(tests), "passed": len(tests) - failed, "failed": failed}
summary.update(pending=0, skipped=0, other=0, start=0, stop=0)
with open("/logs/verifier/ctrf.json", "w", encoding="utf-8") as report:
    json.dump({"results": {"tool": {"name": "check.py"}, "summary": summary, "tests": tests}}, report)
sys.exit(1 if failed else 0)
