"""Seating of players in games with many seats."""

from collections import Counter
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.records import line_up
from cheaptalk.studies import Plan
from tests.fakes import study

pytestmark = pytest.mark.usefixtures("toys")

FREE = {"strategies": {"giving": {"strategy": "steady", "coins": 0}}}
KIND = {"strategies": {"giving": {"strategy": "steady", "coins": 9}}}
ROSTER = {"free": FREE, "kind": KIND}


def giving(*givers: int, **more: Any) -> list[dict[str, Any]]:
    """Return the giving game once for each number of givers."""
    return [{"game": "giving", "fixed": {"givers": number}} | more for number in givers]


def planned(**changes: Any) -> Plan:
    """Return the plan of a study with three givers, with changes."""
    return ct.plan(study(**{"games": giving(3), "players": ROSTER} | changes))


def seatings(**changes: Any) -> list[str]:
    matches = planned(**changes).matches
    return [line_up([player.label for player in match.seating]) for match in matches]


def test_pairing_self_fills_all_seats_with_one_player() -> None:
    assert seatings(games=giving(2, 10), pairing="self") == [
        "free / free",
        "kind / kind",
        "free x 10",
        "kind x 10",
    ]


def test_pairing_all_seats_every_player_in_every_seat() -> None:
    lineups = seatings(games=giving(3, 4), pairing="all")
    assert len(set(lineups)) == len(lineups) == 2**3 + 2**4
    assert lineups[:3] == ["free / free / free", "free / free / kind", "free / kind / free"]


def test_listed_seating_can_give_seat_counts_for_each_game() -> None:
    listed = seatings(pairing=[{"free": 1, "kind": 2}, ["kind", "free", "kind"]])
    assert listed == ["free / kind / kind", "kind / free / kind"]
    games = [*giving(3, pairing=[{"free": 1, "kind": 2}]), *giving(10, pairing=[{"kind": 10}])]
    assert seatings(games=games) == ["free / kind / kind", "kind x 10"]


def test_game_can_leave_out_players() -> None:
    games = [*giving(2, pairing={"without": ["kind"]}), *giving(3)]
    players = ROSTER | {"luck": {"strategy": "random"}}
    lineups = seatings(games=games, pairing="all", players=players)
    assert lineups[:4] == ["free / free", "free / luck", "luck / free", "luck / luck"]
    assert len(lineups) == 2**2 + 3**3


def test_swap_rotates_listed_seatings_through_every_seat_once() -> None:
    lineups = seatings(games=giving(4), pairing=[{"free": 1, "kind": 3}, {"free": 4}], swap=True)
    assert lineups == [
        "free / kind x 3",
        "kind / free / kind x 2",
        "kind x 2 / free / kind",
        "kind x 3 / free",
        "free x 4",
    ]
    alternating = seatings(games=giving(4), pairing=[["free", "kind"] * 2], swap=True)
    assert alternating == ["free / kind / free / kind", "kind / free / kind / free"]
    games = [*giving(3, pairing=[{"free": 1, "kind": 2}]), *giving(2)]
    assert seatings(games=games, pairing="self", swap=True) == [
        "free / kind / kind",
        "kind / free / kind",
        "kind / kind / free",
        "free / free",
        "kind / kind",
    ]


def test_impossible_seating_raises_error() -> None:
    three, advice = "(giver_1, giver_2, giver_3)", "write a separate pairing for each game"
    ten = "(giver_1 to giver_10)"
    cases: list[Any] = [
        (
            {"pairing": [{"free": 1, "kind": 9}]},
            f"pairing: {{free: 1, kind: 9}} fills 10 seats, but giving has 3 {three}; {advice}",
        ),
        (
            {"games": giving(3, 10), "pairing": [["free", "kind", "free"]]},
            f"pairing: [free, kind, free] fills 3 seats, but giving has 10 {ten}; {advice}",
        ),
        (
            {"pairing": [{"free": 3_000_000_000}]},
            f"pairing: {{free: 3000000000}} fills {3 * 10**9:,} seats, but giving has 3 {three}; "
            + advice,
        ),
        (
            {"games": giving(3, pairing={"without": ["fre"]}), "pairing": "all"},
            'pairing: unknown player "fre" (did you mean "free"?)',
        ),
        ({"pairing": [{"fre": 3}]}, 'pairing: unknown player "fre" (did you mean "free"?)'),
        (
            {"games": giving(100), "pairing": "all"},
            (
                f"pairing: the players can fill the seats of giving in {2**100:,} ways, more than "
                "5,000,000; list the players by seat, write self, or remove players"
            ),
        ),
        (
            {"players": {"free": {"strategies": {"giving": {"giver_4": "steady"}}}}},
            'players.free: unknown role or seat "giver_4" (did you mean "giver_3"?) of giving',
        ),
    ]
    for changes, message in cases:
        with pytest.raises(ct.studies.StudyError) as caught:
            planned(**{"pairing": "self"} | changes)
        assert str(caught.value) == message


def test_seat_can_exist_in_one_configuration_only() -> None:
    fourth = {"strategies": {"giving": {"giver": "random", "giver_4": "steady"}}}
    matches = planned(games=giving(3, 4), players={"odd": fourth}, pairing="self").matches
    strategies = [[s.spec.model_dump()["strategy"] for s in match.seating] for match in matches]
    assert strategies == [["random"] * 3, [*["random"] * 3, "steady"]]


def test_roles_with_one_and_several_seats_are_seated_together() -> None:
    players = {
        "luck": {"strategies": {"collecting": "random"}},
        "keep": {"strategies": {"collecting": {"keeper": {"strategy": "steady", "coins": 0}}}},
    }
    matches = planned(games=[{"game": "collecting"}], players=players, pairing="all").matches
    assert [line_up([player.label for player in match.seating]) for match in matches] == [
        "luck x 4",
        "luck x 3 / keep",
    ]


def test_matches_use_planned_seats(store: ct.Store) -> None:
    spec = study(
        games=giving(10), players=ROSTER, pairing=[{"free": 1, "kind": 9}], swap=True, instances=2
    )
    ct.run(spec, store)
    records = list(store.records(spec.name))
    free = Counter(
        seat for record in records for seat in record.seats if record.label(seat) == "free"
    )
    assert free == {f"giver_{number}": 2 for number in range(1, 11)}
    for record in records:
        assert record.payoffs is not None
        free_seat = next(seat for seat in record.seats if record.label(seat) == "free")
        rest = {round(gain, 9) for seat, gain in record.payoffs.items() if seat != free_seat}
        assert (round(record.payoffs[free_seat], 9), rest) == (26.2, {17.2})
    assert ct.studies.parse_study(spec.written(), "again") == spec
