"""Prices: read strictly, looked up by the longest pattern, the user's own first."""

from datetime import date
from pathlib import Path

import pytest

from cheaptalk.models import PROVIDERS, Reply, Usage
from cheaptalk.models.prices import Price, PriceError, Prices, load_prices, own_prices, read_prices

DAY = date(2026, 1, 1)
MUCH = Usage(input_tokens=10**6, output_tokens=10**6)


def price(*models: str, **changes: object) -> Price:
    values = {"models": models, "input": 1, "output": 2, "as_of": DAY} | changes
    return Price.model_validate(values)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without a file of prices."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CHEAPTALK_PRICES", raising=False)
    return tmp_path


def test_the_longest_pattern_counts_and_an_earlier_file_goes_before() -> None:
    general, special = price("openai/*"), price("openai/gpt-4o*")
    mine = price("*/gpt-5")
    prices = Prices({"mine": (mine,), "theirs": (special, general)})
    assert prices.of("openai/gpt-4o-mini") is special
    assert prices.of("openai/gpt-5") is mine
    assert prices.of("openai/o3") is general
    assert prices.of("openai/gpt-4o@https://proxy.example/v1") is special
    assert prices.of("gemini/gemini-9") is None


def test_cached_tokens_have_their_own_rate_and_batches_a_discount() -> None:
    usage = Usage(input_tokens=1_000_000, cached_tokens=400_000, output_tokens=500_000)
    assert price("x").dollars(usage) == pytest.approx(2)
    cheaper = price("x", cached_input=0.25, batch=0.5)
    assert cheaper.dollars(usage) == pytest.approx(0.6 + 0.1 + 1)
    assert cheaper.dollars(usage, batch=True) == pytest.approx(0.85)
    assert cheaper.dollars(Usage(input_tokens=0, cached_tokens=9)) == 0


def test_what_nobody_can_know_is_not_a_price() -> None:
    prices = Prices({"": (price("a"), price("free", input=0, output=0))})
    assert prices.paid("a", Reply(text="x", usage=MUCH)) == 3
    assert prices.paid("a", Reply(text="x")) is None, "the server counted nothing"
    assert prices.paid("a", Reply(failure="timed_out")) is None, "it may have been billed"
    assert prices.paid("free", Reply(failure="timed_out")) == 0
    assert prices.paid("a", Reply(failure="provider_error", status=500)) == 0
    assert prices.paid("b", Reply(failure="provider_error", status=401)) == 0
    assert prices.paid("free", Reply(text="x")) == 0
    assert prices.paid("b", Reply(text="x", usage=MUCH)) is None


def test_every_price_of_the_package_is_dated_and_for_a_known_provider() -> None:
    listed = read_prices(own_prices())
    assert len(listed) > 20
    for one in listed:
        assert date(2024, 1, 1) < one.as_of <= date.today()
        assert one.cached_input is None or one.cached_input <= one.input
        assert all(pattern.partition("/")[0] in PROVIDERS for pattern in one.models)
    patterns = [pattern for one in listed for pattern in one.models]
    assert len(set(patterns)) == len(patterns)


@pytest.mark.parametrize(
    "model", ["ollama/llama3", "vllm/x@http://h/v1", "hf/tiny", "script/legal"]
)
def test_what_runs_on_one_s_own_machine_costs_nothing(model: str) -> None:
    found = load_prices().of(model)
    assert found is not None
    assert found.dollars(MUCH) == 0


def test_a_family_s_price_is_not_taken_for_another_model() -> None:
    prices = load_prices()
    assert prices.of("openai/gpt-4o-audio-preview") is None
    dated = prices.of("openai/gpt-4o-2024-08-06")
    assert dated is prices.of("openai/gpt-4o")
    assert dated is not prices.of("openai/gpt-4o-2024-05-13")


def test_a_user_s_file_is_found_in_the_folder_in_the_environment_or_by_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def file(name: str, rate: float) -> Path:
        path = folder / name
        path.write_text(
            f"- {{models: [openai/gpt-4o], input: {rate}, output: 1, as_of: 2026-01-01}}\n"
        )
        return path

    def rate(named: Path | None = None) -> float:
        found = load_prices(named).of("openai/gpt-4o")
        assert found is not None
        return found.input

    assert rate() == 2.5
    file("prices.yaml", 7)
    assert rate() == 7
    monkeypatch.setenv("CHEAPTALK_PRICES", str(file("other.yaml", 8)))
    assert rate() == 8
    assert rate(file("third.yaml", 9)) == 9
    sources = [source for _, source in load_prices().listed()]
    assert sources[0] == str(folder / "other.yaml")
    assert set(sources[1:]) == {"cheaptalk"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "input: 1",
            "a price file must be a list; create one to edit with: cheaptalk model prices --init",
        ),
        ("- {models: [a], input: -1, output: 1, as_of: 2026-01-01}", "entry 1: input: should"),
        ("- {models: [a], input: '1', output: 1, as_of: 2026-01-01}", "should be a number"),
        ("- {models: [a], input: 1, output: 1}", "is missing"),
        ("- {models: [], input: 1, output: 1, as_of: 2026-01-01}", "entry 1: models: should"),
        ("- {models: [a], imput: 1}", 'unknown key "imput" (did you mean "input"?)'),
        ("- {models: [a], models: [b]}", 'duplicate key "models"'),
        ("{", "cannot be read as YAML"),
    ],
)
def test_a_file_that_is_none_is_refused(folder: Path, text: str, problem: str) -> None:
    path = folder / "prices.yaml"
    path.write_text(text)
    with pytest.raises(PriceError) as refused:
        load_prices()
    assert str(refused.value).startswith("prices.yaml: ")
    assert problem in str(refused.value)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(PriceError, match=r"^no.yaml: file not found$"):
        load_prices(Path("no.yaml"))
