"""What replies of a model took so far, from which the rest of a study is foretold."""

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
from cheaptalk.records.store.reader import members_of
from cheaptalk.studies.estimates.amounts import Range

ENOUGH = 20
"""Replies, or ended matches, from which on the rest is foretold from them."""
MATCHES = 60
"""Ended matches whose replies are read, the latest."""
REPLIES = 1_000
"""Replies of matches under way that are read, the latest."""
SURE = 3.0
"""Standard errors on both sides of a mean that is foretold."""
DRIFT = 0.15
"""Share by which later calls may take more or less than earlier ones, as matches grow longer."""


class Asked(NamedTuple):
    """Calls that are alike: of one model with its settings, by one route, at one game."""

    model: str
    game: str
    route: str
    settings: str

    @classmethod
    def of(cls, spec: ModelSeat, game: str) -> "Asked":
        """The calls of a seat at a game."""
        return cls(spec.model, game, spec.route, spec.settings().model_dump_json())


class Taken(NamedTuple):
    """What one reply took: characters sent, tokens, seconds, and the length of its text."""

    asked: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    seconds: float
    said: int


@dataclass(frozen=True)
class Experience:
    """What replies to calls that are alike took, as ranges of what the next will on average.

    Attributes:
        replies: how many there were.
        density: tokens of a character of the question.
        output: tokens of an answer, reasoning included.
        reasoning: those of them spent on reasoning.
        said: characters of an answer's text.
        seconds: that an answer took.
    """

    replies: int
    density: Range
    output: Range
    reasoning: Range
    said: Range
    seconds: Range

    @classmethod
    def of(cls, taken: Sequence[Taken]) -> "Experience":
        """What some replies tell of the next."""
        asked = sum(one.asked for one in taken)
        density = sum(one.input_tokens for one in taken) / max(asked, 1)
        return cls(
            len(taken),
            Range(density / (1 + DRIFT), density * (1 + DRIFT)),
            mean_of([one.output_tokens for one in taken]),
            mean_of([one.reasoning_tokens for one in taken]),
            mean_of([one.said for one in taken]),
            mean_of([one.seconds for one in taken]),
        )


def mean_of(values: Sequence[float]) -> Range:
    """Between what the mean of more such values is going to lie.

    The high end is the larger of two: the mean with so many standard errors, and, for the heavy
    tails that answers have, that of a lognormal distribution (Cox's method: Zhou and Gao 1997).

    >>> few, many = mean_of([1.0, 2.0, 3.0] * 7), mean_of([1.0, 2.0, 3.0] * 700)
    >>> few.low < many.low < 2 < many.high < few.high
    True
    """
    count = len(values)
    mean = sum(values) / count
    error = math.sqrt(sum((one - mean) ** 2 for one in values) / max(count - 1, 1) / count)
    high = mean + SURE * error
    logs = [math.log(one) for one in values if one > 0]
    if len(logs) > 1:
        middle = sum(logs) / len(logs)
        spread = sum((one - middle) ** 2 for one in logs) / (len(logs) - 1)
        doubt = math.sqrt(spread / len(logs) + spread**2 / (2 * (len(logs) - 1)))
        tail = len(logs) / count * math.exp(min(middle + spread / 2 + 2 * doubt, 30))
        high = max(high, min(tail, 3 * high))
    return Range(max(0.0, mean - SURE * error) / (1 + DRIFT), high * (1 + DRIFT))


class Table(NamedTuple):
    """Matches of one configuration between the same players: digests, these by name of place."""

    configuration: str
    players: tuple[str, ...]


class Lengths(NamedTuple):
    """Calls of some ended matches: how many matches, the sum, and the sum of squares."""

    matches: int
    calls: float
    squares: float


class Experiences(NamedTuple):
    """What a store tells of a study that goes on.

    Attributes:
        calls: what calls that are alike took, where enough came back.
        lengths: calls of the study's ended matches, of tables at which more have ended than are
            under way: those that end first are the short ones.
    """

    calls: Mapping[Asked, Experience] = MappingProxyType({})
    lengths: Mapping[Table, Lengths] = MappingProxyType({})


NONE = Experiences()
NO_MATCHES = Lengths(0, 0.0, 0.0)


def experiences(store: Store, study: str, models: Collection[str]) -> Experiences:
    """What replies of some models took, those of other studies too, and a study's matches."""
    found: defaultdict[Asked, list[Taken]] = defaultdict(list)
    for call, reply in _replies(store, models):
        asked = ModelCall.model_validate(call)
        route = asked.form.route if asked.form else None
        answer = Reply.model_validate(reply)
        if route is None or answer.text is None or answer.cached or answer.uncounted:
            continue
        settings = asked.settings.model_dump_json()
        found[Asked(asked.model, asked.game or "", route, settings)].append(
            Taken(
                characters(asked), answer.usage.input_tokens, answer.usage.output_tokens,
                answer.usage.reasoning_tokens, answer.seconds, len(answer.text),
            )
        )  # fmt: skip
    calls = {key: Experience.of(taken) for key, taken in found.items() if len(taken) >= ENOUGH}
    return Experiences(calls, _lengths(store, study))


def _replies(
    store: Store, models: Collection[str]
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The latest replies of these models: of matches under way, and of ended ones."""
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
    digest, calls = configurations.c.digest, matches.c.calls
    query = (
        sa.select(
            digest, schema.SEATS_TEXT, ended, sa.func.count(), sa.func.sum(calls),
            sa.func.sum(sa.cast(calls, sa.Float) * calls),
        )
        .join(configurations, configurations.c.id == matches.c.configuration_id)
        .where(matches.c.number.in_(members_of(study)))
        .group_by(digest, schema.SEATS_TEXT, ended)
    )  # fmt: skip
    found: dict[Table, Lengths] = {}
    going: dict[Table, int] = {}
    with store.reading() as connection:
        known = {row.id: row.digest for row in connection.execute(sa.select(players))}
        for name, text, over, count, total, squares in connection.execute(query):
            seats = schema.SEATS.read(text)
            table = Table(name, tuple(known[number] for _, number in sorted(seats.items())))
            if over:
                found[table] = Lengths(count, total, squares)
            else:
                going[table] = count
    return {key: one for key, one in found.items() if one.matches > going.get(key, 0)}


def mean_length(left: Mapping[Table, int], lengths: Mapping[Table, Lengths]) -> Range | None:
    """Calls of a match on average at some tables, by their matches that are left.

    None where too few have ended, or a table is new.

    >>> at = Table("a game", ("alice", "bob"))
    >>> mean_length({at: 100}, {at: Lengths(25, 100, 400)})
    Range(low=4.0, high=4.0)
    >>> mean_length({at: 100}, {})
    """
    if not left or any(lengths.get(key, NO_MATCHES).matches < 2 for key in left):
        return None
    known = [lengths[key] for key in left]
    ended = sum(one.matches for one in known)
    if ended < ENOUGH:
        return None
    shares = [count / sum(left.values()) for count in left.values()]
    within = sum(max(one.squares - one.calls**2 / one.matches, 0.0) for one in known)
    variance = within / max(ended - len(known), 1)
    mean = sum(share * one.calls / one.matches for share, one in zip(shares, known, strict=True))
    weights = (share**2 / one.matches for share, one in zip(shares, known, strict=True))
    error = math.sqrt(variance * sum(weights))
    return Range(max(0.0, mean - SURE * error), mean + SURE * error)
