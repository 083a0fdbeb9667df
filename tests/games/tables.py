"""Tables for tests: matches with given moves or rounds, and the observations of their seats."""

from collections.abc import Sequence
from typing import Any

import cheaptalk as ct
from cheaptalk.games.rounds import Rounds, RoundsPlayed
from cheaptalk.rules import Decide
from cheaptalk.styles import style


def table_after(
    game: ct.Game, *moves: dict[str, Any], instance: ct.Instance | None = None
) -> ct.Table:
    """Return the table after these moves, each by the only pending seat."""
    table = ct.Table(game, instance or game.draw_instance(ct.Chance("test")), "test")
    for fields in moves:
        (ask,) = table.pending.values()
        table.answer(ask.actor, ask.action.model_validate(fields))
    return table


def events(table: ct.Table, seat: str) -> list[ct.Event]:
    """Return all events that a seat has observed, including decision requests."""
    return [moment.event for moment in table.heard[seat]]


def transcript(table: ct.Table, seat: str) -> str:
    """Return the text that a seat has read, including its pending request."""
    prompts = style(table.game.name)
    texts = prompts.story(table.heard[seat], table.game, seat)
    if seat in table.pending:
        texts.append(prompts.ask(table.pending[seat], table.game))
    return "\n\n".join(texts)


def table_of(
    game: Rounds, *rows: Sequence[object], instance: ct.Instance | None = None
) -> ct.Table:
    """Return the table after these rounds; a row holds the players' answers in seat order."""
    table = ct.Table(game, instance or game.draw_instance(ct.Chance("test")), "test")
    for row in rows:
        for ask, answer in zip(table.pending.values(), row, strict=True):
            (field,) = ask.action.model_fields
            table.answer(ask.actor, ask.action.model_validate({field: answer}))
    return table


def result_of(
    game: Rounds, *rows: Sequence[object], instance: ct.Instance | None = None
) -> ct.Result:
    """Return the result of a match with these rounds."""
    return table_of(game, *rows, instance=instance).result()


def metric(name: str, result: ct.Result, as_published: bool = False) -> float | None:
    """Return a metric of a result."""
    return ct.get_game(result.game.name).metrics[name].variant(as_published)(result)


def score_of(game_spec: ct.GameSpec, *rows: Sequence[object], **parameters: Any) -> float:
    """Return the score of a match with these rounds."""
    game = game_spec.rules.model_validate(
        {"players": len(rows[0]), "rounds": len(rows), **parameters}
    )
    assert isinstance(game, Rounds)
    score = metric("score", result_of(game, *rows))
    assert score is not None
    return score


def play_out(game: Rounds, *players: str | Decide, seed: str = "seed") -> RoundsPlayed[Any]:
    """Play a match of strategies and return its outcome; a single player takes all seats."""
    strategies = ct.get_game(game.name).strategies
    decides = [strategies[player] if isinstance(player, str) else player for player in players]
    seated = decides if len(players) > 1 else decides * game.players
    seats = dict(zip(game.seats, seated, strict=True))
    table = ct.play(game, game.instance_of(seed), seed, seats)
    assert isinstance(table.outcome, RoundsPlayed)
    return table.outcome


SMALL = {
    "players": 3,
    "rounds": 2,
    "turns": 6,
    "horizon": {"rounds": 3},
    "hit_rates": (0.3, 0.5, 1),
    "quantities": (2, 1),
    "highest_value": 3,
    "idle_rounds": 5,
}
"""Parameters with which matches are short."""


def small(game: ct.Game) -> ct.Game:
    """Return a game with short matches; parameters that differ from the defaults are kept."""
    changes = {name: value for name, value in SMALL.items() if name in type(game).model_fields}
    return game.model_validate(changes | game.model_dump(exclude_unset=True))
