"""Money on the command line: prices, estimates and caps."""

import json
import re
from pathlib import Path

import pytest
import yaml

import cheaptalk as ct
from cheaptalk.cli.shared.printing import out
from cheaptalk.models.prices import own_prices
from tests.conftest import Command
from tests.fakes import Canned, Server, late, spec, study, with_model

PRICE = "- {models: [vllm/*], input: 100, output: 400, as_of: 2026-01-01}\n"


@pytest.fixture(autouse=True)
def no_price_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHEAPTALK_PRICES", raising=False)


def write_study(folder: Path, url: str | None = None, **changes: object) -> None:
    (folder / "small.yaml").write_text(yaml.safe_dump(spec(**with_model(url) | changes)))


def test_prices_are_listed_with_dates_and_sources(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(PRICE)
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


def test_prices_are_listed_one_per_line(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in [80, 120]:
        monkeypatch.setattr(out.console, "width", width)
        monkeypatch.setattr(out.console, "soft_wrap", False)
        (tmp_path / "mine.yaml").write_text(PRICE)
        lines = cheaptalk("model prices --prices mine.yaml").out.splitlines()
        assert max(map(len, lines)) <= width
        rows = [line.split() for line in lines]
        assert ["openai/gpt-4o", "2.50", "1.25", "10.00", "0.50", "2025-06-15"] in rows
        assert ["openrouter/anthropic/claude-3.5-sonnet"] in rows
        assert ["from", "mine.yaml"] in rows


def test_init_writes_an_editable_copy_once(cheaptalk: Command, tmp_path: Path) -> None:
    done = cheaptalk("model prices --init prices.yaml")
    assert done.out == "Prices written to prices.yaml; commands in this folder use it by default\n"
    assert (tmp_path / "prices.yaml").read_text() == own_prices().read_text()
    again = cheaptalk("model prices --init prices.yaml")
    assert (again.status, again.said) == (
        2,
        "error: prices.yaml already exists; choose another file name",
    )
    other = cheaptalk("model prices --init other.yaml")
    assert other.out == "Prices written to other.yaml; use it with --prices other.yaml\n"
    assert cheaptalk("model prices --prices other.yaml").status == 0


def test_invalid_price_file_is_rejected_before_a_store_exists(
    cheaptalk: Command, tmp_path: Path
) -> None:
    write_study(tmp_path)
    (tmp_path / "prices.yaml").write_text("- {models: [a]}")
    for command in ("plan", "run"):
        done = cheaptalk(command, "small.yaml", "--store", "s.sqlite")
        assert done.status == 2
        assert done.said.startswith("error: prices.yaml: entry 1: input is missing")
    assert not (tmp_path / "s.sqlite").exists()


def test_plan_shows_an_estimate_only_for_models(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text(PRICE)
    write_study(tmp_path)
    done = cheaptalk("plan small.yaml").out
    assert "Estimate: 6 matches with models: " in done
    assert "a token has 3 to 6 characters" in done
    estimate = cheaptalk("plan small.yaml --json").json["estimate"]
    assert estimate["matches"] == 6
    assert 0 < estimate["dollars"][0] < estimate["dollars"][1]
    scripted = cheaptalk("plan quickstart")
    assert "Estimate" not in scripted.out
    assert cheaptalk("plan quickstart --json").json["estimate"] is None


def test_capped_run_reports_its_cost_and_resumes(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text(PRICE)
    with Server() as server:
        write_study(tmp_path, server.url)
        capped = cheaptalk("run small.yaml --store s.sqlite --max-dollars 0.1")
        assert capped.status == 1
        assert "small: estimated " in capped.err
        assert re.search(
            r"halted: this run's limit of \$0\.10 could be exceeded by the next call, which may "
            r"need \$0\.\d+ \(\$0\.0\d+ used\)",
            " ".join(capped.out.split()),
        )
        assert "  cost of the study so far: " in capped.out
        done = cheaptalk("resume small --store s.sqlite --json --max-calls 900")
    cost = done.json["cost"]
    assert cost["calls"] == len(server.calls)
    assert cost["dollars"] == pytest.approx(
        (100 * cost["input_tokens"] + 400 * cost["output_tokens"]) / 1e6
    )
    assert (cost["unpriced_calls"], cost["unresolved_calls"]) == (0, 0)
    output = cheaptalk("status --store s.sqlite").out
    assert f"small: {cost['calls']} calls, " in output
    data = cheaptalk("status --store s.sqlite --json").json
    assert data["studies"][0]["cost"] == cost


def test_timed_out_calls_have_unknown_usage(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch, no_waits: None
) -> None:
    monkeypatch.setenv("TOGETHER_API_KEY", "a key")
    changes = with_model() | {
        "players": {"tiny": {"model": "together/odd"}, "fair": {"strategy": "equal_split"}}
    }
    models = Canned(lambda call, number: late())
    with ct.Store.open(Path("s.sqlite"), create=True) as store:
        ct.run(study(**changes), store, models=models)
    count = len(models.calls)
    output = cheaptalk("status --store s.sqlite").out
    assert (
        f"small: {count} calls, {count} without token counts, {count} without a known price\n"
    ) in output


def test_batch_prices_are_estimated_and_estimates_can_be_disabled(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    players = {"gpt": {"model": "openai/gpt-4o"}, "fair": {"strategy": "equal_split"}}
    plan = spec(players=players, pairing=[["gpt", "fair"]], instances=3)
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(plan))
    single, batch = (
        cheaptalk("plan small.yaml --json", *options).json["estimate"]
        for options in ((), ("--batch",))
    )
    assert batch["dollars"] == pytest.approx([end / 2 for end in single["dollars"]], rel=1e-4)
    assert batch["seconds"] == [3_600 * batch["batch_rounds"][0], 86_400 * batch["batch_rounds"][1]]
    output = cheaptalk("plan small.yaml --batch").out
    assert " sequential rounds of batches, in 1 h 0 min to " in output
    assert "Estimate" not in cheaptalk("plan small.yaml --no-estimate").out
    data = cheaptalk("plan small.yaml --no-estimate --json").out
    assert json.loads(data)["estimate"] is None
    write_study(tmp_path)
    refused = cheaptalk("plan small.yaml --batch")
    assert "players.tiny: vllm/tiny does not support batches" in refused.rejection
