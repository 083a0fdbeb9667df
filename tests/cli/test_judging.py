"""The command that has a model judge a study."""

import json
from pathlib import Path

import pytest

import cheaptalk as ct
from tests.conftest import Command
from tests.measures.judged import play

JUDGE = ("judge", "talk", "--judge", "hallucination", "--model", "script/legal")


@pytest.fixture
def talk(cheaptalk: Command, tmp_path: Path) -> Command:
    """The command line in a folder with a store of noisy negotiators."""
    with ct.Store.open(tmp_path / "cheaptalk.sqlite", create=True) as store:
        play(store, deals=6)
    return cheaptalk


def test_a_study_is_judged_reported_and_exported(talk: Command, tmp_path: Path) -> None:
    done = talk(*JUDGE, "--sample", "2")
    assert done.status == 0
    assert "in 2 of 2 matches" in done.out
    told = json.loads(talk(*JUDGE, "--json").out)
    assert (told["matches"], told["done"], told["halted"]) == (6, 6, None)
    assert told["before"] > 0
    assert sum(told["verdicts"].values()) == told["judged"] == told["cost"]["calls"]
    table = talk("judge", "talk", "--report").out
    assert "hallucination by script/legal" in table
    assert "Cohen's kappa" in table
    (section,) = json.loads(talk("judge", "talk", "--report", "--json").out)["judges"]
    assert section["players"][-1]["items"] == told["judged"] + told["before"]
    assert section["agreements"][0]["reference"] == "exact check"
    assert "judgements written to out" in talk("export", "talk", "--to", "out").out
    rows = (tmp_path / "out" / "judgements.csv").read_text().splitlines()
    assert len(rows) == 1 + told["judged"] + told["before"]
    assert "judgements" in (tmp_path / "out" / "codebook.md").read_text()
    talk("export", "talk", "--to", "lines", "--format", "jsonl")
    lines = (tmp_path / "lines" / "matches.jsonl").read_text().splitlines()
    said = [one for line in lines for one in json.loads(line)["judgements"]]
    assert len(said) == told["judged"] + told["before"]
    assert set(said[0]) == {"judge", "item", "kind", "verdict", "calls", "made"}


def test_the_reports_page_has_the_judges_too(talk: Command, tmp_path: Path) -> None:
    assert talk("report", "talk", "--out", "before.html").status == 0
    assert 'id="judges"' not in (tmp_path / "before.html").read_text()
    talk(*JUDGE)
    assert talk("report", "talk", "--out", "after.html").status == 0
    page = (tmp_path / "after.html").read_text()
    assert 'id="judges"' in page
    assert "Cohen&#39;s kappa" in page


def test_a_budget_halts_the_judge_and_says_so(talk: Command) -> None:
    done = talk(*JUDGE, "--budget", "calls=3")
    assert done.status == 1
    assert "halted: the budget of 3 calls is used up; raise --budget to go on" in done.out
    assert talk(*JUDGE, "--budget", "calls=1000").status == 0


def test_replies_come_from_the_cache_in_another_store(talk: Command, tmp_path: Path) -> None:
    talk(*JUDGE, "--cache-file", "replies.sqlite")
    with ct.Store.open(tmp_path / "other.sqlite", create=True) as store:
        play(store, deals=6)
    again = (*JUDGE, "--cache-file", "replies.sqlite", "--store", "other.sqlite", "--json")
    told = json.loads(talk(*again).out)
    assert told["judged"] > 20
    assert told["cost"]["calls"] == 0


def test_the_first_question_is_shown_without_a_model(talk: Command) -> None:
    shown = talk("judge", "talk", "--judge", "hallucination", "--ask").out
    assert shown.startswith("system\nYou are an impartial judge")
    assert "> You are Player " in shown
    told = json.loads(talk("judge", "talk", "--judge", "hallucination", "--ask", "--json").out)
    assert [message["role"] for message in told["messages"]] == ["system", "user"]
    assert "no verdict" not in talk("judge", "talk", "--report").out


@pytest.mark.parametrize(
    ("arguments", "saying"),
    [
        (("talk",), "name --judge, or see what was judged with --report"),
        (("talk", "--judge", "honesty"), "name --model, or see what was judged"),
        ((*JUDGE[1:-1], "openai/gpt-4o"), "OPENAI_API_KEY"),
        (("tale", *JUDGE[2:]), 'no study "tale" (did you mean "talk"?)'),
        ((*JUDGE[1:], "--budget", "call=3"), 'unknown key "call" (did you mean "calls"?)'),
        ((*JUDGE[1:-1], "together/odd", "--budget", "dollars=3"), "no price is known for"),
        (("talk", "--judge", "lies", "--model", "script/legal"), 'no rubric "lies"'),
    ],
)
def test_what_cannot_be_judged_is_told(
    talk: Command, arguments: tuple[str, ...], saying: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("TOGETHER_API_KEY", "a key")
    done = talk("judge", *arguments)
    assert done.status == 2
    assert saying in done.said
