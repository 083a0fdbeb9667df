"""What the checks share: variants of a game, random matches, and states to compare."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from itertools import zip_longest
from typing import Any, Literal, NamedTuple, Protocol, get_args, get_origin

from pydantic import ValidationError

from cheaptalk.conformance.time_limit import LIMIT, Stuck, sign_of_life, time_limit
from cheaptalk.rules import (
    Action,
    Asked,
    Decide,
    Game,
    GameBox,
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
    """A check, by the name of its function."""

    __name__: str


class Law(Named, Protocol):
    """A law: raises :class:`ConformanceError` where a game with its box, by a seed, breaks it.

    ``limit`` are the seconds that the game's code may take from one answer to the next.
    """

    def __call__(self, box: GameBox, game: Game, seed: str, *, limit: float = LIMIT) -> None: ...


class BoxLaw(Named, Protocol):
    """A law of a game as a whole, by some seeds; the limit is a :class:`Law`'s."""

    def __call__(self, box: GameBox, seeds: Sequence[str], *, limit: float = LIMIT) -> None: ...


HORIZONS = (Horizon(rounds=1), Horizon(rounds=3), Horizon(rounds=5, hidden=True))
LONGEST = 10_000
"""Questions after which a match is taken to have no end."""


class ConformanceError(AssertionError):
    """A game breaks a law that every game keeps; the message says which, where and how."""


class OutOfTime(ConformanceError):
    """Code of the game runs without end, so that no other check would come to an end either."""


class Broken(ConformanceError):
    """What a check found, in a sentence that does not yet say where."""


@contextmanager
def no_error(what: str) -> Iterator[None]:
    """Whatever goes wrong inside is the game's fault."""
    sign_of_life()
    try:
        yield
    except Broken:
        raise
    except Exception as error:
        raise Broken(f"{what} fails: {describe(error)}") from error


def law(check: Callable[[GameBox, Game, str], None]) -> Law:
    """A check that says of what it finds which game it is of, the setting and the seed."""

    @wraps(check)
    def checked(box: GameBox, game: Game, seed: str, *, limit: float = LIMIT) -> None:
        try:
            with time_limit(limit):
                check(box, game, seed)
        except (Exception, Stuck) as error:
            where = f"{check.__name__}, {_setting(box, game)}, seed {seed}"
            raise _placed(box, where, error) from error

    return checked


def box_law(check: Callable[[GameBox, Sequence[str]], None]) -> BoxLaw:
    """A check of a game as a whole that says of what it finds which game it is of."""

    @wraps(check)
    def checked(box: GameBox, seeds: Sequence[str], *, limit: float = LIMIT) -> None:
        try:
            with time_limit(limit):
                check(box, seeds)
        except (Exception, Stuck) as error:
            raise _placed(box, check.__name__, error) from error

    return checked


def _placed(box: GameBox, where: str, error: Exception | Stuck) -> ConformanceError:
    """What was found, with the game and the check."""
    if isinstance(error, Stuck):
        return OutOfTime(f"{box.name}: {where}: {error}")
    found = str(error) if isinstance(error, Broken) else describe(error)
    return ConformanceError(f"{box.name}: {where}: {found.replace(f'{box.name}: ', '')}")


def root_cause(error: BaseException) -> str:
    """The error from which another came at last, in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    told = (
        describe(error)
        if isinstance(error, Exception) and not isinstance(error, ConformanceError)
        else str(error)
    )
    return " ".join(told.split())


def _setting(box: GameBox, game: Game) -> str:
    """A game's parameters as :func:`variants` calls them."""
    known = (label for label, one in variants(box).items() if one == game)
    return next(known, None) or game.model_dump_json(exclude_defaults=True)


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
        raise Broken('the game has no strategy "random" for all its roles')
    return dict.fromkeys(box.rules.roles, strategy)


def new_table(game: Game, seed: str) -> Table:
    """A table where this seed has dealt."""
    return Table(game, game.dealt(seed), seed)


def questions(
    box: GameBox, table: Table, players: Mapping[str, Decide] | None = None, luck: str = ""
) -> Iterator[tuple[Asked, Action]]:
    """Play a table to its end: every question with its answer, before it is given.

    Args:
        players: who plays, by place or role; everybody else, and by default all, at random.
        luck: random streams of the players other than the table's.
    """
    chosen, places = random_moves(box) | dict(players or {}), table.game.places
    taken = {seat.name: seat.place for seat in table.game.seats}
    while not table.over:
        if table.requests > LONGEST:
            raise Broken(
                f"a match does not end within {LONGEST:,} questions; let the rules end it after "
                "so many rounds"
            )
        for ask in table.pending.values():
            sign_of_life()
            asked, place = table.asked(ask.seat), taken[ask.seat]
            if luck:
                asked = asked._replace(chance=asked.chance.apart(luck))
            decide = chosen.get(place, chosen[places[place]])
            action = decided(asked, decide)
            yield asked, action
            try:
                table.answer(ask.seat, action)
            except IllegalAction as illegal:
                by = getattr(decide, "name", "a function")
                raise Broken(
                    f'the answer of "{ask.seat}", by {by}, to {ask.event} is refused: {illegal}'
                ) from illegal
    if table.outcome is not None:
        _expect_numbers(table.game, table.outcome)


def _expect_numbers(game: Game, outcome: Outcome) -> None:
    """Refuse payoffs, and numbers of an outcome, that are not finite: nothing equals a nan."""
    paid: dict[str, float] = {}
    with suppress(Exception):  # which check_payoffs tells
        paid = game.payoffs(outcome)
    expect_finite(game.name, paid)
    expect_json(game.name, outcome.model_dump(warnings=False))


def finished(
    box: GameBox, table: Table, players: Mapping[str, Decide] | None = None, luck: str = ""
) -> Table:
    """The table, played to its end as by :func:`questions`."""
    for _ in questions(box, table, players, luck):
        pass
    return table


def played(
    box: GameBox, game: Game, seed: str, players: Mapping[str, Decide] | None = None
) -> Table:
    """A match by this seed that has been played to its end as by :func:`questions`."""
    return finished(box, new_table(game, seed), players)


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
            tuple((ask.seat, ask.action, ask.event) for ask in table.pending.values()),
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


def same(one: State, other: State, when: str) -> None:
    """Demand that two states are the same."""
    difference = one.difference(other)
    if difference is not None:
        raise Broken(f"{when}, {difference}")


def outcome_of(match: Table) -> Outcome:
    """The outcome of a match that must have one."""
    if match.outcome is None:
        raise Broken(f"the match is {match.standing}, although everybody answered")
    return match.outcome


def in_bounds(match: Table) -> None:
    """Demand that a match pays every seat, and every place within its role's bounds."""
    match.game.place_payoffs(outcome_of(match))
