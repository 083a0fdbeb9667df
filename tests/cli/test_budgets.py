"""Budgets on the command line: estimates, refusals and advice on how to continue."""

from pathlib import Path

import pytest
import typer
import yaml

from cheaptalk.cli.shared.options import cap_of
from tests.cli import CASES
from tests.conftest import Command
from tests.fakes import Server, spec, with_model

STORE = ("--store", "s.sqlite")


def write_study(folder: Path, url: str | None = None, **changes: object) -> None:
    (folder / "small.yaml").write_text(yaml.safe_dump(spec(**with_model(url) | changes)))


def test_invalid_caps_raise_error() -> None:
    for caps, message in CASES["invalid_caps_raise_error"]:
        with pytest.raises(typer.BadParameter) as caught:
            cap_of(caps)
        assert message in caught.value.message


def test_invalid_amount_prints_error(cheaptalk: Command, tmp_path: Path) -> None:
    for option, message in CASES["invalid_amount_prints_error"]:
        write_study(tmp_path)
        done = cheaptalk("run small.yaml", *STORE, *option)
        assert f"--max-{option[0][6:]}" in done.rejection
        assert message in done.said
        assert not (tmp_path / "s.sqlite").exists()


def test_plan_shows_budget_and_warns_if_it_is_too_small(cheaptalk: Command, tmp_path: Path) -> None:
    write_study(tmp_path, budget={"calls": 5, "tokens": 10**9, "per_match": {"calls": 1}})
    shown = " ".join(cheaptalk("plan small.yaml", *STORE).out.split())
    assert "Budget: 5 calls, 1,000,000,000 tokens; per match: 1 call" in shown
    assert "- budget.calls allows 5 calls, but the study needs at least 6 calls: the run" in shown
    assert "- budget.per_match.calls allows 1 call, but a match may use up to " in shown
    assert "budget.tokens" not in shown
    data = cheaptalk("plan small.yaml", *STORE, "--json").json
    assert data["budget"] == {"calls": 5, "tokens": 10**9, "per_match": {"calls": 1}}
    assert len(data["doubts"]) == 2
    write_study(tmp_path)
    assert "Budget" not in cheaptalk("plan small.yaml", *STORE).out


def test_plan_shows_cost_so_far_and_estimates_the_rest(cheaptalk: Command, tmp_path: Path) -> None:
    with Server() as server:
        write_study(tmp_path, server.url)
        full_estimate = cheaptalk("plan small.yaml", *STORE, "--json").json["estimate"]
        cheaptalk("run small.yaml", *STORE, "--max-calls", "4", "--concurrency", "6")
        shown = cheaptalk("plan small.yaml", *STORE).out
        data = cheaptalk("plan small.yaml", *STORE, "--json").json
        assert "\ncost so far: 4 calls, " in shown
        assert "\nEstimate for the remaining matches: " in shown
        assert data["spent"]["calls"] == 4
        low, high = data["estimate"]["calls"]
        assert low <= full_estimate["calls"][0] - 4
        cheaptalk("resume small", *STORE)
        assert low <= len(server.calls) - 4 <= high
        shown = cheaptalk("plan small.yaml", *STORE).out
    assert f"cost so far: {len(server.calls)} calls, " in shown
    assert "Estimate" not in shown


def test_dollar_budget_requires_known_prices_in_plan_and_run(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    players = {"tiny": {"model": "openai/unheard-of"}, "fair": {"strategy": "equal_split"}}
    for budget in ({"dollars": 3}, {"per_match": {"dollars": 1}}):
        write_study(tmp_path, players=players, budget=budget)
        refusals = [cheaptalk(command, "small.yaml", *STORE) for command in ("plan", "run")]
        assert refusals[0] == refusals[1]
        assert refusals[0].status == 2
        assert "players.tiny: no price is known for openai/unheard-of" in refusals[0].said


def test_matches_at_their_cap_are_resumed_with_a_higher_cap(
    cheaptalk: Command, tmp_path: Path
) -> None:
    with Server() as server:
        games = [{"game": "bargaining", "fixed": {"horizon": 6}}]
        changes = {"games": games, "pairing": [["tiny", "tiny"]], "instances": 6}
        write_study(tmp_path, server.url, budget={"per_match": {"calls": 1}}, **changes)
        done = cheaptalk("run small.yaml", *STORE)
        assert (
            "6 remaining; increase budget.per_match in the study file, then run: cheaptalk run"
            in done.out
        )
        assert done.status == 1
        assert done.out.startswith("small: 0 of 6 matches ended; 6 failed (0 before, 0 now in ")
        assert "increase budget.per_match" in cheaptalk("resume small", *STORE).out
        stopped = cheaptalk("run small.yaml --store t.sqlite --max-calls 1 --concurrency 1")
        assert (
            "6 remaining, of which 1 need a larger budget.per_match; continue with: " in stopped.out
        )
        write_study(tmp_path, server.url, budget={"per_match": {"calls": 50}}, **changes)
        assert "write a report with: " in cheaptalk("run small.yaml", *STORE).out
