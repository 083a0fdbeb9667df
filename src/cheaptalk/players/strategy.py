"""Scripted strategies as players.

The roster entry ``{strategy: fixed_demand, share: 0.7}`` is a strategy with settings. The entry
``{strategies: {bargaining: linear, persuasion: {alice: honest, bob: trusting}}}`` has a strategy
for each game, role or seat. In Python, a function, an object or a class can replace a strategy's
name; see :func:`.decider`.
"""

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pickle import dumps
from typing import Any, ClassVar, TypeGuard

from pydantic import Field, PrivateAttr, model_validator

from cheaptalk.models import Reply
from cheaptalk.models.model_strings import hint
from cheaptalk.players.code_digests import code_digest
from cheaptalk.players.protocol import Answer, FunctionCall, Kind, Player, Talking, Thinking
from cheaptalk.players.seats import NO_SOURCES, RosterForm, SeatSpec, Sources
from cheaptalk.rules import (
    Action,
    ChatTurn,
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
from cheaptalk.rules.deciders import (
    bare,
    decider,
    fresh,
    is_async,
    is_class,
    is_player,
    makes_calls,
    player_name,
)
from cheaptalk.rules.errors import first_line, shown
from cheaptalk.rules.play import line_of, read_fields
from cheaptalk.rules.registry import GAMES, STRATEGIES


class Scripted:
    """A player that runs a strategy in matches with slower players, such as models."""

    def __init__(self, decide: Decide) -> None:
        self.decide = decider(decide)

    def answer(self, request: DecisionRequest) -> Thinking:
        """Return the strategy's action; raise a StrategyError if it fails or is illegal."""
        action = ask_strategy(request, self.decide)
        reason = request.ask.refuse(action)
        if reason is not None:
            raise StrategyError.illegal(request, self.decide, reason)
        return Answer(action, Kind.OK)
        yield  # a generator that yields nothing

    def talk(self, turn: ChatTurn) -> Talking:
        """Return the line of a strategy with a method ``talk``, or None."""
        return self.line(turn)
        yield  # a generator that yields nothing

    def line(self, turn: ChatTurn) -> str | None:
        """Return the line of a strategy with a method ``talk``, or None."""
        return line_of(turn, self.decide)


class Awaited:
    """A player that awaits an asynchronous function, and whose answers are recorded as calls."""

    def __init__(self, function: Callable[[DecisionRequest], Awaitable[Action]]) -> None:
        self.function = function

    def answer(self, request: DecisionRequest) -> Thinking:
        """Return the function's action; raise a StrategyError if it fails or is illegal."""
        name, question = player_name(self.function), repr(request.event)
        ask = partial(self._ask, request)
        reply = yield FunctionCall(seat=request.actor, function=name, question=question, ask=ask)
        return Answer(request.ask.action.model_validate_json(reply.text or ""), Kind.OK)

    async def _ask(self, request: DecisionRequest) -> Reply:
        try:
            action = await self.function(request)
        except Exception as error:
            raise StrategyError.failed(request, self.function, error) from error
        if isinstance(action, dict):
            action = read_fields(request, self.function, action)
        reason = request.ask.refuse(action)
        if reason is not None:
            raise StrategyError.illegal(request, self.function, reason)
        return Reply(text=action.model_dump_json())


class StrategySeat(SeatSpec):
    """The settings of a scripted strategy, or of another Python player.

    Strategies of the same name in two games are different players. ``settings`` include defaults.
    ``source`` is a digest of the code of a player of this program (see :func:`.code_digest`), which
    distinguishes players of the same name.
    """

    optional: ClassVar[frozenset[str]] = frozenset({"source"})
    instant: ClassVar[bool] = True

    game: str
    strategy: str
    settings: dict[str, Any] = Field(default_factory=dict)
    source: str | None = None
    _given: Strategy | None = PrivateAttr(default=None)

    @classmethod
    def of(cls, game: str, strategy: Strategy, settings: dict[str, Any]) -> "StrategySeat":
        """Return the settings of a strategy that this program or an installed package provides."""
        source = _source_of(game, strategy)
        seat = cls(game=game, strategy=strategy.name, settings=settings, source=source)
        seat._given = strategy if _is_here(game, strategy.name) else None
        return seat

    def check(self) -> None:
        """Raise an error if the strategy is unknown, was redefined or cannot be copied."""
        player = self._strategy.function
        if _is_redefined(player):
            raise self._changed()
        if not is_class(player):
            fresh(player)

    def seat(self, game: Game, seat: str) -> "StrategySeat | None":
        return StrategiesForm.model_validate(self.written()).seat(game, seat)

    def written(self) -> dict[str, Any]:
        return {"strategies": {self.game: {"strategy": self.strategy} | self.settings}}

    @property
    def _strategy(self) -> Strategy:
        if self._given is not None:
            return self._given
        strategy = strategy_named(self.game, self.strategy)
        if _source_of(self.game, strategy) != self.source:
            raise self._changed()
        return strategy

    def _changed(self) -> CheaptalkError:
        return CheaptalkError(
            f'the player "{self.strategy}" has changed since the study was created; recreate the '
            "study, or give the new player another name"
        )

    def decide(self) -> Decide:
        """Return the strategy with its settings, for :func:`.play`.

        Raises:
            CheaptalkError: the strategy's code was replaced.
        """
        return self._strategy.with_settings(**self.settings)

    @property
    def searches(self) -> bool:
        return self._strategy.searches

    def player(self, game: Game, sources: Sources = NO_SOURCES) -> Player:
        return Scripted(self.decide())

    def unportable(self, pickle: Callable[[Any], bytes]) -> str | None:
        if self.game in GAMES.here:
            return f'only this process knows the game "{self.game}"; provide it in a package'
        if self._given is None and not _is_here(self.game, self.strategy):
            return None
        try:
            pickle(self._strategy)
            reason = _why_not_importable(self._strategy.function) if pickle is dumps else None
        except Exception as error:  # noqa: BLE001 - any object may refuse in any way
            reason = f"it cannot be pickled ({first_line(error)})"
        return reason and f"{reason}; define {self.strategy} at the top level of a module"


class LiveStrategySeat(StrategySeat):
    """The settings of a Python player that takes time.

    The player is an asynchronous function, or an object that makes calls (:class:`.Player`).
    """

    instant: ClassVar[bool] = False
    may_fail: ClassVar[bool] = True

    def player(self, game: Game, sources: Sources = NO_SOURCES) -> Player:
        player: Any = fresh(self.decide())
        return player if makes_calls(player) else Awaited(player)


def _is_here(game: str, name: str) -> bool:
    return f"{game}.{name}" in STRATEGIES.here


def _source_of(game: str, strategy: Strategy) -> str | None:
    """Return the digest of a strategy of this program; None if a package provides it."""
    return code_digest(strategy.function) if _is_here(game, strategy.name) else None


def _is_redefined(player: Any) -> bool:
    """Return whether a module now has other code under a player's name, as in a rerun cell."""
    module = sys.modules.get(getattr(player, "__module__", None) or "")
    current = getattr(module, getattr(player, "__qualname__", ""), player)
    if current is player or type(current) is not type(player):
        return False
    return code_digest(current) != code_digest(player)


def _why_not_importable(player: Any) -> str | None:
    """Return why a process that imports the main script would lack a player of this program."""
    is_main = getattr(bare(player), "__module__", None) == "__main__"
    if is_main and not hasattr(sys.modules["__main__"], "__file__"):
        return "other processes cannot import a notebook or prompt"
    return None


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
        suggestion, advice = suggest(strategy, known), hint(strategy)
        if "did you mean" not in suggestion:
            suggestion = f'"{strategy}"'
            policy = f"for a policy write {{policy: {strategy}}}"
            advice = advice or f"{policy}; strategies: {', '.join(known)}"
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
    if not isinstance(strategy, str) and not is_player(strategy):
        raise ValueError(
            f"{shown(entry)} is not a strategy; write its name, or "
            "{strategy: NAME, SETTING: VALUE}"
        )


def _named(entry: Any) -> Any:
    """Replace Python players in an entry by their names."""
    if isinstance(entry, Mapping):
        return {key: _named(value) for key, value in entry.items()}
    return player_name(entry) if is_player(entry) else entry


def _is_packaged(strategy: Any) -> bool:
    return isinstance(strategy, Strategy) and any(
        game_spec.strategies.get(strategy.name) == strategy
        and f"{game}.{strategy.name}" not in STRATEGIES.here
        for game, game_spec in games().items()
    )


def _resolved(game: str, entry: Any) -> Strategy:
    """Return a strategy by name, or register a Python player as a strategy under its own name."""
    if isinstance(entry, str):
        return strategy_named(game, entry)
    game_spec = get_game(game)
    new = entry if isinstance(entry, Strategy) else strategy(*game_spec.rules.roles)(entry)
    known = game_spec.strategies.get(new.name)
    if known is not None and known.function is new.function:
        return known
    if known is not None and f"{game}.{new.name}" not in STRATEGIES.here:
        raise ValueError(f'{game} already has a strategy named "{new.name}"; rename the player')
    register(new, game=game)
    return new


def strategy_seat(game: str, role: str, entry: Any) -> StrategySeat | None:
    """Return the validated settings of a strategy, or None if the strategy cannot play the role.

    The entry is the strategy's name, a Python player, or a mapping with settings.
    """
    data = {"strategy": entry} if isinstance(entry, str) or is_player(entry) else entry
    _check_strategy(data)
    chosen = _resolved(game, data["strategy"])
    if role not in chosen.roles:
        return None
    options = {key: value for key, value in data.items() if key != "strategy"}
    settings = chosen.settings.model_validate(options).model_dump(mode="json")
    is_live = makes_calls(chosen.function) or is_async(chosen.function)
    return (LiveStrategySeat if is_live else StrategySeat).of(game, chosen, settings)
