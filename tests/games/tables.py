"""Tables for tests: matches played by given moves or rounds, and what their seats read."""

from collections.abc import Sequence
from typing import Any

from cheaptalk.games.rounds import Rounds, RoundsPlayed
from cheaptalk.rules import (
    Chance,
    Decide,
    Event,
    Game,
    GameSpec,
    Instance,
    Result,
    Strategy,
    Table,
    play,
)
from cheaptalk.rules.game_spec import LANGUAGES
from cheaptalk.styles import style


def versions(game_spec: GameSpec) -> list[str]:
    """A game's styles for models; those for people are told apart by their language."""
    return [name for name in game_spec.styles if name not in LANGUAGES]


def table_after(game: Game, *moves: dict[str, Any], instance: Instance | None = None) -> Table:
    """A table after these moves, each by the one seat whose turn it is."""
    table = Table(game, instance or game.draw_instance(Chance("test")), "test")
    for fields in moves:
        (ask,) = table.pending.values()
        table.answer(ask.actor, ask.action.model_validate(fields))
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


def table_of(game: Rounds, *rows: Sequence[object], instance: Instance | None = None) -> Table:
    """A table after these rounds, each given by what the players answer, in their order."""
    table = Table(game, instance or game.draw_instance(Chance("test")), "test")
    for row in rows:
        for ask, answer in zip(table.pending.values(), row, strict=True):
            (field,) = ask.action.model_fields
            table.answer(ask.actor, ask.action.model_validate({field: answer}))
    return table


def result_of(game: Rounds, *rows: Sequence[object]) -> Result:
    """The finished match of these rounds."""
    table = table_of(game, *rows)
    assert table.outcome is not None
    return Result.of(game, table.instance, table.outcome)


def scored(game_spec: GameSpec, *rows: Sequence[object], **parameters: Any) -> float:
    """The score of these rounds."""
    game = game_spec.rules.model_validate(
        {"players": len(rows[0]), "rounds": len(rows), **parameters}
    )
    assert isinstance(game, Rounds)
    score = game_spec.metrics["score"].of(result_of(game, *rows))
    assert score is not None
    return score


def played(game: Rounds, *players: Strategy | Decide, seed: str = "seed") -> RoundsPlayed[Any]:
    """How a match between these ends: one for every place, or one for all of them."""
    seated = players if len(players) > 1 else players * game.players
    table = play(
        game,
        game.draw_instance(Chance(seed).apart("deal")),
        seed,
        dict(zip(game.seats, seated, strict=True)),
    )
    assert isinstance(table.outcome, RoundsPlayed)
    return table.outcome
