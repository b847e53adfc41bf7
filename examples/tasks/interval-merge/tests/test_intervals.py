import random

import pytest
from intervals import format_intervals, gaps, merge, parse_intervals, total


def test_overlapping_intervals_become_one():
    assert merge([(5, 9), (1, 6)]) == [(1, 9)]


def test_touching_intervals_become_one():
    assert merge([(1, 3), (3, 5)]) == [(1, 5)]


def test_an_interval_inside_another_changes_nothing():
    assert merge([(0, 10), (2, 3), (4, 5)]) == [(0, 10)]


def test_empty_intervals_are_left_out():
    assert merge([(4, 4), (1, 2), (2, 2)]) == [(1, 2)]


def test_the_argument_is_not_changed():
    given = [(5, 6), (1, 2)]
    merge(given)
    merge(tuple(given))
    assert given == [(5, 6), (1, 2)]


def test_an_interval_that_ends_before_it_starts_is_refused():
    with pytest.raises(ValueError):
        merge([(3, 1)])


def test_total_counts_each_integer_once():
    assert total([(0, 5), (3, 8), (20, 21)]) == 9


def test_gaps_stay_within_the_bounds():
    assert gaps([(-5, 1), (4, 6), (9, 30), (40, 41)], 0, 10) == [(1, 4), (6, 9)]
    assert gaps([(20, 30)], 0, 10) == [(0, 10)]
    assert gaps([(0, 10)], 3, 5) == []


def test_numbers_in_text_are_inclusive():
    assert parse_intervals("3-7,10") == [(3, 8), (10, 11)]


def test_text_may_hold_negative_numbers_and_spaces():
    assert parse_intervals(" -5--2 , 0 - 3 ,-1") == [(-5, -1), (0, 4), (-1, 0)]
    assert parse_intervals("  ") == []


@pytest.mark.parametrize("text", ["3-", "a", "1,,2", "1-2-3", "7-3", "1 2"])
def test_other_text_is_refused(text):
    with pytest.raises(ValueError):
        parse_intervals(text)


def test_formatted_text_is_merged_and_single_integers_stand_alone():
    assert format_intervals([(10, 11), (3, 8), (7, 9)]) == "3-8,10"


def test_merging_agrees_with_sets_of_integers():
    numbers = random.Random(5)
    for _ in range(300):
        given = []
        for _ in range(numbers.randint(0, 8)):
            start = numbers.randint(-20, 20)
            given.append((start, start + numbers.randint(0, 9)))
        covered = {n for start, end in given for n in range(start, end)}
        merged = merge(list(given))
        assert {n for start, end in merged for n in range(start, end)} == covered
        assert all(left[1] < right[0] for left, right in zip(merged, merged[1:]))
        assert total(list(given)) == len(covered)
        holes = {n for start, end in gaps(list(given), -15, 15) for n in range(start, end)}
        assert holes == set(range(-15, 15)) - covered
