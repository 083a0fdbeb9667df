"""Players that a study in Python is given themselves: functions, strategies, seats and strings."""

import runpy
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.rules.registry import STRATEGIES
from tests.fakes import study


@pytest.fixture(autouse=True)
def _nothing_stays() -> Iterator[None]:
    yield
    for name in STRATEGIES.here:
        STRATEGIES.remove(name)


def stern(asked: ct.DecisionRequest, *, share: float = 0.9) -> ct.Action:
    """Demand nearly all."""
    return ct.get_game("bargaining").strategies["fixed_demand"](asked, share=share)


def test_functions_and_objects_play_and_the_store_knows_them_by_name(store: ct.Store) -> None:
    given = {
        "stern": stern,
        "mild": {"strategy": stern, "share": 0.55},
        "half": "equal_split",
        "ours": ct.get_game("bargaining").strategies["linear"],
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


def written(folder: Path, share: float) -> Callable[[ct.DecisionRequest], ct.Action]:
    """A function of a user's script, as it stands in the file at the time."""
    script = folder / f"script_{share}.py"
    script.write_text(
        "import cheaptalk as ct\n"
        "def mine(asked):\n"
        '    half = ct.get_game("bargaining").strategies["fixed_demand"]\n'
        f"    return half(asked, share={share})\n"
    )
    function: Callable[[ct.DecisionRequest], ct.Action] = runpy.run_path(str(script))["mine"]
    return function


def test_a_function_that_changed_is_another_player(store: ct.Store, tmp_path: Path) -> None:
    def played(share: float) -> ct.Progress:
        players = {"mine": written(tmp_path, share), "fair": "equal_split"}
        return ct.run(study(players=players, pairing="all"), store)

    assert played(0.5).left == 0
    assert played(0.5).before == 4
    changed = played(0.6)
    assert (changed.before, changed.set_aside) == (1, 3)
    assert "4 of 4 matches ended (1 before this run), 3 of earlier" in repr(changed)
    assert "superseded, from earlier versions" in changed._repr_html_()
    assert played(0.5).before == 4


def test_a_function_replaced_since_it_was_seated_does_not_play(tmp_path: Path) -> None:
    one, other = written(tmp_path, 0.5), written(tmp_path, 0.6)
    with pytest.raises(ct.StudyError, match=r'^players.one: the function "mine" has changed'):
        ct.plan(study(players={"one": one, "other": other}, pairing="all"))
    planned = ct.plan(study(players={"one": one, "fair": "equal_split"}, pairing="all"))
    ct.plan(study(players={"one": other, "fair": "equal_split"}, pairing="all"))
    seats = [player.spec for player in planned.players().values() if player.label == "one"]
    with pytest.raises(ct.CheaptalkError, match="or recreate the study"):
        seats[0].decide()


class Stubborn:
    """A player that remembers."""

    def demand(self, asked: ct.DecisionRequest) -> ct.Action:
        return stern(asked)


def made(share: float) -> Callable[[ct.DecisionRequest], ct.Action]:
    def closed(asked: ct.DecisionRequest) -> ct.Action:
        return stern(asked, share=share)

    return closed


def untold(asked: ct.DecisionRequest, *, share: float) -> ct.Action:
    return stern(asked, share=share)


async def slow(asked: ct.DecisionRequest) -> ct.Action:
    return stern(asked)


def linear(asked: ct.DecisionRequest) -> ct.Action:
    return stern(asked)


@ct.strategy("proposer")
def elsewhere(asked: ct.DecisionRequest) -> ct.Action:
    return stern(asked)


@pytest.mark.parametrize(
    ("player", "saying"),
    [
        (made(0.5), '"closed" depends on share, which the store cannot check'),
        (Stubborn().demand, '"demand" depends on an object'),
        (untold, 'players.a: strategy "untold": its setting "share" has no default'),
        (slow, r"write def slow\(request\): ... as a function that returns an action"),
        (linear, 'bargaining already has a strategy named "linear"; rename the function'),
        (elsewhere, "players.a: the player cannot play bargaining"),
        ("gpt-4o", "for the model write openai/gpt-4o"),
        (ct.players.StrategySeat(game="persuasion", strategy="honest"), "cannot play barg"),
    ],
)
def test_a_player_that_cannot_play_is_told(player: object, saying: str) -> None:
    with pytest.raises(ct.StudyError, match=saying):
        ct.plan(study(players={"a": player}, pairing="self"))
