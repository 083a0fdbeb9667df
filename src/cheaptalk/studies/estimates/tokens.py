"""Tokens and dollars of models, from the characters that they read and write in rehearsals."""

from collections.abc import Iterator, Mapping

from cheaptalk.models import Usage
from cheaptalk.models.prices import Prices
from cheaptalk.models.settings import most_tokens
from cheaptalk.models.usage import reasoning_of
from cheaptalk.players import ModelSeat
from cheaptalk.studies.estimates.amounts import Amounts, Range
from cheaptalk.studies.estimates.rehearsal import Load

CHARACTERS = (6.0, 3.0)
"""Characters of a token: where there are few tokens, and where there are many."""
REASKED = 0.25
"""Share of calls that are made again because a reply was no legal answer, at the most."""
AGAIN = 100
"""Tokens of the reason with which a model is asked again, beside its own reply."""
AROUND = (0, 60)
"""Tokens that a model writes around an answer in JSON."""
ALOUD = (0, 1_500)
"""Tokens that a model writes before its answer where it may, or is told to, think in words."""
MESSAGE = 800
"""Characters of a message to others, at the most; stand-ins write short ones."""
CACHEABLE = 1_024
"""Tokens of a beginning from which on providers remember it."""


def amounts_of(
    loads: tuple[Load, Load], spec: ModelSeat, prices: Prices, *, batch: bool = False
) -> Amounts:
    """What a model takes, by what it reads and writes at the least and at the most.

    A schema is counted in the high amounts only: some servers do not bill it.

    Args:
        batch: whether its calls go out in batches, which are cheaper.
    """
    price = prices.of(spec.model)
    usual = "medium" if price is not None and price.reasons else "none"
    least, most = reasoning_of(spec.settings(), unset=usual)
    few, many = _few(loads[0], spec, least), _many(loads[1], spec, most)
    return Amounts(
        Range(loads[0].calls, loads[1].calls * (1 + REASKED)),
        Range(few.input_tokens, many.input_tokens),
        Range(few.output_tokens, many.output_tokens),
        Range(few.reasoning_tokens, many.reasoning_tokens),
        Range(*(price.dollars(usage, batch=batch) for usage in (few, many))) if price else None,
    )


def _few(load: Load, spec: ModelSeat, reasoning: int) -> Usage:
    """Tokens of one seat in one match at the least."""
    most = most_tokens(spec.settings(), spec.model)
    answer = load.answered / max(load.calls, 1) / CHARACTERS[0] + reasoning
    answer = min(answer, most or answer)
    repeated = load.repeated / CHARACTERS[0]
    return Usage(
        input_tokens=round(load.asked / CHARACTERS[0]),
        output_tokens=round(answer * load.calls),
        cached_tokens=0 if repeated < CACHEABLE * load.calls else round(repeated),
        reasoning_tokens=round(min(reasoning, answer) * load.calls),
    )


def _many(load: Load, spec: ModelSeat, reasoning: int) -> Usage:
    """Tokens of one seat in one match at the most."""
    most = most_tokens(spec.settings(), spec.model)
    calls = max(load.calls, 1)
    thinking = 1 if spec.chain_of_thought or spec.answers == "text" else load.thinking / calls
    aloud = thinking * ALOUD[1] + (1 - thinking) * AROUND[1]
    said = (load.answered + load.written * MESSAGE) / calls / CHARACTERS[1] + aloud
    answer = min(said + reasoning, most or said + reasoning)
    asked = (load.asked + load.schema + load.heard * MESSAGE) / CHARACTERS[1]
    if spec.past_answers == "verbatim":
        asked += load.calls * max(load.calls - 1, 0) / 2 * min(said, answer)
    again = asked / calls + min(said, answer) + AGAIN
    return Usage(
        input_tokens=round(asked + again * load.calls * REASKED),
        output_tokens=round(answer * load.calls * (1 + REASKED)),
        reasoning_tokens=round(min(reasoning, answer) * load.calls * (1 + REASKED)),
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
