"""The command that runs a model as judge on a study."""

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from aiohttp import web

import cheaptalk as ct
from cheaptalk.mock_models.formats import completion
from cheaptalk.records.judgements import ledger_id
from cheaptalk.records.store import schema
from tests.cli import CASES
from tests.conftest import Command
from tests.fakes import Server, uncounting
from tests.judges.judged import play
from tests.pages import Page

JUDGE = ("judge", "run", "talk", "--rubric", "hallucination", "--model", "script/legal")


@pytest.fixture(scope="module")
def negotiations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of noisy negotiators."""
    path = tmp_path_factory.mktemp("negotiations") / "cheaptalk.sqlite"
    with ct.Store.open(path, create=True) as store:
        play(store, instances=6)
    return path


@pytest.fixture
def cli(cheaptalk: Command, tmp_path: Path, negotiations: Path) -> Command:
    """Return the command line in a folder with a copy of the store."""
    shutil.copy(negotiations, tmp_path)
    return cheaptalk


def test_study_is_judged_reported_and_exported(cli: Command, tmp_path: Path) -> None:
    done = cli(*JUDGE, "--sample", "2")
    assert done.status == 0
    assert "in 2 of 2 matches" in done.out
    result = cli(*JUDGE, "--json").json
    assert (result["matches"], result["done"], result["halted"]) == (6, 6, None)
    assert result["before"] > 0
    assert sum(result["verdicts"].values()) == result["judged"] == result["cost"]["calls"]
    table = cli("judge run talk --results-only").out
    assert "hallucination by script/legal" in table
    assert "Cohen's kappa" in table
    (section,) = cli("judge run talk --results-only --json").json["judges"]
    assert section["players"][-1]["items"] == result["judged"] + result["before"]
    assert section["agreements"][0]["reference"] == "exact check"
    assert "judgements written to out" in cli("store export talk --out out").out
    rows = (tmp_path / "out" / "judgements.csv").read_text().splitlines()
    assert len(rows) == 1 + result["judged"] + result["before"]
    assert "judgements" in (tmp_path / "out" / "codebook.md").read_text()
    cli("store export talk --out lines --format jsonl")
    lines = (tmp_path / "lines" / "matches.jsonl").read_text().splitlines()
    judgements = [judgement for line in lines for judgement in json.loads(line)["judgements"]]
    assert len(judgements) == result["judged"] + result["before"]
    assert set(judgements[0]) == {"judge", "item", "kind", "verdict", "calls", "made"}


def test_judge_without_comparison_explains_why(cli: Command, tmp_path: Path) -> None:
    warmth = CASES["judge_without_comparison_explains_why"]
    (tmp_path / "warmth.yaml").write_text(json.dumps(warmth))
    judge = ("judge", "run", "talk", "--rubric", "warmth.yaml", "--model")
    cli(*judge, "script/legal")
    why = "no comparison with others: these games have no exact check for its rubric"
    assert why in " ".join(cli("judge run talk --results-only").out.split())
    cli("report talk --out alone.html")
    assert why.capitalize() in (tmp_path / "alone.html").read_text()
    cli(*judge, "{model: script/legal, seed: 2}")
    output = " ".join(cli("judge run talk --results-only").out.split())
    assert why not in output
    assert "compared with this judge below: warmth by script/legal (" in output


def test_report_and_status_include_judges_and_their_separate_cost(
    cli: Command, tmp_path: Path
) -> None:
    assert cli("report talk --out before.html").status == 0
    assert 'id="judges"' not in (tmp_path / "before.html").read_text()
    assert "judges" not in cli("status").out
    cost = cli(*JUDGE, "--json").json["cost"]
    (study,) = cli("status --json").json["studies"]
    assert study["judging"] == cost
    assert study["cost"]["calls"] == 0
    assert f"talk: cost of judging: {cost['calls']} calls, " in cli("status").out
    assert cli("report talk --out page.html").status == 0
    html = (tmp_path / "page.html").read_text()
    page = Page(html)
    assert 'id="judges"' in html
    assert "Cohen&#39;s kappa" in html
    assert "Too few instances for an interval: at least 10 are needed." in html
    name, verdicts = (name for name in page.tables if name.startswith("judge-"))
    assert verdicts == f"{name}-verdicts"
    assert not any("to" in row["Share found"].text for row in page.rows(name))
    assert f"Calls to judges{cost['calls']}in addition" in page.text
    with ct.Store.open("cheaptalk.sqlite") as store, store.transaction() as connection:
        connection.execute(sa.update(schema.members).values(current=False))
    (study,) = cli("status --json").json["studies"]
    assert study["judging"] == cost, "superseded matches were paid for too"


def test_unresolved_judge_calls_are_listed(cli: Command) -> None:
    key = {"request": 3, "actor": "one", "attempt": 0, "try": 1}
    state = {"state": "unresolved", "call": {"model": "vllm/x"}, "reply": None, "sent": 1.0}
    with ct.Store.open("cheaptalk.sqlite") as store:
        match = next(store.records("talk")).id
        call = {"match_id": ledger_id("aa8cc0d9", match)} | key | state
        with store.transaction() as connection:
            connection.execute(sa.insert(schema.calls), call)
    output = cli("status").out
    assert f"  judge aa8cc0 on match {match} request 3 one, attempt 1\n" in output


def test_budget_halts_the_judge(cli: Command) -> None:
    done = cli(*JUDGE, "--budget", "calls=3")
    advice = "6 remaining; continue with a larger --budget: "
    assert done.status == 1
    assert f"halted: the budget of 3 calls is exhausted\n{advice}" in done.out
    assert "cost of this judge for the study so far: 3 calls, " in done.out
    assert cli(*JUDGE, "--budget", "calls=1000,tokens=none").status == 0
    with Server(handler=uncounting) as server:
        model = ("--model", f"vllm/tiny@{server.url}")
        done = cli(*JUDGE[:-2], *model, "--budget", "tokens=99999", "--concurrency", "1")
    assert done.status == 1
    assert "; continue with --budget tokens=none,dollars=none,calls=N: " in done.out


def test_resume_command_repeats_the_options(cli: Command) -> None:
    typed = (
        "judge run talk --rubric hallucination --model '{model: script/legal, temperature: 0}' "
        "--sample 3 --seed 4 --budget calls=3 --budget tokens=9000 --no-cache"
    )
    last_line = cli(*shlex.split(typed)).out.splitlines()[-1]
    assert last_line.partition(": ")[2] == f"cheaptalk {typed}"
    assert "--json" not in cli(*JUDGE, "--dry-run").out


def test_estimate_is_printed_by_a_dry_run_and_before_priced_calls(
    cli: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    dear = (*JUDGE[:-1], "openai/gpt-4o", "--dry-run")
    shown = cli(*dear)
    assert shown.status == 0
    assert re.match(r"talk: \d+ items to judge in 6 matches, 0 judged earlier\n", shown.out)
    assert re.search(r"openai/gpt-4o: \d+ to \d+ calls, .* tokens in, .* out, \$0", shown.out)
    advice = "To judge, run: cheaptalk judge run talk --rubric hallucination --model openai/gpt"
    assert advice in shown.out
    estimate = cli(*dear, "--json").json
    assert estimate["items"] == estimate["calls"][0]
    assert estimate["dollars"][0] < estimate["dollars"][1]
    assert estimate["doubts"] == []
    short = cli(*dear, "--budget", "calls=5").out
    assert "--budget calls allows 5 calls, but the judge needs at least " in short
    assert "has not been judged" in cli("judge run talk --results-only").out
    price = "- {models: [script/legal], input: 5, output: 10, as_of: 2026-01-01}\n"
    Path("prices.yaml").write_text(price)
    stderr = cli(*JUDGE, "--prices", "prices.yaml").err
    assert re.search(r"talk: estimated \d+ to \d+ calls, .* \$", stderr)
    Path("prices.yaml").unlink()
    assert "nothing to judge: everything was judged before" in cli(*JUDGE, "--dry-run").out
    again = cli(*JUDGE)
    assert "nothing to judge: everything was judged before" in again.out
    assert "estimated" not in again.err


def test_items_without_verdict_are_retried_only_on_request(cli: Command) -> None:
    with Server(handler=refusing) as server:
        judge = (*JUDGE[:-1], f"{{model: vllm/shy@{server.url}, refusals: final}}", "--sample", "2")
        first = cli(*judge)
        count = len(server.calls)
        before = cli(*judge)
        preview = cli(*judge, "--dry-run").out
        assert len(server.calls) == count, "no automatic retries"
        assert cli(*judge, "--allow-failures").status == 0
        message = f"{count} items to judge in 2 matches, 0 judged earlier\n"
        assert message in cli(*judge, "--retry-invalid", "--dry-run").out
        again = cli(*judge, "--retry-invalid", "--json")
        assert len(server.calls) == 2 * count
    summary = f"talk: 0 judged now, 0 earlier, {count} without a valid verdict, in 2 of 2 matches\n"
    retry = shlex.join(["cheaptalk", *judge, "--retry-invalid"])
    advice = f"retry items without a valid verdict with: {retry}"
    for done in (first, before):
        assert done.status == 1
        assert done.out.startswith(f"{summary}  {count} without a valid verdict: refused\n")
        assert done.out.endswith(f"{advice}\n")
    nothing = "nothing to judge: everything was judged before, "
    nothing += f"{count} items without a valid verdict\n"
    assert nothing in before.out
    assert f"0 judged earlier, {count} without a valid verdict\n{nothing}{advice}\n" in preview
    result = again.json
    assert (again.status, result["no_verdict"], result["no_verdict_before"]) == (1, count, 0)


async def refusing(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    """Refuse every request."""
    data = completion(body, "")
    data["choices"][0]["message"] |= {"content": None, "refusal": "I would rather not."}
    return web.json_response(data)


def test_first_prompt_is_shown_without_a_model(cli: Command) -> None:
    shown = cli("judge run talk --rubric hallucination --show-prompt").out
    assert shown.startswith("system\nYou are an impartial judge")
    assert "> You are Player " in shown
    prompt = cli("judge run talk --rubric hallucination --show-prompt --json").json
    assert [message["role"] for message in prompt["messages"]] == ["system", "user"]
    assert "no verdict" not in cli("judge run talk --results-only").out


def test_invalid_judge_commands_print_errors(cli: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("TOGETHER_API_KEY", "a key")
    for arguments, message in [
        (("talk",), "missing option --rubric; to show earlier verdicts, use --results-only"),
        (("talk", "--rubric", "honesty"), "missing option --model"),
        ((*JUDGE[2:-1], "openai/gpt-4o"), "OPENAI_API_KEY"),
        (("tale", *JUDGE[3:]), 'no study "tale" (did you mean "talk"?)'),
        ((*JUDGE[2:], "--budget", "call=3"), 'unknown key "call" (did you mean "calls"?)'),
        ((*JUDGE[2:-1], "together/odd", "--budget", "dollars=3"), "no price is known for"),
        (("talk", "--rubric", "lies", "--model", "script/legal"), 'no rubric "lies"'),
    ]:
        assert message in cli("judge run", *arguments).rejection
