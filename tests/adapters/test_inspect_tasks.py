"""Games as tasks of Inspect, found by name and run by its own command and its own ``eval``."""

import json
import os
import subprocess
import sys
from math import isnan
from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.adapters import chat_environment, inspect_task
from cheaptalk.adapters.inspect import tasks
from cheaptalk.adapters.inspect.messages import inspect_part, to_reply
from cheaptalk.mock_models import answer
from cheaptalk.models import Failure, Reply
from tests.adapters import inspect_program as program

log = pytest.importorskip("inspect_ai.log", reason="needs the extra inspect")

FORGIVING = {"cheaptalk/deal_or_no_deal"}
"""Games whose rules define the payoffs of a match in which a seat fails to answer."""


def read(folder: Path) -> dict[str, Any]:
    """Return the logs of a folder by task."""
    logs = [log.read_eval_log(info.name) for info in log.list_eval_logs(str(folder))]
    assert [eval_log.error for eval_log in logs if eval_log.status != "success"] == []
    return {eval_log.eval.task: eval_log for eval_log in logs}


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the program's evaluations and return the folder of their logs."""
    folder = tmp_path_factory.mktemp("evaluated")
    done = subprocess.run(
        [sys.executable, "-m", program.__name__, str(folder)],
        env=os.environ | {"HOME": str(folder), "XDG_DATA_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def scores(sample: Any) -> tuple[dict[str, Any], dict[str, int]]:
    return sample.scores["outcome"].value, sample.scores["answers"].value


def test_every_game_is_registered_as_task() -> None:
    assert [f"cheaptalk/{name}" for name in tasks.TASKS] == program.NAMES


def test_illegal_answers_forfeit(evaluated: Path) -> None:
    logs = read(evaluated / "illegal")
    assert logs.keys() == set(program.SAMPLE)
    for task, eval_log in logs.items():
        outcome, answers = scores(eval_log.samples[0])
        assert answers["unparsable"] == sum(answers.values()) == 1, task
        assert outcome["forfeited"] == (task not in FORGIVING), task
        assert isnan(outcome["payoff"]) == (task not in FORGIVING), task
    means = {score.name: score for score in logs["cheaptalk/bargaining"].results.scores}
    assert means["forfeited"].metrics["mean"].value == 1
    assert (means["payoff"].scored_samples, means["payoff"].unscored_samples) == (0, 1)


def test_legal_answers_pay_according_to_rules(evaluated: Path) -> None:
    logs = read(evaluated / "legal")
    assert logs.keys() == set(program.SAMPLE)
    for task, eval_log in logs.items():
        table = chat_environment(task.partition("/")[2])
        for number, sample in enumerate(eval_log.samples, 1):
            state = table.reset(f"a seed {number}")
            while not state.over:
                state = table.step(answer([message.model_dump() for message in state.messages]))
            outcome, answers = scores(sample)
            assert (outcome["payoff"], outcome["forfeited"]) == (state.reward, 0), task
            assert sum(answers.values()) == answers["ok"] + answers["repaired"] > 0, task
            assert isnan(outcome["share"]) == (task == "cheaptalk/negotiation"), task
            assert not outcome["share"] < 0, task
            assert not outcome["share"] > 1, task


def test_model_sees_same_prompts_as_in_studies(evaluated: Path) -> None:
    table = chat_environment("deal_or_no_deal", **program.TAGGED)
    state, expected = table.reset("7 1"), list[Any]()
    while not state.over:
        expected.append([message.model_dump() for message in state.messages])
        state = table.step(program.omit_first_tag(expected[-1])[0])
    assert json.loads((evaluated / "tagged" / "heard.txt").read_text()) == expected
    assert "must begin with [message] or [propose]" in expected[1][-1]["content"]
    (sample,) = read(evaluated / "tagged")["cheaptalk/deal_or_no_deal"].samples
    assert scores(sample)[1]["repaired"] == 1
    ids = [[part.id for part in event.input] for event in sample.events if event.event == "model"]
    assert ids[-1][:2] == ids[0], "a message that was sent before is the same one"


def test_share_is_relative_to_attainable_payoff(evaluated: Path) -> None:
    eval_log = read(evaluated / "half")["cheaptalk/bargaining"]
    outcome, _ = scores(eval_log.samples[0])
    assert outcome == {"payoff": 100, "share": 0.5, "agreement": 1, "forfeited": 0}
    assert eval_log.eval.metadata == {"seat": "bob", "unit": "dollars"}


def test_truncated_filtered_and_empty_outputs_are_recognised() -> None:
    output = inspect_part("inspect_ai.model").ModelOutput
    for stop, reply in (
        ("stop", Reply(text="{}", finish="stop")),
        ("max_tokens", Reply(text="{}", finish="length")),
        ("content_filter", Reply(failure=Failure.FILTERED)),
    ):
        assert to_reply(output.from_content("mock", "{}", stop_reason=stop)) == reply
    assert to_reply(output()) == Reply(text="", finish="stop")


def test_missing_inspect_and_invalid_settings_raise_error() -> None:
    with pytest.raises(ct.CheaptalkError, match='bargaining has no seat "carol"'):
        inspect_task("bargaining", seat="carol")
    with pytest.raises(ct.CheaptalkError, match="at least 1, not 0"):
        inspect_task("bargaining", instances=0)
    with pytest.raises(ct.CheaptalkError, match=r'pip install "cheaptalk\[inspect\]"'):
        inspect_part("inspect_ai_that_is_not_there")
