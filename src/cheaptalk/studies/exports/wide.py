"""Wide tables: one row per participant, or one per participant and game, with readable columns.

The columns of the wide table are, in this order: the participant, the treatments, the payments, the
answers and the times outside the games, and a block of columns for each game. The columns of the
long table are those of the participant and those of a block. Both orders follow the path of the
study, so they don't depend on what participants did, except that there are as many blocks as the
participant with the most games has, and columns only for decisions that were taken.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from cheaptalk.records.exports.columns import (
    BOOLEAN,
    DATE_TIME,
    INTEGER,
    NUMBER,
    TEXT,
    TIME,
    TRUTH,
    Column,
)
from cheaptalk.records.exports.seats import seat_columns
from cheaptalk.records.exports.tables import answer_columns, match_columns
from cheaptalk.records.moves import COUNTS
from cheaptalk.records.people import queries
from cheaptalk.records.people.rows import Response
from cheaptalk.records.store.queries import seats_of
from cheaptalk.records.store.schema import ENDINGS, PLAY_STATES
from cheaptalk.records.store.store import Store
from cheaptalk.rules import GameSpec, games
from cheaptalk.studies.exports.people import (
    AskedStep,
    GameRow,
    PeopleData,
    Person,
    invalid_answers,
)
from cheaptalk.studies.exports.questions import Label, Question
from cheaptalk.text import readable

FEW_DECISIONS = 20
"""Maximum decisions of a participant in a game that has columns for decisions."""
MESSAGES = ("messages", "words")
"""The counts of a seat's moves that become columns."""
NAMES = "game_names"
"""The parameter with the players' names, which has no column."""
UNNAMED = (queries.CONSENT, queries.CODE_WORD)
"""Steps whose questions have fixed names."""
NEVER = "The value is never missing."
NO_GAME = "The participant had no such game."
NO_MATCH = "The game's match did not start, or was deleted."
UNFINISHED = "The match did not finish."
NOT_ASKED = "The question was not asked or not answered, or the answer was deleted."


@dataclass(frozen=True)
class WideColumn(Column):
    """A column of a wide table, with its description for the codebook.

    Attributes:
        unit: the unit of its values.
        missing: what a missing value means.
        texts: for answers, the question by language.
        labels: the labels of its values.
        of_game: the game with this column; empty for all games.
    """

    unit: str = ""
    missing: str = NEVER
    texts: Mapping[str, str] | None = None
    labels: Sequence[Label] = ()
    of_game: str = ""


Rows: TypeAlias = Sequence[Person] | Sequence[GameRow]


@dataclass(frozen=True)
class WideTable:
    """A wide table: its columns, and the source of each row."""

    columns: Sequence[WideColumn]
    sources: Rows


def wide_tables(store: Store, study: str, data: PeopleData) -> dict[str, WideTable]:
    """Return the tables ``wide``, with a row per participant, and ``long``, with one per game."""
    person, game = person_columns(data), game_columns(store, study, data)
    return {
        "wide": WideTable([*person, *_blocks(person, game, data)], data.people),
        "long": WideTable(_long(person, game), list(data.games)),
    }


def _blocks(
    person: Sequence[WideColumn], game: Sequence[WideColumn], data: PeopleData
) -> Iterator[WideColumn]:
    """Yield the columns of each game, such as ``game2_payoff``."""
    count = max((len(participant.games) for participant in data.people), default=0)
    once = {_answer_name(item, data) for item in data.questions if item.in_game and item.once}
    once |= {f"{kind}_{step.name}" for step in data.steps if step.once for kind in ("seconds",)}
    taken = {column.name for column in person}
    for index in range(count):
        for column in game:
            if index and column.name in once:
                continue
            name = f"game{index + 1}_{column.name}"
            yield replace(
                column,
                name=f"{name}_" if name in taken else name,
                meaning=f"Game {index + 1}: {column.meaning}",
                missing=f"{NO_GAME} {column.missing}" if column.missing != NEVER else NO_GAME,
                of=partial(_in_block, index, column.of),
            )


def _in_block(index: int, read: Callable[[GameRow], Any], person: Person) -> Any:
    return read(person.games[index]) if index < len(person.games) else None


def _long(person: Sequence[WideColumn], game: Sequence[WideColumn]) -> list[WideColumn]:
    own = {column.name for column in game}
    return [
        *(replace(column, of=partial(_of_person, column.of)) for column in person
          if column.name not in own and column.group == "participant"),
        *game,
    ]  # fmt: skip


def _of_person(read: Callable[[Person], Any], row: GameRow) -> Any:
    return read(row.person)


def person_columns(data: PeopleData) -> list[WideColumn]:
    """Return the columns of the wide table that belong to no single game."""
    columns = [*_identity(data), *_payments(data)]
    taken = {column.name for column in columns}
    for question in data.questions:
        if not question.in_game:
            name = _answer_name(question, data)
            name = f"{_plain(question.step)}_{name}" if name in taken else name
            columns.append(_answer(name, question, _answer_of_person))
            taken.add(name)
    for step in data.steps:
        if not step.in_game:
            columns += _step_columns(step, taken, _of_person_step)
    return columns


def _identity(data: PeopleData) -> Iterator[WideColumn]:
    def column(name: str, type_: str, meaning: str, of: Any, **options: Any) -> WideColumn:
        range_ = options.pop("range_", "")
        return WideColumn(name, type_, range_, meaning, of, "participant", **options)

    record = "The participant's"
    yield column("participant", TEXT, f"{record} code.", lambda row: row.record.participant)
    yield column("study", TEXT, "The exported study.", lambda row: row.study)
    yield column("arrival", INTEGER, "The position in the order of arrival.",
                 lambda row: row.number, range_=">= 1")  # fmt: skip
    yield column("cohort", TEXT, f"{record} cohort.", lambda row: row.record.cohort)
    yield column("language", TEXT, "The language of the pages.", lambda row: row.record.language,
                 missing="The language was not recorded.")  # fmt: skip
    yield column("ending", TEXT, "How the last visit ended.", lambda row: row.record.ending,
                 range_=" | ".join(ENDINGS), missing="The visit has not ended.")  # fmt: skip
    yield column("last_step", TEXT, "The current or last step.", lambda row: row.record.step)
    yield column("flags", TEXT, "Flags, separated by semicolons.",
                 lambda row: "; ".join(row.record.flags) or None,
                 missing="There are no flags.")  # fmt: skip
    yield column("visits", INTEGER, "The number of visits.", lambda row: row.record.visit,
                 range_=">= 1")  # fmt: skip
    yield column("started_at", DATE_TIME, "Start of the first visit.", lambda row: row.record.begun,
                 range_=TIME)  # fmt: skip
    yield column("changed_at", DATE_TIME, "Last progress.", lambda row: row.record.changed,
                 range_=TIME)  # fmt: skip
    yield column("seconds", NUMBER, "Time from the start to the last progress.",
                 lambda row: row.record.changed - row.record.begun, unit="seconds")  # fmt: skip
    none = "The participant was assigned to no game."
    yield column("treatments", TEXT,
                 'The treatments in the order of the participant\'s games, separated by " > ".',
                 lambda row: " > ".join(row.treatments) or None, missing=none,
                 labels=treatment_labels(data))  # fmt: skip
    yield column("sequence", TEXT, 'The planned order of treatments, separated by " > ".',
                 lambda row: _first(game.play.sequence for game in row.games),
                 missing=f"{none} Or the study has no design.")  # fmt: skip
    yield column("matching_group", TEXT, "The group within which the participant meets others.",
                 lambda row: _first(game.play.matching_group for game in row.games),
                 missing=f"{none} Or the study has no matching groups.")  # fmt: skip
    yield column("games", INTEGER, "The number of games to which the participant was assigned.",
                 lambda row: len(row.games), range_=">= 0")  # fmt: skip
    yield column("games_finished", INTEGER, "The number of these games that finished.",
                 lambda row: sum(game.play.state == "finished" for game in row.games),
                 range_=">= 0")  # fmt: skip


def _first(values: Iterator[str | None]) -> str | None:
    return next((value for value in values if value is not None), None)


def treatment_labels(data: PeopleData) -> list[Label]:
    """Return the game, parameters and players of each treatment by name."""
    labels: dict[str, Label] = {}
    for row in data.games:
        labels.setdefault(row.treatment, Label(row.treatment, {}))
        if row.seat is not None and not labels[row.treatment].texts:
            match = row.seat.match
            parameters = [
                f"{name} {readable(value)}"
                for name, value in match.record.parameters.items()
                if name != "names"
            ]
            text = f"{match.game}; players {match.pairing}; {', '.join(parameters)}"
            labels[row.treatment] = Label(row.treatment, {"en": text})
    return list(labels.values())


def _payments(data: PeopleData) -> Iterator[WideColumn]:
    def column(name: str, meaning: str, of: Any, missing: str = NEVER) -> WideColumn:
        currency = f"cents of {data.currency}"
        return WideColumn(name, INTEGER, ">= 0", meaning, of, "pay", unit=currency, missing=missing)

    yield column("cents_total", "All payments.", lambda row: row.earned())
    yield column("cents_base", "Base payments.", lambda row: row.earned("base"))
    yield column("cents_bonus", "Bonuses.", lambda row: row.earned("bonus"))
    keys = dict.fromkeys(key for person in data.people for key in sorted(person.cents))
    for key in sorted(keys, key=lambda key: (key.partition("/")[0], len(key), key)):
        yield column(f"cents_{_plain(key)}", f"The payment {key}.", partial(_paid, key),
                     "The participant has no such payment.")  # fmt: skip
    yield WideColumn(
        "paid_out",
        BOOLEAN,
        TRUTH,
        "Whether all payments are part of a payout.",
        lambda row: all(payment.paid_out for payment in row.payments) if row.payments else None,
        "pay",
        missing="The participant has no payments.",
    )


def _paid(key: str, row: Person) -> int | None:
    return row.cents.get(key)


def _plain(name: str) -> str:
    """Return a name with only letters, digits and underscores.

    >>> _plain("game/3"), _plain("trust.self")
    ('game_3', 'trust_self')
    """
    return "".join(letter if letter.isalnum() else "_" for letter in name)


def _answer_name(question: Question, data: PeopleData) -> str:
    """Return the column of a question: its item or, if two steps have such an item, STEP_ITEM."""
    name, step = _plain(question.item), _plain(question.step)
    shared = sum(_plain(item.item) == name for item in data.questions) > 1
    return f"{step}_{name}" if shared or question.step in UNNAMED else name


def _answer(name: str, question: Question, find: Callable[..., Response | None]) -> WideColumn:
    meaning = f"The answer to {question.item} in the step {question.step}"
    text = next(iter(question.texts.values()), "")
    return WideColumn(
        name,
        question.type,
        question.range,
        f"{meaning}: {text}" if text else f"{meaning}.",
        partial(_value, question, find),
        "answer",
        unit=question.unit,
        missing=NOT_ASKED,
        texts=question.texts,
        labels=question.labels,
    )


def _value(question: Question, find: Callable[..., Response | None], row: Any) -> Any:
    """Return the recorded value of an answer in the type of its column."""
    response = find(question, row)
    if response is None or response.answer is None:
        return None
    if question.type == BOOLEAN:
        return response.answer == "true"
    if question.type == TEXT or response.value is None:
        return response.answer
    return int(response.value) if question.type == INTEGER else response.value


def _answer_of_person(question: Question, person: Person) -> Response | None:
    return person.answers.get((question.step, question.item, None))


def _answer_of_game(question: Question, row: GameRow) -> Response | None:
    return row.answer(question)


def _of_person_step(row: Person) -> tuple[Person, int | None]:
    return row, None


def _of_game_step(row: GameRow) -> tuple[Person, int | None]:
    return row.person, row.play.number


def _step_columns(
    step: AskedStep, taken: set[str], place: Callable[[Any], tuple[Person, int | None]]
) -> Iterator[WideColumn]:
    """Yield the attempts and the result of a graded step, and the time on the pages of any step."""

    def attempts(row: Any) -> int | None:
        person, game = place(row)
        return len(person.graded(step.name, game)) or None

    def passed(row: Any) -> bool | None:
        person, game = place(row)
        results = person.graded(step.name, game)
        return results[-1] if results else None

    def seconds(row: Any) -> float | None:
        person, game = place(row)
        return person.seconds(step.name, game)

    name, missing = _plain(step.name), "The step was not answered."
    columns = []
    if step.graded:
        meaning = f"The number of attempts at the step {step.name}."
        columns = [
            WideColumn(f"attempts_{name}", INTEGER, ">= 1", meaning, attempts, "step",
                       missing=missing),
            WideColumn(f"correct_{name}", BOOLEAN, TRUTH,
                       f"Whether the last attempt at the step {step.name} was correct.", passed,
                       "step", missing=missing),
        ]  # fmt: skip
    meaning = f"The time on the pages of the step {step.name}, over all attempts."
    columns.append(
        WideColumn(f"seconds_{name}", NUMBER, ">= 0", meaning, seconds, "step", unit="seconds",
                   missing=f"{missing} Or the time when a page was shown is unknown.")
    )  # fmt: skip
    for column in columns:
        unique = f"{column.name}_" if column.name in taken else column.name
        taken.add(unique)
        yield replace(column, name=unique)


def game_columns(store: Store, study: str, data: PeopleData) -> list[WideColumn]:
    """Return the columns of a game in the long table, without the participant's."""
    columns = [*_play_columns(data), *_message_columns(data), *_of_games(store, study, data)]
    taken = {column.name for column in columns}
    for question in data.questions:
        if question.in_game:
            name = _answer_name(question, data)
            name = f"{_plain(question.step)}_{name}" if name in taken else name
            columns.append(_answer(name, question, _answer_of_game))
            taken.add(name)
    for step in data.steps:
        if step.in_game:
            columns += _step_columns(step, taken, _of_game_step)
    return columns


def _play_columns(data: PeopleData) -> Iterator[WideColumn]:
    def column(name: str, type_: str, meaning: str, of: Any, **options: Any) -> WideColumn:
        range_ = options.pop("range_", "")
        return WideColumn(name, type_, range_, meaning, of, "game", **options)

    def seat(read: Callable[[Any], Any]) -> Callable[[GameRow], Any]:
        return lambda row: None if row.seat is None else read(row.seat)

    def decisions(read: Callable[[GameRow], Any]) -> Callable[[GameRow], Any]:
        return lambda row: None if row.seat is None else read(row)

    yield column("number", INTEGER, "The position among the participant's games.",
                 lambda row: row.play.number, range_=">= 1")  # fmt: skip
    yield column("treatment", TEXT, "The treatment, by its name in the design.",
                 lambda row: row.treatment, labels=treatment_labels(data))  # fmt: skip
    yield column("game", TEXT, "The game's name.", lambda row: row.of)
    yield column("state", TEXT, "The state of the game for the participant.",
                 lambda row: row.play.state, range_=" | ".join(PLAY_STATES))  # fmt: skip
    yield column("match_id", TEXT, "The match, as in the table of matches.",
                 lambda row: row.play.match_id, missing=NO_MATCH)  # fmt: skip
    yield column("seat", TEXT, "The participant's seat.", lambda row: row.play.seat,
                 missing=NO_MATCH)  # fmt: skip
    yield column("role", TEXT, "The role of the seat.", seat(lambda row: row.role),
                 missing=NO_MATCH)  # fmt: skip
    yield column("opponent", TEXT, "The labels of the players in the other seats.",
                 seat(lambda row: row.opponent), missing=NO_MATCH)  # fmt: skip
    yield column("partners", TEXT,
                 "The codes of the other participants in the match, separated by semicolons.",
                 lambda row: "; ".join(row.partners) or None,
                 missing=f"No other participant was in the match. {NO_MATCH}")  # fmt: skip
    yield column("dropped", BOOLEAN,
                 "Whether the study's policy for invalid answers excludes the match.",
                 seat(lambda row: row.stand.dropped), range_=TRUTH, missing=NO_MATCH)  # fmt: skip
    units = dict.fromkeys(
        unit for row in data.games if row.seat is not None for unit in _units(row)
    )
    yield column("payoff", NUMBER, "The payoff.", lambda row: row.play.payoff,
                 unit=" | ".join(units) or "the game's unit", missing=UNFINISHED)  # fmt: skip
    yield column("cents", INTEGER,
                 "The earnings of the game; which of them are paid depends on the study's rules.",
                 lambda row: row.play.cents, unit=f"cents of {data.currency}", range_=">= 0",
                 missing="The game has not ended.")  # fmt: skip
    yield column("paid", BOOLEAN, "Whether the game was drawn for payment.",
                 lambda row: row.play.paid, range_=TRUTH,
                 missing="No games are drawn, or the draw has not taken place.")  # fmt: skip
    yield column("assigned_at", DATE_TIME, "Time of assignment.", lambda row: row.play.assigned,
                 range_=TIME)  # fmt: skip
    yield column("ended_at", DATE_TIME, "When the game ended for the participant.",
                 lambda row: row.play.ended, range_=TIME,
                 missing="The game has not ended.")  # fmt: skip
    yield column("seconds_waiting", NUMBER, "Time from the assignment to the start of the match.",
                 lambda row: row.seconds_waiting, unit="seconds", missing=NO_MATCH)  # fmt: skip
    yield column("seconds_playing", NUMBER,
                 "Time from the start of the match to the end of the game.",
                 lambda row: row.seconds_playing, unit="seconds",
                 missing=f"{NO_MATCH} Or the game has not ended.")  # fmt: skip
    yield column("seconds_deciding", NUMBER,
                 "Total time in which the participant was asked for decisions.",
                 lambda row: row.seconds_deciding, unit="seconds",
                 missing="No decision time is recorded.")  # fmt: skip
    yield column("decisions", INTEGER, "The number of requests to the participant.",
                 decisions(lambda row: len(row.decisions)), range_=">= 0",
                 missing=NO_MATCH)  # fmt: skip
    yield column("invalid_answers", INTEGER, "The requests without a valid answer of theirs.",
                 decisions(lambda row: invalid_answers(row.decisions)), range_=">= 0",
                 missing=NO_MATCH)  # fmt: skip


def _message_columns(data: PeopleData) -> Iterator[WideColumn]:
    """Yield counts of messages, if a game has messages or a chat, and of lines of chat."""

    def column(name: str, meaning: str, of: Callable[[GameRow], Any], missing: str) -> WideColumn:
        return WideColumn(name, INTEGER, ">= 0", meaning, of, "message", missing=missing)

    def counted(index: int) -> Callable[[GameRow], Any]:
        return lambda row: None if row.seat is None else row.seat.moves_made(index)

    chatted = any(row.has_chat for row in data.games)
    if chatted or any("message" in (decision.answer.action or ()) for row in data.games
                      for decision in row.decisions):  # fmt: skip
        for index, (name, meaning) in enumerate(COUNTS.items()):
            if name in MESSAGES:
                yield column(name, meaning.format("the participant"), counted(index), UNFINISHED)
    if chatted:
        missing = f"{NO_MATCH} Or the game has no chat."
        yield column("chat_messages", "The number of the participant's lines of chat.",
                     lambda row: None if (lines := row.chat_lines) is None else len(lines),
                     missing)  # fmt: skip
        yield column("chat_words", "The number of words in these lines.",
                     lambda row: None if (lines := row.chat_lines) is None
                     else sum(len(line.split()) for line in lines), missing)  # fmt: skip


def _units(row: GameRow) -> list[str]:
    assert row.seat is not None
    units = games()[row.seat.game].rules.payoff_units()
    return list(dict.fromkeys(units.values()))


def _of_games(store: Store, study: str, data: PeopleData) -> list[WideColumn]:
    """Return the columns of the games that participants played, named as in other tables."""
    played = {row.of for row in data.games if row.seat is not None}
    seats = {name: [*own] for name, own in seats_of(store, study, past=True).items()}
    specs = [spec for name, spec in games().items() if name in played]
    columns: list[WideColumn] = []
    for group, source in (
        ("parameter", seat_columns(specs, seats, {}, [])),
        ("instance", match_columns(specs, seats)),
        ("outcome", match_columns(specs, seats)),
        ("metric", seat_columns(specs, seats, {}, [])),
    ):
        for column in source:
            omitted = column.name == NAMES or column.name.endswith("_published")
            if column.group == group and not omitted:
                columns.append(_of_seat(column, match=group in ("instance", "outcome")))
    for spec in specs:
        columns += _decisions(spec, data)
    return _distinct(columns)


def _of_seat(column: Column, *, match: bool) -> WideColumn:
    """Return a column of matches or seats as a column of a participant's game."""

    def read(row: GameRow) -> Any:
        if row.seat is None or row.of != column.game:
            return None
        return column.of(row.seat.match if match else row.seat)

    is_unit = column.group == "metric"
    return WideColumn(
        column.name,
        column.type,
        "" if is_unit else column.range,
        column.meaning,
        read,
        column.group,
        unit=column.range if is_unit else "",
        missing=NO_MATCH if column.group in ("parameter", "instance") else UNFINISHED,
        of_game=column.game,
    )


def _decisions(spec: GameSpec, data: PeopleData) -> Iterator[WideColumn]:
    """Yield columns of decisions, such as ``decision1_offer``, if participants had few of them.

    Free texts, such as messages, have no columns.
    """
    rows = [row for row in data.games if row.seat is not None and row.of == spec.name]
    if max((len(row.decisions) for row in rows), default=0) > FEW_DECISIONS:
        return
    actions = [column for column in answer_columns([spec]) if column.group == "action"]
    fields = [column for column in actions if column.type != TEXT or column.range]
    taken = {
        (index, field)
        for row in rows
        for index, decision in enumerate(row.decisions)
        for field in decision.answer.action or ()
    }
    for index in range(FEW_DECISIONS):
        for column in fields:
            field = column.name.removeprefix("action_")
            if (index, field) in taken or any(
                place == index and field.startswith(f"{name}_") for place, name in taken
            ):
                yield WideColumn(
                    f"decision{index + 1}_{field}",
                    column.type,
                    column.range,
                    f"Decision {index + 1} of the participant: {column.meaning}",
                    partial(_decision, spec.name, index, column.of),
                    "decision",
                    missing=f"{NO_MATCH} Or there was no such decision, or no valid answer.",
                    of_game=spec.name,
                )


def _decision(game: str, index: int, read: Callable[[Any], Any], row: GameRow) -> Any:
    if row.of != game or index >= len(row.decisions):
        return None
    return read(row.decisions[index]) if row.decisions[index].answer.action else None


def _distinct(columns: Sequence[WideColumn]) -> list[WideColumn]:
    """Prefix the names of columns that play or other groups of columns already use."""
    owners = dict.fromkeys((column.name for column in _play_columns(NO_DATA)), "game")
    owners |= dict.fromkeys((*MESSAGES, "chat_messages", "chat_words"), "message")
    named = []
    for column in columns:
        if owners.setdefault(column.name, column.group) != column.group:
            column = replace(column, name=f"{column.group}_{column.name}")
            owners.setdefault(column.name, column.group)
        named.append(column)
    return named


NO_DATA = PeopleData("", "", (), (), ())
