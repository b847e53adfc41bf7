"""Intervals as text: `3-7,10-12`, an interval of one integer as that integer alone: `3-7,10`."""


def parse_intervals(text):
    """The intervals of a text, in its order. Numbers are inclusive in text: `3-7` is (3, 8), `10` is (10, 11).

    Numbers may be negative (`-5--2` is (-5, -1)), spaces around numbers, commas and dashes are allowed, and a
    text of spaces only is []. Raises ValueError for anything else.
    """
    parsed = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        parsed.append((int(first), int(last or first)))
    return parsed


def format_intervals(intervals):
    """The text of the merged intervals; parse_intervals reads it back to them."""
    return ",".join(f"{start}-{end - 1}" for start, end in intervals)
