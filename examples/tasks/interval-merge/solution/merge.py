"""Merging, measuring and complementing sets of half-open intervals."""


def merge(intervals):
    """The same integers as few intervals, sorted: intervals that overlap or touch become one.

    Empty intervals (start == end) hold nothing and are left out. The argument is not changed.
    Raises ValueError where an interval ends before it starts.
    """
    intervals = list(intervals)
    for start, end in intervals:
        if end < start:
            raise ValueError(f"interval ({start}, {end}) ends before it starts")
    merged = []
    for start, end in sorted(intervals):
        if start == end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def total(intervals):
    """How many integers lie in at least one of the intervals."""
    return sum(end - start for start, end in merge(intervals))


def gaps(intervals, start, end):
    """The intervals of [start, end) that none of the given intervals covers, sorted, none of them empty."""
    found = []
    position = start
    for left, right in merge(intervals):
        if left > position:
            found.append((position, min(left, end)))
        position = max(position, right)
        if position >= end:
            break
    if position < end:
        found.append((position, end))
    return [(left, right) for left, right in found if left < right]
