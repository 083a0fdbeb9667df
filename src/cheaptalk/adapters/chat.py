"""A seat of a game as a chat environment for a language model.

The chat is identical to the one in studies: briefing, requests, and the reason if an answer
was invalid. The other seats are filled by scripts.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from pydantic import ValidationError

from cheaptalk.models import ChatMessage, ModelCall, Reply
from cheaptalk.players import Kind, ModelSeat, RosterEntry, Thinking
from cheaptalk.players.protocol import Answer
from cheaptalk.rules import (
    Chance,
    CheaptalkError,
    Decide,
    Game,
    IllegalAction,
    Table,
    get_game,
    suggest,
)
from cheaptalk.rules.display import brief
from cheaptalk.rules.errors import first_problem, legal
from cheaptalk.rules.registry import GameLike, game_from

RANDOM = RosterEntry.model_validate("random")
NULL_OBSERVER = ModelSeat(model="script/legal")
"""The default player settings; the model isn't called."""


class Observed(NamedTuple):
    """The state of the environment after a response.

    Attributes:
        messages: the chat to be answered; empty after the match.
        reward: the seat's payoff after the match, in the game's unit; 0 before, and after a forfeit
            by the seat.
        over: whether the match is over.
        kind: kind of the last answer; None before a retry and at the start.
    """

    messages: tuple[ChatMessage, ...]
    reward: float
    over: bool
    kind: Kind | None = None


class ChatEnvironment:
    """An environment in which a language model plays one seat in consecutive matches.

    Args:
        seat: the seat to play; by default the first.
        other: the player of all other seats.
        player: settings of the seat's player: prompt style, persona, memory and maximum tries.

    Raises:
        CheaptalkError: the seat does not exist, or the other player isn't instantaneous.
    """

    def __init__(
        self,
        game: Game,
        seat: str | None = None,
        other: RosterEntry = RANDOM,
        player: ModelSeat = NULL_OBSERVER,
    ) -> None:
        seats = {actor.name: actor.seat for actor in game.actors}
        self.seat = seat or next(iter(seats))
        if self.seat not in seats:
            raise CheaptalkError(f"{game.name} has no seat {suggest(self.seat, list(seats))}")
        self.game = game
        self._player = player.player(game)
        others = (name for name in seats if name != self.seat)
        self._others = {name: _decide(other, game, seats[name]) for name in others}
        self._table: Table | None = None
        self._thinking: Thinking | None = None

    def __repr__(self) -> str:
        return brief(self, f"{self.game.name}, plays {self.seat}")

    @property
    def table(self) -> Table:
        """The current match, including the private information of other seats, for scoring.

        Raises:
            CheaptalkError: no match has started.
        """
        if self._table is None:
            raise CheaptalkError("no match has started; start one with reset")
        return self._table

    def reset(self, seed: str) -> Observed:
        """Start a match whose instance and opponents' random choices depend only on the seed."""
        self._table = Table(self.game, self.game.draw_instance(Chance(seed)), seed)
        self._thinking = None
        return self._ask(None)

    def step(self, response: str | Reply) -> Observed:
        """Process the model's response, given as complete text or as a possibly truncated reply.

        Raises:
            CheaptalkError: no request is open because the match is over or hasn't started.
        """
        if self._table is None or self._thinking is None:
            raise CheaptalkError("no request is open: start a match with reset")
        reply = Reply(text=response, finish="stop") if isinstance(response, str) else response
        try:
            call = self._thinking.send(reply)
        except StopIteration as end:
            answer: Answer = end.value
            if answer.action is None:
                self._table.forfeit(self.seat)
            else:
                self._table.answer(self.seat, answer.action)
            if answer.chat is not None:
                with suppress(IllegalAction):
                    self._table.say(self.seat, answer.chat)
            return self._ask(answer.kind)
        return self._shown(call, None)

    def _ask(self, kind: Kind | None) -> Observed:
        assert self._table is not None
        while self._table.pending and self.seat not in self._table.pending:
            name = next(iter(self._table.pending))
            self._table.answer(name, self._others[name](self._table.request(name)))
        if self._table.pending:
            self._thinking = self._player.answer(self._table.request(self.seat))
            return self._shown(next(self._thinking), kind)
        self._thinking = None
        outcome = self._table.outcome
        reward = 0.0 if outcome is None else float(self.game.payoffs(outcome)[self.seat])
        return Observed((), reward, True, kind)

    @staticmethod
    def _shown(call: object, kind: Kind | None) -> Observed:
        assert isinstance(call, ModelCall)
        return Observed(call.messages, 0.0, False, kind)


def _decide(opponent: RosterEntry, game: Game, seat: str) -> Decide:
    filled = opponent.seat(game, seat)
    if filled is None:
        raise CheaptalkError(
            f"the other seats of {game.name}: {opponent.form.why_idle([game.name])}"
        )
    if not filled.instant:
        strategies = ", ".join(sorted(get_game(game.name).strategies))
        raise CheaptalkError(
            f"the other seats of {game.name} must be scripted, by one of its strategies: "
            f"{strategies}"
        )
    return filled.decide()


def chat_environment(
    game: GameLike,
    parameters: Mapping[str, Any] | None = None,
    seat: str | None = None,
    other: str | Mapping[str, Any] = "random",
    **player: Any,
) -> ChatEnvironment:
    """Return a chat environment for a game, given its name and players as in a study file.

    Args:
        game: the game's name, or a game.
        parameters: parameters that differ from the defaults, if the game is given by its name.
        seat: the seat to play; by default the first.
        other: a strategy, or a mapping with its settings, such as ``{"strategy": "greedy"}``.
        player: settings of the seat's player, such as ``style="tagged"``.

    Raises:
        CheaptalkError: there is no such game or seat, or a setting is invalid.

    >>> state = chat_environment("deal_or_no_deal", other="fair", style="tagged").reset("a seed")
    >>> state.messages[0].role, state.over
    ('system', False)
    """
    rules = game_from(game, parameters)
    settings = legal(ModelSeat, {"model": NULL_OBSERVER.model, **player})
    try:
        opponent = RosterEntry.model_validate(other)
    except ValidationError as error:
        raise CheaptalkError(first_problem(error)) from None
    return ChatEnvironment(rules, seat, opponent, settings)
