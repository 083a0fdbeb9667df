"""Conversion of the number of characters in simulated matches to tokens and dollars."""

from collections.abc import Iterator, Mapping

from cheaptalk.models import Usage
from cheaptalk.models.local.speed import Speed
from cheaptalk.models.prices import Prices
from cheaptalk.models.settings import most_characters, most_tokens
from cheaptalk.models.usage import reasoning_of
from cheaptalk.players import ModelSeat
from cheaptalk.studies.estimates.amounts import Amounts, Range
from cheaptalk.studies.estimates.rehearsal import Load
from cheaptalk.studies.estimates.usage_history import UsageHistory

CHARACTERS = (6.0, 3.0)
"""Characters per token for the low and the high estimate."""
REASKED = 0.2
"""Maximum share of calls that are retried because a reply was invalid."""
AGAIN = 100
"""Tokens of the explanation in a retry, in addition to the invalid reply."""
AROUND = (0, 60)
"""Tokens that a model writes around a JSON answer."""
ALOUD = (0, 1_200)
"""Tokens of written reasoning before an answer."""
MESSAGE = 600
"""Maximum characters of a message; substitutes write shorter ones."""
WAIT = (0.3, 3.0)
"""Seconds until the first token, for a fast and a slow server."""
SPEED = (200.0, 40.0)
"""Output tokens per second, for a fast and a slow server."""
CACHEABLE = 1_024
"""Minimum tokens of a prompt prefix that providers cache."""


def amounts_of(
    loads: tuple[Load, Load],
    spec: ModelSeat,
    prices: Prices,
    *,
    batch: bool = False,
    history: UsageHistory | None = None,
    speed: Speed | None = None,
) -> Amounts:
    """Return a model's estimated usage from low and high estimates of its text volume.

    Schemas count only in the high amounts, because some servers do not bill them. The recorded
    usage of such calls, if there are enough replies, takes precedence over assumptions. In-process
    models, whose ``speed`` is measured, do not read the schemas that their answers follow.
    """
    price = prices.of(spec.model)
    usual = "medium" if price is not None and price.reasons else "none"
    minimum, maximum = reasoning_of(spec.settings(), unset=usual)
    low = _low_usage(loads[0], spec, minimum, history, speed)
    high = _high_usage(loads[1], spec, maximum, history, speed)
    return Amounts(
        Range(loads[0].calls, loads[1].calls * (1 + REASKED)),
        Range(low.input_tokens, high.input_tokens),
        Range(low.output_tokens, high.output_tokens),
        Range(low.reasoning_tokens, high.reasoning_tokens),
        Range(*(price.dollars(usage, batch=batch) for usage in (low, high))) if price else None,
    )


def seconds_of(amounts: Amounts, history: UsageHistory | None = None) -> Range:
    """Return the time that estimated calls take if they are made one after another."""
    calls = amounts.calls
    if history is not None:
        return Range(calls.low * history.seconds.low, calls.high * history.seconds.high)
    ends = zip(calls, WAIT, amounts.output_tokens, SPEED, strict=True)
    return Range(*(count * wait + tokens / speed for count, wait, tokens, speed in ends))


def seconds_in_process(
    amounts: Amounts, loads: tuple[Load, Load], speed: Speed, matches: int
) -> Range:
    """Return the time that an in-process model needs for estimated calls, in batches.

    It reads only the part of a prompt that an earlier call did not send. In the high estimate, the
    last of the ``matches`` is played without others.
    """
    fresh = [1 - load.repeated / max(load.sent, 1) for load in loads]
    reading = (share * count for share, count in zip(fresh, amounts.input_tokens, strict=True))
    writing = amounts.output_tokens.times(1 / speed.writing)
    shares = Range(1 / speed.chats, 1 / speed.chats + 1 / max(matches, 1))
    ends = zip(reading, writing, shares, strict=True)
    return Range(*(read / speed.reading + write * share for read, write, share in ends))


def _low_usage(
    load: Load,
    spec: ModelSeat,
    reasoning: float,
    history: UsageHistory | None,
    speed: Speed | None,
) -> Usage:
    if history is None:
        limit = most_tokens(spec.settings(), spec.model)
        per_token = CHARACTERS[0] if speed is None else 1 / speed.density
        sent, repeated = load.sent / per_token, load.repeated / per_token
        answer = load.answered / max(load.calls, 1) / per_token + reasoning
        answer = min(answer, limit or answer)
    else:
        sent = (load.sent + load.schema) * history.density.low
        repeated = load.repeated * history.density.low
        answer, reasoning = history.output.low, history.reasoning.low
    return Usage(
        input_tokens=round(sent),
        output_tokens=round(answer * load.calls),
        cached_tokens=0 if repeated < CACHEABLE * load.calls else round(repeated),
        reasoning_tokens=round(min(reasoning, answer) * load.calls),
    )


def _high_usage(
    load: Load,
    spec: ModelSeat,
    reasoning: float,
    history: UsageHistory | None,
    speed: Speed | None,
) -> Usage:
    calls = max(load.calls, 1)
    limit = most_tokens(spec.settings(), spec.model)
    earlier_answers = 0.0
    if spec.past_answers == "verbatim":
        earlier_answers = load.calls * max(load.calls - 1, 0) / 2
    if history is None:
        per_token, longest, schema = CHARACTERS[1], MESSAGE, load.schema
        thinking = 1 if spec.chain_of_thought or spec.answers == "text" else load.thinking / calls
        aloud = thinking * ALOUD[1] + (1 - thinking) * AROUND[1]
        if speed is not None:
            per_token, schema = 1 / speed.density, 0
            if load.schema and not reasoning:  # only an object, with texts of half their limit
                longest = min(MESSAGE, most_characters(spec.settings(), spec.model) // 2)
                aloud = 0
        written_tokens = (load.answered + load.written * longest) / calls / per_token + aloud
        answer = min(written_tokens + reasoning, limit or written_tokens + reasoning)
        written_tokens = min(written_tokens, answer)
        sent = (load.sent + schema + load.heard * longest) / per_token
        sent += earlier_answers * written_tokens
        retry_tokens = sent / calls + written_tokens + AGAIN
    else:
        answer, reasoning = history.output.high, history.reasoning.high
        answer = min(answer, limit or answer)
        length, density = history.text_length.high, history.density.high
        longer = max(length - load.answered / calls, 0) * calls / max(load.written, 1)
        characters = load.sent + load.schema + load.heard * min(longer, MESSAGE)
        characters += earlier_answers * length
        sent = characters * density
        retry_tokens = characters / calls * density + answer + AGAIN
    return Usage(
        input_tokens=round(sent + retry_tokens * load.calls * REASKED),
        output_tokens=round(answer * load.calls * (1 + REASKED)),
        reasoning_tokens=round(min(reasoning, answer) * load.calls * (1 + REASKED)),
    )


def reasoning_assumed(specs: Mapping[str, ModelSeat], prices: Prices) -> Iterator[str]:
    """Yield a sentence about the assumed reasoning tokens of each model."""
    for label, spec in specs.items():
        price = prices.of(spec.model)
        by_itself = price is not None and price.reasons and spec.reasoning is None
        low, high = reasoning_of(spec.settings(), unset="medium" if by_itself else "none")
        if high:
            why = "which reasons by default" if by_itself else f"reasoning {spec.reasoning}"
            yield f"{label} ({why}) reasons in {low:,} to {high:,} tokens before each answer"
        elif spec.reasoning is None and not (price and price.free):
            yield f"{label} does not reason by default"
