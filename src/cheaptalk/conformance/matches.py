"""Shared by the checks: variants of a game, random matches, and states to compare."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from itertools import zip_longest
from typing import Any, Literal, NamedTuple, Protocol, get_args, get_origin

from pydantic import ValidationError

from cheaptalk.conformance.time_limit import LIMIT, Stuck, sign_of_life, time_limit
from cheaptalk.rules import (
    Action,
    Decide,
    DecisionRequest,
    Game,
    GameSpec,
    Horizon,
    IllegalAction,
    Moment,
    Outcome,
    Table,
    decided,
)
from cheaptalk.rules.errors import describe
from cheaptalk.rules.game import expect_finite, expect_json


class Named(Protocol):
    """A check with the name of its function."""

    __name__: str


class Law(Named, Protocol):
    """A law: raises :class:`ConformanceError` if a game violates it with a seed.

    ``limit`` is the maximum time, in seconds, of the game's code from one answer to the next.
    """

    def __call__(
        self, game_spec: GameSpec, game: Game, seed: str, *, limit: float = LIMIT
    ) -> None: ...


class SpecLaw(Named, Protocol):
    """A law of a game as a whole, for several seeds; the limit is that of :class:`Law`."""

    def __call__(
        self, game_spec: GameSpec, seeds: Sequence[str], *, limit: float = LIMIT
    ) -> None: ...


HORIZONS = (Horizon(rounds=1), Horizon(rounds=3), Horizon(rounds=5, hidden=True))
LONGEST = 10_000
"""Requests after which a match is considered endless."""


class ConformanceError(AssertionError):
    """A violated law; the message says which one, where and why."""


class OutOfTime(ConformanceError):
    """Code of the game does not finish, so that no other check would finish either."""


class Broken(ConformanceError):
    """A violation, without its location."""


@contextmanager
def no_error(what: str) -> Iterator[None]:
    """Turn any error inside into a violation."""
    sign_of_life()
    try:
        yield
    except Broken:
        raise
    except Exception as error:
        raise Broken(f"{what} failed: {describe(error)}") from error


def law(check: Callable[[GameSpec, Game, str], None]) -> Law:
    """Turn a function into a check whose errors name the game, the configuration and the seed."""

    @wraps(check)
    def checked(game_spec: GameSpec, game: Game, seed: str, *, limit: float = LIMIT) -> None:
        try:
            with time_limit(limit):
                check(game_spec, game, seed)
        except (Exception, Stuck) as error:
            context = f"{check.__name__}, {_setting(game_spec, game)}, seed {seed}"
            raise _placed(game_spec, context, error) from error

    return checked


def spec_law(check: Callable[[GameSpec, Sequence[str]], None]) -> SpecLaw:
    """Turn a function into a check of a game as a whole whose errors name the game."""

    @wraps(check)
    def checked(game_spec: GameSpec, seeds: Sequence[str], *, limit: float = LIMIT) -> None:
        try:
            with time_limit(limit):
                check(game_spec, seeds)
        except (Exception, Stuck) as error:
            raise _placed(game_spec, check.__name__, error) from error

    return checked


def _placed(game_spec: GameSpec, context: str, error: Exception | Stuck) -> ConformanceError:
    """Return a violation with the game and the check."""
    if isinstance(error, Stuck):
        return OutOfTime(f"{game_spec.name}: {context}: {error}")
    problem = str(error) if isinstance(error, Broken) else describe(error)
    return ConformanceError(
        f"{game_spec.name}: {context}: {problem.replace(f'{game_spec.name}: ', '')}"
    )


def root_cause(error: BaseException) -> str:
    """Return the root cause of an error, in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    message = (
        describe(error)
        if isinstance(error, Exception) and not isinstance(error, ConformanceError)
        else str(error)
    )
    return " ".join(message.split())


def _setting(game_spec: GameSpec, game: Game) -> str:
    """Return the label of a game's parameters, as in :func:`variants`."""
    labels = (label for label, variant in variants(game_spec).items() if variant == game)
    return next(labels, None) or game.model_dump_json(exclude_defaults=True)


def variants(game_spec: GameSpec) -> dict[str, Game]:
    """Return configurations to check by label: the defaults, and each flag, choice and horizon
    changed individually. Configurations that the game refuses are omitted."""
    default = game_spec.rules()
    games = {"defaults": default}
    for name, field in game_spec.rules.model_fields.items():
        for value in _alternatives(field.annotation, getattr(default, name)):
            try:
                games[f"{name}: {value}"] = game_spec.rules.model_validate({name: value})
            except ValidationError:
                continue
    return games


def _alternatives(annotation: Any, default: Any) -> tuple[Any, ...]:
    if annotation is bool:
        return (not default,)
    if annotation is Horizon:
        return HORIZONS
    if get_origin(annotation) is Literal:
        return tuple(option for option in get_args(annotation) if option != default)
    return ()


def random_moves(game_spec: GameSpec) -> dict[str, Decide]:
    """Return random legal play for every role: the strategy ``random`` that every game has.

    Raises:
        ConformanceError: the game has no such strategy, or not for all its roles.
    """
    strategy = game_spec.strategies.get("random")
    if strategy is None or not set(game_spec.rules.roles) <= set(strategy.roles):
        raise Broken('the game has no strategy "random" for all its roles')
    return dict.fromkeys(game_spec.rules.roles, strategy)


def new_table(game: Game, seed: str) -> Table:
    """Return a table with this seed's instance."""
    return Table(game, game.instance_of(seed), seed)


def questions(
    game_spec: GameSpec, table: Table, players: Mapping[str, Decide] | None = None, stream: str = ""
) -> Iterator[tuple[DecisionRequest, Action]]:
    """Play a table to its end; yield every request with its answer before the answer is given.

    Args:
        players: strategies by seat or role; all others play at random.
        stream: the name of random streams for the players, instead of the table's.
    """
    strategies, roles = random_moves(game_spec) | dict(players or {}), table.game.seats
    seats = {actor.name: actor.seat for actor in table.game.actors}
    while not table.over:
        if table.requests > LONGEST:
            raise Broken(
                f"a match does not end within {LONGEST:,} requests; let the rules end it after a "
                "number of rounds"
            )
        for ask in table.pending.values():
            sign_of_life()
            request, seat = table.request(ask.actor), seats[ask.actor]
            if stream:
                request = request._replace(chance=request.chance.apart(stream))
            decide = strategies.get(seat, strategies[roles[seat]])
            action = decided(request, decide)
            yield request, action
            try:
                table.answer(ask.actor, action)
            except IllegalAction as illegal:
                strategy = getattr(decide, "name", "a function")
                raise Broken(
                    f'the answer of "{ask.actor}", by {strategy}, to {ask.event} is refused: '
                    f"{illegal}"
                ) from illegal
    if table.outcome is not None:
        _expect_numbers(table.game, table.outcome)


def _expect_numbers(game: Game, outcome: Outcome) -> None:
    """Refuse payoffs and outcomes with non-finite numbers, because NaN equals nothing."""
    paid: dict[str, float] = {}
    with suppress(Exception):  # reported by check_payoffs
        paid = game.payoffs(outcome)
    expect_finite(game.name, paid)
    expect_json(game.name, outcome.model_dump(warnings=False))


def finished(
    game_spec: GameSpec, table: Table, players: Mapping[str, Decide] | None = None, stream: str = ""
) -> Table:
    """Return the table, played to its end by :func:`questions`."""
    for _ in questions(game_spec, table, players, stream):
        pass
    return table


def played(
    game_spec: GameSpec, game: Game, seed: str, players: Mapping[str, Decide] | None = None
) -> Table:
    """Return a match with this seed, played to its end by :func:`questions`."""
    return finished(game_spec, new_table(game, seed), players)


class State(NamedTuple):
    """Everything about a table that is visible from outside."""

    requests: int
    waiting: tuple[tuple[str, type[Action], object], ...]
    heard: dict[str, tuple[Moment, ...]]
    outcome: Outcome | None
    forfeited: frozenset[str]

    @classmethod
    def of(cls, table: Table) -> "State":
        """Return the current state."""
        return cls(
            table.requests,
            tuple((ask.actor, ask.action, ask.event) for ask in table.pending.values()),
            {actor: tuple(heard) for actor, heard in table.heard.items()},
            table.outcome,
            table.forfeited,
        )

    def difference(self, other: "State") -> str | None:
        """Return how two states differ, in words; None if they are equal."""
        if self == other:
            return None
        for actor, heard in self.heard.items():
            for first, second in zip_longest(heard, other.heard[actor]):
                if first != second:
                    return f'"{actor}" observes {first} in the first and {second} in the second'
        if self.waiting != other.waiting:
            return (
                f"the open requests are {self.waiting} in the first and {other.waiting} in the "
                "second"
            )
        return f"the outcome is {self.outcome!r} in the first and {other.outcome!r} in the second"


def same(first: State, second: State, context: str) -> None:
    """Check that two states are equal."""
    difference = first.difference(second)
    if difference is not None:
        raise Broken(f"{context}, {difference}")


def outcome_of(match: Table) -> Outcome:
    """Return the outcome of a match that must have one."""
    if match.outcome is None:
        raise Broken(f"the match is {match.standing}, although every request was answered")
    return match.outcome


def in_bounds(match: Table) -> None:
    """Check that a match has a payoff for every actor, within the bounds of every seat's role."""
    match.game.seat_payoffs(outcome_of(match))
