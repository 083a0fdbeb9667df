"""Tables for tests: matches played by given moves, and what their seats read."""

from typing import Any

from cheaptalk.rules import Chance, Deal, Event, Game, Table
from cheaptalk.styles import style


def table_after(game: Game, *moves: dict[str, Any], deal: Deal | None = None) -> Table:
    """A table after these moves, each by the one seat whose turn it is."""
    table = Table(game, deal or game.deal(Chance("test")), "test")
    for fields in moves:
        (ask,) = table.unanswered()
        table.answer(ask.seat, ask.action.model_validate(fields))
    return table


def events(table: Table, seat: str) -> list[Event]:
    """All that a seat was told and asked."""
    return [moment.event for moment in table.heard[seat]]


def reads(table: Table, seat: str) -> str:
    """All that a seat has read, its open question included."""
    words = style(table.game.name)
    texts = words.story(table.heard[seat], table.game, seat)
    if seat in table.pending:
        texts.append(words.ask(table.pending[seat], table.game))
    return "\n\n".join(texts)
