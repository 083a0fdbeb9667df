"""Players given to a study in Python: functions, strategies, seats and strings."""

import runpy
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.rules.registry import STRATEGIES
from tests.fakes import study


@pytest.fixture(autouse=True)
def _remove_strategies() -> Iterator[None]:
    yield
    for name in STRATEGIES.here:
        STRATEGIES.remove(name)


def stern(request: ct.DecisionRequest, *, share: float = 0.9) -> ct.Action:
    """Demand nearly everything."""
    return ct.get_game("bargaining").strategies["fixed_demand"](request, share=share)


def test_functions_and_objects_play_and_are_stored_by_name(store: ct.Store) -> None:
    given = {
        "stern": stern,
        "mild": {"strategy": stern, "share": 0.55},
        "half": "equal_split",
        "ours": ct.get_game("bargaining").strategies["linear"],
        "seat": ct.players.StrategySeat(game="bargaining", strategy="boulware"),
    }
    mixed = study(players=given, pairing="all")
    assert mixed.written()["players"] == {
        "stern": {"strategy": "stern"},
        "mild": {"strategy": "stern", "share": 0.55},
        "half": {"strategy": "equal_split"},
        "ours": {"strategy": "linear"},
        "seat": {"strategies": {"bargaining": {"strategy": "boulware"}}},
    }
    planned = ct.plan(mixed)
    portable = {player.label: player.spec.portable() for player in planned.players().values()}
    assert portable == dict.fromkeys(given, True) | {"stern": False, "mild": False}
    assert ct.run(mixed, store).left == 0
    stored = ct.studies.parse_study(store.study("small").spec, "small")
    assert ct.run(stored, store).before == len(planned.matches)


def test_function_can_play_one_role() -> None:
    given = {"both": {"strategies": {"bargaining": {"alice": stern, "bob": "linear"}}}}
    names = {
        player.spec.model_dump()["strategy"]
        for player in ct.plan(study(players=given, pairing="self")).players().values()
    }
    assert names == {"stern", "linear"}


def write_function(folder: Path, share: float) -> Callable[[ct.DecisionRequest], ct.Action]:
    """Write a user's script and return its function."""
    script = folder / f"script_{share}.py"
    script.write_text(
        "import cheaptalk as ct\n"
        "def mine(asked):\n"
        '    half = ct.get_game("bargaining").strategies["fixed_demand"]\n'
        f"    return half(asked, share={share})\n"
    )
    function: Callable[[ct.DecisionRequest], ct.Action] = runpy.run_path(str(script))["mine"]
    return function


def test_changed_function_is_another_player(store: ct.Store, tmp_path: Path) -> None:
    def run_with(share: float) -> ct.Progress:
        players = {"mine": write_function(tmp_path, share), "fair": "equal_split"}
        return ct.run(study(players=players, pairing="all"), store)

    assert run_with(0.5).left == 0
    assert run_with(0.5).before == 4
    changed = run_with(0.6)
    assert (changed.before, changed.set_aside) == (1, 3)
    assert "4 of 4 matches ended (1 before this run), 3 of earlier" in repr(changed)
    assert run_with(0.5).before == 4


def test_replaced_function_does_not_play(tmp_path: Path) -> None:
    first, second = write_function(tmp_path, 0.5), write_function(tmp_path, 0.6)
    with pytest.raises(
        ct.studies.StudyError, match=r'^players.one: the function "mine" has changed'
    ):
        ct.plan(study(players={"one": first, "other": second}, pairing="all"))
    planned = ct.plan(study(players={"one": first, "fair": "equal_split"}, pairing="all"))
    ct.plan(study(players={"one": second, "fair": "equal_split"}, pairing="all"))
    seats = [player.spec for player in planned.players().values() if player.label == "one"]
    with pytest.raises(ct.CheaptalkError, match="or recreate the study"):
        seats[0].decide()


def make_closure(share: float) -> Callable[[ct.DecisionRequest], ct.Action]:
    def closed(request: ct.DecisionRequest) -> ct.Action:
        return stern(request, share=share)

    return closed


def test_invalid_players_raise_error() -> None:
    class Stubborn:
        def demand(self, request: ct.DecisionRequest) -> ct.Action:
            return stern(request)

    def untold(request: ct.DecisionRequest, *, share: float) -> ct.Action:
        return ct.get_game("bargaining").strategies["fixed_demand"](request, share=share)

    async def slow(request: ct.DecisionRequest) -> ct.Action:
        return stern(request)

    def linear(request: ct.DecisionRequest) -> ct.Action:
        return stern(request)

    @ct.strategy("proposer")
    def elsewhere(request: ct.DecisionRequest) -> ct.Action:
        return stern(request)

    cases: list[tuple[object, str]] = [
        (make_closure(0.5), '"closed" depends on share, which the store cannot check'),
        (Stubborn().demand, '"demand" depends on an object'),
        (untold, 'players.a: strategy "untold": its setting "share" has no default'),
        (slow, r"write def slow\(request\): ... as a function that returns an action"),
        (linear, 'bargaining already has a strategy named "linear"; rename the function'),
        (elsewhere, "players.a: the player cannot play bargaining"),
        ("gpt-4o", "for the model write openai/gpt-4o"),
        (ct.players.StrategySeat(game="persuasion", strategy="honest"), "cannot play barg"),
    ]
    for player, message in cases:
        with pytest.raises(ct.studies.StudyError, match=message):
            ct.plan(study(players={"a": player}, pairing="self"))
