"""How many tokens and dollars models take, by the characters that they read and write."""

from collections.abc import Iterator, Mapping

from cheaptalk.models import ModelSettings, Usage
from cheaptalk.models.prices import Price, Prices
from cheaptalk.players import ModelSeat
from cheaptalk.studies.amounts import Amounts, Range
from cheaptalk.studies.rehearsing import Load
from cheaptalk.studies.sizes import reasoning_of

CHARACTERS = (6.0, 3.0)
"""Characters of a token: where there are few tokens, and where there are many."""
REASKED = 0.1
"""Share of calls that are made again because a reply was no legal answer, at the most."""
AROUND = (0, 60)
"""Tokens that a model writes around an answer in JSON."""
ALOUD = (0, 500)
"""Tokens that a model writes before its answer where it may answer in words."""
CACHEABLE = 1_024
"""Tokens of a beginning from which on providers remember it."""


def amounts_of(loads: tuple[Load, Load], spec: ModelSeat, prices: Prices) -> Amounts:
    """What a model takes, by what it reads and writes at the least and at the most.

    A schema is counted in the high amounts only: some servers do not bill it.
    """
    price = prices.of(spec.model)
    settings = spec.settings()
    few = _usage(loads[0], settings, price, spec, high=False)
    many = _usage(loads[1], settings, price, spec, high=True)
    more = 1 + REASKED
    return Amounts(
        Range(loads[0].calls, loads[1].calls * more),
        Range(few.input_tokens, many.input_tokens),
        Range(few.output_tokens, many.output_tokens),
        Range(few.reasoning_tokens, many.reasoning_tokens),
        Range(price.dollars(few), price.dollars(many)) if price else None,
    )


def _usage(
    load: Load, settings: ModelSettings, price: Price | None, spec: ModelSeat, *, high: bool
) -> Usage:
    """Tokens of one seat in one match: many, or few."""
    many = int(high)
    calls = load.calls * (1 + REASKED * many)
    asked = (load.asked + load.schema * many) / CHARACTERS[many] * (1 + REASKED * many)
    usual = "medium" if price is not None and price.reasons else "none"
    reasoning = reasoning_of(settings, unset=usual)[many]
    aloud = ALOUD if spec.chain_of_thought or spec.answers == "text" else AROUND
    answered = load.answered / max(load.calls, 1) / CHARACTERS[many] + aloud[many] + reasoning
    answered = min(answered, settings.max_tokens or answered)
    repeated = load.repeated / CHARACTERS[many]
    cached = 0 if many or repeated < CACHEABLE * load.calls else repeated
    return Usage(
        input_tokens=round(asked),
        output_tokens=round(answered * calls),
        cached_tokens=round(cached),
        reasoning_tokens=round(min(reasoning, answered) * calls),
    )


def reasoning_assumed(specs: Mapping[str, ModelSeat], prices: Prices) -> Iterator[str]:
    """What is assumed of how much models reason, a sentence for each by its label."""
    for label, spec in specs.items():
        price = prices.of(spec.model)
        by_itself = price is not None and price.reasons and spec.reasoning is None
        low, high = reasoning_of(spec.settings(), unset="medium" if by_itself else "none")
        if high:
            why = "which reasons by itself" if by_itself else f"reasoning {spec.reasoning}"
            yield f"{label} ({why}) reasons in {low:,} to {high:,} tokens before each answer"
        elif spec.reasoning is None and not (price and price.free):
            yield f"{label} does not reason unless it is told to"
