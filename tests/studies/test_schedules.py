"""Schedules of designs: orders, matching, roles, and the arithmetic of infeasible designs."""

from collections import Counter
from itertools import combinations, pairwise
from typing import Any

import pytest

from cheaptalk.studies.people.schedules import (
    Arm,
    InfeasibleDesign,
    Round,
    Schedule,
    williams_square,
)

PAIRS = tuple(Arm(name, 2, 2) for name in "ABC")
MIXED = Arm("person", 2, 2), Arm("model", 1, 2), Arm("script", 1, 2)
TRIPLES = (Arm("A", 3, 3),)


def schedule(
    design: Any = "counterbalanced", matching: Any = "perfect_stranger", **changes: Any
) -> Schedule:
    settings: dict[str, Any] = {
        "roles": "any", "arms": PAIRS, "rounds": 1, "group": 12, "seed": "s", **changes
    }  # fmt: skip
    return Schedule(design, matching, **settings)


def meetings(courses: list[list[Round]]) -> Counter[frozenset[int]]:
    """Count how often each pair meets, and check that all members of a table agree."""
    met: Counter[frozenset[int]] = Counter()
    for number in range(len(courses[0])):
        for member, course in enumerate(courses):
            table = course[number].table
            assert member in table
            if len(table) > 1:
                assert course[number].position == table.index(member)
            for other in table:
                assert courses[other][number].table == table
                assert courses[other][number].treatment == course[number].treatment
        tables = {course[number].table for course in courses}
        assert sorted(member for table in tables for member in table) == [*range(len(courses))]
        met.update(frozenset(pair) for table in tables for pair in combinations(table, 2))
    return met


@pytest.mark.parametrize("arms", [PAIRS, MIXED])
@pytest.mark.parametrize("roles", ["any", "fixed", "switching"])
@pytest.mark.parametrize(
    "design", ["latin_square", "counterbalanced", "fixed_order", "random_order"]
)
def test_perfect_strangers_meet_once_and_play_each_treatment_once(
    arms: tuple[Arm, ...], roles: Any, design: Any
) -> None:
    made = schedule(design, arms=arms, roles=roles)
    for group in range(3):
        courses = made.courses("line", group)
        assert max(meetings(courses).values()) == 1
        for course in courses:
            assert {item.treatment for item in course} == {arm.name for arm in arms}
            assert len(course) == len(arms)
            positions = [item.position for item in course]
            if roles == "fixed":
                assert len(set(positions)) == 1
            if roles == "switching":
                assert all(first != second for first, second in pairwise(positions))
        if design in ("latin_square", "counterbalanced"):
            orders = Counter(tuple(item.treatment for item in course) for course in courses)
            assert set(orders.values()) == {2}


@pytest.mark.parametrize(
    ("group", "people", "rounds"), [(6, 2, 5), (60, 2, 59), (9, 3, 4), (15, 3, 5), (21, 3, 7)]
)
def test_most_rounds_of_perfect_strangers(group: int, people: int, rounds: int) -> None:
    made = schedule("between", arms=(Arm("A", people, people),), group=group, rounds=rounds)
    assert max(meetings(made.courses("line", 0)).values()) == 1


def test_rotation_repeats_no_pair_before_all_have_met() -> None:
    made = schedule("between", "rotation", group=6, rounds=10)
    courses = made.courses("line", 0)
    for start in (0, 5):
        part = [course[start : start + 5] for course in courses]
        assert {*meetings(part).values()} == {1}
    turnpike = schedule("between", "rotation", group=6, rounds=3, roles="fixed")
    assert {*meetings(turnpike.courses("line", 0)).values()} == {1}


def test_partners_stay_together_and_share_an_order() -> None:
    made = schedule("counterbalanced", "partner", group=2, rounds=3)
    orders = set()
    for group in range(6):
        courses = made.courses("line", group)
        assert [*meetings(courses).values()] == [9]
        orders.add(made.order("line", 2 * group))
    assert len(orders) == 6


def test_strangers_are_drawn_anew() -> None:
    met = meetings(schedule("between", "stranger", group=12, rounds=20).courses("line", 0))
    assert len(met) > 50
    assert max(met.values()) > 1


def test_orders_are_balanced_in_blocks_of_each_line() -> None:
    made = schedule(matching="any", group=1)
    for line in ("main/yes", "main/no"):
        for block in range(3):
            orders = [made.order(line, 6 * block + place) for place in range(6)]
            assert len(set(orders)) == 6
    between = schedule("between", "any", arms=(Arm("A", 2, 2), Arm("B", 1, 1)), group=1)
    names = [between.order("main", place)[0] for place in range(20)]
    assert Counter(names) == {"A": 10, "B": 10}
    assert names[::2] == names[1::2]  # partners arrive one after another


def test_roles_are_balanced_if_participants_meet_as_they_arrive() -> None:
    for design, games in (("between", 1), ("counterbalanced", 2), ("random_order", 2)):
        arms = PAIRS[:2]
        made = schedule(design, "any", roles="switching", arms=arms, group=1, rounds=1)
        courses = [made.course("main", place) for place in range(8)]
        assert {len(course) for course in courses} == {games}
        for number in range(games):
            positions = Counter(course[number].position for course in courses)
            assert positions == {0: 4, 1: 4}
            cells = Counter(
                (item.treatment, item.position) for item in (c[number] for c in courses)
            )
            assert design == "random_order" or {*cells.values()} == {2}


def test_schedule_depends_on_the_seed_only() -> None:
    first, second, other = (schedule(seed=seed).courses("line", 0) for seed in ("s", "s", "t"))
    assert first == second != other
    assert schedule().courses("line", 0) != schedule().courses("line", 1)


def test_williams_square_balances_successors() -> None:
    for names in ("ab", "abc", "abcd", "abcde"):
        rows = williams_square(names)
        followers = Counter(pair for row in rows for pair in pairwise(row))
        assert len(set(followers.values())) == 1
        assert len(followers) == len(names) * (len(names) - 1)
        assert all(
            Counter(row[position] for row in rows) == dict.fromkeys(names, len(rows) // len(names))
            for position in range(len(names))
        )


@pytest.mark.parametrize(("changes", "problem"), [
    ({"design": "between", "rounds": 6, "group": 6},
     "perfect-stranger matching of 6 participants in pairs allows at most 5 rounds; .* has 6"),
    ({"design": "fixed_order", "rounds": 2, "group": 6},
     "of 6 participants in pairs allows at most 5 rounds; the study has 6"),
    ({"design": "between", "rounds": 7, "roles": "fixed"},
     "of 12 participants in pairs with roles: fixed allows at most 6 rounds; the study has 7"),
    ({"design": "between", "arms": TRIPLES, "group": 6, "rounds": 2},
     "of 6 participants in groups of 3 allows at most 1 round; the study has 2"),
    ({"design": "between", "arms": TRIPLES, "group": 9, "rounds": 5},
     "of 9 participants in groups of 3 allows at most 4 rounds; the study has 5"),
    ({"design": "between", "arms": TRIPLES, "group": 12, "rounds": 5},
     "no schedule was found in which 12 participants play 5 games and no pair meets twice"),
    ({"group": 10}, "6 orders of 3 treatments.* matching_group: 10 is not a multiple of 6"),
    ({"group": 6, "roles": "fixed"}, "matching_group: 6 is not a multiple of 12"),
    ({"design": "fixed_order", "group": 5}, "5 is not a multiple of 2"),
    ({"arms": PAIRS[:1]}, "orders at least two treatments, but the study has 1"),
    ({"arms": tuple(Arm(name, 1, 1) for name in "ABCDEF")}, "6 treatments have 720 orders"),
    ({"arms": (*PAIRS, *TRIPLES), "roles": "fixed", "design": "between"},
     "requires the same positions"),
])  # fmt: skip
def test_infeasible_design_is_rejected_with_the_arithmetic(
    changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InfeasibleDesign, match=problem):
        schedule(**changes)
