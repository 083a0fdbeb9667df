"""Public goods with punishment: groups, costs and effects of points, equilibrium and metrics."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.games.public_goods_punishment import SPEC
from cheaptalk.games.public_goods_punishment.rules import (
    GroupResult,
    PublicGoodsPunishment,
    PunishmentResult,
    punishment_cost,
    reduction,
)
from tests.games.tables import events, metric

POINTS = Mapping[tuple[int, int], int]
"""Points by sender and receiver, numbered from 0."""


def rules(**parameters: Any) -> PublicGoodsPunishment:
    return PublicGoodsPunishment.model_validate({"rounds": 0, "punishment_rounds": 1, **parameters})


def play_round(table: ct.Table, given: Sequence[int], points: POINTS | None = None) -> None:
    """Answer all requests of a round: contributions, and points if they are requested."""
    seats = list(table.pending)
    for seat, tokens in zip(seats, given, strict=True):
        fields = {"tokens_contributed": tokens}
        table.answer(seat, table.pending[seat].action.model_validate(fields))
    if points is None:
        return
    others = [_shown(table, seat, given) for seat in seats]
    for sender, (seat, members) in enumerate(zip(seats, others, strict=True)):
        numbers = [points.get((sender, member), 0) for member in members]
        action = table.pending[seat].action.model_validate({"points": numbers})
        table.answer(seat, action)


def _shown(table: ct.Table, seat: str, given: Sequence[int]) -> list[int]:
    """Return the members whose contributions a player sees, recognised by distinct numbers."""
    result = table.pending[seat].event
    assert isinstance(result, GroupResult)
    return [given.index(contribution) for contribution in result.others]


def test_points_cost_and_reduce_income_as_in_fehr_and_gächter() -> None:
    """The costs of table 2 of Fehr and Gächter (2000), and the points of 2002."""
    costs = [punishment_cost("share", [number]) for number in range(11)]
    assert costs == [0, 1, 2, 4, 6, 9, 12, 16, 20, 25, 30]
    assert reduction("share", 30, 3) == pytest.approx(9)
    assert reduction("share", 30, 14) == 30
    assert punishment_cost("tokens", [4, 3]) == 7
    assert reduction("tokens", 30, 7) == 21


@pytest.mark.parametrize("schedule", ["share", "tokens"])
def test_points_reach_the_members_whose_contributions_were_shown(schedule: str) -> None:
    """Points are assigned by position, although each player sees the others in another order."""
    game = rules(schedule=schedule)
    table = ct.Table(game, ct.Instance(), "order")
    given, points = (20, 10, 5, 1), {(0, 3): 4, (1, 3): 2, (0, 2): 1}
    play_round(table, given, points)
    pot = 0.4 * sum(given)
    income = [20 - tokens + pot for tokens in given]
    gains: tuple[float, ...]
    if schedule == "share":
        gains = (income[0] - 6 - 1, income[1] - 2, income[2] * 0.9, income[3] * 0.4)
    else:
        gains = (income[0] - 5, income[1] - 2, income[2] - 3, income[3] - 18)
    assert table.outcome is not None
    assert tuple(game.seat_payoffs(table.outcome).values()) == pytest.approx(gains)


def test_contribution_rounds_come_first_and_nobody_learns_who_punished() -> None:
    game = rules(rounds=1)
    table = ct.Table(game, ct.Instance(), "seed")
    play_round(table, (20, 10, 5, 1))
    assert not isinstance(events(table, "player_1")[-2], PunishmentResult)
    play_round(table, (4, 3, 2, 1), {(0, 3): 3})
    report = next(e for e in events(table, "player_4") if isinstance(e, PunishmentResult))
    assert (report.received, report.assigned) == (3, 0)
    assert "player" not in repr(report)
    assert table.over


def test_illegal_points_are_refused() -> None:
    table = ct.Table(rules(), ct.Instance(), "seed")
    play_round(table, (4, 3, 2, 1))
    ask = table.pending["player_1"]
    for points in ([1, 1], [0, 0, 11], [0, 0, -1]):
        assert ask.refuse(ask.action.model_validate({"points": points})) is not None


def groups_by_round(game: PublicGoodsPunishment) -> list[set[frozenset[int]]]:
    strategy = SPEC.strategies["random"]
    outcome: Any = ct.play(game, ct.Instance(), "seed", dict.fromkeys(game.seats, strategy)).outcome
    return [
        {frozenset((player, *members)) for player, members in enumerate(row)}
        for row in outcome.others
    ]


def test_partners_stay_and_strangers_are_matched_again() -> None:
    partners = groups_by_round(rules(groups=2, rounds=3))
    assert partners == [{frozenset(range(4)), frozenset(range(4, 8))}] * 4
    strangers = groups_by_round(rules(groups=2, rounds=3, matching="stranger"))
    assert all(sorted(map(len, groups)) == [4, 4] for groups in strangers)
    assert len(set(map(frozenset, strangers))) > 1


@pytest.mark.parametrize("schedule", ["share", "tokens"])
def test_equilibrium_is_subgame_perfect(schedule: str) -> None:
    """Points never pay, and without points, contributing nothing is a best response."""
    game = rules(group_size=2, tokens=3, schedule=schedule, marginal_return=0.6)

    def payoff(given: tuple[int, int], points: int) -> float:
        table = ct.Table(game, ct.Instance(), "seed")
        play_round(table, given)
        for seat, number in (("player_1", points), ("player_2", 0)):
            action = table.pending[seat].action.model_validate({"points": [number]})
            table.answer(seat, action)
        return game.seat_payoffs(table.outcome)["player_1"]

    for own, other in product(range(4), repeat=2):
        payoffs = [payoff((own, other), points) for points in range(11)]
        assert payoffs.index(max(payoffs)) == 0
    for other in range(4):
        payoffs = [payoff((own, other), 0) for own in range(4)]
        assert payoffs.index(max(payoffs)) == 0
    decide = dict.fromkeys(game.seats, SPEC.strategies["equilibrium"])
    outcome: Any = ct.play(game, ct.Instance(), "seed", decide).outcome
    assert outcome.choices == ((0, 0),)
    assert outcome.points == (((0,), (0,)),)


def test_metrics_separate_phases_and_antisocial_punishment() -> None:
    table = ct.Table(rules(rounds=1), ct.Instance(), "seed")
    play_round(table, (20, 10, 5, 1))
    play_round(table, (4, 3, 2, 1), {(0, 3): 3, (3, 0): 1})
    result = table.result()
    assert metric("contribution_without_punishment", result) == pytest.approx(36 / 80)
    assert metric("contribution_with_punishment", result) == pytest.approx(10 / 80)
    assert metric("punishment_points", result) == pytest.approx(4 / 4)
    assert metric("antisocial_punishment", result) == pytest.approx(1 / 4)


def test_efficiency_is_one_if_all_contribute_and_nobody_punishes() -> None:
    game = rules(rounds=2)
    decide = dict.fromkeys(game.seats, SPEC.strategies["cooperator"])
    table = ct.play(game, ct.Instance(), "seed", decide)
    assert metric("efficiency", table.result()) == pytest.approx(1)


def test_reciprocal_players_punish_free_riders() -> None:
    game = rules(rounds=1, punishment_rounds=2)
    reciprocal, selfish = SPEC.strategies["reciprocal"], SPEC.strategies["equilibrium"]
    seats = dict(zip(game.seats, (reciprocal, reciprocal, reciprocal, selfish), strict=True))
    outcome: Any = ct.play(game, ct.Instance(), "seed", seats).outcome
    assert [row[3] for row in outcome.choices] == [0, 0, 0]
    assert sum(map(sum, outcome.points[1])) == 3 * round(0.2 * 13)
    assert outcome.choices[1][:3] == (13, 13, 13)
    assert outcome.choices[2][:3] == (13, 13, 13)
