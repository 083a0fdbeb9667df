"""Recorded matches as Inspect logs, read by Inspect's own reader."""

from collections import Counter
from collections.abc import Iterator
from math import isnan
from pathlib import Path
from statistics import mean
from typing import Any, TypeAlias

import pytest

import cheaptalk as ct
from cheaptalk.adapters import write_inspect_logs
from cheaptalk.records import MatchRecord, Store
from tests.conftest import Command
from tests.fakes import study
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


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    study = ct.studies.parse_study(MIXED, "a test")
    with Store.open(tmp_path_factory.mktemp("played") / "store.sqlite", create=True) as store:
        ct.run(study, store, models=Models(), concurrency=1)
        yield store


@pytest.fixture(scope="module")
def logs(played: Store, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Any]:
    """Write the logs of the study, and return them by game and player."""
    folder = tmp_path_factory.mktemp("written") / "logs"
    done = write_inspect_logs(played, "mixed", folder)
    written = logs_in(folder)
    samples = sum(len(eval_log.samples) for eval_log in written.values())
    assert done.rows == {"logs": len(written), "samples": samples}
    return written


Sample: TypeAlias = tuple[MatchRecord, Any]


@pytest.fixture
def samples(played: Store, logs: dict[tuple[str, str], Any]) -> list[Sample]:
    """Return all samples, each with the record of its match."""
    records = {record.id: record for record in played.records("mixed", bodies=True)}
    return [
        (records[sample.metadata["match_id"]], sample)
        for eval_log in logs.values()
        for sample in eval_log.samples
    ]


def logs_in(folder: Path) -> dict[tuple[str, str], Any]:
    """Return the logs of a folder by game and player, validated by Inspect's own classes."""
    names = [info.name for info in log.list_eval_logs(str(folder))]
    logs = [log.read_eval_log(name, resolve_attachments=True) for name in names]
    for eval_log in logs:
        log.EvalLog.model_validate_json(eval_log.model_dump_json())
    return {(eval_log.eval.task, eval_log.eval.metadata["player"]): eval_log for eval_log in logs}


def test_logs_contain_messages_and_replies_verbatim(samples: list[Sample]) -> None:
    replies = 0
    for record, sample in samples:
        answers = [answer for answer in record.answers if answer.actor == sample.metadata["actor"]]
        calls = [call for answer in answers for call in answer.calls]
        model_events = [event for event in sample.events if event.event == "model"]
        for call, event in zip(calls, model_events, strict=True):
            sent = [{"role": message.role, "content": message.content} for message in event.input]
            assert sent == call["call"]["messages"]
            assert event.output.completion == call["reply"]["text"]
            assert event.output.usage.input_tokens == call["reply"]["usage"]["input_tokens"]
        kinds = [event.data["kind"] for event in sample.events if event.event == "info"]
        assert kinds == [answer.kind for answer in answers]
        if calls:
            assert sample.messages[-1].text == calls[-1]["reply"]["text"]
            (usage,) = sample.model_usage.values()
            assert usage.total_tokens == 110 * len(calls)
        replies += len(calls)
    assert replies > 20


def test_scores_are_payoffs_and_forfeits_count_for_their_player(samples: list[Sample]) -> None:
    seen: Counter[tuple[str, bool, int]] = Counter()
    for record, sample in samples:
        outcome, seat = sample.scores["outcome"].value, sample.metadata["actor"]
        player = record.label(record.seat_of(seat))
        seen[player, isnan(outcome["payoff"]), outcome["forfeited"]] += 1
        if record.outcome is not None:
            assert outcome["payoff"] == record.rules.payoffs(record.result().outcome)[seat]
    assert seen["able", False, 0] > 0
    assert seen["able", True, 0] > 0, "the other forfeited"
    assert {key for key in seen if key[2]} == {("mute", True, 1)}


def test_each_log_has_one_game_and_player_with_mean_payoffs(
    logs: dict[tuple[str, str], Any],
) -> None:
    both = ("cheaptalk/bargaining", "cheaptalk/persuasion")
    assert {key for key in logs if key[1] != "broken"} == {
        (game, player) for game in both for player in ("able", "mute")
    }
    result = logs["cheaptalk/bargaining", "able"]
    assert (result.eval.model, result.eval.model_base_url) == ("vllm/able", "http://127.0.0.1:1/v1")
    assert result.plan.config.temperature == 0.5
    paid = [sample.scores["outcome"].value["payoff"] for sample in result.samples]
    counted = [payoff for payoff in paid if not isnan(payoff)]
    payoff = next(score for score in result.results.scores if score.name == "payoff")
    assert payoff.metrics["mean"].value == pytest.approx(mean(counted))
    assert payoff.unscored_samples == len(paid) - len(counted) > 0
    assert len({sample.metadata["instance"] for sample in result.samples}) == 3


def test_dropped_matches_have_no_score(store: Store, tmp_path: Path) -> None:
    dropping = MIXED | {"unanswered": {"unparsable": "drop"}}
    ct.run(ct.studies.parse_study(dropping, "a test"), store, models=Models(), concurrency=1)
    write_inspect_logs(store, "mixed", tmp_path / "logs")
    result = logs_in(tmp_path / "logs")["cheaptalk/bargaining", "mute"]
    assert {sample.scores["outcome"].reason for sample in result.samples} == {"dropped"}
    assert all(sample.scores["answers"].value["unparsable"] == 1 for sample in result.samples)


def test_command_writes_logs_to_new_folder(played: Store, cheaptalk: Command) -> None:
    command = ("store", "export", "mixed", "--store", played.name, "--format", "inspect", "--out")
    done = cheaptalk(*command, "logs")
    assert done.status == 0, done.err
    assert f"{len(logs_in(Path('logs')))} logs, " in done.out
    assert "already exists; choose a new folder" in cheaptalk(*command, "logs").said
    assert "not a .zip" in cheaptalk(*command, "logs.zip").said


def test_study_without_models_raises_error(store: Store, tmp_path: Path) -> None:
    ct.run(study(), store)
    with pytest.raises(ct.CheaptalkError, match="small: no match of a model has ended"):
        write_inspect_logs(store, "small", tmp_path / "logs")
    assert not (tmp_path / "logs").exists()
