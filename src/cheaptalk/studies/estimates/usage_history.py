"""Recorded usage of models, from which the remaining usage of a study is extrapolated."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import sqlalchemy as sa

from cheaptalk.models import ModelCall, Reply
from cheaptalk.models.usage import characters
from cheaptalk.players import ModelSeat
from cheaptalk.records import Store
from cheaptalk.records.record import SETTLED
from cheaptalk.records.store import schema
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.records.store.reader import members_of
from cheaptalk.studies.estimates.amounts import Range

ENOUGH = 20
"""Minimum number of replies or ended matches for an extrapolation."""
MATCHES = 60
"""Number of latest ended matches whose replies are read."""
REPLIES = 1_000
"""Number of latest replies read from matches in progress."""
SURE = 3.0
"""Half-width of an extrapolated mean, in standard errors."""
DRIFT = 0.15
"""Share by which later calls may differ from earlier ones."""


class CallType(NamedTuple):
    """A type of call: a model with its settings, the answer format and the game."""

    model: str
    game: str
    route: str
    settings: str

    @classmethod
    def of(cls, spec: ModelSeat, game: str) -> "CallType":
        """Return the type of the calls that a model player makes in a game."""
        return cls(spec.model, game, spec.route, spec.settings().model_dump_json())


class UsageSample(NamedTuple):
    """Recorded usage of one call: characters sent, tokens, answer characters and seconds."""

    sent: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    text_length: int
    seconds: float


@dataclass(frozen=True)
class UsageHistory:
    """Ranges of the predicted mean usage per reply, for one type of call.

    Attributes:
        density: input tokens per character.
        output: output tokens, including reasoning.
        text_length: characters of an answer's text.
    """

    replies: int
    density: Range
    output: Range
    reasoning: Range
    text_length: Range
    seconds: Range

    @classmethod
    def of(cls, samples: Sequence[UsageSample]) -> "UsageHistory":
        sent, input_tokens, *columns = zip(*samples, strict=True)
        density = sum(input_tokens) / max(sum(sent), 1)
        ends = Range(density / (1 + DRIFT), density * (1 + DRIFT))
        return cls(len(samples), ends, *map(mean_of, columns))


def mean_of(values: Sequence[float]) -> Range:
    """Return a range that is likely to contain the mean of future values.

    The high end is the larger of the mean plus :data:`SURE` standard errors and, because answer
    lengths have heavy tails, the bound for a lognormal mean (Cox's method: Zhou and Gao 1997).

    >>> few, many = mean_of([1.0, 2.0, 3.0] * 7), mean_of([1.0, 2.0, 3.0] * 700)
    >>> few.low < many.low < 2 < many.high < few.high
    True
    """
    count = len(values)
    mean = sum(values) / count
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / max(count - 1, 1) / count)
    high = mean + SURE * error
    logs = [math.log(value) for value in values if value > 0]
    if len(logs) > 1:
        middle = sum(logs) / len(logs)
        spread = sum((log - middle) ** 2 for log in logs) / (len(logs) - 1)
        doubt = math.sqrt(spread / len(logs) + spread**2 / (2 * (len(logs) - 1)))
        tail = len(logs) / count * math.exp(min(middle + spread / 2 + 2 * doubt, 30))
        high = max(high, min(tail, 3 * high))
    return Range(max(0.0, mean - SURE * error) / (1 + DRIFT), high * (1 + DRIFT))


class Table(NamedTuple):
    """Digests of a game configuration and of its players, ordered by seat name."""

    configuration: str
    players: tuple[str, ...]


class Lengths(NamedTuple):
    """Number of ended matches, with the sum and the sum of squares of their calls per match."""

    matches: int
    calls: float
    squares: float


class UsageHistories(NamedTuple):
    """The usage recorded in a store for a study in progress.

    Attributes:
        calls: usage by call type, for types with enough replies.
        lengths: calls of the study's ended matches. Tables with more matches in progress than ended
            matches are omitted, because short matches end first.
    """

    calls: Mapping[CallType, UsageHistory] = MappingProxyType({})
    lengths: Mapping[Table, Lengths] = MappingProxyType({})


NONE = UsageHistories()
NO_MATCHES = Lengths(0, 0.0, 0.0)


@reads
def usage_histories(store: StoreLike, study: StudyLike, models: Collection[str]) -> UsageHistories:
    """Read the models' usage in all studies of a store, and the match lengths of one study."""
    assert isinstance(store, Store)
    assert isinstance(study, str)
    samples: defaultdict[CallType, list[UsageSample]] = defaultdict(list)
    for call, reply in _replies(store, models):
        model_call = ModelCall.model_validate(call)
        route = model_call.form.route if model_call.form else None
        answer = Reply.model_validate(reply)
        if route is None or answer.text is None or answer.cached or answer.uncounted:
            continue
        settings, usage = model_call.settings.model_dump_json(), answer.usage
        key = CallType(model_call.model, model_call.game or "", route, settings)
        tokens = usage.input_tokens, usage.output_tokens, usage.reasoning_tokens
        sample = UsageSample(characters(model_call), *tokens, len(answer.text), answer.seconds)
        samples[key].append(sample)
    calls = {key: UsageHistory.of(group) for key, group in samples.items() if len(group) >= ENOUGH}
    return UsageHistories(calls, _lengths(store, study))


def _replies(
    store: Store, models: Collection[str]
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield the latest calls of given models with their replies, from live and ended matches."""
    calls, matches = schema.calls, schema.matches
    model = calls.c.call["model"].as_string()
    live = (
        sa.select(calls.c.call, calls.c.reply)
        .where(calls.c.state == "answered", model.in_(models))
        .order_by(calls.c.id.desc())
        .limit(REPLIES)
    )
    ended = (
        sa.select(matches.c.number)
        .where(matches.c.calls > 0, matches.c.status.in_(SETTLED))
        .order_by(matches.c.number.desc())
        .limit(MATCHES)
    )
    with store.reading() as connection:
        yield from (tuple(row) for row in connection.execute(live))
        numbers = list(connection.scalars(ended))
    for record in store.records(bodies=True, where=matches.c.number.in_(numbers)):
        for answer in record.answers:
            for entry in answer.calls:
                if entry["call"].get("model") in models and entry.get("reply"):
                    yield entry["call"], entry["reply"]


def _lengths(store: Store, study: str) -> dict[Table, Lengths]:
    matches, configurations, players = schema.matches, schema.configurations, schema.players
    ended = matches.c.status.in_(SETTLED)
    calls = matches.c.calls
    squares = sa.func.sum(sa.cast(calls, sa.Float) * calls)
    kind = (configurations.c.digest, schema.SEATS_TEXT, ended)
    query = (
        sa.select(*kind, sa.func.count(), sa.func.sum(calls), squares)
        .join(configurations, configurations.c.id == matches.c.configuration_id)
        .where(matches.c.number.in_(members_of(study)))
        .group_by(*kind)
    )
    lengths: dict[Table, Lengths] = {}
    live: dict[Table, int] = {}
    with store.reading() as connection:
        digests = {row.id: row.digest for row in connection.execute(sa.select(players))}
        for name, text, has_ended, count, total, total_of_squares in connection.execute(query):
            seats = schema.SEATS.read(text)
            table = Table(name, tuple(digests[number] for _, number in sorted(seats.items())))
            if has_ended:
                lengths[table] = Lengths(count, total, total_of_squares)
            else:
                live[table] = count
    return {key: length for key, length in lengths.items() if length.matches > live.get(key, 0)}


def mean_length(remaining: Mapping[Table, int], lengths: Mapping[Table, Lengths]) -> Range | None:
    """Return a range for the mean number of calls per remaining match.

    The mean is None if too few matches have ended, or if a table has fewer than two ended matches.

    >>> at = Table("a game", ("alice", "bob"))
    >>> mean_length({at: 100}, {at: Lengths(25, 100, 400)})
    Range(low=4.0, high=4.0)
    >>> mean_length({at: 100}, {})
    """
    if not remaining or any(lengths.get(key, NO_MATCHES).matches < 2 for key in remaining):
        return None
    observed = [lengths[key] for key in remaining]
    ended = sum(length.matches for length in observed)
    if ended < ENOUGH:
        return None
    shares = [count / sum(remaining.values()) for count in remaining.values()]
    within = sum(max(length.squares - length.calls**2 / length.matches, 0.0) for length in observed)
    variance = within / max(ended - len(observed), 1)
    pairs = list(zip(shares, observed, strict=True))
    mean = sum(share * length.calls / length.matches for share, length in pairs)
    error = math.sqrt(variance * sum(share**2 / length.matches for share, length in pairs))
    return Range(max(0.0, mean - SURE * error), mean + SURE * error)
