"""A seat of a game as a chat: what a language model there is sent, and what its answers come to.

The chat is the one that models are sent in studies, word for word: briefing, questions, and the
reason where an answer was not taken. The other seats are scripted, and play at once.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from cheaptalk.models import ChatMessage, ModelCall, Reply
from cheaptalk.players import Kind, ModelSeat, RosterEntry, Thinking
from cheaptalk.rules import Chance, CheaptalkError, Decide, Game, Table, game_box, suggest
from cheaptalk.rules.errors import first_problem, legal

RANDOM = RosterEntry.model_validate("random")
NOBODY = ModelSeat(model="script/legal")
"""How a seat is asked of which nothing is said; the model is not called."""


class Observed(NamedTuple):
    """What an environment shows after an answer.

    Attributes:
        messages: the chat that is to be answered; empty when the match is over.
        reward: what the seat got, in the game's unit, when the match is over; 0 before, and where
            it forfeited the match.
        over: whether the match is over.
        kind: what became of the last answer; None where it is asked again, and at the beginning.
    """

    messages: tuple[ChatMessage, ...]
    reward: float
    over: bool
    kind: Kind | None = None


class ChatEnvironment:
    """A seat of a game, one match after another.

    Args:
        game: the rules.
        seat: which seat is played; the first one's if not said.
        other: who plays all other seats.
        player: how the seat is asked: its style, persona, memory and how many tries it has. The
            model it names is not called.

    Raises:
        CheaptalkError: there is no such seat, or the others' player takes its time.
    """

    def __init__(
        self,
        game: Game,
        seat: str | None = None,
        other: RosterEntry = RANDOM,
        player: ModelSeat = NOBODY,
    ) -> None:
        places = {one.name: one.place for one in game.seats}
        self.seat = seat or next(iter(places))
        if self.seat not in places:
            raise CheaptalkError(f"{game.name} has no seat {suggest(self.seat, list(places))}")
        self.game = game
        self._player = player.player(game)
        self._others = {
            name: _decide(other, game, place)
            for name, place in places.items() if name != self.seat
        }  # fmt: skip
        self._table: Table | None = None
        self._thinking: Thinking | None = None

    @property
    def table(self) -> Table:
        """The match itself, for whoever scores it: it knows what the seat does not.

        Raises:
            CheaptalkError: none has begun.
        """
        if self._table is None:
            raise CheaptalkError("there is no match: begin one with reset")
        return self._table

    def reset(self, seed: str) -> Observed:
        """Begin a match; equal seeds deal alike, and others play alike."""
        self._table = Table(self.game, self.game.deal(Chance(seed)), seed)
        self._thinking = None
        return self._ask(None)

    def step(self, said: str | Reply) -> Observed:
        """Answer.

        Args:
            said: a text that is whole, or a reply, which may be cut off or none at all.

        Raises:
            CheaptalkError: nothing is asked: the match is over, or none has begun.
        """
        if self._table is None or self._thinking is None:
            raise CheaptalkError("nothing is asked: begin a match with reset")
        reply = Reply(text=said, finish="stop") if isinstance(said, str) else said
        try:
            call = self._thinking.send(reply)
        except StopIteration as end:
            action, kind = end.value
            if action is None:
                self._table.forfeit(self.seat)
            else:
                self._table.answer(self.seat, action)
            return self._ask(kind)
        return self._shown(call, None)

    def _ask(self, kind: Kind | None) -> Observed:
        """Let the others play, until the seat is asked or the match is over."""
        assert self._table is not None
        while self._table.pending and self.seat not in self._table.pending:
            name = next(iter(self._table.pending))
            self._table.answer(name, self._others[name](self._table.asked(name)))
        if not self._table.pending:
            return self._ended(kind)
        self._thinking = self._player.answer(self._table.asked(self.seat))
        return self._shown(next(self._thinking), kind)

    def _ended(self, kind: Kind | None) -> Observed:
        self._thinking = None
        outcome = self.table.outcome
        reward = 0.0 if outcome is None else float(self.game.payoffs(outcome)[self.seat])
        return Observed((), reward, True, kind)

    @staticmethod
    def _shown(call: object, kind: Kind | None) -> Observed:
        assert isinstance(call, ModelCall)
        return Observed(call.messages, 0.0, False, kind)


def _decide(other: RosterEntry, game: Game, place: str) -> Decide:
    filled = other.seat(game, place)
    if filled is None:
        raise CheaptalkError(f"the other seats of {game.name}: {other.form.why_idle([game.name])}")
    if not filled.instant:
        known = ", ".join(sorted(game_box(game.name).strategies))
        raise CheaptalkError(
            f"the other seats of {game.name} must be scripted, by one of its strategies: {known}"
        )
    return filled.decide()


def _entry(written: str | Mapping[str, Any]) -> RosterEntry:
    try:
        return RosterEntry.model_validate(written)
    except ValidationError as error:
        raise CheaptalkError(first_problem(error)) from None


def chat_environment(
    game: str,
    parameters: Mapping[str, Any] | None = None,
    seat: str | None = None,
    other: str | Mapping[str, Any] = "random",
    **player: Any,
) -> ChatEnvironment:
    """An environment, as study files write games and players.

    Args:
        parameters: those of the game that are not its defaults.
        other: a strategy, or it with its settings, such as ``{"strategy": "greedy"}``.
        player: how the seat is asked, such as ``style="tagged"``.

    Raises:
        CheaptalkError: there is no such game or seat, or a setting is wrong.

    >>> asked = chat_environment("deal_or_no_deal", other="fair", style="tagged").reset("a seed")
    >>> asked.messages[0].role, asked.over
    ('system', False)
    """
    rules = legal(game_box(game).rules, parameters or {})
    own = legal(ModelSeat, {"model": NOBODY.model, **player})
    return ChatEnvironment(rules, seat, _entry(other), own)
