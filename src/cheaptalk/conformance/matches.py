"""Tools of the checks: variants of a game, random matches, and comparisons of states."""

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from itertools import zip_longest
from threading import current_thread, main_thread
from traceback import walk_stack
from types import FrameType
from typing import Any, Literal, NamedTuple, Protocol, get_args, get_origin

from pydantic import ValidationError

import cheaptalk as ct
from cheaptalk.rules import Decide, ask_strategy
from cheaptalk.rules.errors import describe, place_of
from cheaptalk.rules.game import expect_finite, expect_json
from cheaptalk.rules.registry import GameLike, SpecLike, game_from

LIMIT = 60.0
"""Default maximum seconds from one answer to the next."""


class Stuck(BaseException):
    """An error about code that exceeds the time limit, with its location and the limit.

    The class is no :class:`Exception`, so that game code with ``except Exception`` cannot catch it.
    """

    def __str__(self) -> str:
        location, seconds = self.args
        return (
            f"{location} is still running after {seconds:g} seconds without a decision request; "
            "check for an endless loop, or raise --timeout (limit= in Python)"
        )


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`Stuck` after ``seconds`` without :func:`sign_of_life`; 0 means no limit.

    Only the main thread can be interrupted; other threads, and single calls of compiled library
    code, have no limit.
    """
    if current_thread() is not main_thread():
        yield
        return

    def interrupt(_: int, frame: FrameType | None) -> None:
        raise Stuck(place_of(walk_stack(frame)) or "a library", seconds)

    handler = signal.signal(signal.SIGALRM, interrupt)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)


def allowed() -> float:
    """Return the time limit in force, in seconds; 0 if there is none."""
    return signal.getitimer(signal.ITIMER_REAL)[1]


def sign_of_life() -> None:
    """Restart the time limit."""
    if allowed():
        signal.setitimer(signal.ITIMER_REAL, allowed(), allowed())


class Named(Protocol):
    """An object with a ``__name__``, such as a function."""

    __name__: str


class Check(Named, Protocol):
    """A check of one configuration with one seed; raises :class:`ConformanceError` if it fails.

    ``limit`` is the maximum time, in seconds, of the game's code from one answer to the next.
    """

    def __call__(
        self, game_spec: SpecLike, game: GameLike, seed: str, *, limit: float = LIMIT
    ) -> None: ...


class SpecCheck(Named, Protocol):
    """A check across all configurations of a game, with several seeds; see :class:`Check`."""

    def __call__(
        self, game_spec: SpecLike, seeds: Sequence[str], *, limit: float = LIMIT
    ) -> None: ...


SHOWN = ("__module__", "__name__", "__qualname__", "__doc__")
"""Attributes that a check has in common with the function that it calls."""
HORIZONS = (
    ct.rules.Horizon(rounds=1),
    ct.rules.Horizon(rounds=3),
    ct.rules.Horizon(rounds=5, hidden=True),
)
LONGEST = 10_000
"""Maximum requests in a match of random play; more raise an error because it may never end."""


class ConformanceError(AssertionError):
    """A failed check; the message names the check, the configuration and the reason."""


class OutOfTime(ConformanceError):
    """A violation of the time limit, after which all other checks are skipped."""


class Broken(ConformanceError):
    """A failed check, before the check and configuration are added to the message."""


@contextmanager
def no_error(activity: str) -> Iterator[None]:
    """Convert any error in the block to a failed check."""
    sign_of_life()
    try:
        yield
    except Broken:
        raise
    except Exception as error:
        raise Broken(f"{activity} failed: {describe(error)}") from error


def configuration_check(check: Callable[[ct.GameSpec, ct.Game, str], None]) -> Check:
    """Turn a function into a check whose errors name the game, configuration and seed."""

    @wraps(check, SHOWN)
    def checked(game_spec: SpecLike, game: GameLike, seed: str, *, limit: float = LIMIT) -> None:
        game_spec, game = ct.get_game(game_spec), game_from(game)
        try:
            with time_limit(limit):
                check(game_spec, game, seed)
        except (Exception, Stuck) as error:
            context = f"{check.__name__}, {_setting(game_spec, game)}, seed {seed}"
            raise _placed(game_spec, context, error) from error

    del checked.__dict__["__wrapped__"]  # it has another signature
    return checked


def spec_check(check: Callable[[ct.GameSpec, Sequence[str]], None]) -> SpecCheck:
    """Turn a function into a check across configurations whose errors name the game."""

    @wraps(check, SHOWN)
    def checked(game_spec: SpecLike, seeds: Sequence[str], *, limit: float = LIMIT) -> None:
        game_spec = ct.get_game(game_spec)
        try:
            with time_limit(limit):
                check(game_spec, seeds)
        except (Exception, Stuck) as error:
            raise _placed(game_spec, check.__name__, error) from error

    del checked.__dict__["__wrapped__"]
    return checked


def _placed(game_spec: ct.GameSpec, context: str, error: Exception | Stuck) -> ConformanceError:
    if isinstance(error, Stuck):
        return OutOfTime(f"{game_spec.name}: {context}: {error}")
    problem = str(error) if isinstance(error, Broken) else describe(error)
    return ConformanceError(
        f"{game_spec.name}: {context}: {problem.replace(f'{game_spec.name}: ', '')}"
    )


def root_cause(error: BaseException) -> str:
    """Describe the root cause of an error in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    is_foreign = isinstance(error, Exception) and not isinstance(error, ConformanceError)
    return " ".join((describe(error) if is_foreign else str(error)).split())


def _setting(game_spec: ct.GameSpec, game: ct.Game) -> str:
    """Return a configuration's label in :func:`variants`, or otherwise its parameters as JSON."""
    labels = (label for label, variant in variants(game_spec).items() if variant == game)
    return next(labels, None) or game.model_dump_json(exclude_defaults=True)


def variants(game_spec: SpecLike) -> dict[str, ct.Game]:
    """Return the configurations to check by label: the defaults, and variants with one change.

    Each flag, choice and horizon is changed individually, unless the game refuses the change.
    """
    game_spec = ct.get_game(game_spec)
    default = game_spec.rules()
    games = {"defaults": default}
    for name, field in game_spec.rules.model_fields.items():
        for value in _alternatives(field.annotation, getattr(default, name)):
            with suppress(ValidationError):
                games[f"{name}: {value}"] = game_spec.rules.model_validate({name: value})
    return games


def _alternatives(annotation: Any, default: Any) -> tuple[Any, ...]:
    if annotation is bool:
        return (not default,)
    if annotation is ct.rules.Horizon:
        return HORIZONS
    if get_origin(annotation) is Literal:
        return tuple(option for option in get_args(annotation) if option != default)
    return ()


def random_moves(game_spec: SpecLike) -> dict[str, Decide]:
    """Return the strategy ``random`` for every role.

    Raises:
        ConformanceError: the game lacks this strategy, or the strategy lacks a role.
    """
    game_spec = ct.get_game(game_spec)
    strategy = game_spec.strategies.get("random")
    if strategy is None or not set(game_spec.rules.roles) <= set(strategy.roles):
        raise Broken('the game has no strategy "random" for all its roles')
    return dict.fromkeys(game_spec.rules.roles, strategy)


def new_table(game: ct.Game, seed: str) -> ct.Table:
    """Return a new match with the instance of this seed."""
    return ct.Table(game, game.instance_of(seed), seed)


def questions(
    game_spec: ct.GameSpec,
    table: ct.Table,
    players: Mapping[str, Decide] | None = None,
    stream: str = "",
) -> Iterator[tuple[ct.DecisionRequest, ct.Action]]:
    """Play a match to its end; yield each request and answer before processing the answer.

    Args:
        players: strategies by seat or role; all other seats play at random.
        stream: the name of random streams that replace those of the match, if not empty.
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
            yield request, (action := ask_strategy(request, decide))
            try:
                table.answer(ask.actor, action)
            except ct.rules.IllegalAction as illegal:
                strategy = getattr(decide, "name", "a function")
                raise Broken(
                    f'the answer of "{ask.actor}", by {strategy}, to {ask.event} is refused: '
                    f"{illegal}"
                ) from illegal
    if table.outcome is not None:
        _expect_numbers(table.game, table.outcome)


def _expect_numbers(game: ct.Game, outcome: ct.Outcome) -> None:
    """Raise an error for non-finite payoffs or outcomes, because NaN is not equal to itself."""
    paid: dict[str, float] = {}
    with suppress(Exception):  # reported by check_payoffs
        paid = game.payoffs(outcome)
    expect_finite(game.name, paid)
    expect_json(game.name, outcome.model_dump(warnings=False))


def finished(
    game_spec: ct.GameSpec,
    table: ct.Table,
    players: Mapping[str, Decide] | None = None,
    stream: str = "",
) -> ct.Table:
    """Play a match to its end and return it; players answer as in :func:`questions`."""
    for _ in questions(game_spec, table, players, stream):
        pass
    return table


def played(
    game_spec: ct.GameSpec, game: ct.Game, seed: str, players: Mapping[str, Decide] | None = None
) -> ct.Table:
    """Play a match with the given seed to its end, as in :func:`questions`, and return it."""
    return finished(game_spec, new_table(game, seed), players)


class State(NamedTuple):
    """The observable state of a match, for comparisons."""

    requests: int
    waiting: tuple[tuple[str, type[ct.Action], object], ...]
    heard: dict[str, tuple[ct.rules.Moment, ...]]
    outcome: ct.Outcome | None
    forfeited: frozenset[str]

    @classmethod
    def of(cls, table: ct.Table) -> "State":
        return cls(
            table.requests,
            tuple((ask.actor, ask.action, ask.event) for ask in table.pending.values()),
            {actor: tuple(heard) for actor, heard in table.heard.items()},
            table.outcome,
            table.forfeited,
        )

    def difference(self, other: "State") -> str | None:
        """Describe the first difference between two states; return None if they are equal."""
        if self == other:
            return None
        for actor, heard in self.heard.items():
            for first, second in zip_longest(heard, other.heard[actor]):
                if first != second:
                    return f'"{actor}" observes {first} in the first and {second} in the second'
        label, first, second = "outcome is", repr(self.outcome), repr(other.outcome)
        if self.waiting != other.waiting:
            label, first, second = "open requests are", repr(self.waiting), repr(other.waiting)
        return f"the {label} {first} in the first and {second} in the second"


def same(first: State, second: State, context: str) -> None:
    """Raise a violation if two states differ."""
    if (difference := first.difference(second)) is not None:
        raise Broken(f"{context}, {difference}")


def outcome_of(match: ct.Table) -> ct.Outcome:
    """Return the outcome of a match; raise a violation if the match has no outcome."""
    if match.outcome is None:
        raise Broken(f"the match is {match.standing}, although every request was answered")
    return match.outcome


def in_bounds(match: ct.Table) -> None:
    """Check that a match pays every actor, with payoffs within the bounds of their roles."""
    match.game.seat_payoffs(outcome_of(match))
