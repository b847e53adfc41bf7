"""Runs a coder over pairs of plain and encoded bytes, both ways, and over damaged input."""

import subprocess
import sys

program = sys.argv[1]


def run(data, *arguments):
    done = subprocess.run([program, *arguments], input=data, capture_output=True, timeout=5)
    return done.returncode, done.stdout


pairs = [
    (b"", b""),
    (b"a", b"\x01a"),
    (b"aaab", b"\x03a\x01b"),
    (b"\xff\xff\x00", b"\x02\xff\x01\x00"),
    (b"x" * 255, b"\xffx"),
    (b"x" * 256, b"\xffx\x01x"),
    (b"y" * 600 + b"z", b"\xffy\xffy\x5ay\x01z"),
    (bytes(range(256)), b"".join(b"\x01" + bytes([b]) for b in range(256))),
]
problems = []
for plain, coded in pairs:
    if run(plain, "-e") != (0, coded):
        problems.append(f"encoding {plain[:8]!r} ({len(plain)} bytes)")
    if run(coded, "-d") != (0, plain):
        problems.append(f"decoding {coded[:8]!r} ({len(coded)} bytes)")
for damaged in (b"\x03", b"\x01a\x02", b"\x00a"):
    if run(damaged, "-d")[0] != 1:
        problems.append(f"damaged input {damaged!r} was taken")
for arguments in ((), ("-x",), ("-e", "-d")):
    if run(b"", *arguments)[0] != 2:
        problems.append(f"arguments {arguments} were taken")
print(program, problems or "ok")
sys.exit(1 if problems else 0)
