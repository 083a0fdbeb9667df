"""A person's view of a table, based only on the observations of their seat."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from msgspec import structs

from cheaptalk.players import PersonSeat, StrategySeat
from cheaptalk.rules import Action, CheaptalkError, Event, Game, Moment, Table
from cheaptalk.rules.game_spec import LANGUAGES
from cheaptalk.styles import style
from cheaptalk.styles.templates import Teller
from cheaptalk.text import readable
from cheaptalk.web.rooms.chat_box import ChatBox, chat_box
from cheaptalk.web.rooms.forms import Field, fields, option_label
from cheaptalk.web.rooms.languages import Language, style_writing
from cheaptalk.web.rooms.room_manager import RoomManager
from cheaptalk.web.rooms.rooms import Room, Stage, Visitor
from cheaptalk.web.rooms.screens import Screen
from cheaptalk.web.rooms.seat_sessions import PendingRequest, SeatSession

MAX_NAME_LENGTH = 200
"""A text field that allows more characters than this contains a message, not a name."""


def answer_line(action: Action, language: Language, names: Mapping[str, str]) -> str:
    """Format an answer as one line, such as ``Player 1: 60; Player 2: 40; “Fair?”``."""
    filled = [
        (field, value)
        for field in _action_fields(type(action))
        if (value := getattr(action, field.name)) not in (None, "")
    ]
    if len(filled) == 1:
        return _value_text(*filled[0], language, names)
    before, after = language.writing.marks or '""'
    messages = [f"{before}{value}{after}" for field, value in filled if _is_message(field)]
    values = [
        f"{_label(field, language, names)}: {_value_text(field, value, language, names)}"
        for field, value in filled
        if not _is_message(field)
    ]
    return "; ".join([*values, *messages])


@cache
def _action_fields(action: type[Action]) -> Sequence[Field]:
    return fields(action.model_json_schema())


def _label(field: Field, language: Language, names: Mapping[str, str]) -> str:
    """Return the label of a field, such as the name of the seat in ``alice_gain``."""
    return names.get(field.name.partition("_")[0]) or language.text(field.label)


def _is_message(field: Field) -> bool:
    return field.kind == "words" and (field.max_length or MAX_NAME_LENGTH + 1) > MAX_NAME_LENGTH


def _value_text(field: Field, value: Any, language: Language, names: Mapping[str, str]) -> str:
    match value:
        case str() if field.kind == "choice":
            return language.text(option_label(value))
        case str():
            return names.get(value) or (value if _is_message(field) else language.text(value))
        case int() | float() if not isinstance(value, bool):
            return language.writing.local(readable(value))
        case Mapping():
            amounts = ((names.get(key, key), readable(amount)) for key, amount in value.items())
            return ", ".join(f"{name}: {language.writing.local(text)}" for name, text in amounts)
        case list() | tuple():
            return ", ".join(map(str, value))
        case _:
            return language.text(readable(value).capitalize())


LOG = logging.getLogger(__name__)


class Entry(NamedTuple):
    """An event or request as the actor observed it, with the actor's answer, if any."""

    text: str
    answer: str | None = None


class TableView(NamedTuple):
    """A table from the perspective of one person.

    Attributes:
        briefing: the first observation, which stays available.
        log: later observations, oldest first.
        news: number of entries at the end of the log since the last answer.
        asking, how: text of the request, and the answer format unless it is obvious.
        problem: why the previous answer was rejected; empty if it was not.
        until: latest deadline of pending answers in seconds since 1970, or None.
        replaced: names of people whom substitutes have replaced.
        replaceable: whether a substitute would replace this person if they left.
        payoff: the person's payoff; None if the match was not finished.
        chat: the chat; None if the person can't chat in this game.
    """

    me: str
    briefing: str
    log: Sequence[Entry]
    news: int
    pending: PendingRequest | None
    asking: str
    how: str
    problem: str
    screen: Screen
    waits_for: Sequence[str]
    until: float | None
    replaced: Sequence[str]
    replaceable: bool
    over: bool
    payoff: float | None
    unit: str
    away: bool
    has_left: bool
    forfeited: Sequence[str]
    chat: ChatBox | None = None


def table_view(
    room_manager: RoomManager, room: Room, visitor: Visitor, language: Language
) -> TableView | None:
    """Return a visitor's view of a room's table, in the language of the page.

    The view is None before the match starts. If a recorded match cannot be replayed, the view is
    also None, and the room is marked as broken.
    """
    seat = room.seat_of(visitor)
    table = room.table
    if table is None and room.stage is Stage.OVER:
        try:
            table = room.table = room_manager.store.find(room.match.id).replay()
        except CheaptalkError as error:
            LOG.warning("the match in room %s cannot be replayed: %s", room.code, error)
            room.stage = Stage.BROKEN
    if table is None:
        return None
    seat_session = room.seat_session(visitor)
    pending = seat_session.current
    actor = pending.call.seat if pending else _latest_actor(table, seat)
    spec = room.seated(seat).spec
    assert isinstance(spec, PersonSeat)
    game = room.with_names(table.game)
    writing = style_writing(spec.style, language)
    teller = style(game.name, spec.style, writing).to(game, actor)
    hear = _hear(room, seat, room_manager.languages.get(spec.style or "", language))
    observations = [moment._replace(event=hear(moment.event)) for moment in table.heard[actor]]
    entries = list(_entries(teller, observations[1:], language))
    briefing = teller.tell(observations[0].event) if observations else ""
    waits_for = [member.seat for member in game.actors if member.name in table.pending]
    dues = [
        request.due
        for session in room.seat_sessions.values()
        for request in session.open.values()
        if request.due
    ]
    outcome = table.outcome
    return TableView(
        game.called(seat),
        "\n\n".join(filter(None, [briefing, teller.chat_rules()])),
        entries,
        _count_news(entries, waiting=pending is None and not table.over),
        pending,
        teller.tell(hear(table.request(actor).ask.event)) if pending else "",
        _how(table, pending, teller) if pending else "",
        _problem(seat_session, pending, language, teller.names) if pending else "",
        _screen(table, game, actor, language),
        [game.called(other) for other in dict.fromkeys(waits_for) if other != seat],
        max(dues, default=None),
        [game.called(other) for other in room.replaced if other != seat],
        spec.away is not None,
        table.over,
        None if outcome is None else table.game.seat_payoffs(outcome)[seat],
        type(game).payoff_units().get(game.seats[seat], ""),
        seat_session.away,
        seat_session.has_left,
        [game.called(_seat_of(game, name)) for name in sorted(table.forfeited)],
        chat_box(room, table, actor, seat_session, teller.names),
    )


def _hear(room: Room, seat: str, language: Language) -> Callable[[Event], Event]:
    """Return a function that translates the messages in events, if only scripts can write them."""
    others = [room.seated(other).spec for other in room.table_template.seated if other != seat]

    def hear(event: Event) -> Event:
        message = getattr(event, "message", None)
        if not message:
            return event
        return structs.replace(event, message=language.spoken(message))

    is_scripted = all(isinstance(spec, StrategySeat) for spec in others)
    return hear if is_scripted else lambda event: event


def _screen(table: Table, game: Game, actor: str, language: Language) -> Screen:
    events = [moment.event for moment in table.heard[actor]]
    if actor not in table.pending:
        return Screen(game, actor, language, events)
    ask = table.request(actor).ask
    return Screen(
        game, actor, language, [*events, ask.event], ask.action, partial(_pays, table, actor)
    )


def _pays(table: Table, actor: str, **answer: Any) -> float | None:
    """Return the actor's payoff if an answer would end the match, else None."""
    ended = table.clone()
    ended.answer(actor, ended.pending[actor].action.model_validate(answer))
    if ended.outcome is None:
        return None
    return table.game.seat_payoffs(ended.outcome)[_seat_of(table.game, actor)]


def _latest_actor(table: Table, seat: str) -> str:
    actors = [actor.name for actor in table.game.actors if actor.seat == seat]
    return max(reversed(actors), key=lambda name: len(table.heard[name]))


def _seat_of(game: Game, name: str) -> str:
    return next(actor.seat for actor in game.actors if actor.name == name)


def _how(table: Table, pending: PendingRequest, teller: Teller) -> str:
    """Return the answer format as text, or "" if people don't need it."""
    parts = fields(pending.call.form)
    obvious = len(parts) == 1 and parts[0].kind in ("choice", "whole", "amount")
    if obvious or teller.style.name not in LANGUAGES:
        return ""
    return teller.how(table.request(pending.call.seat).ask.action)


def _problem(
    seat_session: SeatSession, pending: PendingRequest, language: Language, names: Mapping[str, str]
) -> str:
    if seat_session.unclear_number:
        return language.unclear(seat_session.unclear_number)
    return language.refusal(pending.call.problem or "", names)


def _entries(teller: Teller, moments: Sequence[Moment], language: Language) -> Iterator[Entry]:
    for moment in moments:
        action = moment.action
        answer = None if action is None else answer_line(action, language, teller.names)
        yield Entry(teller.tell(moment.event), answer)


def _count_news(entries: Sequence[Entry], *, waiting: bool) -> int:
    """Count the log entries since the actor's last answer, and that answer while ``waiting``."""
    answered = [index for index, entry in enumerate(entries) if entry.answer is not None]
    return len(entries) - (answered[-1] + (not waiting) if answered else 0)
