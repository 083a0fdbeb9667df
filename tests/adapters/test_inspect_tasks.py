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
from cheaptalk.adapters.inspect.messages import inspect_part
from cheaptalk.mock_server import answer
from cheaptalk.rules import games
from tests.adapters import inspect_program as program

log = pytest.importorskip("inspect_ai.log", reason="needs the extra inspect")

FORGIVING = {"cheaptalk/deal_or_no_deal", "cheaptalk/item_bargaining"}
"""Games whose rules say what a match is worth in which a seat fails to answer."""


def inspect(*arguments: str, home: Path) -> None:
    """Run Inspect, whose own files go to a home of its own."""
    done = subprocess.run(
        [sys.executable, "-m", program.__name__, *arguments],
        env=os.environ | {"HOME": str(home), "XDG_DATA_HOME": str(home)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def read(folder: Path) -> dict[str, Any]:
    """The logs of a folder by task."""
    found = [log.read_eval_log(one.name) for one in log.list_eval_logs(str(folder))]
    assert [one.error for one in found if one.status != "success"] == []
    return {one.eval.task: one for one in found}


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the logs of the program's evaluations are, by its names."""
    folder = tmp_path_factory.mktemp("evaluated")
    inspect(str(folder), home=folder)
    return folder


def scores(sample: Any) -> tuple[dict[str, Any], dict[str, int]]:
    return sample.scores["outcome"].value, sample.scores["answers"].value


def test_illegal_answers_end_in_counted_forfeits_in_every_game(tmp_path: Path) -> None:
    mock = ("--model", "mockllm/model", "--display", "none", "--log-dir", str(tmp_path))
    inspect("--", "eval", *program.NAMES, *mock, "-T", "instances=1", home=tmp_path)
    found = read(tmp_path)
    assert found.keys() == set(program.NAMES)
    assert len(found) == len(games())
    for task, made in found.items():
        outcome, answers = scores(made.samples[0])
        assert answers["unparsable"] == sum(answers.values()) == 1, task
        assert outcome["forfeited"] == (task not in FORGIVING), task
        assert isnan(outcome["payoff"]) == (task not in FORGIVING), task
    means = {one.name: one for one in found["cheaptalk/bargaining"].results.scores}
    assert means["forfeited"].metrics["mean"].value == 1
    assert (means["payoff"].scored_samples, means["payoff"].unscored_samples) == (0, 1)


def test_legal_answers_are_paid_in_every_game_as_the_rules_say(evaluated: Path) -> None:
    found = read(evaluated / "legal")
    assert found.keys() == set(program.NAMES)
    for task, made in found.items():
        table = chat_environment(task.partition("/")[2])
        for number, sample in enumerate(made.samples, 1):
            now = table.reset(f"a seed {number}")
            while not now.over:
                now = table.step(answer([one.model_dump() for one in now.messages]))
            outcome, answers = scores(sample)
            assert (outcome["payoff"], outcome["forfeited"]) == (now.reward, 0), task
            assert sum(answers.values()) == answers["ok"] + answers["repaired"] > 0, task
            assert isnan(outcome["share"]) == (task == "cheaptalk/negotiation"), task
            assert not outcome["share"] < 0, task
            assert not outcome["share"] > 1, task


def test_the_model_reads_what_it_reads_in_studies(evaluated: Path) -> None:
    table = chat_environment("deal_or_no_deal", **program.TAGGED)
    now, wanted = table.reset("7 1"), list[Any]()
    while not now.over:
        wanted.append([one.model_dump() for one in now.messages])
        now = table.step(program.first_without_a_tag(wanted[-1])[0])
    assert json.loads((evaluated / "tagged" / "heard.txt").read_text()) == wanted
    assert "must begin with [message] or [propose]" in wanted[1][-1]["content"]
    (sample,) = read(evaluated / "tagged")["cheaptalk/deal_or_no_deal"].samples
    assert scores(sample)[1]["repaired"] == 1
    asked = [[one.id for one in event.input] for event in sample.events if event.event == "model"]
    assert asked[-1][:2] == asked[0], "a message that was sent before is the same one"


def test_a_share_is_of_what_the_rules_allow(evaluated: Path) -> None:
    made = read(evaluated / "half")["cheaptalk/bargaining"]
    outcome, _ = scores(made.samples[0])
    assert outcome == {"payoff": 100, "share": 0.5, "agreement": 1, "forfeited": 0}
    assert made.eval.metadata == {"seat": "bob", "unit": "dollars"}


@pytest.mark.parametrize("kind", ["truncated", "filtered"])
def test_a_reply_that_is_cut_off_or_filtered_is_counted_as_that(evaluated: Path, kind: str) -> None:
    (sample,) = read(evaluated / kind)["cheaptalk/bargaining"].samples
    outcome, answers = scores(sample)
    assert (answers[kind], sum(answers.values()), outcome["forfeited"]) == (1, 1, 1)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"seat": "carol"}, 'bargaining has no seat "carol"'),
        ({"other": "openai/gpt-4o"}, "must be scripted"),
        ({"parameters": {"money": -1}}, "money"),
        ({"instances": 0}, "at least 1, not 0"),
    ],
)
def test_what_cannot_be_played_is_said_before_it_is_run(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ct.CheaptalkError, match=why):
        inspect_task("bargaining", **wrong)


def test_without_inspect_it_says_what_to_install() -> None:
    with pytest.raises(ct.CheaptalkError, match=r'pip install "cheaptalk\[inspect\]"'):
        inspect_part("inspect_ai_that_is_not_there")
