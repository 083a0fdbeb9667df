"""Money on the command line: prices, estimates, budgets and advice on how to continue."""

import re
from pathlib import Path

import pytest
import typer

import cheaptalk as ct
from cheaptalk.cli.shared.options import cap_of
from cheaptalk.cli.shared.printing import out
from cheaptalk.models.prices import built_in_prices
from tests.cli import CASES, write_study
from tests.conftest import Command
from tests.fakes import Canned, Server, late, study, with_model

PRICE = "- {models: [vllm/*], input: 100, output: 400, as_of: 2026-01-01}\n"


@pytest.fixture(autouse=True)
def no_price_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHEAPTALK_PRICES", raising=False)


def test_prices_are_listed_with_dates_and_sources(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("mine.yaml").write_text(PRICE)
    listed = cheaptalk("model prices --prices mine.yaml --json").json
    assert (listed[0]["models"], listed[0]["source"]) == (["vllm/*"], "mine.yaml")
    assert all(row["as_of"] for row in listed)
    custom, built_in, unknown = cheaptalk(
        "model prices vllm/a openai/gpt-4o openai/no --prices mine.yaml --json"
    ).json
    assert (custom["input"], custom["cached_input"], custom["source"]) == (100, 100, "mine.yaml")
    assert (built_in["cached_input"], built_in["source"]) == (1.25, "cheaptalk")
    assert (unknown["input"], unknown["note"]) == (None, "unknown price")
    table = cheaptalk("model prices openai/no").out
    assert "unknown price" in table
    assert "?" in table
    assert "for the model write openai/gpt-4o" in cheaptalk("model prices gpt-4o").out
    monkeypatch.setattr(out.console, "soft_wrap", False)
    for width in [80, 120]:
        monkeypatch.setattr(out.console, "width", width)
        lines = cheaptalk("model prices --prices mine.yaml").out.splitlines()
        assert max(map(len, lines)) <= width
        rows = [line.split() for line in lines]
        assert ["openai/gpt-4o", "2.50", "1.25", "10.00", "0.50", "2025-06-15"] in rows
        assert ["openrouter/anthropic/claude-3.5-sonnet"] in rows
        assert ["from", "mine.yaml"] in rows


def test_init_writes_an_editable_copy_once(cheaptalk: Command, tmp_path: Path) -> None:
    done = cheaptalk("model prices --init prices.yaml")
    assert done.out == "Prices written to prices.yaml; commands in this folder use it by default\n"
    assert (tmp_path / "prices.yaml").read_text() == built_in_prices().read_text()
    again = cheaptalk("model prices --init prices.yaml").rejection
    assert again == "error: prices.yaml already exists; choose another file name"
    other = cheaptalk("model prices --init other.yaml")
    assert other.out == "Prices written to other.yaml; use it with --prices other.yaml\n"
    assert cheaptalk("model prices --prices other.yaml").status == 0


def test_plan_shows_an_estimate_only_for_models(cheaptalk: Command, tmp_path: Path) -> None:
    write_study(**with_model())
    (tmp_path / "prices.yaml").write_text("- {models: [a]}")
    for command in ("plan", "run"):
        rejection = cheaptalk(command, "small.yaml").rejection
        assert rejection.startswith("error: prices.yaml: entry 1: input is missing")
    assert not (tmp_path / "cheaptalk.sqlite").exists()
    (tmp_path / "prices.yaml").write_text(PRICE)
    done = cheaptalk("plan small.yaml").out
    assert "Estimate: 6 matches with models: " in done
    assert "a token has 3 to 6 characters" in done
    estimate = cheaptalk("plan small.yaml --json").json["estimate"]
    assert estimate["matches"] == 6
    assert 0 < estimate["dollars"][0] < estimate["dollars"][1]
    scripted = cheaptalk("plan quickstart")
    assert "Estimate" not in scripted.out
    assert cheaptalk("plan quickstart --json").json["estimate"] is None


def test_capped_run_reports_its_cost_and_resumes(cheaptalk: Command) -> None:
    Path("prices.yaml").write_text(PRICE)
    with Server() as server:
        write_study(**with_model(server.url))
        capped = cheaptalk("run small.yaml --max-dollars 0.1")
        assert capped.status == 1
        assert "small: estimated " in capped.err
        halted = (
            r"halted: this run's limit of \$0\.10 could be exceeded by the next call, which may "
            r"need \$0\.\d+ \(\$0\.0\d+ used\)"
        )
        assert re.search(halted, " ".join(capped.out.split()))
        assert "  cost of the study so far: " in capped.out
        done = cheaptalk("resume small --json --max-calls 900")
    cost = done.json["cost"]
    assert cost["calls"] == len(server.calls)
    assert cost["dollars"] == pytest.approx(
        (100 * cost["input_tokens"] + 400 * cost["output_tokens"]) / 1e6
    )
    assert (cost["unpriced_calls"], cost["unresolved_calls"]) == (0, 0)
    output = cheaptalk("status").out
    assert f"small: {cost['calls']} calls, " in output
    data = cheaptalk("status --json").json
    assert data["studies"][0]["cost"] == cost


def test_timed_out_calls_have_unknown_usage(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch, no_waits: None
) -> None:
    monkeypatch.setenv("TOGETHER_API_KEY", "a key")
    models = Canned(lambda call, number: late())
    ct.run(study(**with_model(model="together/odd")), "cheaptalk.sqlite", models=models)
    count = len(models.calls)
    unknown = f"{count} without token counts, {count} without a known price"
    assert f"small: {count} calls, {unknown}\n" in cheaptalk("status").out


def test_batch_prices_are_estimated_and_estimates_can_be_disabled(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    write_study(**with_model(model="openai/gpt-4o"))
    single, batch = (
        cheaptalk("plan small.yaml --json", *options).json["estimate"]
        for options in ((), ("--batch",))
    )
    assert batch["dollars"] == pytest.approx([end / 2 for end in single["dollars"]], rel=1e-4)
    assert batch["seconds"] == [3_600 * batch["batch_rounds"][0], 86_400 * batch["batch_rounds"][1]]
    output = cheaptalk("plan small.yaml --batch").out
    assert " sequential rounds of batches, in 1 h 0 min to " in output
    assert "Estimate" not in cheaptalk("plan small.yaml --no-estimate").out
    assert cheaptalk("plan small.yaml --no-estimate --json").json["estimate"] is None
    write_study(**with_model())
    refused = cheaptalk("plan small.yaml --batch")
    assert "players.tiny: vllm/tiny does not support batches" in refused.rejection


def test_invalid_caps_raise_error() -> None:
    for caps, message in CASES["invalid_caps_raise_error"]:
        with pytest.raises(typer.BadParameter) as caught:
            cap_of(caps)
        assert message in caught.value.message


def test_invalid_amount_prints_error(cheaptalk: Command, tmp_path: Path) -> None:
    for option, message in CASES["invalid_amount_prints_error"]:
        write_study(**with_model())
        done = cheaptalk("run small.yaml", *option)
        assert f"--max-{option[0][6:]}" in done.rejection
        assert message in done.said
        assert not (tmp_path / "cheaptalk.sqlite").exists()


def test_plan_shows_budget_and_warns_if_it_is_too_small(cheaptalk: Command) -> None:
    budget = {"calls": 5, "tokens": 10**9, "per_match": {"calls": 1}}
    write_study(**with_model(), budget=budget)
    shown = " ".join(cheaptalk("plan small.yaml").out.split())
    assert "Budget: 5 calls, 1,000,000,000 tokens; per match: 1 call" in shown
    assert "- budget.calls allows 5 calls, but the study needs at least 6 calls: the run" in shown
    assert "- budget.per_match.calls allows 1 call, but a match may use up to " in shown
    assert "budget.tokens" not in shown
    data = cheaptalk("plan small.yaml --json").json
    assert data["budget"] == budget
    assert len(data["doubts"]) == 2
    write_study(**with_model())
    assert "Budget" not in cheaptalk("plan small.yaml").out


def test_plan_shows_cost_so_far_and_estimates_the_rest(cheaptalk: Command) -> None:
    with Server() as server:
        write_study(**with_model(server.url))
        full_estimate = cheaptalk("plan small.yaml --json").json["estimate"]
        cheaptalk("run small.yaml --max-calls 4 --concurrency 6")
        shown = cheaptalk("plan small.yaml").out
        data = cheaptalk("plan small.yaml --json").json
        assert "\ncost so far: 4 calls, " in shown
        assert "\nEstimate for the remaining matches: " in shown
        assert data["spent"]["calls"] == 4
        low, high = data["estimate"]["calls"]
        assert low <= full_estimate["calls"][0] - 4
        cheaptalk("resume small")
        assert low <= len(server.calls) - 4 <= high
        shown = cheaptalk("plan small.yaml").out
    assert f"cost so far: {len(server.calls)} calls, " in shown
    assert "Estimate" not in shown


def test_dollar_budget_requires_known_prices_in_plan_and_run(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    players = {"tiny": {"model": "openai/unheard-of"}, "fair": {"strategy": "equal_split"}}
    for budget in ({"dollars": 3}, {"per_match": {"dollars": 1}}):
        write_study(**with_model() | {"players": players}, budget=budget)
        refusals = [cheaptalk(command, "small.yaml") for command in ("plan", "run")]
        assert refusals[0] == refusals[1]
        assert refusals[0].status == 2
        assert "players.tiny: no price is known for openai/unheard-of" in refusals[0].said


def test_matches_at_their_cap_are_resumed_with_a_higher_cap(cheaptalk: Command) -> None:
    with Server() as server:
        changes = with_model(server.url) | {
            "games": [{"game": "bargaining", "fixed": {"horizon": 6}}],
            "pairing": [["tiny", "tiny"]],
            "instances": 6,
        }
        write_study(**changes, budget={"per_match": {"calls": 1}})
        done = cheaptalk("run small.yaml")
        advice = "increase budget.per_match in the study file, then run: cheaptalk run"
        assert (done.status, f"6 remaining; {advice}" in done.out) == (1, True)
        assert done.out.startswith("small: 0 of 6 matches ended; 6 failed (0 before, 0 now in ")
        assert "increase budget.per_match" in cheaptalk("resume small").out
        stopped = cheaptalk("run small.yaml --store t.sqlite --max-calls 1 --concurrency 1")
        larger = "of which 1 need a larger budget.per_match"
        assert f"6 remaining, {larger}; continue with: " in stopped.out
        write_study(**changes, budget={"per_match": {"calls": 50}})
        assert "write a report with: " in cheaptalk("run small.yaml").out
