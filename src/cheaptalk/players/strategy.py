"""Scripted strategies at the table.

On a roster ``{strategy: fixed_demand, share: 0.7}`` is a strategy with its settings, and
``{strategies: {bargaining: linear, persuasion: {alice: honest, bob: trusting}}}`` one for each
game, or for each role or place of it. In Python a function may stand for a strategy's name.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from textwrap import dedent
from typing import Any, ClassVar, TypeGuard

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from cheaptalk.models.model_strings import hint
from cheaptalk.players.protocol import Answer, Kind, Thinking
from cheaptalk.players.seats import NO_SOURCES, RosterForm, SeatSpec, Sources
from cheaptalk.rules import (
    Asked,
    CheaptalkError,
    Decide,
    Game,
    Strategy,
    StrategyError,
    decided,
    game_box,
    games,
    register,
    strategies,
    strategy,
    strategy_named,
    suggest,
)
from cheaptalk.rules.errors import shown
from cheaptalk.rules.registry import GAMES, STRATEGIES, is_function


class Scripted:
    """A strategy at a table with slower players; it makes no calls."""

    def __init__(self, decide: Decide) -> None:
        self.decide = decide

    def answer(self, asked: Asked) -> Thinking:
        """Answer at once.

        Raises:
            StrategyError: the strategy failed or answered illegally.
        """
        action = decided(asked, self.decide)
        reason = asked.ask.refuse(action)
        if reason is not None:
            raise StrategyError.illegal(asked, self.decide, reason)
        return Answer(action, Kind.OK)
        yield  # a generator that yields nothing


class StrategySeat(SeatSpec):
    """A seat filled by a scripted strategy.

    Attributes:
        game: whose strategy it is: strategies of one name in two games are two players.
        strategy: its name.
        settings: every setting, defaults included.
        source: of a function of this program, a digest of its source: another function of the
            name is another player. None for strategies of packages.
    """

    instant: ClassVar[bool] = True

    game: str
    strategy: str
    settings: dict[str, Any] = Field(default_factory=dict)
    source: str | None = None

    @model_serializer(mode="wrap")
    def _without_nothing(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A strategy of a package has no source, and is stored as it always was."""
        data: dict[str, Any] = whole(self)
        return {key: value for key, value in data.items() if value is not None}

    def check(self) -> None:
        """Refuse a function that another one of its name has replaced since.

        Raises:
            CheaptalkError: with the cure.
            UnknownName: the game has no such strategy.
        """
        self.decide()

    def seat(self, game: Game, place: str) -> "StrategySeat | None":
        return StrategiesForm.model_validate(self.written()).seat(game, place)

    def written(self) -> dict[str, Any]:
        return {"strategies": {self.game: {"strategy": self.strategy} | self.settings}}

    def decide(self) -> Decide:
        """The strategy with its settings.

        Raises:
            CheaptalkError: it is another one than when it was seated.
        """
        found = strategy_named(self.game, self.strategy)
        if _source_of(self.game, found) != self.source:
            raise CheaptalkError(
                f'the function "{self.strategy}" is another one than when it was seated; give two '
                "functions two names, and make the study again after changing one"
            )
        return found.with_settings(**self.settings)

    @property
    def searches(self) -> bool:
        return strategy_named(self.game, self.strategy).searches

    def player(self, game: Game, sources: Sources = NO_SOURCES) -> Scripted:
        """The strategy, at a table with slower players."""
        return Scripted(self.decide())

    def portable(self) -> bool:
        """Whether an installed package has the strategy, not this program alone."""
        return not (_is_here(self.game, self.strategy) or self.game in GAMES.here)


def _is_here(game: str, name: str) -> bool:
    """Whether this program has registered the strategy."""
    return f"{game}.{name}" in STRATEGIES.here


def _source_of(game: str, found: Strategy) -> str | None:
    """A digest of the source of a strategy that this program registered; None for others, and
    where Python does not know the source, as of what is typed at a bare prompt.

    What the function calls is not looked at.

    Raises:
        ValueError: what it does follows from more than its source.
    """
    return _digest(found.function) if _is_here(game, found.name) else None


@lru_cache(256)
def _digest(function: Callable[..., Any]) -> str | None:
    """Twenty hexadecimal digits that stand for a function's source."""
    function = inspect.unwrap(function)
    free: tuple[str, ...] = getattr(getattr(function, "__code__", None), "co_freevars", ())
    if inspect.ismethod(function) or free:
        name, takes = function.__name__, ", ".join(free) or "its object"
        raise ValueError(
            f'what "{name}" does depends on {takes}, which no store can check: write a function '
            f"that stands by itself, with settings: def {name}(asked, *, ...)"
        )
    try:
        source = dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return None
    return sha256(source.encode()).hexdigest()[:20]


class StrategyForm(RosterForm):
    """One strategy for all games that have it: its name, and settings beside it."""

    chosen: dict[str, Any]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        _check_strategy(data)
        named = data["strategy"]
        return {"chosen": dict(data) | {"strategy": named.name if _is_packaged(named) else named}}

    def written(self) -> dict[str, Any]:
        return {key: _named(value) for key, value in self.chosen.items()}

    def seat(self, game: Game, place: str) -> StrategySeat | None:
        named = self.chosen["strategy"]
        if isinstance(named, str) and named not in strategies(game.name):
            return None
        return strategy_seat(game.name, game.places[place], self.chosen)

    def is_known(self, games: Sequence[str]) -> bool:
        named = self.chosen["strategy"]
        return not isinstance(named, str) or any(named in strategies(game) for game in games)

    def why_idle(self, games: Sequence[str]) -> str:
        """The name is most likely misspelt, or that of a model or policy."""
        known = sorted({name for game in games for name in strategies(game)})
        written = self.chosen["strategy"]
        if not isinstance(written, str):
            return super().why_idle(games)
        policy = f"for a policy write {{policy: {written}}}"
        meant = suggest(written, known)
        cure = hint(written) or ("" if "did you mean" in meant else policy)
        return "unknown strategy " + "; ".join(filter(None, (meant, cure)))


class StrategiesForm(RosterForm):
    """A strategy for each game, or for each role or place of it."""

    strategies: dict[str, Any]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        found = data["strategies"]
        if len(data) > 1:
            other = next(key for key in data if key != "strategies")
            raise ValueError(
                f'"{other}" does not go with strategies: settings stand with a strategy'
            )
        if not isinstance(found, Mapping) or not found:
            raise ValueError(f"strategies: {shown(found)} is no mapping from games to strategies")
        for game in found:
            if game not in GAMES:
                raise ValueError(f"strategies: unknown game {suggest(str(game), list(games()))}")
        return {"strategies": dict(found)}

    def written(self) -> dict[str, Any]:
        return {"strategies": _named(self.strategies)}

    def parts(self, game: str) -> list[str]:
        named = self.strategies.get(game)
        return list(named) if _by_part(named) else []

    def seat(self, game: Game, place: str) -> StrategySeat | None:
        """Strategies are looked up by place, then by role."""
        named, role = self.strategies.get(game.name), game.places[place]
        if _by_part(named):
            named = named.get(place, named.get(role))
        return None if named is None else strategy_seat(game.name, role, named)


def _by_part(named: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether strategies are named by role or place."""
    return isinstance(named, Mapping) and "strategy" not in named


def _check_strategy(written: Any) -> None:
    named = written.get("strategy") if isinstance(written, Mapping) else None
    if callable(named) and not isinstance(named, Strategy) and not is_function(named):
        what = getattr(named, "__name__", type(named).__name__)
        raise ValueError(
            f"{what} is no function, by whose name and source a store knows a player; write "
            "def NAME(asked): ... around it"
        )
    if not isinstance(named, str | Strategy) and not is_function(named):
        raise ValueError(
            f"{shown(written)} is no strategy: write its name, or "
            "{strategy: NAME, SETTING: VALUE}"
        )
    if not str(_named(named)).isidentifier() and is_function(named):
        raise ValueError(
            "a lambda has no name, by which a store knows a function; write def NAME(asked): ... "
            "and give NAME"
        )


def _named(written: Any) -> Any:
    """What is written with functions by their names, as a store knows them."""
    if isinstance(written, Mapping):
        return {key: _named(value) for key, value in written.items()}
    if isinstance(written, Strategy):
        return written.name
    return written.__name__ if is_function(written) else written


def _is_packaged(named: Any) -> bool:
    """Whether this is a strategy that an installed game or package has."""
    return isinstance(named, Strategy) and any(
        box.strategies.get(named.name) == named and f"{game}.{named.name}" not in STRATEGIES.here
        for game, box in games().items()
    )


def _found(game: str, named: Any) -> Strategy:
    """A strategy of a game by its name; a function is registered in this process under its own.

    Raises:
        UnknownName: the game has no such strategy.
        ValueError: the game has another one of the function's name.
    """
    if isinstance(named, str):
        return strategy_named(game, named)
    box = game_box(game)
    made = named if isinstance(named, Strategy) else strategy(*box.rules.roles)(named)
    known = box.strategies.get(made.name)
    if known is not None and known.function is made.function:
        return known
    if known is not None and f"{game}.{made.name}" not in STRATEGIES.here:
        raise ValueError(
            f'{game} has a strategy named "{made.name}" already; give the function another name'
        )
    register(made, game=game)
    return made


def strategy_seat(game: str, role: str, written: Any) -> StrategySeat | None:
    """A strategy as written (a name, or a mapping with settings), checked and with defaults.

    Returns:
        None where the strategy does not play the role.

    Raises:
        ValueError: it is not legal, or what a function of this program does cannot be checked.
    """
    data = {"strategy": written} if isinstance(written, str) or callable(written) else written
    _check_strategy(data)
    found = _found(game, data["strategy"])
    if role not in found.roles:
        return None
    chosen = {key: value for key, value in data.items() if key != "strategy"}
    settings = found.settings.model_validate(chosen).model_dump(mode="json")
    return StrategySeat(
        game=game, strategy=found.name, settings=settings, source=_source_of(game, found)
    )
