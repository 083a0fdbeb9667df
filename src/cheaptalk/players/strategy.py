"""Scripted strategies as players.

The roster entry ``{strategy: fixed_demand, share: 0.7}`` is a strategy with settings. The entry
``{strategies: {bargaining: linear, persuasion: {alice: honest, bob: trusting}}}`` has a strategy
for each game, role or seat. In Python, a function can replace a strategy's name.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from textwrap import dedent
from typing import Any, ClassVar, TypeGuard

from pydantic import Field, model_validator

from cheaptalk.models.model_strings import hint
from cheaptalk.players.protocol import Answer, Kind, Thinking
from cheaptalk.players.seats import NO_SOURCES, RosterForm, SeatSpec, Sources
from cheaptalk.rules import (
    CheaptalkError,
    Decide,
    DecisionRequest,
    Game,
    Strategy,
    StrategyError,
    ask_strategy,
    games,
    get_game,
    register,
    strategies,
    strategy,
    strategy_named,
    suggest,
)
from cheaptalk.rules.errors import shown
from cheaptalk.rules.registry import GAMES, STRATEGIES, is_function


class Scripted:
    """A player that runs a strategy in matches with slower players, such as models."""

    def __init__(self, decide: Decide) -> None:
        self.decide = decide

    def answer(self, request: DecisionRequest) -> Thinking:
        """Return the strategy's action; raise a StrategyError if it fails or is illegal."""
        action = ask_strategy(request, self.decide)
        reason = request.ask.refuse(action)
        if reason is not None:
            raise StrategyError.illegal(request, self.decide, reason)
        return Answer(action, Kind.OK)
        yield  # a generator that yields nothing


class StrategySeat(SeatSpec):
    """The settings of a scripted strategy as a player.

    Strategies of the same name in two games are different players. ``settings`` include defaults.
    ``source`` is a digest of the source code of a function of this program, which distinguishes
    functions of the same name.
    """

    optional: ClassVar[frozenset[str]] = frozenset({"source"})
    instant: ClassVar[bool] = True

    game: str
    strategy: str
    settings: dict[str, Any] = Field(default_factory=dict)
    source: str | None = None

    def check(self) -> None:
        """Raise an error if the strategy is unknown, or if its function was replaced."""
        self.decide()

    def seat(self, game: Game, seat: str) -> "StrategySeat | None":
        return StrategiesForm.model_validate(self.written()).seat(game, seat)

    def written(self) -> dict[str, Any]:
        return {"strategies": {self.game: {"strategy": self.strategy} | self.settings}}

    def decide(self) -> Decide:
        """Return the strategy with its settings; raise an error if its function was replaced."""
        strategy = strategy_named(self.game, self.strategy)
        if _source_of(self.game, strategy) != self.source:
            raise CheaptalkError(
                f'the function "{self.strategy}" has changed since the study was created; give the '
                "new function another name, or recreate the study"
            )
        return strategy.with_settings(**self.settings)

    @property
    def searches(self) -> bool:
        return strategy_named(self.game, self.strategy).searches

    def player(self, game: Game, sources: Sources = NO_SOURCES) -> Scripted:
        return Scripted(self.decide())

    def portable(self) -> bool:
        """Return whether an installed package provides the strategy."""
        return not (_is_here(self.game, self.strategy) or self.game in GAMES.here)


def _is_here(game: str, name: str) -> bool:
    return f"{game}.{name}" in STRATEGIES.here


def _source_of(game: str, strategy: Strategy) -> str | None:
    """Return a digest of a registered function's source; None if it is unavailable or packaged."""
    return _digest(strategy.function) if _is_here(game, strategy.name) else None


@lru_cache(256)
def _digest(function: Callable[..., Any]) -> str | None:
    function = inspect.unwrap(function)
    variables: tuple[str, ...] = getattr(getattr(function, "__code__", None), "co_freevars", ())
    if inspect.ismethod(function) or variables:
        name, dependencies = function.__name__, ", ".join(variables) or "an object"
        raise ValueError(
            f'"{name}" depends on {dependencies}, which the store cannot check; write a function '
            f"without free variables, with settings: def {name}(request, *, ...)"
        )
    try:
        source = dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return None
    return sha256(source.encode()).hexdigest()[:20]


class StrategyForm(RosterForm):
    """The roster entry of one strategy, for all games that have a strategy of this name."""

    chosen: dict[str, Any]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        _check_strategy(data)
        strategy = data["strategy"]
        name = strategy.name if _is_packaged(strategy) else strategy
        return {"chosen": dict(data) | {"strategy": name}}

    def written(self) -> dict[str, Any]:
        return {key: _named(value) for key, value in self.chosen.items()}

    def seat(self, game: Game, seat: str) -> StrategySeat | None:
        strategy = self.chosen["strategy"]
        if isinstance(strategy, str) and strategy not in strategies(game.name):
            return None
        return strategy_seat(game.name, game.seats[seat], self.chosen)

    def is_known(self, games: Sequence[str]) -> bool:
        strategy = self.chosen["strategy"]
        return not isinstance(strategy, str) or any(strategy in strategies(game) for game in games)

    def why_idle(self, games: Sequence[str]) -> str:
        """Return an error message that suggests a fix for an unknown strategy's name."""
        known = sorted({name for game in games for name in strategies(game)})
        strategy = self.chosen["strategy"]
        if not isinstance(strategy, str):
            return super().why_idle(games)
        policy = f"for a policy write {{policy: {strategy}}}"
        suggestion = suggest(strategy, known)
        advice = hint(strategy) or ("" if "did you mean" in suggestion else policy)
        return "unknown strategy " + "; ".join(filter(None, (suggestion, advice)))


class StrategiesForm(RosterForm):
    """The roster entry with a strategy for each game, or for each role or seat of a game."""

    strategies: dict[str, Any]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        by_game = data["strategies"]
        if len(data) > 1:
            other = next(key for key in data if key != "strategies")
            raise ValueError(
                f'"{other}" cannot be combined with strategies; move settings into a strategy'
            )
        if not isinstance(by_game, Mapping) or not by_game:
            raise ValueError(
                f"strategies: {shown(by_game)} is not a mapping from games to strategies"
            )
        for game in by_game:
            if game not in GAMES:
                raise ValueError(f"strategies: unknown game {suggest(str(game), list(games()))}")
        return {"strategies": dict(by_game)}

    def written(self) -> dict[str, Any]:
        return {"strategies": _named(self.strategies)}

    def parts(self, game: str) -> list[str]:
        entry = self.strategies.get(game)
        return list(entry) if _by_part(entry) else []

    def seat(self, game: Game, seat: str) -> StrategySeat | None:
        entry, role = self.strategies.get(game.name), game.seats[seat]
        if _by_part(entry):
            entry = entry.get(seat, entry.get(role))
        return None if entry is None else strategy_seat(game.name, role, entry)


def _by_part(entry: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(entry, Mapping) and "strategy" not in entry


def _check_strategy(entry: Any) -> None:
    strategy = entry.get("strategy") if isinstance(entry, Mapping) else None
    if callable(strategy) and not isinstance(strategy, Strategy) and not is_function(strategy):
        name = getattr(strategy, "__name__", type(strategy).__name__)
        raise ValueError(
            f"{name} is not a plain function, so a store cannot identify it by name and source; "
            "wrap it in def NAME(request): ..."
        )
    if not isinstance(strategy, str | Strategy) and not is_function(strategy):
        raise ValueError(
            f"{shown(entry)} is not a strategy; write its name, or "
            "{strategy: NAME, SETTING: VALUE}"
        )
    if not str(_named(strategy)).isidentifier() and is_function(strategy):
        raise ValueError(
            "a lambda has no name to identify it in a store; write def NAME(request): ... "
            "and use NAME"
        )


def _named(entry: Any) -> Any:
    """Replace functions in an entry by their names."""
    if isinstance(entry, Mapping):
        return {key: _named(value) for key, value in entry.items()}
    if isinstance(entry, Strategy):
        return entry.name
    return entry.__name__ if is_function(entry) else entry


def _is_packaged(strategy: Any) -> bool:
    return isinstance(strategy, Strategy) and any(
        game_spec.strategies.get(strategy.name) == strategy
        and f"{game}.{strategy.name}" not in STRATEGIES.here
        for game, game_spec in games().items()
    )


def _resolved(game: str, entry: Any) -> Strategy:
    """Return a strategy by name, or register a function as a strategy under its own name."""
    if isinstance(entry, str):
        return strategy_named(game, entry)
    game_spec = get_game(game)
    new = entry if isinstance(entry, Strategy) else strategy(*game_spec.rules.roles)(entry)
    known = game_spec.strategies.get(new.name)
    if known is not None and known.function is new.function:
        return known
    if known is not None and f"{game}.{new.name}" not in STRATEGIES.here:
        raise ValueError(f'{game} already has a strategy named "{new.name}"; rename the function')
    register(new, game=game)
    return new


def strategy_seat(game: str, role: str, entry: Any) -> StrategySeat | None:
    """Return the validated settings of a strategy, or None if the strategy cannot play the role.

    The entry is the strategy's name or function, or a mapping with settings. A ValueError is also
    raised for a function that depends on more than its source.
    """
    data = {"strategy": entry} if isinstance(entry, str) or callable(entry) else entry
    _check_strategy(data)
    chosen = _resolved(game, data["strategy"])
    if role not in chosen.roles:
        return None
    options = {key: value for key, value in data.items() if key != "strategy"}
    settings = chosen.settings.model_validate(options).model_dump(mode="json")
    source = _source_of(game, chosen)
    return StrategySeat(game=game, strategy=chosen.name, settings=settings, source=source)
