"""Exported tables: the rows of matches, answers, calls, judgements and participants."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import methodcaller
from types import MappingProxyType
from typing import Any, TypeAlias

from cheaptalk.players import Kind
from cheaptalk.players.seats import SEATS
from cheaptalk.records.chat import ChatRecord
from cheaptalk.records.costs import cost_of
from cheaptalk.records.descriptions import VALID, line_up
from cheaptalk.records.exclusions import Stand
from cheaptalk.records.exports.columns import (
    INTEGER,
    JSON,
    NUMBER,
    PARAMETER,
    TEXT,
    Column,
    column,
    columns_of,
    paragraph,
    row_columns,
    settled,
    table_columns,
)
from cheaptalk.records.judgements import Judgement
from cheaptalk.records.moves import COUNTS, count_moves
from cheaptalk.records.people import queries
from cheaptalk.records.people.corrections import corrections_of
from cheaptalk.records.people.rows import Correction, Notice, Participant, Payment, Play, Response
from cheaptalk.records.record import AnswerRecord, MatchRecord, Status
from cheaptalk.records.store.reader import StoreReader
from cheaptalk.rules import GameSpec, Result
from cheaptalk.rules.chat import ChatLog


def kind_of(settings: Mapping[str, Any]) -> str | None:
    """Return the kind of a player, as in rosters, from its settings."""
    return next((key for key in SEATS if settings.get(key) is not None), None)


@dataclass
class MatchRow:
    """A row of the exported table of matches."""

    stand: Stand
    record: MatchRecord
    bought_by: Sequence[str] | None
    metrics: dict[Callable[[Result], float | None], float | None] = field(default_factory=dict)
    """Metrics that were computed, because a match's seats have them too."""

    @property
    def game(self) -> str:
        return self.record.game

    @property
    def pairing(self) -> str:
        return line_up([self.record.label(seat) for seat in self.record.seats])

    def time(self, key: str) -> float | None:
        return self.record.times[key]

    @cached_property
    def result(self) -> Result | None:
        """The result for metrics; None if the match did not finish."""
        return self.record.result() if self.record.status is Status.FINISHED else None

    @cached_property
    def moves(self) -> Mapping[str, Sequence[int]]:
        """Counts of moves by seat, in the order of COUNTS; empty if the match did not finish."""
        if self.record.status is not Status.FINISHED:
            return {}
        seats, size = list(self.record.seats), len(COUNTS)
        places = {actor: seats.index(seat) for actor, seat in self.record.at.items()}
        counts = count_moves(self.record.answers, places, len(seats), self.record.chat)
        return {seat: counts[size * at : size * (at + 1)] for at, seat in enumerate(seats)}

    def move_count(self, seat: str, index: int) -> int | None:
        """Return a count of a seat's moves, by its index in COUNTS."""
        return self.moves[seat][index] if seat in self.moves else None

    @property
    def first_move(self) -> dict[str, Any] | None:
        """The first action of the match; None if the match did not finish."""
        answers = self.record.answers
        return answers[0].action if self.moves and answers else None

    def source(self, key: str) -> Any:
        return (self.record.body.get("source") or {}).get(key)

    def label(self, seat: str) -> str | None:
        return self.record.label(seat) if seat in self.record.seats else None

    def settings(self, seat: str) -> Mapping[str, Any] | None:
        """Return all settings of the player in a seat; None if the seat doesn't exist."""
        return self.record.seats[seat]["spec"] if seat in self.record.seats else None

    def seat_kind(self, seat: str) -> str | None:
        return kind_of(self.settings(seat) or {})

    def model(self, seat: str) -> str | None:
        """Return the model string of the player in a seat; None if the player is not a model."""
        return (self.settings(seat) or {}).get("model")

    def forfeited(self, key: str) -> str | None:
        """Return the values of one attribute for all forfeits of the match, separated by commas."""
        return ", ".join(getattr(forfeit, key) for forfeit in self.record.forfeits) or None

    def payoff(self, seat: str) -> float | None:
        return (self.record.payoffs or {}).get(seat)

    def metric_value(self, compute: Callable[[Result], float | None]) -> float | None:
        if self.result is None:
            return None
        if compute not in self.metrics:
            self.metrics[compute] = compute(self.result)
        return self.metrics[compute]

    def count(self, seat: str, kind: str) -> int | None:
        """Return the number of a seat's answers of one kind; None if it is unknown."""
        if seat not in self.record.seats or (self.record.imported and kind in VALID):
            return None
        return self.record.kinds.get(seat, {}).get(kind, 0)


@dataclass
class _OfMatch:
    match: MatchRow

    @property
    def game(self) -> str:
        return self.match.game


@dataclass
class _OfActor(_OfMatch):
    request: int
    actor: str

    @property
    def seat(self) -> str:
        return self.match.record.seat_of(self.actor)

    @property
    def role(self) -> str:
        return self.match.record.roles[self.seat]

    @property
    def player(self) -> str:
        return self.match.record.label(self.seat)


@dataclass
class AnswerRow(_OfActor):
    """A row of the exported table of answers."""

    answer: AnswerRecord

    @property
    def calls(self) -> int:
        return len(self.answer.calls)

    @property
    def kind(self) -> str | None:
        """Kind of the answer; None for a valid imported answer, whose attempts are unknown."""
        unknown = self.match.record.imported and self.answer.kind in VALID
        return None if unknown else self.answer.kind.value

    @cached_property
    def replies(self) -> list[Mapping[str, Any]]:
        """Responses to all calls made for the answer."""
        return [call["reply"] for call in self.answer.calls if call.get("reply")]

    def last(self, key: str) -> Any:
        return self.replies[-1].get(key) if self.replies else None

    @property
    def latency(self) -> float | None:
        """Total duration of all calls in seconds."""
        return sum(reply.get("seconds", 0.0) for reply in self.replies) if self.replies else None

    @property
    def dollars(self) -> float | None:
        """Total cost of all calls in dollars; None if the cost of a call is unknown."""
        costs = [cost_of(reply) for reply in self.replies]
        if not costs or any(cost.unpriced for cost in costs):
            return None
        return sum(cost.dollars for cost in costs)

    def used(self, key: str) -> int | None:
        """Return the total tokens of one kind over all calls for the answer."""
        tokens = [reply.get("usage", {}).get(key, 0) for reply in self.replies]
        return sum(tokens) if tokens else None


@dataclass
class ChatRow(_OfActor):
    """A row of the exported table of chat."""

    line: ChatRecord

    @property
    def readers(self) -> str:
        """The seats that read the line, without the sender's."""
        game = self.match.record.rules
        assert game.chat is not None
        members = ChatLog(game, game.chat).members[self.actor]
        seats = [self.match.record.seat_of(other) for other in members if other != self.actor]
        return ", ".join(seats)


@dataclass
class CallRow(_OfActor):
    """A row of the exported table of calls."""

    data: Mapping[str, Any]

    @property
    def call(self) -> Any:
        return self.data["call"]

    @property
    def reply(self) -> Any:
        return self.data["reply"] or {}

    @property
    def endpoint(self) -> str | None:
        """URL in the call's model string; None if it contains no URL."""
        match = re.search(r"@(https?://\S+)$", self.call.get("model", ""))
        return match[1] if match else None

    @property
    def page(self) -> Mapping[str, Any] | None:
        """What a person was shown; None for a call to a model."""
        return None if "messages" in self.call else self.call

    def used(self, key: str) -> Any:
        return self.reply.get("usage", {}).get(key)


@dataclass
class JudgementRow(_OfMatch):
    """A row of the exported table of judgements."""

    judgement: Judgement
    judge: Mapping[str, Any]

    @property
    def rubric(self) -> str:
        return str(self.judge["rubric"]["name"])

    @property
    def judge_model(self) -> str:
        return str(self.judge["model"]["model"])

    @property
    def calls(self) -> int:
        return len(self.judgement.calls)

    @property
    def player(self) -> str | None:
        return self.seat and self.match.record.label(self.seat)

    @property
    def seat(self) -> str | None:
        """Seat of the judged actor; None if the whole match is judged."""
        return self.match.record.at.get(self.judgement.item.rpartition("/")[2])

    def used(self, key: str) -> Any:
        return getattr(self.judgement.cost.usage, key)

    def verdict_of(self, key: str) -> Any:
        return (self.judgement.verdict or {}).get(key)

    @property
    def request(self) -> int | None:
        """Request number of the judged answer; None if the item is not an answer."""
        request, slash, _ = self.judgement.item.partition("/")
        return int(request) if slash else None


GROUPS = (
    "parameter",
    "instance",
    "player",
    "outcome",
    "payoff",
    "metric",
    "answers",
    "moves",
    "factor",
)
"""Kinds of game-specific columns in the table of matches, in order."""

PLAYER = (
    ("player", TEXT, "label", "The label of the player in seat {}."),
    ("kind", TEXT, "seat_kind", "The kind of the player in seat {}, as in rosters."),
    ("model", TEXT, "model", "The model string of the player in seat {}; empty without a model."),
    ("settings", JSON, "settings", "All settings of the player in seat {}."),
)
"""Columns about a seat's player: name, type, method that reads the value, and meaning."""


Factors: TypeAlias = Mapping[str, Mapping[str, str]]
"""The level of each factor, by player and factor."""


def match_columns(
    game_specs: Sequence[GameSpec],
    seats: Mapping[str, Sequence[str]] | None = None,
    factors: Factors = MappingProxyType({}),
) -> list[Column]:
    """Return the columns of the table of matches for the given games.

    ``seats`` are those of a study's games; by default those of each game's default configuration.
    """
    seats_by_game = {
        game_spec.name: list(game_spec.rules().seats) for game_spec in game_specs
    } | dict(seats or {})
    columns = [
        column
        for game_spec in game_specs
        for column in _of_match(game_spec, seats_by_game[game_spec.name])
    ]
    columns += [
        Column(
            factor_column(seat, name),
            TEXT,
            "",
            f"The level of the factor {name} of the player in seat {seat}.",
            partial(_level, factors, name, seat),
            "factor",
        )
        for seat in dict.fromkeys(seat for seats in seats_by_game.values() for seat in seats)
        for name in factor_names(factors)
    ]
    return settled(
        [*table_columns("matches"), *sorted(columns, key=lambda column: GROUPS.index(column.group))]
    )


def factor_names(factors: Factors) -> list[str]:
    """Return the names of a study's factors."""
    return list(dict.fromkeys(name for levels in factors.values() for name in levels))


def factor_column(seat: str, factor: str) -> str:
    """Return the name of the column with the level of a seat's player."""
    return f"factor_{seat}_{factor}"


def _level(factors: Factors, name: str, seat: str, row: MatchRow) -> str | None:
    return factors.get(row.label(seat) or "", {}).get(name)


def answer_columns(game_specs: Sequence[GameSpec]) -> list[Column]:
    """Return the columns of the table of answers for the given games."""
    actions = [column for game_spec in game_specs for column in _actions(game_spec)]
    return settled([*table_columns("answers"), *actions])


def _roles(game_spec: GameSpec, seats: Sequence[str]) -> Sequence[str]:
    """Return the game's roles if they are identical to the seats, otherwise an empty sequence."""
    return game_spec.rules.roles if list(seats) == list(game_spec.rules.roles) else ()


def parameter_columns(
    game_spec: GameSpec, seats: Sequence[str], data: Callable[[Any], Mapping[str, Any] | None]
) -> list[Column]:
    """Return a column for each scalar parameter of a game; ``data`` returns a row's parameters."""
    roles, game = _roles(game_spec, seats), game_spec.name
    return columns_of(game_spec.rules, roles, data, group="parameter", game=game, prefix=PARAMETER)


def _of_match(game_spec: GameSpec, seats: Sequence[str]) -> Iterator[Column]:
    """Yield the columns that a game adds to the table of matches: data, seats and metrics."""
    rules = game_spec.rules
    yield from parameter_columns(game_spec, seats, lambda row: row.record.parameters)
    for group, prefix, model, data in (
        ("instance", "instance_", rules.instance_type, lambda row: row.record.body.get("instance")),
        ("outcome", "outcome_", rules.outcome_type, lambda row: row.record.outcome),
    ):
        roles = _roles(game_spec, seats)
        yield from columns_of(model, roles, data, group=group, game=game_spec.name, prefix=prefix)
    meaning = paragraph(inspect.getdoc(rules.payoffs) or "")
    units = rules.payoff_units()
    shared = next(iter(units.values())) if len({*units.values()}) == 1 else ""
    game_column = partial(Column, game=game_spec.name)
    for seat in seats:
        for name, type_, key, of_seat in PLAYER:
            read = methodcaller(key, seat)
            yield game_column(f"{name}_{seat}", type_, "", of_seat.format(seat), read, "player")
        payoff = methodcaller("payoff", seat)
        yield game_column(
            f"payoff_{seat}",
            NUMBER,
            units.get(seat, shared),
            f"The total payoff of {seat}. {meaning}",
            payoff,
            "payoff",
        )
        for kind in Kind:
            description = (
                f"The number of requests to {seat} that ended as {kind}; see kind in the table of "
                "answers."
            )
            count = methodcaller("count", seat, kind.value)
            name = f"answers_{seat}_{kind}"
            yield game_column(name, INTEGER, ">= 0", description, count, "answers")
        for index, (name, description) in enumerate(COUNTS.items()):
            count = methodcaller("move_count", seat, index)
            yield game_column(
                f"{name}_{seat}", INTEGER, ">= 0", description.format(seat), count, "moves"
            )
    for metric in game_spec.metrics.values():
        unit = metric.published_unit or metric.unit
        for name, compute, column_unit in (
            ("", metric.of, metric.unit),
            ("_published", metric.published, unit),
        ):
            if compute is not None:
                description = paragraph(inspect.getdoc(compute) or "")
                value = methodcaller("metric_value", compute)
                full_name = metric.name + name
                yield game_column(full_name, NUMBER, column_unit, description, value, "metric")


def _actions(game_spec: GameSpec) -> list[Column]:
    """Return one column per field of a game's actions, with a single column for shared fields."""
    columns: dict[str, Column] = {}
    roles = _roles(game_spec, list(game_spec.rules().seats))
    for action in game_spec.rules.actions:
        for new in columns_of(
            action, roles, lambda row: row.answer.action, group="action", game=game_spec.name
        ):
            columns[new.name] = _both(columns.get(new.name, new), new)
    return list(columns.values())


def _both(first: Column, second: Column) -> Column:
    ranges = dict.fromkeys([*first.range.split(" | "), *second.range.split(" | ")])
    meanings = dict.fromkeys([*first.meaning.split(" / "), second.meaning])
    return replace(first, range=" | ".join(ranges), meaning=" / ".join(meanings))


PersonRecord: TypeAlias = Participant | Response | Play | Payment | Notice | Correction


@dataclass(frozen=True)
class PersonRow:
    """A row in one of the exported tables of participants, which are the same for all games."""

    study: str
    record: PersonRecord
    currency: str
    game: str = ""


ReadRecords: TypeAlias = Callable[[StoreReader, str], Iterable[PersonRecord]]
TABLES: Mapping[str, tuple[type[PersonRecord], ReadRecords]] = {
    "participants": (Participant, queries.participants_of),
    "responses": (Response, queries.responses_of),
    "plays": (Play, queries.plays_of),
    "payments": (Payment, queries.payments_of),
    "notices": (Notice, queries.notices_of),
    "corrections": (Correction, corrections_of),
}
"""The type of the rows of each table, and the function that reads them."""
STUDY = column("study", TEXT, "", "The exported study.", "study")
CURRENCY = column("currency", TEXT, "", "The currency, such as USD.", "currency")


def people_columns() -> dict[str, list[Column]]:
    """Return the columns of each table of participants."""
    tables = {}
    for name, (row_type, _) in TABLES.items():
        columns = row_columns(row_type)
        columns.insert(1 if columns[0].name == "participant" else 0, STUDY)
        tables[name] = columns
    tables["payments"].insert(5, CURRENCY)  # after the amount
    return tables


def people_rows(store: StoreReader, study: str) -> Iterator[tuple[str, PersonRow]]:
    """Yield each exported row about participants with the name of its table."""
    currency = queries.currency_of(store, study)
    for name, (_, read) in TABLES.items():
        for record in read(store, study):
            yield name, PersonRow(study, record, currency)
