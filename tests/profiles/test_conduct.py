"""Conduct: the course of a player's actions, and lapses in long matches."""

from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.games import Persuasion
from cheaptalk.games.alternating_offers import Turn, first_lapse
from cheaptalk.games.persuasion.rules import Pitch, Purchase
from cheaptalk.profiles.conduct import course
from cheaptalk.rules import Chance, get_game, play
from tests.fakes import study


def courses(store: ct.Store, *manners: str) -> list[set[tuple[str, str]]]:
    """Return, by manner of the other player, the course of a player that reads no messages."""
    talkers: dict[str, Any] = {
        manner: {"strategy": "talker", "manner": manner, "offers": "greedy"} for manner in manners
    }
    made = study(
        games=[{"game": "deal_or_no_deal", "instances": 12}],
        players={"deaf": {"strategy": "greedy"}} | talkers,
        pairing=[["deaf", manner] for manner in manners],
    )
    ct.run(made, store)
    return [
        {
            (record.instance_key, course(record, record.result(), "player_1").course)
            for record in store.records(made.name, bodies=True)
            if record.label("player_2") == manner
        }
        for manner in manners
    ]


def test_course_excludes_statements_of_the_other_player(store: ct.Store) -> None:
    silent, false_claim, sympathy = courses(store, "silent", "false_claim", "sympathy")
    assert len(silent) == 12
    assert silent == false_claim == sympathy


def offers(*shares: float) -> list[Turn]:
    """Return a player's offers, one every other round."""
    return [Turn(2 * number + 1, share, None) for number, share in enumerate(shares)]


def test_only_sudden_large_concessions_are_lapses() -> None:
    for turns, stage in [
        (offers(0.9, 0.6, 0.35, 0.2, 0.05), None),
        (offers(0.8, 0.75, 0.1), 5),
        (offers(0.8, 0.1), 3),
        ([*offers(0.8, 0.75), Turn(4, 0.05, False), Turn(6, 0.05, True)], 6),
        ([*offers(0.2), Turn(2, 0.05, True)], None),
        ([*offers(0.9), Turn(2, 0.5, True)], None),
        ([*offers(0.8), Turn(9, 0.05, True)], None),
    ]:
        assert first_lapse(turns, 10) == stage


def test_seller_lies_only_about_low_quality_products() -> None:
    for seller, share in [("honest", 0), ("always_recommend", 1)]:
        game_spec = get_game("persuasion")
        game = Persuasion(signal="binary", horizon=10)
        instance = game.draw_instance(Chance("lies"))
        players = {
            seat: game_spec.strategies[name].with_settings()
            for seat, name in (("alice", seller), ("bob", "trusting"))
        }
        table = play(game, instance, "lies", players)
        result = table.result()
        metrics = game_spec.assessment.conduct(result, "alice")
        low = instance.qualities.count(False)
        assert 0 < low < 10
        assert (metrics.tempted, metrics.deceived) == (low, share * low)


@pytest.mark.parametrize(
    ("pitch", "counts"), [("It is excellent.", (1, 1, 0)), ("Have a look.", (0, 0, 1))]
)
def test_pitch_for_bad_product_is_a_lie_or_unread(pitch: str, counts: tuple[int, int, int]) -> None:
    game = Persuasion(signal="text", horizon=10)
    instance = game.draw_instance(Chance("lies"))
    players = {"alice": lambda _: Pitch(message=pitch), "bob": lambda _: Purchase(decision="no")}
    table = play(game, instance, "lies", players)
    result = table.result()
    metrics = get_game("persuasion").assessment.conduct(result, "alice")
    low = instance.qualities.count(False)
    assert 0 < low < 10
    assert (metrics.tempted, metrics.deceived, metrics.unread) == tuple(
        low * count for count in counts
    )
