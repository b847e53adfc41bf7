#!/bin/bash
# The three sources read by Python's own readers, and joined on lower-case names.
set -euo pipefail
python3 - <<'PYTHON'
import collections
import configparser
import csv
import json
import re

with open("hosts.csv", encoding="utf-8", newline="") as file:
    rows = list(csv.DictReader(file))
with open("retired.txt", encoding="utf-8") as file:
    lines = [line.strip().lower() for line in file]
retired = {line for line in lines if line and not line.startswith("#")}
services = configparser.ConfigParser()
services.read("services.ini", encoding="utf-8")
on = {name: {h.lower() for h in re.split(r"[\s,]+", services[name]["hosts"]) if h} for name in services.sections()}
known = {row["name"].lower() for row in rows}
kept = sorted((row for row in rows if row["name"].lower() not in retired), key=lambda row: row["name"].lower())
hosts = []
for row in kept:
    name = row["name"].lower()
    running = sorted(service for service in on if name in on[service])
    ports = sorted({int(services[service]["port"]) for service in running})
    hosts.append(
        {
            "name": name,
            "address": row["address"],
            "site": row["site"],
            "role": row["role"] or None,
            "services": running,
            "ports": ports,
        }
    )
addresses = collections.Counter(host["address"] for host in hosts)
names = {host["name"] for host in hosts}
inventory = {
    "version": 1,
    "hosts": hosts,
    "sites": dict(collections.Counter(host["site"] for host in hosts)),
    "duplicates": sorted(address for address, count in addresses.items() if count > 1),
    "unknown": sorted(set().union(*on.values()) - known),
    "retired": len(known & retired),
    "widest": min(on, key=lambda service: (-len(on[service] & names), service)),
}
with open("inventory.json", "w", encoding="utf-8") as file:
    json.dump(inventory, file, ensure_ascii=False, indent=2)
    file.write("\n")
PYTHON
