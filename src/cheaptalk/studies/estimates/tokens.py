"""Tokens and dollars of models, from the characters that they read and write in rehearsals."""

from collections.abc import Iterator, Mapping

from cheaptalk.models import Usage
from cheaptalk.models.prices import Prices
from cheaptalk.models.settings import most_tokens
from cheaptalk.models.usage import reasoning_of
from cheaptalk.players import ModelSeat
from cheaptalk.studies.estimates.amounts import Amounts, Range
from cheaptalk.studies.estimates.experience import Experience
from cheaptalk.studies.estimates.rehearsal import Load

CHARACTERS = (6.0, 3.0)
"""Characters of a token: where there are few tokens, and where there are many."""
REASKED = 0.2
"""Share of calls that are made again because a reply was no legal answer, at the most."""
AGAIN = 100
"""Tokens of the reason with which a model is asked again, beside its own reply."""
AROUND = (0, 60)
"""Tokens that a model writes around an answer in JSON."""
ALOUD = (0, 1_200)
"""Tokens that a model writes before its answer where it may, or is told to, think in words."""
MESSAGE = 600
"""Characters of a message to others, at the most; stand-ins write short ones."""
WAIT = (0.3, 3.0)
"""Seconds until an answer begins, of a quick server and of a slow one."""
SPEED = (200.0, 40.0)
"""Tokens of an answer that come in a second, likewise."""
CACHEABLE = 1_024
"""Tokens of a beginning from which on providers remember it."""


def amounts_of(
    loads: tuple[Load, Load],
    spec: ModelSeat,
    prices: Prices,
    *,
    batch: bool = False,
    seen: Experience | None = None,
) -> Amounts:
    """What a model takes, by what it reads and writes at the least and at the most.

    A schema is counted in the high amounts only: some servers do not bill it.

    Args:
        batch: whether its calls go out in batches, which are cheaper.
        seen: what its replies to such calls took so far; None where there are too few.
    """
    price = prices.of(spec.model)
    usual = "medium" if price is not None and price.reasons else "none"
    least, most = reasoning_of(spec.settings(), unset=usual)
    if seen is None:
        few, many = _few(loads[0], spec, least), _many(loads[1], spec, most)
    else:
        few, many = _few_seen(loads[0], seen), _many_seen(loads[1], spec, seen)
    return Amounts(
        Range(loads[0].calls, loads[1].calls * (1 + REASKED)),
        Range(few.input_tokens, many.input_tokens),
        Range(few.output_tokens, many.output_tokens),
        Range(few.reasoning_tokens, many.reasoning_tokens),
        Range(*(price.dollars(usage, batch=batch) for usage in (few, many))) if price else None,
    )


def seconds_of(amounts: Amounts, seen: Experience | None = None) -> Range:
    """Seconds of all these calls, one after the other."""
    if seen is not None:
        return Range(amounts.calls.low * seen.seconds.low, amounts.calls.high * seen.seconds.high)
    low, high = (
        calls * wait + tokens / speed
        for calls, wait, tokens, speed in zip(
            amounts.calls, WAIT, amounts.output_tokens, SPEED, strict=True
        )
    )
    return Range(low, high)


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


def _few_seen(load: Load, seen: Experience) -> Usage:
    """Tokens of one seat in one match at the least, as its replies so far tell."""
    asked = load.asked + load.schema
    cached = load.repeated * seen.density.low
    return Usage(
        input_tokens=round(asked * seen.density.low),
        output_tokens=round(load.calls * seen.output.low),
        cached_tokens=0 if cached < CACHEABLE * load.calls else round(cached),
        reasoning_tokens=round(load.calls * min(seen.reasoning.low, seen.output.low)),
    )


def _many_seen(load: Load, spec: ModelSeat, seen: Experience) -> Usage:
    """Tokens of one seat in one match at the most, as its replies so far tell."""
    calls = max(load.calls, 1)
    most = most_tokens(spec.settings(), spec.model)
    answer = min(seen.output.high, most or seen.output.high)
    longer = max(seen.said.high - load.answered / calls, 0) * calls / max(load.written, 1)
    asked = load.asked + load.schema + load.heard * min(longer, MESSAGE)
    if spec.past_answers == "verbatim":
        asked += load.calls * max(load.calls - 1, 0) / 2 * seen.said.high
    again = asked / calls * seen.density.high + answer + AGAIN
    return Usage(
        input_tokens=round(asked * seen.density.high + again * load.calls * REASKED),
        output_tokens=round(answer * load.calls * (1 + REASKED)),
        reasoning_tokens=round(min(seen.reasoning.high, answer) * load.calls * (1 + REASKED)),
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
