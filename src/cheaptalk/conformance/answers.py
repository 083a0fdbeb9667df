"""Laws of answering: what is no legal answer is refused with a reason and changes nothing."""

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from cheaptalk.conformance.matches import (
    Broken,
    State,
    finished,
    in_bounds,
    law,
    new_table,
    no_error,
    played,
    questions,
    same,
)
from cheaptalk.rules import (
    MESSAGE_LIMIT,
    Action,
    Asked,
    Chance,
    Game,
    GameBox,
    IllegalAction,
    Table,
)
from cheaptalk.styles import Style, Unreadable, style_in

NO_NUMBERS = (True, math.nan, math.inf, "plenty")
EXTREMES = (-1e15, -1.0, 1e15)
NO_ANSWERS = ("", "I would rather not say.", "{", "{}", '{"no such field": 1}')
TRIES = 50
"""Times that random play is asked for another answer before there is taken to be none."""


class Stranger(Action):
    """An action of no game."""


@law
def check_schemas(box: GameBox, game: Game, seed: str) -> None:
    """Actions refuse missing and unknown fields, what is no number, and endless text."""
    for _, action in questions(box, new_table(game, seed)):
        for fields, fault in _with_faults(action):
            try:
                type(action).model_validate(fields)
            except ValidationError:
                continue
            raise Broken(f"{type(action).__name__} accepts {fault}")


def _with_faults(action: Action) -> Iterator[tuple[dict[str, Any], str]]:
    """The action's fields with one fault each, and the fault in words."""
    fields = action.model_dump()
    schema, texts = type(action).model_json_schema(), texts_of(action)
    yield fields | {"no such field": 1}, "an unknown field"
    for name in schema.get("required", ()):
        yield {key: fields[key] for key in fields if key != name}, f'no "{name}"'
    for name, spec in _fields(action):
        if spec.get("type") in ("number", "integer"):
            for value in NO_NUMBERS:
                yield fields | {name: value}, f'{value!r} as "{name}"'
        elif name in texts:
            length = texts[name] + 1
            yield fields | {name: "x" * length}, f'{length:,} characters of "{name}"'


def _fields(action: Action) -> Iterator[tuple[str, dict[str, Any]]]:
    """The names and schemas of an action's fields; null, where it is allowed, left aside."""
    for name, spec in type(action).model_json_schema()["properties"].items():
        kinds = [kind for kind in spec.get("anyOf", ()) if kind.get("type") != "null"]
        yield name, kinds[0] if len(kinds) == 1 else spec


def texts_of(action: Action) -> dict[str, int]:
    """The fields of an action for words of the player's own, with the most characters of each."""
    return {
        name: spec.get("maxLength", MESSAGE_LIMIT)
        for name, spec in _fields(action)
        if spec.get("type") == "string" and not {"enum", "const", "format"} & set(spec)
    }


@law
def check_answers(box: GameBox, game: Game, seed: str) -> None:
    """Unreadable, ambiguous, oversized and illegal replies are refused and change nothing.

    A legal answer, written down in any style, is read as itself.
    """
    table = new_table(game, seed)
    for asked, action in questions(box, table):
        before, other = State.of(table), _another(box, asked, action)
        for style in (style_in(box, name) for name in box.styles):
            _check_reading(style, asked, action)
            _check_unreadable(style, asked, action, other)
        _check_refusals(table, asked, action)
        same(before, State.of(table), "after refused answers")
    same(State.of(table), State.of(played(box, game, seed)), "with refused answers between")


def _another(box: GameBox, asked: Asked, action: Action) -> Action | None:
    """A legal answer that is not this one, if random play finds one."""
    for number in range(TRIES):
        other = box.strategies["random"](asked._replace(chance=Chance(f"other {number}")))
        if other != action:
            return other
    return None


def _check_reading(style: Style, asked: Asked, action: Action) -> None:
    """Demand that a style reads an answer as itself; among other words as itself or not at all."""
    written = style.codec.write(action)
    for reply in (written, f"Very well.\n{written}\nThank you."):
        with no_error(f'reading {reply!r} in style "{style.name}"'):
            try:
                read = style.codec.read(reply, asked.ask)
            except Unreadable:
                if reply == written:
                    raise
                continue
        if read != action:
            raise Broken(f'style "{style.name}" reads {reply!r} as {read!r}')


def _check_unreadable(style: Style, asked: Asked, action: Action, other: Action | None) -> None:
    """Demand that a style reads no answer where there is none, a huge one or more than one."""
    write = style.codec.write
    wrong = list(NO_ANSWERS) if type(action).model_fields else list(NO_ANSWERS[:3])
    for name, most in texts_of(action).items():
        wrong.append(write(action.model_copy(update={name: "x" * (most + 1)})))
    wrong += [f"{write(action)}\nor else\n{write(other)}"] if other is not None else []
    for reply in wrong:
        try:
            read = style.codec.read(reply, asked.ask)
        except Unreadable as error:
            if str(error):
                continue
            raise Broken(f"{reply[:200]!r} is refused without a reason") from error
        raise Broken(f'style "{style.name}" reads {reply[:200]!r} as {repr(read)[:200]}')


def _check_refusals(table: Table, asked: Asked, action: Action) -> None:
    """Demand that an action of another type, or one that the rules object to, is refused."""
    candidates: list[Action] = [Stranger()]
    for name, spec in _fields(action):
        if spec.get("type") in ("number", "integer"):
            candidates += [action.model_copy(update={name: value}) for value in EXTREMES]
    for candidate in candidates:
        with no_error(f'judging {candidate!r} of "{asked.seat}"'):
            reason = asked.ask.refuse(candidate)
        if reason is None:
            continue
        if not reason:
            raise Broken(f"{candidate!r} is refused without a reason")
        with suppress(IllegalAction):
            table.answer(asked.seat, candidate)


@law
def check_forfeits(box: GameBox, game: Game, seed: str) -> None:
    """A forfeit at any question ends the match as forfeited, or as the rules say; never an error.

    At every question one seat forfeits, and then all that are asked at once; the rest play on.
    """
    match = played(box, game, seed)
    for count, given in enumerate(match.given):
        for together in (False, True):
            table = Table(game, match.deal, seed)
            for earlier in match.given[:count]:
                table.answer(earlier.seat, earlier.action)
            seats = list(table.pending) if together else [given.seat]
            what = f"a forfeit by {', '.join(seats)} in request {given.request}"
            with no_error(what):
                for seat in seats:
                    table.forfeit(seat)
                finished(box, table)
            if table.outcome is not None:
                in_bounds(table)
            elif not table.forfeited & set(seats):
                raise Broken(f"after {what}, the match ends neither forfeited nor otherwise")
