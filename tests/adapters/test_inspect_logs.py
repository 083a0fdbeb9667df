"""Recorded matches as logs of Inspect, read by its own reader."""

from collections import Counter
from collections.abc import Iterator
from math import isnan
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.adapters import write_inspect_logs
from cheaptalk.records import MatchRecord, Store
from tests.conftest import Command
from tests.played import Models

log = pytest.importorskip("inspect_ai.log", reason="needs the extra inspect")

MIXED: dict[str, Any] = {
    "name": "mixed",
    "seed": 6,
    "games": [
        {"game": "bargaining", "fixed": {"horizon": 5}, "instances": 3},
        {"game": "persuasion", "fixed": {"myopic": True, "horizon": 2}, "instances": 2},
    ],
    "players": {
        "able": {"model": "vllm/able@http://127.0.0.1:1/v1", "temperature": 0.5},
        "mute": {"model": "vllm/mute", "tries": 2},
        "broken": {"model": "vllm/broken"},
        "script": {"strategies": {"bargaining": "boulware", "persuasion": "random"}},
    },
    "pairing": [["able", "script"], ["able", "mute"], ["able", "broken"]],
    "swap": True,
}


@pytest.fixture
def played(store: Store) -> Store:
    study = ct.studies.parse_study(MIXED, "a test")
    ct.run(study, store, models=Models(), concurrency=1)
    return store


def logs_in(folder: Path) -> dict[tuple[str, str], Any]:
    """The logs of a folder by game and player, each as good as its own classes want it."""
    names = [one.name for one in log.list_eval_logs(str(folder))]
    found = [log.read_eval_log(name, resolve_attachments=True) for name in names]
    for one in found:
        log.EvalLog.model_validate_json(one.model_dump_json())
    return {(one.eval.task, one.eval.metadata["player"]): one for one in found}


def samples(store: Store, folder: Path) -> Iterator[tuple[MatchRecord, Any]]:
    """All samples, each with the record of its match."""
    records = {one.id: one for one in store.records("mixed", bodies=True)}
    for one in logs_in(folder).values():
        for sample in one.samples:
            yield records[sample.metadata["match_id"]], sample


def test_what_was_sent_and_replied_is_there_word_for_word(played: Store, tmp_path: Path) -> None:
    done = write_inspect_logs(played, "mixed", tmp_path / "logs")
    found = list(samples(played, tmp_path / "logs"))
    assert done.rows == {"logs": len(logs_in(tmp_path / "logs")), "samples": len(found)}
    replies = 0
    for record, sample in found:
        own = [one for one in record.answers if one.actor == sample.metadata["actor"]]
        made = [call for one in own for call in one.calls]
        told = [one for one in sample.events if one.event == "model"]
        for call, event in zip(made, told, strict=True):
            sent = [{"role": one.role, "content": one.content} for one in event.input]
            assert sent == call["call"]["messages"]
            assert event.output.completion == call["reply"]["text"]
            assert event.output.usage.input_tokens == call["reply"]["usage"]["input_tokens"]
        kinds = [one.data["kind"] for one in sample.events if one.event == "info"]
        assert kinds == [one.kind for one in own]
        if made:
            assert sample.messages[-1].text == made[-1]["reply"]["text"]
            (usage,) = sample.model_usage.values()
            assert usage.total_tokens == 110 * len(made)
        replies += len(made)
    assert replies > 20


def test_scores_are_the_payoffs_and_a_forfeit_is_of_who_gave_it(
    played: Store, tmp_path: Path
) -> None:
    write_inspect_logs(played, "mixed", tmp_path / "logs")
    seen: Counter[tuple[str, bool, int]] = Counter()
    for record, sample in samples(played, tmp_path / "logs"):
        outcome, seat = sample.scores["outcome"].value, sample.metadata["actor"]
        player = record.label(record.seat_of(seat))
        seen[player, isnan(outcome["payoff"]), outcome["forfeited"]] += 1
        if record.outcome is not None:
            assert outcome["payoff"] == record.rules.payoffs(record.result().outcome)[seat]
    assert seen["able", False, 0] > 0
    assert seen["able", True, 0] > 0, "the other forfeited"
    assert {how for how in seen if how[2]} == {("mute", True, 1)}


def test_a_log_is_of_one_game_and_one_player_with_the_means_of_its_payoffs(
    played: Store, tmp_path: Path
) -> None:
    write_inspect_logs(played, "mixed", tmp_path / "logs")
    found = logs_in(tmp_path / "logs")
    both = ("cheaptalk/bargaining", "cheaptalk/persuasion")
    assert {key for key in found if key[1] != "broken"} == {
        (game, player) for game in both for player in ("able", "mute")
    }
    made = found["cheaptalk/bargaining", "able"]
    assert (made.eval.model, made.eval.model_base_url) == ("vllm/able", "http://127.0.0.1:1/v1")
    assert made.plan.config.temperature == 0.5
    paid = [one.scores["outcome"].value["payoff"] for one in made.samples]
    counted = [one for one in paid if not isnan(one)]
    payoff = next(one for one in made.results.scores if one.name == "payoff")
    assert payoff.metrics["mean"].value == pytest.approx(mean(counted))
    assert payoff.unscored_samples == len(paid) - len(counted) > 0
    assert len({one.metadata["instance"] for one in made.samples}) == 3


def test_what_a_study_drops_has_no_score(store: Store, tmp_path: Path) -> None:
    dropping = MIXED | {"unanswered": {"unparsable": "drop"}}
    ct.run(ct.studies.parse_study(dropping, "a test"), store, models=Models(), concurrency=1)
    write_inspect_logs(store, "mixed", tmp_path / "logs")
    made = logs_in(tmp_path / "logs")["cheaptalk/bargaining", "mute"]
    assert {one.scores["outcome"].reason for one in made.samples} == {"dropped"}
    assert all(one.scores["answers"].value["unparsable"] == 1 for one in made.samples)


def test_the_command_writes_them_to_a_new_folder(played: Store, cheaptalk: Command) -> None:
    wanted = ("store", "export", "mixed", "--store", played.name, "--format", "inspect", "--out")
    done = cheaptalk(*wanted, "logs")
    assert done.status == 0, done.err
    assert f"{len(logs_in(Path('logs')))} logs, " in done.out
    assert "already exists; choose a new folder" in cheaptalk(*wanted, "logs").said
    assert "not a .zip" in cheaptalk(*wanted, "logs.zip").said


def test_a_study_without_models_has_none(store: Store, tmp_path: Path) -> None:
    scripts = {"name": "scripts", "games": [{"game": "bargaining", "instances": 1}],
               "players": {"a": {"strategy": "linear"}, "b": {"strategy": "boulware"}}}  # fmt: skip
    ct.run(ct.studies.parse_study(scripts, "a test"), store)
    with pytest.raises(ct.CheaptalkError, match="scripts: no match of a model has ended"):
        write_inspect_logs(store, "scripts", tmp_path / "logs")
    assert not (tmp_path / "logs").exists()
