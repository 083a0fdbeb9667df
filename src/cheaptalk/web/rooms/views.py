"""What a person's page shows of their table: only what their seat was told, asked and answered."""

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from cheaptalk.players import PersonSeat
from cheaptalk.rules import CheaptalkError, Game, Moment, Table
from cheaptalk.rules.box import LANGUAGES
from cheaptalk.styles import style
from cheaptalk.styles.templates import Teller
from cheaptalk.web.rooms.answers import said
from cheaptalk.web.rooms.forms import fields
from cheaptalk.web.rooms.house import House
from cheaptalk.web.rooms.languages import Language, style_writing
from cheaptalk.web.rooms.rooms import Guest, Room, Stage
from cheaptalk.web.rooms.screens import Screen
from cheaptalk.web.rooms.sittings import Question, Sitting

LOG = logging.getLogger(__name__)


class Entry(NamedTuple):
    """Something that happened, as the seat lived through it.

    Attributes:
        text: what the seat was told or asked.
        answer: what it answered; None where it was told, or gave no answer.
    """

    text: str
    answer: str | None = None


class TableView(NamedTuple):
    """A table as one person sees it.

    Attributes:
        me: what the person is called.
        briefing: what they were told first, which stays at hand.
        log: what has happened since, oldest first.
        news: how many entries at the end of it came after their last answer.
        question: what they are asked now; None while they are not.
        asking, how: what the question says, and how it is to be answered where that is not plain.
        problem: why the answer before does not count; empty where there was none.
        screen: how the game looks to them.
        waits_for: whom the table waits for besides this person, by name.
        until: when the last of them must have answered, in seconds since 1970; None without a
            deadline.
        stood_in: people in whose places programs play, by name.
        goes_on: whether a program would play in this person's place, too, if they left.
        over: whether the match has ended.
        payoff: what the person got; None where the match did not finish.
        unit: what it is counted in.
        away, left: whether they gave no answer in time, or have left.
        forfeited: who ended the match by giving no answer, by name.
    """

    me: str
    briefing: str
    log: Sequence[Entry]
    news: int
    question: Question | None
    asking: str
    how: str
    problem: str
    screen: Screen
    waits_for: Sequence[str]
    until: float | None
    stood_in: Sequence[str]
    goes_on: bool
    over: bool
    payoff: float | None
    unit: str
    away: bool
    left: bool
    forfeited: Sequence[str]


def table_view(house: House, room: Room, guest: Guest, language: Language) -> TableView | None:
    """The table of a room as somebody who sits there sees it, in their language.

    None before it has begun, and where the match was played and can no longer be shown; the room
    is broken then.
    """
    place = room.place_of(guest)
    table = room.table
    if table is None and room.stage is Stage.OVER:
        try:
            table = room.table = house.store.find(room.match.id).replay()
        except CheaptalkError as error:
            LOG.warning("room %s cannot be shown: %s", room.code, error)
            room.stage = Stage.BROKEN
    if table is None:
        return None
    sitting = room.sitting(guest)
    question = sitting.question
    seat = question.call.seat if question else _last_seat(table, place)
    spec = room.seated(place).spec
    assert isinstance(spec, PersonSeat)
    game = room.as_called(table.game)
    writes = style_writing(spec.style, language.currency)
    teller = style(game.name, spec.style, writes).to(game, seat)
    heard = table.heard[seat]
    entries = list(_entries(teller, heard[1:], language))
    pending = [one.place for one in game.seats if one.name in table.pending]
    dues = [one.due for each in room.sittings.values() for one in each.open.values() if one.due]
    outcome = table.outcome
    paid = None if outcome is None else table.game.place_payoffs(outcome)[place]
    return TableView(
        game.called(place),
        teller.tell(heard[0].event) if heard else "",
        entries,
        _news(entries, waiting=question is None and not table.over),
        question,
        teller.tell(table.asked(seat).ask.event) if question else "",
        _how(table, question, teller) if question else "",
        _problem(sitting, question, language) if question else "",
        _screen(table, game, seat, language),
        [game.called(one) for one in dict.fromkeys(pending) if one != place],
        max(dues, default=None),
        [game.called(one) for one in room.stood_in if one != place],
        spec.away is not None,
        table.over,
        paid,
        type(game).payoff_units().get(game.places[place], ""),
        sitting.away,
        sitting.left,
        [_called(game, one) for one in sorted(table.forfeited)],
    )


def _screen(table: Table, game: Game, seat: str, language: Language) -> Screen:
    """The game as a seat sees it, with what it is asked now."""
    events = [moment.event for moment in table.heard[seat]]
    if seat not in table.pending:
        return Screen(game, seat, language, events)
    ask = table.asked(seat).ask
    return Screen(
        game, seat, language, [*events, ask.event], ask.action, partial(_pays, table, seat)
    )


def _pays(table: Table, seat: str, **answer: Any) -> float | None:
    """What the rules pay a seat if the match ends with an answer of its own; None where it goes
    on."""
    ended = table.clone()
    ended.answer(seat, ended.pending[seat].action.model_validate(answer))
    if ended.outcome is None:
        return None
    place = next(one.place for one in table.game.seats if one.name == seat)
    return table.game.place_payoffs(ended.outcome)[place]


def _last_seat(table: Table, place: str) -> str:
    """The seat of a place that heard most, where it has several."""
    seats = [one.name for one in table.game.seats if one.place == place]
    return max(reversed(seats), key=lambda name: len(table.heard[name]))


def _called(game: Game, seat: str) -> str:
    return next(game.called(one.place) for one in game.seats if one.name == seat)


def _how(table: Table, question: Question, teller: Teller) -> str:
    """How to answer, where people are told that and it is not plain."""
    parts = fields(question.call.form)
    bare = len(parts) == 1 and parts[0].kind in ("choice", "whole", "amount")
    if bare or teller.style.name not in LANGUAGES:
        return ""
    return teller.how(table.asked(question.call.seat).ask.action)


def _problem(sitting: Sitting, question: Question, language: Language) -> str:
    """Why the answer before does not count."""
    if sitting.unclear:
        return language.unclear(sitting.unclear)
    return language.refusal(question.call.problem or "")


def _entries(teller: Teller, heard: Sequence[Moment], language: Language) -> Iterator[Entry]:
    for moment in heard:
        action = moment.action
        answer = None if action is None else said(action, language, teller.names)
        yield Entry(teller.tell(moment.event), answer)


def _news(entries: Sequence[Entry], *, waiting: bool) -> int:
    """How many entries at the end came after the seat's last answer, or with it.

    Args:
        waiting: whether the answer counts as well, as others have yet to react to it.
    """
    answered = [at for at, entry in enumerate(entries) if entry.answer is not None]
    return len(entries) - (answered[-1] + (not waiting) if answered else 0)
