"""Plans: every match of a study, in a reproducible order."""

import tracemalloc
from collections import Counter
from itertools import islice
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.studies import Plan, plan
from tests.fakes import spec, study

ROSTER = {
    "fair": {"strategy": "equal_split"},
    "firm": {"strategy": "fixed_demand"},
    "luck": {"strategy": "random"},
}
FAMILIES = [{"game": "bargaining"}, {"game": "negotiation"}, {"game": "persuasion"}]


def seatings(planned: Plan) -> list[tuple[str, ...]]:
    return [tuple(player.label for player in match.seating) for match in planned.matches]


def small(**changes: Any) -> Plan:
    return plan(study(**changes))


def test_pairing_all_seats_every_pair_in_both_orders() -> None:
    planned = small(players=ROSTER, pairing="all")
    assert seatings(planned) == [(label, other) for label in ROSTER for other in ROSTER]


def test_listed_seatings_keep_order_unless_swapped() -> None:
    listed = {"players": ROSTER, "pairing": [["fair", "luck"], ["luck", "firm"]]}
    first, back, second = ("fair", "luck"), ("luck", "fair"), ("luck", "firm")
    assert seatings(small(**listed)) == [first, second]
    assert seatings(small(**listed, swap=True)) == [first, back, second, ("firm", "luck")]
    both = small(players=ROSTER, pairing=[first, back], swap=True)
    assert seatings(both) == [first, back], "a listed swap is played once"
    one_way = small(games=FAMILIES[2:], players=HONEST, pairing=[["t", "h"]], swap=True)
    assert seatings(one_way) == [("h", "t")], "the other order is impossible"


def test_game_can_override_pairing_and_instances() -> None:
    games = [
        {"game": "bargaining", "pairing": [["fair", "firm"]], "instances": 3},
        {"game": "bargaining", "fixed": {"horizon": 2}},
    ]
    planned = small(players=ROSTER, pairing="self", games=games, instances=2)
    assert Counter(seatings(planned)) == {
        ("fair", "firm"): 3,
        ("fair", "fair"): 2,
        ("firm", "firm"): 2,
        ("luck", "luck"): 2,
    }


def test_matches_multiply_games_instances_seatings_and_repeats() -> None:
    grid = [{"game": "bargaining", "grid": {"money": [1, 2], "horizon": [1, 2, 3]}}]
    planned = small(games=grid, players=ROSTER, pairing="all", instances=4, repeats=2)
    assert len(planned.matches) == 6 * 4 * 9 * 2
    assert planned.configurations() == {"bargaining": 6}
    assert planned.counts()["bargaining", ("luck", "fair")] == 6 * 4 * 2
    assert sorted(player.label for player in planned.players().values()) == sorted(ROSTER)
    assert len({match.id for match in planned.matches}) == len(planned.matches)


def test_seatings_and_repeats_share_instances() -> None:
    games = [{"game": "persuasion", "fixed": {"horizon": 12}}]
    players = {
        "luck": {"strategy": "random"},
        "plain": {"strategies": {"persuasion": {"alice": "honest", "bob": "trusting"}}},
    }
    planned = small(games=games, players=players, pairing="all", instances=5, repeats=2)
    instances: dict[str, set[Any]] = {}
    for match in planned.matches:
        instances.setdefault(match.planned_instance.key, set()).add(match.instance)
    assert list(instances) == ["0", "1", "2", "3", "4"]
    assert {len(shared) for shared in instances.values()} == {1}
    assert len(set.union(*instances.values())) == 5, "two instances are the same"


def test_both_orders_share_a_seed_and_repeats_differ() -> None:
    seeds = {
        (tuple(player.label for player in match.seating), match.repeat): match.seed
        for match in small(repeats=2).matches
    }
    assert seeds[("fair", "firm"), 0] == seeds[("firm", "fair"), 0]
    assert seeds[("fair", "firm"), 1] == seeds[("firm", "fair"), 1]
    assert seeds[("fair", "firm"), 0] != seeds[("fair", "firm"), 1]


def test_match_ids_survive_growth_but_not_changes() -> None:
    before = {*small().matches.ids()}
    games = [{"game": "negotiation", "pairing": [["luck", "luck"]]}, *spec()["games"]]
    players = {"even": ROSTER["fair"], "firm": ROSTER["firm"], "luck": ROSTER["luck"]}
    growth = {"games": games, "players": players, "pairing": "all", "instances": 2}
    assert before < {*small(name="other", description="more", **growth).matches.ids()}
    changes: list[Any] = [
        {"seed": 1},
        {"games": [{"game": "bargaining", "fixed": {"horizon": 3}}]},
        {"players": ROSTER | {"firm": {"strategy": "fixed_demand", "share": 0.7}}},
    ]
    for change in changes:
        assert before.isdisjoint(small(**change).matches.ids())


def test_match_ids_are_stable(toys: None) -> None:
    """If ids changed, every stored study would be played again."""
    players = {"card": {"strategy": "own_card", "plus": 1}, "old": {"recorded": "0123456789"}}
    games = [{"game": "guessing", "fixed": {"horizon": 3}}]
    planned = small(games=games, players=players, pairing="all", seed=7)
    assert [*planned.matches.ids()] == [
        "4e2bd4d663a197aa420a",
        "2ab8ddb1aafb9163c19a",
        "eb820c8b812a11c29162",
        "b599db6701bd29c571bd",
    ]


SAMPLED = {
    "games": [{"game": "bargaining", "grid": {"money": [1, 2, 3]}}],
    "players": ROSTER,
    "instances": 2,
    "repeats": 2,
}


def test_sample_is_spread_evenly_over_configurations() -> None:
    for number in [1, 3, 7, 50, 107, 108]:
        planned = small(**SAMPLED, pairing={"sample": number})
        assert len(planned.matches) == len({*planned.matches.ids()}) == number
        counts = Counter(match.configuration.digest for match in planned.matches).values()
        assert max(counts) - (min(counts) if number >= 3 else 0) <= 1
    with pytest.raises(ct.studies.StudyError) as caught:
        small(**SAMPLED, pairing={"sample": 109})
    assert str(caught.value) == "pairing.sample: 109 matches requested, but only 108 are possible"


def test_sample_is_a_reproducible_subset_of_all_matches() -> None:
    def ids(pairing: object, **changes: Any) -> list[str]:
        return [*small(**SAMPLED, pairing=pairing, **changes).matches.ids()]

    all_ids, sample, other = {*ids("all")}, ids({"sample": 40}), ids({"sample": 40}, seed=9)
    assert sample == ids({"sample": 40})
    assert all_ids.issuperset(sample)
    assert len(other) == 40
    assert all_ids.isdisjoint(other)


def test_sample_fills_up_from_larger_configurations() -> None:
    single_match = {"fixed": {"money": 1}, "instances": 1, "pairing": [["fair", "firm"]]}
    games = [{"game": "bargaining"} | single_match, {"game": "bargaining", "fixed": {"money": 2}}]
    planned = small(games=games, players=ROSTER, instances=2, pairing={"sample": 10})
    counts = Counter(match.configuration.game.model_dump()["money"] for match in planned.matches)
    assert counts == {1: 1, 2: 9}


def test_players_without_a_strategy_for_a_game_are_idle() -> None:
    players = {"luck": {"strategy": "random"}, "fair": {"strategy": "equal_split"}}
    planned = small(games=FAMILIES[:2], players=players, pairing="all")
    assert planned.idle == [("fair", "negotiation")]
    assert set(seatings(planned)[-1]) == {"luck"}
    assert planned.counts()["negotiation", ("luck", "luck")] == 1


DOUBLE = (
    'players: "a" and "b" are the same player in bargaining; change a setting of one, or remove it'
)
HONEST = {"h": {"strategy": "honest"}, "t": {"strategy": "trusting"}}


def test_invalid_plan_raises_error() -> None:
    cases: list[Any] = [
        (
            {"players": ROSTER | {"n": {"strategies": {"negotiation": "linear"}}}},
            "players.n: the player cannot play bargaining",
        ),
        (
            {"players": {"a": {"strategy": "linear", "strat": 1}}, "pairing": "all"},
            'players.a: unknown key "strat" (did you mean "start"?)',
        ),
        (
            {"players": {"a": {"strategy": "linear", "start": 7}}, "pairing": "all"},
            "players.a.start: should be less than or equal to 1, not 7",
        ),
        (
            {"players": {"a": {"model": "vllm/x", "style": "plan"}}, "pairing": "all"},
            'players.a: unknown style of bargaining "plan" (did you mean "plain"?)',
        ),
        (
            {"pairing": [["fair", "frim"]]},
            'small.yaml: pairing: unknown player "frim" (did you mean "firm"?)',
        ),
        (
            {"pairing": [["fair", "firm", "fair"]]},
            "pairing: [fair, firm, fair] fills 3 seats, but bargaining has 2 (alice, bob)",
        ),
        (
            {
                "players": {"a": {"strategies": {"bargaining": {"alise": "linear"}}}},
                "pairing": "all",
            },
            'players.a: unknown role "alise" (did you mean "alice"?) of bargaining',
        ),
        (
            {"games": FAMILIES[2:], "players": HONEST, "pairing": [["h", "t"], ["t", "h"]]},
            "pairing: [t, h] cannot fill the seats of persuasion",
        ),
        (
            {"games": FAMILIES[2:], "players": {"h": HONEST["h"]}, "pairing": "all"},
            "players: they cannot fill all seats of persuasion; add a player",
        ),
        ({"players": {"a": ROSTER["fair"], "b": ROSTER["fair"]}, "pairing": "all"}, DOUBLE),
    ]
    for changes, message in cases:
        with pytest.raises(ct.studies.StudyError) as caught:
            small(**changes)
        assert str(caught.value) == message


def test_listed_seating_is_skipped_in_games_it_does_not_fit() -> None:
    games, players = [FAMILIES[2], FAMILIES[0]], HONEST | {"fair": ROSTER["fair"]}
    planned = small(games=games, players=players, pairing=[["h", "t"], ["fair", "fair"]])
    assert planned.counts() == {("persuasion", ("h", "t")): 1, ("bargaining", ("fair", "fair")): 1}


def huge(**changes: Any) -> Plan:
    players = {"a": {"strategy": "equal_split"}, "b": {"strategy": "linear"}}
    usual = {"players": players, "pairing": "all", "instances": 2_500_000}
    return small(**usual | changes)


def test_too_many_matches_raise_error() -> None:
    with pytest.raises(
        ct.studies.StudyError, match="4,000,000,000 matches exceed the maximum, 1,000"
    ):
        huge(instances=1_000_000_000)
    with pytest.raises(ct.studies.StudyError, match=r"more than .* is listed twice; list it once"):
        huge(games=[{"game": "bargaining"}] * 2)


def test_large_plan_is_counted_and_indexed_lazily() -> None:
    tracemalloc.start()
    planned = huge()
    assert len(planned.matches) == 10_000_000
    assert planned.counts()["bargaining", ("a", "b")] == 2_500_000
    last = planned.matches[-1]
    assert last.planned_instance.key == "2499999"
    assert [player.label for player in last.seating] == ["b", "b"]
    assert [*islice(planned.matches.ids(3), 6)] == [match.id for match in planned.matches[3:9]]
    sampled = huge(pairing={"sample": 10})
    assert len(sampled.matches) == 10
    assert sum(sampled.configurations().values()) == 1
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_remaining_matches_skip_marked_ones() -> None:
    planned = huge(instances=5)
    done = bytearray(int(number in (0, 7, 19)) for number in range(20))
    remaining = list(planned.matches.remaining(done, instant=True))
    assert remaining == [match for n, match in enumerate(planned.matches) if n not in (0, 7, 19)]
    assert list(planned.matches.remaining(done, instant=False)) == []


def test_configuration_listed_twice_has_each_match_once() -> None:
    twice = [{"game": "bargaining", "instances": 2}, {"game": "bargaining", "instances": 3}]
    planned = huge(games=twice)
    assert len(planned.matches) == len({*planned.matches.ids()}) == 3 * 4
