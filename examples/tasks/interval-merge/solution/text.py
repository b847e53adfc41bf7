"""Intervals as text: `3-7,10-12`, an interval of one integer as that integer alone: `3-7,10`."""

import re

from .merge import merge

PART = re.compile(r"\s*(-?[0-9]+)\s*(?:-\s*(-?[0-9]+)\s*)?")


def parse_intervals(text):
    """The intervals of a text, in its order. Numbers are inclusive in text: `3-7` is (3, 8), `10` is (10, 11).

    Numbers may be negative (`-5--2` is (-5, -1)), spaces around numbers, commas and dashes are allowed, and a
    text of spaces only is []. Raises ValueError for anything else.
    """
    if not text.strip():
        return []
    parsed = []
    for part in text.split(","):
        match = PART.fullmatch(part)
        if match is None:
            raise ValueError(f"{part!r} is not an interval")
        first = int(match[1])
        last = first if match[2] is None else int(match[2])
        if last < first:
            raise ValueError(f"{part!r} ends before it starts")
        parsed.append((first, last + 1))
    return parsed


def format_intervals(intervals):
    """The text of the merged intervals; parse_intervals reads it back to them."""
    return ",".join(
        str(start) if end == start + 1 else f"{start}-{end - 1}" for start, end in merge(intervals)
    )
