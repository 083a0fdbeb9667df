"""Prices: validation, lookup by the longest pattern, and precedence of the user's file."""

from datetime import date
from pathlib import Path

import pytest

from cheaptalk.models import PROVIDERS, Reply, Usage
from cheaptalk.models.prices import (
    Price,
    PriceError,
    Prices,
    built_in_prices,
    load_prices,
    read_prices,
)

DAY = date(2026, 1, 1)
MILLION_TOKENS = Usage(input_tokens=10**6, output_tokens=10**6)


def price(*models: str, **changes: object) -> Price:
    values = {"models": models, "input": 1, "output": 2, "as_of": DAY} | changes
    return Price.model_validate(values)


@pytest.fixture(autouse=True)
def work_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder without a price file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CHEAPTALK_PRICES", raising=False)
    return tmp_path


def test_longest_pattern_wins_within_earliest_file() -> None:
    general, specific = price("openai/*"), price("openai/gpt-4o*")
    override = price("*/gpt-5")
    prices = Prices({"mine": (override,), "theirs": (specific, general)})
    assert prices.of("openai/gpt-4o-mini") is specific
    assert prices.of("openai/gpt-5") is override
    assert prices.of("openai/o3") is general
    assert prices.of("openai/gpt-4o@https://proxy.example/v1") is specific
    assert prices.of("gemini/gemini-9") is None


def test_cached_tokens_and_batches_have_own_rates() -> None:
    usage = Usage(input_tokens=1_000_000, cached_tokens=400_000, output_tokens=500_000)
    assert price("x").dollars(usage) == pytest.approx(2)
    discounted = price("x", cached_input=0.25, batch=0.5)
    assert discounted.dollars(usage) == pytest.approx(0.6 + 0.1 + 1)
    assert discounted.dollars(usage, batch=True) == pytest.approx(0.85)
    assert discounted.dollars(Usage(input_tokens=0, cached_tokens=9)) == 0


def test_cost_is_none_if_unknown() -> None:
    prices = Prices({"": (price("a"), price("free", input=0, output=0))})
    assert prices.paid("a", Reply(text="x", usage=MILLION_TOKENS)) == 3
    assert prices.paid("a", Reply(text="x")) is None, "the server counted nothing"
    assert prices.paid("a", Reply(failure="timed_out")) is None, "it may have been billed"
    assert prices.paid("free", Reply(failure="timed_out")) == 0
    assert prices.paid("a", Reply(failure="provider_error", status=500)) == 0
    assert prices.paid("b", Reply(failure="provider_error", status=401)) == 0
    assert prices.paid("free", Reply(text="x")) == 0
    assert prices.paid("b", Reply(text="x", usage=MILLION_TOKENS)) is None


def test_package_prices_are_dated_and_of_known_providers() -> None:
    listed = read_prices(built_in_prices())
    assert len(listed) > 20
    for entry in listed:
        assert date(2024, 1, 1) < entry.as_of <= date.today()
        assert entry.cached_input is None or entry.cached_input <= entry.input
        assert all(pattern.partition("/")[0] in PROVIDERS for pattern in entry.models)
    patterns = [pattern for entry in listed for pattern in entry.models]
    assert len(set(patterns)) == len(patterns)
    prices = load_prices()
    for model in ["ollama/llama3", "vllm/x@http://h/v1", "hf/tiny", "script/legal"]:
        local = prices.of(model)
        assert local is not None
        assert local.free
    assert prices.of("openai/gpt-4o-audio-preview") is None
    assert prices.of("openai/gpt-4o-2024-08-06") is prices.of("openai/gpt-4o")
    assert prices.of("openai/gpt-4o-2024-05-13") is not prices.of("openai/gpt-4o")


def test_user_file_is_found_in_folder_environment_or_argument(
    work_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def file(name: str, rate: float) -> Path:
        path = work_folder / name
        path.write_text(
            f"- {{models: [openai/gpt-4o], input: {rate}, output: 1, as_of: 2026-01-01}}\n"
        )
        return path

    def rate(prices_file: Path | None = None) -> float:
        entry = load_prices(prices_file).of("openai/gpt-4o")
        assert entry is not None
        return entry.input

    assert rate() == 2.5
    file("prices.yaml", 7)
    assert rate() == 7
    monkeypatch.setenv("CHEAPTALK_PRICES", str(file("other.yaml", 8)))
    assert rate() == 8
    assert rate(file("third.yaml", 9)) == 9
    sources = [source for _, source in load_prices().listed()]
    assert sources[0] == str(work_folder / "other.yaml")
    assert set(sources[1:]) == {"cheaptalk"}


def test_invalid_file_raises_error(work_folder: Path) -> None:
    path, rest = work_folder / "prices.yaml", "output: 1, as_of: 2026-01-01}"
    for text, problem in [
        ("input: 1", "a price file must be a list; create one to edit with: cheaptalk model pri"),
        (f"- {{models: [a], input: -1, {rest}", "entry 1: input: should"),
        (f"- {{models: [a], input: '1', {rest}", "should be a number"),
        ("- {models: [a], input: 1, output: 1}", "is missing"),
        (f"- {{models: [], input: 1, {rest}", "entry 1: models: should"),
        ("- {models: [a], imput: 1}", 'unknown key "imput" (did you mean "input"?)'),
        ("- {models: [a], models: [b]}", 'duplicate key "models"'),
        ("{", "cannot be read as YAML"),
    ]:
        path.write_text(text)
        with pytest.raises(PriceError) as error:
            load_prices()
        assert str(error.value).startswith("prices.yaml: ")
        assert problem in str(error.value)
    with pytest.raises(PriceError, match=r"^no.yaml: file not found$"):
        load_prices(Path("no.yaml"))
