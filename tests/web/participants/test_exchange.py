"""Exchange rates as participants read them, in all languages."""

from decimal import Decimal
from itertools import product

import pytest

from cheaptalk.rules import games
from cheaptalk.web.participants.exchange import example_of, rate_text, result_text
from cheaptalk.web.rooms.languages import languages


@pytest.mark.parametrize(
    ("currency", "code", "rate", "unit", "sentence"),
    [
        ("USD", "en", 0.02, "points", "1 point is worth $0.02."),
        ("USD", "en", 0.0001, "tokens", "100 tokens are worth $0.01."),
        ("EUR", "de", 0.013, "points", "10\xa0Punkte sind 0,13\xa0€ wert."),
        ("EUR", "es", 1 / 3, "tokens", "10\xa0fichas valen aproximadamente 3,33\xa0€."),
        ("CHF", "fr", 2, "points", "1\xa0point vaut 2,00\xa0CHF."),
        ("JPY", "en", 1.5, "gold", "A result of 1 is worth ¥1.50."),
        ("GBP", "en", 0.004, "dollars", "A result of £10 is worth £0.04."),
    ],
)
def test_rates_are_explained_by_example(
    currency: str, code: str, rate: float, unit: str, sentence: str
) -> None:
    language = languages(currency)[code]
    assert rate_text(language, rate, unit).replace("\xa0", " ") == sentence.replace("\xa0", " ")


def test_amounts_in_points_are_counted() -> None:
    language = languages("EUR", points=True)["en"]
    assert rate_text(language, 0.1, "dollars").replace("\xa0", " ") == "1 point is worth €0.10."
    assert result_text(language, 12.5, "dollars").replace("\xa0", " ") == "12.50 points"


@pytest.mark.parametrize("rate", [0, -0.05, 1e-9, 0.0123456, 1 / 7, 2 / 3, 0.995, 123.456, 1e6])
def test_examples_agree_with_the_rate(rate: float) -> None:
    """An example is exact, or shows at least three digits of the bonus."""
    example = example_of(rate)
    cents = 100 * Decimal(str(rate)) * example.result
    assert example.exact == (cents == example.cents)
    if not example.exact:
        assert abs(cents - example.cents) <= Decimal("0.005") * abs(cents)


def test_every_unit_is_explained_in_every_language() -> None:
    units = {unit for spec in games().values() for unit in spec.rules.payoff_units().values()}
    for (code, language), unit in product(languages("EUR").items(), units):
        sentence = rate_text(language, 0.02, unit)
        english = rate_text(languages("EUR")["en"], 0.02, unit)
        assert "0,02" in sentence or code == "en"
        assert (sentence == english) == (code == "en")
