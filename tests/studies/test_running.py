"""Runs of scripted players: matches are played once, and failures are never recorded as play."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

import cheaptalk as ct
from cheaptalk.players import ImportedSeat
from cheaptalk.records import Status, Store
from cheaptalk.records.imports import GameCollection, ImportedGame, import_matches
from cheaptalk.rules import CheaptalkError, DecisionRequest, Strategy, strategy
from cheaptalk.studies import Progress, plan_in_store
from cheaptalk.studies.plans.matches import PlannedMatch
from cheaptalk.studies.runs import scripted
from tests.fakes import Canned, essence, study
from tests.toys import SPEC, Cards, Guessing, own_card

T = TypeVar("T")

TOYS = {
    "games": [{"game": "guessing"}],
    "players": {"card": {"strategy": "own_card"}, "moody": {"strategy": "moody"}},
    "pairing": "all",
}


class Mood:
    """State of the moody strategy, which fails while ``bad`` is true."""

    bad = True
    moody: Strategy


@pytest.fixture
def mood(toys: None, monkeypatch: pytest.MonkeyPatch) -> Mood:
    """Register the strategy ``moody``, which fails while its mood is bad."""
    mood = Mood()

    @strategy("left", "right")
    def moody(request: DecisionRequest) -> Any:
        """Guess one's card and a bit, in a good mood."""
        if mood.bad:
            raise RuntimeError("not today")
        return own_card(request)

    assert isinstance(SPEC.strategies, dict)
    monkeypatch.setitem(SPEC.strategies, "moody", moody)
    mood.moody = moody
    return mood


def records(store: Store, name: str = "small") -> list[ct.MatchRecord]:
    return list(store.records(name, bodies=True))


def test_records_describe_their_matches(store: Store) -> None:
    planned = plan_in_store(study(repeats=2), store)
    ct.run(planned, store)
    for record, match in zip(records(store), planned.matches, strict=True):
        assert record.rules == match.configuration.game
        assert record.version == match.configuration.game.version
        assert (record.instance_key, record.repeat) == (match.planned_instance.key, match.repeat)
        assert record.body["seed"] == match.seed
        labels = [record.label(role) for role in match.configuration.game.roles]
        assert labels == [player.label for player in match.seating]
        specs = [record.seats[role]["spec"] for role in match.configuration.game.roles]
        assert specs == [player.spec.model_dump(mode="json") for player in match.seating]
        assert record.payoffs == record.rules.seat_payoffs(record.replay().outcome)
        assert record.result().outcome == record.replay().outcome


def test_second_run_changes_nothing(store: Store) -> None:
    ct.run(study(instances=3), store)
    before = [record.as_json() for record in records(store)]
    progress = ct.run(study(instances=3), store)
    assert (progress.before, progress.done, sum(progress.counts.values())) == (6, 6, 0)
    assert [record.as_json() for record in records(store)] == before


def test_studies_share_identical_matches(store: Store) -> None:
    ct.run(study(instances=2), store)
    progress = ct.run(study(name="other", instances=3), store)
    assert (progress.before, progress.counts[Status.FINISHED]) == (4, 2)
    ids = {name: {record.id for record in records(store, name)} for name in ("small", "other")}
    assert ids["small"] < ids["other"]
    assert len(ids["other"]) == 6
    counts = {summary.name: summary.counts for summary in store.studies()}
    assert counts == {"small": {"finished": 4}, "other": {"finished": 6}}
    for name, label in (("one", "even"), ("two", "just")):
        players = {label: {"strategy": "equal_split"}}
        ct.run(study(name=name, players=players, pairing="self"), store)
        assert records(store, name)[0].label("alice") == label, "labels are per study"


def test_progress_is_reported_per_chunk(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cheaptalk.studies.runs.run.CHUNK", 2)
    steps: list[tuple[int, int]] = []
    ct.run(study(instances=3), store, progress=lambda at: steps.append((at.done, at.left)))
    assert steps == [(0, 6), (2, 4), (4, 2), (6, 0)]


def test_failing_strategy_fails_only_its_matches(store: Store, mood: Mood) -> None:
    progress = ct.run(study(**TOYS), store)
    assert progress.counts == {Status.FINISHED: 1, Status.FAILED: 3}
    assert (progress.done, progress.failed, progress.left) == (1, 3, 3)
    line = mood.moody.function.__code__.co_firstlineno + 4
    why = f"RuntimeError in test_running.py:{line}: not today"
    assert progress.problems == {
        f'guessing, {seating}: "{seat}" failed in request 0, by moody: {why}': 1
        for seating, seat in (
            ("card / moody", "right"),
            ("moody / card", "left"),
            ("moody / moody", "left"),
        )
    }
    failed = [match for match in records(store) if match.status is Status.FAILED]
    fields = {(match.outcome, match.payoffs, str(match.kinds)) for match in failed}
    assert fields == {(None, None, "{}")}


BEYOND = (
    r'guessing: the payoff of "left" is \d+, which is not between -2 and -1; fix payoff_bounds\(\)'
)


@pytest.mark.parametrize("players", [{"card": "own_card"}, {"tiny": {"model": "vllm/tiny"}}])
def test_payoff_out_of_bounds_fails_match_and_keeps_calls(
    players: dict[str, Any], toys: None, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, models = study(**TOYS | {"players": players}, instances=2), Canned()
    with monkeypatch.context() as wrong:
        wrong.setattr(Guessing, "payoff_bounds", lambda _: {"left": (-2, -1), "right": (0, 2)})
        progress = ct.run(wanted, store, models=models)
    assert progress.counts == {Status.FAILED: 2}
    assert all(re.search(BEYOND, problem) for problem in progress.problems)
    calls = len(models.calls)
    assert ct.run(wanted, store, models=models).counts == {Status.FINISHED: 2}
    assert len(models.calls) == calls


def test_imported_game_out_of_bounds_is_skipped_with_reason(
    toys: None, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def games() -> Iterator[ImportedGame]:
        players = {"left": own_card, "right": own_card}
        for name in ("one", "two"):
            table = ct.play(Guessing(), Cards(left=1, right=2), name, players)
            seats = dict.fromkeys(("left", "right"), ImportedSeat(imported="ours", model="a"))
            yield ImportedGame(name, table, seats, {"system": "ours"}, f"file {name}")

    monkeypatch.setattr(Guessing, "payoff_bounds", lambda _: {"left": (-2, -1), "right": (0, 2)})
    importing = import_matches(GameCollection("ours", games()), store, "taken")
    assert (importing.imported, importing.present) == (0, 0)
    assert [skip.game for skip in importing.skipped] == ["file one", "file two"]
    assert all(re.match(BEYOND, skip.reason) for skip in importing.skipped)


def test_failed_matches_are_retried(store: Store, mood: Mood) -> None:
    ct.run(study(**TOYS), store)
    mood.bad = False
    progress = ct.run(study(**TOYS), store)
    assert (progress.before, progress.counts) == (1, {Status.FINISHED: 3})
    assert store.studies()[0].counts == {"finished": 4}
    assert [record.reason for record in records(store)] == [None] * 4


def test_error_in_rules_is_reported_with_location(
    store: Store, toys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def payoffs(self: Guessing, outcome: Any) -> dict[str, float]:
        raise ZeroDivisionError("no payoffs")

    monkeypatch.setattr(Guessing, "payoffs", payoffs)
    made = study(**TOYS | {"players": {"card": {"strategy": "own_card"}}})
    assert ct.run(made, store).counts == {Status.FAILED: 1}
    (reason,) = store.problems("small")
    assert reason.startswith("guessing: payoffs() failed: ZeroDivisionError in test_running.py:")
    assert reason.endswith(": no payoffs")


def test_worker_processes_play_same_matches_as_one(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripted, "WORTH_WORKERS", 0)
    monkeypatch.setattr("cheaptalk.studies.runs.run.CHUNK", 3)
    made = study(players={"luck": {"strategy": "random"}}, pairing="self", instances=10)
    ct.run(made, store, workers=2)
    with Store.open(tmp_path / "alone.sqlite", create=True) as other:
        ct.run(made, other, workers=1)
        alone = {record.id: essence(record) for record in records(other)}
    assert {record.id: essence(record) for record in records(store)} == alone


def test_killed_worker_raises_error_and_keeps_played_matches(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripted, "WORTH_WORKERS", 0)
    monkeypatch.setattr("cheaptalk.studies.runs.run.CHUNK", 1)
    monkeypatch.setattr(scripted, "_play_ends", _kill_at_last_instance)
    made = study(instances=4)
    with pytest.raises(CheaptalkError, match="was killed, possibly for lack of memory"):
        ct.run(made, store, workers=2)
    monkeypatch.undo()
    kept = sum(store.studies()[0].counts.values())
    progress = ct.run(made, store)
    assert (progress.before, progress.done) == (kept, 8)


def _kill_at_last_instance(matches: list[PlannedMatch]) -> list[Any]:
    """Play matches, but kill the worker at the last instance."""
    if matches[0].planned_instance.key == "3":
        os.kill(os.getpid(), signal.SIGKILL)
    return [end for _, end in scripted.play_chunk(matches)]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")
def test_workers_exit_with_their_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cheaptalk", "run", "glee", "--workers", "2"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        begun = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        players = _wait_for(lambda: _worker_processes(begun))
        process.kill()
    _wait_for(lambda: not any(Path(f"/proc/{player}").exists() for player in players))


def _worker_processes(children: Path) -> list[str]:
    """Return the two worker processes, or an empty list until both exist."""
    workers = [
        child
        for child in children.read_text().split()
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
    return workers if len(workers) == 2 else []


def _wait_for(condition: Callable[[], T]) -> T:
    """Wait until the condition is true and return its value."""
    until = time.monotonic() + 60
    while not (result := condition()):
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.01)
    return result


def test_interrupt_between_chunks_loses_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cheaptalk.studies.runs.run.CHUNK", 2)

    def stop(progress: Progress) -> None:
        if progress.done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^4 of \d+ matches are stored; call "):
        ct.run(study(instances=3), store, progress=stop)
    assert store.studies()[0].counts == {"finished": 4}
    assert ct.run(study(instances=3), store).before == 4


def test_concurrent_writer_raises_error(store: Store) -> None:
    message = (
        rf"^{re.escape(store.name)}: another cheaptalk process (\(process \d+ on .+\) )?"
        r"is writing to the store; wait until it ends, or stop it \(to control a run: cheaptalk "
        r"control STUDY\)$"
    )
    with (
        Store.open(store.backend.address) as other,
        other.writing(),
        pytest.raises(ct.records.StoreError, match=message),
    ):
        ct.run(study(), store)
    assert store.studies() == []
