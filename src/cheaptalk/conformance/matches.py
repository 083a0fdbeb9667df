"""What the checks share: variants of a game, random matches, and states to compare."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any, Literal, NamedTuple, get_args, get_origin

from pydantic import ValidationError

from cheaptalk.rules import (
    Action,
    Asked,
    Chance,
    Decide,
    Game,
    GameBox,
    Horizon,
    IllegalAction,
    Moment,
    Outcome,
    Table,
)

Law = Callable[[GameBox, Game, str], None]
"""A law: raises :class:`ConformanceError` where a game with its box, by a seed, breaks it."""

HORIZONS = (Horizon(rounds=1), Horizon(rounds=3), Horizon(rounds=5, hidden=True))

SLACK = 1e-9
"""Slack in comparing payoffs with their bounds, relative to these."""


class ConformanceError(AssertionError):
    """A game breaks a law that every game keeps; the message says which game, where and how."""


def broken(game: Game, sentence: str) -> ConformanceError:
    """The error that this sentence is true of this game."""
    return ConformanceError(f"{game.name}: {sentence}")


@contextmanager
def no_error(game: Game, what: str) -> Iterator[None]:
    """Whatever goes wrong inside is the game's fault."""
    try:
        yield
    except ConformanceError:
        raise
    except Exception as error:
        raise broken(game, f"{what} fails with {error!r}") from error


def variants(box: GameBox) -> dict[str, Game]:
    """Parameter settings to check, labelled: the defaults, and each flag, choice and horizon
    changed alone. Settings that the game itself refuses are left out."""
    default = box.rules()
    found = {"defaults": default}
    for name, field in box.rules.model_fields.items():
        for value in _alternatives(field.annotation, getattr(default, name)):
            try:
                found[f"{name}: {value}"] = box.rules.model_validate({name: value})
            except ValidationError:
                continue
    return found


def _alternatives(annotation: Any, default: Any) -> tuple[Any, ...]:
    if annotation is bool:
        return (not default,)
    if annotation is Horizon:
        return HORIZONS
    if get_origin(annotation) is Literal:
        return tuple(option for option in get_args(annotation) if option != default)
    return ()


def random_moves(box: GameBox) -> dict[str, Decide]:
    """Random legal play of every role: the strategy ``random`` that every game has.

    Raises:
        ConformanceError: the game has no such strategy, or not for all its roles.
    """
    strategy = box.strategies.get("random")
    if strategy is None or not set(box.rules.roles) <= set(strategy.roles):
        raise ConformanceError(f'{box.name}: has no strategy "random" for all its roles')
    return dict.fromkeys(box.rules.roles, strategy)


def new_table(game: Game, seed: str) -> Table:
    """A table where this seed has dealt."""
    return Table(game, game.deal(Chance(seed).apart("deal")), seed)


def questions(box: GameBox, table: Table) -> Iterator[tuple[Asked, Action]]:
    """Play a table to its end at random: every question with its answer, before it is given."""
    move, *_ = random_moves(box).values()
    while not table.over:
        for ask in table.unanswered():
            if ask.seat not in table.heard:
                raise broken(table.game, f'"{ask.seat}" is asked and has no seat')
            asked = table.asked(ask.seat)
            action = move(asked)
            yield asked, action
            try:
                table.answer(ask.seat, action)
            except IllegalAction as illegal:
                sentence = f'the random answer of "{ask.seat}" to {ask.event} is refused: {illegal}'
                raise broken(table.game, sentence) from illegal


def finished(box: GameBox, table: Table) -> Table:
    """The table, played to its end at random."""
    for _ in questions(box, table):
        pass
    return table


def played(box: GameBox, game: Game, seed: str) -> Table:
    """A match that random play with this seed has finished."""
    return finished(box, new_table(game, seed))


class State(NamedTuple):
    """All that can be seen of a table from outside."""

    requests: int
    waiting: tuple[tuple[str, type[Action], object], ...]
    heard: dict[str, tuple[Moment, ...]]
    outcome: Outcome | None
    forfeited: frozenset[str]

    @classmethod
    def of(cls, table: Table) -> "State":
        """The state as it is now."""
        return cls(
            table.requests,
            tuple((ask.seat, ask.action, ask.event) for ask in table.unanswered()),
            {seat: tuple(heard) for seat, heard in table.heard.items()},
            table.outcome,
            table.forfeited,
        )

    def difference(self, other: "State") -> str | None:
        """What sets two states apart, in words; None if nothing does."""
        if self == other:
            return None
        for seat, heard in self.heard.items():
            for one, another in zip_longest(heard, other.heard[seat]):
                if one != another:
                    return f'what "{seat}" lives through is {one} here and {another} there'
        if self.waiting != other.waiting:
            return f"the open questions are {self.waiting} here and {other.waiting} there"
        return f"the end is {self.outcome!r} here and {other.outcome!r} there"


def same(game: Game, one: State, other: State, when: str) -> None:
    """Demand that two states are the same."""
    difference = one.difference(other)
    if difference is not None:
        raise broken(game, f"{when}, {difference}")


def outcome_of(match: Table) -> Outcome:
    """Demand that a finished match has an outcome of the declared type, and give it."""
    game, outcome = match.game, match.outcome
    if outcome is None or type(outcome) is not game.outcome_type:
        raise broken(game, f"the outcome is {outcome!r}, not of {game.outcome_type.__name__}")
    return outcome


def in_bounds(game: Game, outcome: Outcome) -> None:
    """Demand that an outcome pays every seat, and every place within its role's bounds."""
    payoffs = game.payoffs(outcome)
    if set(payoffs) != {seat.name for seat in game.seats}:
        raise broken(game, f"{outcome!r} pays {', '.join(payoffs)}, not every seat")
    bounds = game.payoff_bounds()
    for place, payoff in game.place_payoffs(outcome).items():
        low, high = bounds[game.places[place]]
        slack = SLACK * max(1.0, abs(low), abs(high))
        if not low - slack <= payoff <= high + slack:
            raise broken(game, f'{outcome!r} pays "{place}" {payoff}, out of {low} to {high}')
