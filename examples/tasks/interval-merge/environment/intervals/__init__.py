"""Half-open intervals of integers."""

from .merge import gaps, merge, total
from .text import format_intervals, parse_intervals

__all__ = ["format_intervals", "gaps", "merge", "parse_intervals", "total"]
