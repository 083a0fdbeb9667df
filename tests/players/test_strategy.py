"""Players given to a study in Python: functions, strategies, seats and strings."""

import asyncio
import pickle
import runpy
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
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
    players = planned.players().values()
    assert [player.spec.unportable(pickle.dumps) for player in players] == [None] * len(given)
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


def test_functions_of_same_name_play_and_keep_their_code(tmp_path: Path, store: ct.Store) -> None:
    first, second = write_function(tmp_path, 0.5), write_function(tmp_path, 0.6)
    planned = ct.plan(study(players={"one": first, "other": second}, pairing="all"))
    assert len(planned.players()) == 2
    assert ct.run(planned, store).done == 4
    seats = [player.spec for player in planned.players().values()]
    strategy = ct.players.StrategySeat(game="bargaining", strategy="mine", source="an older one")
    with pytest.raises(ct.CheaptalkError, match="or give the new player another name"):
        strategy.decide()
    assert seats[0].decide() is first


SHARE = 0.5


def shared(request: ct.DecisionRequest) -> ct.Action:
    return stern(request, share=SHARE)


def test_changed_global_plans_new_matches(store: ct.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    made = study(players={"mine": shared, "fair": "equal_split"}, pairing="all")
    assert ct.run(made, store).before == 0
    assert ct.run(made, store).before == 4
    monkeypatch.setattr(sys.modules[__name__], "SHARE", 0.6)
    changed = ct.run(made, store)
    assert (changed.before, changed.set_aside) == (1, 3)


def test_redefined_function_must_be_seated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made = study(players={"mine": shared}, pairing="self")
    monkeypatch.setattr(sys.modules[__name__], "shared", lambda request: None)
    with pytest.raises(ct.studies.StudyError, match='"shared" has changed since the study was'):
        ct.plan(made)


def make_closure(share: float) -> Callable[[ct.DecisionRequest], ct.Action]:
    def closed(request: ct.DecisionRequest) -> ct.Action:
        return stern(request, share=share)

    return closed


class Counting:
    """A player that demands more at each of its requests in a match."""

    def __init__(self, share: float = 0.5) -> None:
        self.share = share

    def __call__(self, request: ct.DecisionRequest) -> ct.Action:
        self.share += 0.1
        return stern(request, share=min(self.share, 1.0))


async def awaited(request: ct.DecisionRequest) -> ct.Action:
    await asyncio.sleep(0)
    return stern(request)


class Asking:
    """A player that asks a model, and then plays as it likes."""

    def answer(self, request: ct.DecisionRequest) -> ct.players.Thinking:
        yield ct.models.ModelCall(
            model="script/legal", messages=(ct.models.ChatMessage(role="user", content="Hello"),)
        )
        return ct.players.Answer(stern(request), ct.players.Kind.OK)


def test_any_python_player_plays_in_study(store: ct.Store) -> None:
    given = {
        "closure": make_closure(0.6),
        "other closure": make_closure(0.7),
        "method": Counting(0.3).__call__,
        "object": Counting(0.4),
        "class": Counting,
        "class with settings": {"strategy": Counting, "share": 0.2},
        "partial": partial(stern, share=0.8),
        "lambda": lambda request: stern(request, share=0.65),
        "async": awaited,
        "asking": Asking,
    }
    made = study(
        games=[{"game": "bargaining", "fixed": {"horizon": 4}}],
        players=given | {"fair": "equal_split"},
        pairing=[[label, "fair"] for label in given],
        repeats=2,
    )
    progress = ct.run(made, store)
    assert dict(progress.counts) == {ct.records.Status.FINISHED: 20}
    assert ct.run(made, store).before == 20
    payoffs: dict[str, set[float]] = {}
    for record in store.records("small"):
        assert record.payoffs is not None
        payoffs.setdefault(record.label("alice"), set()).add(record.payoffs["alice"])
    assert all(len(values) == 1 for values in payoffs.values())  # repeats don't share state


def test_answers_of_async_players_are_not_asked_for_again(store: ct.Store) -> None:
    requests: list[int] = []

    class Failing:
        """A player that fails at its second request, once."""

        version = "of a test"

        async def __call__(self, request: ct.DecisionRequest) -> ct.Action:
            requests.append(request.number)
            if len(requests) == 2:
                raise ConnectionError("no line")
            return await awaited(request)

    made = study(
        games=[{"game": "bargaining", "fixed": {"horizon": 4}}],
        players={"mine": Failing, "firm": {"strategy": "fixed_demand"}},
        pairing=[["mine", "firm"]],
    )
    failed = ct.run(made, store)
    (problem,) = failed.problems
    assert "failed in request 3, by Failing: ConnectionError in test_strategy.py:" in problem
    assert ct.run(made, store).counts == {ct.records.Status.FINISHED: 1}
    assert requests[:3] == [0, 3, 3]
    (record,) = store.records("small", bodies=True)
    calls = [answer.calls for answer in record.answers if answer.actor == "alice"]
    assert {call["call"]["function"] for (call,) in calls} == {"Failing"}


def test_workers_play_importable_functions(
    store: ct.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cheaptalk.studies.runs.scripted.WORTH_WORKERS", 0)
    made = study(players={"mine": shared, "class": Counting}, pairing="self")
    assert ct.run(made, store, workers=2).counts == {ct.records.Status.FINISHED: 2}
    made = study(players={"closed": make_closure(0.6)}, pairing="self")
    expected = (
        r"because of the player \"closed\": it cannot be pickled .*; define closed at the top"
    )
    with pytest.warns(ct.players.PlayerWarning, match=expected):
        assert ct.run(made, store, workers=2).left == 0


def test_python_players_play_without_study() -> None:
    game = ct.games.Bargaining(horizon=ct.rules.Horizon(rounds=4))
    for player in (make_closure(0.6), Counting, Counting(0.4), awaited, partial(awaited)):
        players = {"alice": player, "bob": ct.get_game("bargaining").strategies["linear"]}
        assert ct.play(game, game.instance_of("a"), "a", players).over
    with pytest.raises(ct.CheaptalkError, match="Asking makes calls; play it in a study"):
        ct.play(game, game.instance_of("a"), "a", {"alice": Asking, "bob": awaited})


@pytest.mark.filterwarnings("ignore::cheaptalk.players.PlayerWarning")
def test_invalid_players_raise_error() -> None:
    def untold(request: ct.DecisionRequest, *, share: float) -> ct.Action:
        return ct.get_game("bargaining").strategies["fixed_demand"](request, share=share)

    class Locked:
        def __init__(self) -> None:
            self.lock = threading.Lock()

        def __call__(self, request: ct.DecisionRequest) -> ct.Action:
            return stern(request)

    def linear(request: ct.DecisionRequest) -> ct.Action:
        return stern(request)

    @ct.strategy("proposer")
    def elsewhere(request: ct.DecisionRequest) -> ct.Action:
        return stern(request)

    cases: list[tuple[object, str]] = [
        (untold, 'players.a: strategy "untold": its setting "share" has no default'),
        (lambda: None, r"write def lambda\(request\): ... as a function that returns an action"),
        (linear, 'bargaining already has a strategy named "linear"; rename the player'),
        (elsewhere, "players.a: the player cannot play bargaining"),
        (Locked(), r"players.a: Locked cannot be copied for each match \(TypeError.*; pass a func"),
        ("gpt-4o", "for the model write openai/gpt-4o"),
        (ct.players.StrategySeat(game="persuasion", strategy="honest"), "cannot play barg"),
    ]
    for player, message in cases:
        with pytest.raises(ct.studies.StudyError, match=message):
            ct.plan(study(players={"a": player}, pairing="self"))
