"""Money on the command line: prices, estimates and caps."""

import json
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
def no_file_of_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHEAPTALK_PRICES", raising=False)


def written(folder: Path, url: str | None = None, **changes: object) -> None:
    (folder / "small.yaml").write_text(yaml.safe_dump(spec(**with_model(url) | changes)))


def test_prices_are_listed_with_their_dates_and_where_they_are_from(
    cheaptalk: Command, tmp_path: Path
) -> None:
    (tmp_path / "mine.yaml").write_text(PRICE)
    listed = json.loads(cheaptalk("model", "prices", "--prices", "mine.yaml", "--json").out)
    assert (listed[0]["models"], listed[0]["source"]) == (["vllm/*"], "mine.yaml")
    assert all(one["as_of"] for one in listed)
    mine, theirs, none = json.loads(
        cheaptalk(
            "model",
            "prices",
            "vllm/a",
            "openai/gpt-4o",
            "openai/no",
            "--prices",
            "mine.yaml",
            "--json",
        ).out
    )
    assert (mine["input"], mine["cached_input"], mine["source"]) == (100, 100, "mine.yaml")
    assert (theirs["cached_input"], theirs["source"]) == (1.25, "cheaptalk")
    assert (none["input"], none["note"]) == (None, "unknown price")
    table = cheaptalk("model", "prices", "openai/no").out
    assert "unknown price" in table
    assert "?" in table
    assert "for the model write openai/gpt-4o" in cheaptalk("model", "prices", "gpt-4o").out


@pytest.mark.parametrize("width", [80, 120])
def test_every_price_stands_in_one_line_beside_its_model(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr(out.console, "width", width)
    monkeypatch.setattr(out.console, "soft_wrap", False)
    (tmp_path / "mine.yaml").write_text(PRICE)
    lines = cheaptalk("model", "prices", "--prices", "mine.yaml").out.splitlines()
    assert max(map(len, lines)) <= width
    rows = [line.split() for line in lines]
    assert ["openai/gpt-4o", "2.50", "1.25", "10.00", "0.50", "2025-06-15"] in rows
    assert ["openrouter/anthropic/claude-3.5-sonnet"] in rows
    assert ["from", "mine.yaml"] in rows


def test_an_editable_copy_is_written_once(cheaptalk: Command, tmp_path: Path) -> None:
    done = cheaptalk("model", "prices", "--init", "prices.yaml")
    assert done.out == "Prices written to prices.yaml; commands in this folder use it by default\n"
    assert (tmp_path / "prices.yaml").read_text() == own_prices().read_text()
    again = cheaptalk("model", "prices", "--init", "prices.yaml")
    assert (again.status, again.said) == (
        2, "error: prices.yaml already exists; choose another file name",
    )  # fmt: skip
    other = cheaptalk("model", "prices", "--init", "other.yaml")
    assert other.out == "Prices written to other.yaml; use it with --prices other.yaml\n"
    assert cheaptalk("model", "prices", "--prices", "other.yaml").status == 0


def test_a_bad_file_of_prices_is_refused_before_a_store_is_made(
    cheaptalk: Command, tmp_path: Path
) -> None:
    written(tmp_path)
    (tmp_path / "prices.yaml").write_text("- {models: [a]}")
    for command in ("plan", "run"):
        done = cheaptalk(command, "small.yaml", "--store", "s.sqlite")
        assert done.status == 2
        assert done.said.startswith("error: prices.yaml: entry 1: input: is missing")
    assert not (tmp_path / "s.sqlite").exists()


def test_a_plan_shows_an_estimate_where_models_play(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text(PRICE)
    written(tmp_path)
    done = cheaptalk("plan", "small.yaml").out
    assert "Estimate: 6 matches with models: " in done
    assert "a token has 3 to 6 characters" in done
    found = json.loads(cheaptalk("plan", "small.yaml", "--json").out)["estimate"]
    assert found["matches"] == 6
    assert 0 < found["dollars"][0] < found["dollars"][1]
    scripted = cheaptalk("plan", "quickstart")
    assert "Estimate" not in scripted.out
    assert json.loads(cheaptalk("plan", "quickstart", "--json").out)["estimate"] is None


def test_a_run_is_capped_says_what_it_took_and_goes_on(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text(PRICE)
    with Server() as server:
        written(tmp_path, server.url)
        capped = cheaptalk("run", "small.yaml", "--store", "s.sqlite", "--max-dollars", "0.1")
        assert capped.status == 1
        assert "small: estimated " in capped.err
        assert "halted: this run's limit of $0.10 would be exceeded ($0.0" in capped.out
        assert "  cost of the study so far: " in capped.out
        done = cheaptalk("resume", "small", "--store", "s.sqlite", "--json", "--max-calls", "900")
    cost = json.loads(done.out)["cost"]
    assert cost["calls"] == len(server.calls)
    assert cost["dollars"] == pytest.approx(
        (100 * cost["input_tokens"] + 400 * cost["output_tokens"]) / 1e6
    )
    assert (cost["unpriced_calls"], cost["unresolved_calls"]) == (0, 0)
    told = cheaptalk("status", "--store", "s.sqlite").out
    assert f"small: {cost['calls']} calls, " in told
    told_json = json.loads(cheaptalk("status", "--store", "s.sqlite", "--json").out)
    assert told_json["studies"][0]["cost"] == cost


def test_what_calls_took_that_timed_out_is_unknown(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch, no_waits: None
) -> None:
    monkeypatch.setenv("TOGETHER_API_KEY", "a key")
    changes = with_model() | {"players": {
        "tiny": {"model": "together/odd"}, "fair": {"strategy": "equal_split"},
    }}  # fmt: skip
    models = Canned(lambda call, number: late())
    with ct.Store.open(Path("s.sqlite"), create=True) as store:
        ct.run(study(**changes), store, models=models)
    count = len(models.calls)
    told = cheaptalk("status", "--store", "s.sqlite").out
    assert (
        f"small: {count} calls, {count} without token counts, {count} without a known price\n"
    ) in told


def test_dollars_for_a_model_without_a_price_are_refused(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    changes = with_model() | {"players": {
        "tiny": {"model": "openai/unheard-of"}, "fair": {"strategy": "equal_split"},
    }}  # fmt: skip
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(spec(**changes)))
    done = cheaptalk("run", "small.yaml", "--store", "s.sqlite", "--max-dollars", "1")
    assert done.status == 2
    assert "players.tiny: no price is known for openai/unheard-of" in done.said
    assert not (tmp_path / "s.sqlite").exists()
    nothing = cheaptalk("run", "small.yaml", "--max-dollars", "0")
    assert nothing.status == 2
    assert "expected an amount above 0, got 0" in nothing.said


def test_batches_are_announced_at_their_price_and_estimates_can_be_left_out(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    players = {"gpt": {"model": "openai/gpt-4o"}, "fair": {"strategy": "equal_split"}}
    made = spec(players=players, pairing=[["gpt", "fair"]], instances=3)
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(made))
    whole, batch = (
        json.loads(cheaptalk("plan", "small.yaml", "--json", *options).out)["estimate"]
        for options in ((), ("--batch",))
    )
    assert batch["dollars"] == pytest.approx([end / 2 for end in whole["dollars"]], rel=1e-4)
    assert batch["seconds"] == [3_600 * batch["batch_rounds"][0], 86_400 * batch["batch_rounds"][1]]
    said = cheaptalk("plan", "small.yaml", "--batch").out
    assert " sequential rounds of batches, in 1 h 0 min to " in said
    assert "Estimate" not in cheaptalk("plan", "small.yaml", "--no-estimate").out
    found = cheaptalk("plan", "small.yaml", "--no-estimate", "--json").out
    assert json.loads(found)["estimate"] is None
    written(tmp_path)
    refused = cheaptalk("plan", "small.yaml", "--batch")
    assert refused.status == 2
    assert "players.tiny: vllm/tiny does not support batches" in refused.said


def test_a_run_announces_nothing_where_no_estimate_is_wanted(
    cheaptalk: Command, tmp_path: Path
) -> None:
    (tmp_path / "prices.yaml").write_text(PRICE)
    with Server() as server:
        written(tmp_path, server.url)
        done = cheaptalk("run", "small.yaml", "--no-estimate", "--max-calls", "1")
        assert "estimated" not in done.err
        assert "halted: this run's limit of 1 call is exhausted" in done.out
