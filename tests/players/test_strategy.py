"""Players that a study in Python is given themselves: functions, strategies, seats and strings."""

from collections.abc import Iterator

import pytest

import cheaptalk as ct
from cheaptalk.rules.registry import STRATEGIES
from tests.fakes import study


@pytest.fixture(autouse=True)
def _nothing_stays() -> Iterator[None]:
    yield
    for name in STRATEGIES.here:
        STRATEGIES.remove(name)


def stern(asked: ct.Asked, *, share: float = 0.9) -> ct.Action:
    """Demand nearly all."""
    return ct.game_box("bargaining").strategies["fixed_demand"](asked, share=share)


def test_functions_and_objects_play_and_the_store_knows_them_by_name(store: ct.Store) -> None:
    given = {
        "stern": stern,
        "mild": {"strategy": stern, "share": 0.55},
        "half": "equal_split",
        "ours": ct.game_box("bargaining").strategies["linear"],
        "seat": ct.players.StrategySeat(game="bargaining", strategy="boulware"),
    }
    mine = study(players=given, pairing="all")
    assert mine.written()["players"] == {
        "stern": {"strategy": "stern"},
        "mild": {"strategy": "stern", "share": 0.55},
        "half": {"strategy": "equal_split"},
        "ours": {"strategy": "linear"},
        "seat": {"strategies": {"bargaining": {"strategy": "boulware"}}},
    }
    laid = ct.plan(mine)
    portable = {one.label: one.spec.portable() for one in laid.players().values()}
    assert portable == dict.fromkeys(given, True) | {"stern": False, "mild": False}
    assert ct.run(mine, store).left == 0
    stored = ct.studies.parse_study(store.study("small").spec, "small")
    assert ct.run(stored, store).before == len(laid.matches)


def test_a_function_plays_for_one_role_too() -> None:
    given = {"both": {"strategies": {"bargaining": {"alice": stern, "bob": "linear"}}}}
    names = {
        one.spec.model_dump()["strategy"]
        for one in ct.plan(study(players=given, pairing="self")).players().values()
    }
    assert names == {"stern", "linear"}


def linear(asked: ct.Asked) -> ct.Action:
    return stern(asked)


@ct.strategy("proposer")
def elsewhere(asked: ct.Asked) -> ct.Action:
    return stern(asked)


@pytest.mark.parametrize(
    ("player", "saying"),
    [
        (linear, 'bargaining has a strategy named "linear" already; give the function another'),
        (elsewhere, "players.a: can play none of bargaining"),
        ("gpt-4o", "for the model write openai/gpt-4o"),
        (ct.players.StrategySeat(game="persuasion", strategy="honest"), "can play none of barg"),
    ],
)
def test_a_player_that_cannot_play_is_told(player: object, saying: str) -> None:
    with pytest.raises(ct.StudyError, match=saying):
        ct.plan(study(players={"a": player}, pairing="self"))
