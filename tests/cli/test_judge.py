"""The command that has a model judge a study."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from aiohttp import web

import cheaptalk as ct
from cheaptalk.mock_server.formats import completion
from cheaptalk.records.judgements import ledger_id
from cheaptalk.records.store import schema
from tests.conftest import Command
from tests.fakes import Server, uncounting
from tests.judges.judged import play
from tests.pages import Page

JUDGE = ("judge", "run", "talk", "--rubric", "hallucination", "--model", "script/legal")


@pytest.fixture
def talk(cheaptalk: Command, tmp_path: Path) -> Command:
    """The command line in a folder with a store of noisy negotiators."""
    with ct.Store.open(tmp_path / "cheaptalk.sqlite", create=True) as store:
        play(store, instances=6)
    return cheaptalk


def test_a_study_is_judged_reported_and_exported(talk: Command, tmp_path: Path) -> None:
    done = talk(*JUDGE, "--sample", "2")
    assert done.status == 0
    assert "in 2 of 2 matches" in done.out
    told = json.loads(talk(*JUDGE, "--json").out)
    assert (told["matches"], told["done"], told["halted"]) == (6, 6, None)
    assert told["before"] > 0
    assert sum(told["verdicts"].values()) == told["judged"] == told["cost"]["calls"]
    table = talk("judge", "run", "talk", "--results-only").out
    assert "hallucination by script/legal" in table
    assert "Cohen's kappa" in table
    (section,) = json.loads(talk("judge", "run", "talk", "--results-only", "--json").out)["judges"]
    assert section["players"][-1]["items"] == told["judged"] + told["before"]
    assert section["agreements"][0]["reference"] == "exact check"
    assert "judgements written to out" in talk("store", "export", "talk", "--out", "out").out
    rows = (tmp_path / "out" / "judgements.csv").read_text().splitlines()
    assert len(rows) == 1 + told["judged"] + told["before"]
    assert "judgements" in (tmp_path / "out" / "codebook.md").read_text()
    talk("store", "export", "talk", "--out", "lines", "--format", "jsonl")
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
    assert "Too few instances for an interval: at least 10 are needed." in page
    name, verdicts = (name for name in Page(page).tables if name.startswith("judge-"))
    assert verdicts == f"{name}-verdicts"
    assert not any("to" in row["Share found"].text for row in Page(page).rows(name))


def test_a_judge_without_anything_to_be_held_against_says_why(
    talk: Command, tmp_path: Path
) -> None:
    warmth = {
        "name": "warmth", "item": "match", "question": "Is it friendly?",
        "categories": {"cold": "it is not", "warm": "it is"},
    }  # fmt: skip
    (tmp_path / "warmth.yaml").write_text(json.dumps(warmth))
    judge = ("judge", "run", "talk", "--rubric", "warmth.yaml", "--model")
    talk(*judge, "script/legal")
    why = "no comparison with others: these games have no exact check for its rubric"
    assert why in " ".join(talk("judge", "run", "talk", "--results-only").out.split())
    talk("report", "talk", "--out", "alone.html")
    assert why.capitalize() in (tmp_path / "alone.html").read_text()
    talk(*judge, "{model: script/legal, seed: 2}")
    said = " ".join(talk("judge", "run", "talk", "--results-only").out.split())
    assert why not in said
    assert "compared with this judge below: warmth by script/legal (" in said


def test_what_judges_took_stands_beside_what_players_took(talk: Command, tmp_path: Path) -> None:
    assert "judges" not in talk("status").out
    taken = json.loads(talk(*JUDGE, "--json").out)["cost"]
    (study,) = json.loads(talk("status", "--json").out)["studies"]
    assert study["judging"] == taken
    assert study["cost"]["calls"] == 0
    assert f"talk: cost of judging: {taken['calls']} calls, " in talk("status").out
    talk("report", "talk", "--out", "page.html")
    text = Page((tmp_path / "page.html").read_text()).text
    assert f"Calls to judges{taken['calls']}in addition" in text
    with ct.Store.open("cheaptalk.sqlite") as store, store.transaction() as connection:
        connection.execute(sa.update(schema.members).values(current=False))
    (study,) = json.loads(talk("status", "--json").out)["studies"]
    assert study["judging"] == taken, "matches that were set aside were paid for too"


def test_an_unresolved_call_of_a_judge_is_listed_as_one(talk: Command) -> None:
    with ct.Store.open("cheaptalk.sqlite") as store:
        match = next(store.records("talk")).id
        with store.transaction() as connection:
            connection.execute(
                sa.insert(schema.calls),
                {
                    "match_id": ledger_id("aa8cc0d9", match), "request": 3, "actor": "one",
                    "attempt": 0, "try": 1, "state": "unresolved",
                    "call": {"model": "vllm/x"}, "reply": None, "sent": 1.0,
                },
            )  # fmt: skip
    said = talk("status").out
    assert f"  judge aa8cc0 on match {match} request 3 one, attempt 1\n" in said


def test_a_budget_halts_the_judge_and_says_so(talk: Command) -> None:
    done = talk(*JUDGE, "--budget", "calls=3")
    assert done.status == 1
    assert (
        "halted: the budget of 3 calls is exhausted\n6 remaining; continue with a larger --budget: "
        in done.out
    )
    assert "cost of this judge for the study so far: 3 calls, " in done.out
    assert talk(*JUDGE, "--budget", "calls=1000,tokens=none").status == 0


def test_a_judge_whose_tokens_nobody_counts_is_capped_by_calls(talk: Command) -> None:
    with Server(handler=uncounting) as server:
        model = ("--model", f"vllm/tiny@{server.url}")
        done = talk(*JUDGE[:-2], *model, "--budget", "tokens=99999", "--concurrency", "1")
    assert done.status == 1
    assert "; continue with --budget tokens=none,dollars=none,calls=N: " in done.out


def test_the_command_to_go_on_with_is_the_one_that_was_typed(talk: Command) -> None:
    model = "{model: script/legal, temperature: 0}"
    typed = (
        "judge", "run", "talk", "--rubric", "hallucination", "--model", model, "--sample", "3",
        "--seed", "4", "--budget", "calls=3", "--budget", "tokens=9000", "--no-cache",
    )  # fmt: skip
    said = talk(*typed).out.splitlines()[-1]
    again = shlex.split(said.partition(": ")[2])
    assert again == ["cheaptalk", *typed]
    assert "--json" not in talk(*JUDGE, "--dry-run").out


def test_a_dry_run_says_what_it_takes_and_asks_nothing(
    talk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    dear = (*JUDGE[:-1], "openai/gpt-4o", "--dry-run")
    shown = talk(*dear)
    assert shown.status == 0
    assert re.match(r"talk: \d+ items to judge in 6 matches, 0 judged earlier\n", shown.out)
    assert re.search(r"openai/gpt-4o: \d+ to \d+ calls, .* tokens in, .* out, \$0", shown.out)
    assert "To judge, run: cheaptalk judge run talk --rubric hallucination --model openai/gpt" in (
        shown.out
    )
    told = json.loads(talk(*dear, "--json").out)
    assert told["items"] == told["calls"][0]
    assert told["dollars"][0] < told["dollars"][1]
    assert told["doubts"] == []
    short = talk(*dear, "--budget", "calls=5").out
    assert "--budget calls allows 5 calls, but the judge needs at least " in short
    assert "has not been judged" in talk("judge", "run", "talk", "--results-only").out
    talk(*JUDGE)
    assert "nothing to judge: everything was judged before" in talk(*JUDGE, "--dry-run").out
    assert "nothing to judge: everything was judged before" in talk(*JUDGE).out


def test_who_costs_something_says_how_much_before(talk: Command, tmp_path: Path) -> None:
    dear = "- {models: [script/legal], input: 5, output: 10, as_of: 2026-01-01}\n"
    (tmp_path / "dear.yaml").write_text(dear)
    said = talk(*JUDGE, "--prices", "dear.yaml").err
    assert re.search(r"talk: estimated \d+ to \d+ calls, .* \$", said)
    assert "estimated" not in talk(*JUDGE).err


def test_what_got_no_verdict_is_told_each_time_and_asked_again_where_that_is_wanted(
    talk: Command,
) -> None:
    with Server(handler=refusing) as server:
        judge = (
            *JUDGE[:-1], f"{{model: vllm/shy@{server.url}, refusals: final}}", "--sample", "2",
        )  # fmt: skip
        first = talk(*judge)
        count = len(server.calls)
        before = talk(*judge)
        foretold = talk(*judge, "--dry-run").out
        assert len(server.calls) == count, "nothing is asked again by itself"
        assert talk(*judge, "--allow-failures").status == 0
        asked = f"{count} items to judge in 2 matches, 0 judged earlier\n"
        assert asked in talk(*judge, "--retry-invalid", "--dry-run").out
        again = talk(*judge, "--retry-invalid", "--json")
        assert len(server.calls) == 2 * count
    without = f"talk: 0 judged now, 0 earlier, {count} without a valid verdict, in 2 of 2 matches\n"
    retry = shlex.join(["cheaptalk", *judge, "--retry-invalid"])
    cure = f"retry items without a valid verdict with: {retry}"
    for done in (first, before):
        assert done.status == 1
        assert done.out.startswith(f"{without}  {count} x no valid verdict: refused\n")
        assert done.out.endswith(f"{cure}\n")
    nothing = (
        f"nothing to judge: everything was judged before, {count} items without a valid verdict\n"
    )
    assert nothing in before.out
    assert f"0 judged earlier, {count} without a valid verdict\n{nothing}{cure}\n" in foretold
    told = json.loads(again.out)
    assert (again.status, told["no_verdict"], told["no_verdict_before"]) == (1, count, 0)


async def refusing(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    """Decline whatever is asked."""
    data = completion(body, "")
    data["choices"][0]["message"] |= {"content": None, "refusal": "I would rather not."}
    return web.json_response(data)


def test_replies_come_from_the_cache_in_another_store(talk: Command, tmp_path: Path) -> None:
    talk(*JUDGE, "--cache-file", "replies.sqlite")
    with ct.Store.open(tmp_path / "other.sqlite", create=True) as store:
        play(store, instances=6)
    again = (*JUDGE, "--cache-file", "replies.sqlite", "--store", "other.sqlite", "--json")
    told = json.loads(talk(*again).out)
    assert told["judged"] > 20
    assert told["cost"]["calls"] == 0


def test_the_first_question_is_shown_without_a_model(talk: Command) -> None:
    shown = talk("judge", "run", "talk", "--rubric", "hallucination", "--show-prompt").out
    assert shown.startswith("system\nYou are an impartial judge")
    assert "> You are Player " in shown
    told = json.loads(
        talk("judge", "run", "talk", "--rubric", "hallucination", "--show-prompt", "--json").out
    )
    assert [message["role"] for message in told["messages"]] == ["system", "user"]
    assert "no verdict" not in talk("judge", "run", "talk", "--results-only").out


@pytest.mark.parametrize(
    ("arguments", "saying"),
    [
        (("talk",), "missing option --rubric; to show earlier verdicts, use --results-only"),
        (("talk", "--rubric", "honesty"), "missing option --model"),
        ((*JUDGE[2:-1], "openai/gpt-4o"), "OPENAI_API_KEY"),
        (("tale", *JUDGE[3:]), 'no study "tale" (did you mean "talk"?)'),
        ((*JUDGE[2:], "--budget", "call=3"), 'unknown key "call" (did you mean "calls"?)'),
        ((*JUDGE[2:-1], "together/odd", "--budget", "dollars=3"), "no price is known for"),
        (("talk", "--rubric", "lies", "--model", "script/legal"), 'no rubric "lies"'),
    ],
)
def test_what_cannot_be_judged_is_told(
    talk: Command, arguments: tuple[str, ...], saying: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("TOGETHER_API_KEY", "a key")
    done = talk("judge", "run", *arguments)
    assert done.status == 2
    assert saying in done.said
