"""Matches in progress: the open requests, each actor's observations, and finally the result."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from cheaptalk.rules.actions import Action, listed
from cheaptalk.rules.chance import Chance
from cheaptalk.rules.chat import ChatLine, ChatLog, ChatTurn, HeardLine
from cheaptalk.rules.display import brief, html_table
from cheaptalk.rules.errors import (
    CheaptalkError,
    RulesError,
    WrongValue,
    counted,
    describe,
    expect,
    shown,
)
from cheaptalk.rules.game import Game, Instance, Outcome
from cheaptalk.rules.steps import Ask, Event, Forfeited, Moment, Step, Tell


class IllegalAction(CheaptalkError, ValueError):
    """An illegal action, which leaves the match unchanged; the message gives the reason."""


class Given(NamedTuple):
    """A recorded answer: the action, or None if the actor forfeited."""

    request: int
    actor: str
    action: Action | None


class DecisionRequest(NamedTuple):
    """A decision that an actor must take, with all information that the actor may have.

    >>> game = ct.games.Negotiation()
    >>> table = ct.Table(game, game.draw_instance(ct.Chance("1")), "1")
    >>> table.request("alice")
    <DecisionRequest: alice in request 0, Turn(stage=1, last=False)>

    Attributes:
        number: the number of the request within the match, from 0.
        ask: the request as the rules yielded it.
        heard: the actor's earlier observations and answers, oldest first.
        chance: the actor's own random streams.
        chat: the lines of chat that the actor has read or sent, oldest first.
    """

    number: int
    ask: Ask
    heard: Sequence[Moment]
    chance: Chance
    chat: Sequence[HeardLine] = ()

    def __repr__(self) -> str:
        return brief(self, f"{self.actor} in request {self.number}, {self.event!r}")

    @property
    def actor(self) -> str:
        return self.ask.actor

    @property
    def event(self) -> Any:
        """The observation that comes with the request."""
        return self.ask.event

    @property
    def briefing(self) -> Any:
        """The actor's first observation, which describes the game and the actor's situation."""
        return self.heard[0].event


Decide = Callable[[DecisionRequest], Action]
"""A function that returns an action for a decision request, such as a scripted strategy."""
MAX_EVENTS = 100_000
"""Maximum events between two requests; more raise an error because the rules may never end."""
MAX_REQUESTS = 1_000_000
"""Maximum requests in a match; more raise an error because the rules may never end."""


T = TypeVar("T")


@dataclass(frozen=True)
class Result:
    """A finished match, the input of metrics.

    >>> game, random = ct.games.Negotiation(), ct.get_game("negotiation").strategies["random"]
    >>> players = {"alice": random, "bob": random}
    >>> result = ct.play(game, game.draw_instance(ct.Chance("1")), "1", players).result()
    >>> type(result).__name__, result.outcome, len(result.given())
    ('Result', Sale(stage=1, price=None, ended='john'), 2)
    """

    game: Any
    instance: Any
    outcome: Any
    given: Callable[[], Sequence[Given]] = field(default=tuple, compare=False)
    """Returns the answers in order, for metrics that need more than the outcome."""
    _cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, of: "Callable[[Result], T]") -> T:
        """Return a function's value for this match, cached for all metrics that use it."""
        if of not in self._cache:
            self._cache[of] = of(self)
        value: T = self._cache[of]
        return value

    @classmethod
    def of(cls, game: Game, instance: Instance, outcome: Outcome) -> "Result":
        return cls(game, instance, outcome)

    def moves(self, *kinds: type[Action]) -> Iterator[tuple[int, str, Any]]:
        """Yield request, actor and action of the answers of these types, in order."""
        return (given for given in self.given() if isinstance(given.action, kinds))


made = tuple.__new__
"""Creates a named tuple from all its fields, in half the time of a call of the class."""


class Table:
    """A match in progress.

    ``pending`` holds the open requests by actor. Close each request with :meth:`answer` or
    :meth:`forfeit`. Simultaneous requests are open together, and their answers stay hidden; the
    rules continue when the last request is closed. Each answer makes a new ``pending``, so that you
    can answer in a loop over ``pending``.

    >>> game = ct.games.Bargaining(money=100, messages=False)
    >>> table = ct.Table(game, game.draw_instance(ct.Chance("1")), "1")
    >>> table.answer("alice", ct.games.bargaining.events.Offer(alice_gain=60, bob_gain=40))
    >>> table
    <Table: bargaining, 1 answer, asks bob>
    """

    def __init__(self, game: Game, instance: Instance, seed: str) -> None:
        expect(game, Game, "a game, such as ct.get_game(NAME).rules()")  # type: ignore[type-abstract]
        expect(instance, Instance, "an instance, such as game.draw_instance(ct.Chance(SEED))")
        self.game = game
        self.instance = instance
        self.chance = Chance(seed)
        self.seats = game.actors
        self.heard: dict[str, list[Moment]] = {actor.name: [] for actor in self.seats}
        self.requests = 0
        self.given: list[Given] = []
        self.pending: dict[str, Ask] = {}
        self.outcome: Outcome | None = None
        self.forfeited: frozenset[str] = frozenset()
        self._asked: dict[str, Ask] = {}
        self._closed: dict[str, Action | None] = {}
        self._streams = {actor: self.chance.apart("player", actor) for actor in self.heard}
        self._together = False
        self.chat = None if game.chat is None else ChatLog(game, game.chat)
        self._rules: Generator[Step, Any, Any] = game.play(instance, self.chance)
        if not hasattr(self._rules, "send"):
            raise self._wrong(
                f"play() returns {shown(self._rules)}; it must yield its requests and events, as "
                "in yield ct.Ask(...)"
            )
        self._advance(self._rules.send, None)

    @property
    def over(self) -> bool:
        return not self.pending

    @property
    def standing(self) -> str:
        """The state of the match in words, such as "over"."""
        if self.pending:
            return f"asks {', '.join(self.pending)}"
        return f"forfeited by {', '.join(sorted(self.forfeited))}" if self.forfeited else "over"

    def __repr__(self) -> str:
        return brief(
            self, f"{self.game.name}, {counted(len(self.given), 'answer')}, {self.standing}"
        )

    def _repr_html_(self) -> str:
        rows = [(given.request, given.actor, given.action or "forfeited") for given in self.given]
        return html_table(
            f"{self.game.name}: {self.standing}",
            ["request", "actor", "answer"],
            rows,
            [] if self.outcome is None else [repr(self.outcome)],
        )

    def request(self, actor: str) -> DecisionRequest:
        """Return the actor's open decision request, with all information the actor may have.

        Raises:
            WrongValue: the actor has no open request.
        """
        ask, chat = self._open(actor), () if self.chat is None else self.chat.heard[actor]
        fields = self.requests, ask, self.heard[actor], self._streams[actor], chat
        return made(DecisionRequest, fields)

    @property
    def asked(self) -> list[str]:
        """The actors of the current request, including those that have already answered it."""
        return [] if self.over else list(self._asked)

    def say(self, actor: str, text: str, after: Iterable[str] = ()) -> ChatLine:
        """Send a line of chat, which all members of the sender's group read.

        The state of the game doesn't change.

        Args:
            after: actors that have received the current request but not answered it, such as
                models that are thinking; they read the line after their answer. Actors that have
                answered read it afterwards anyway.

        Raises:
            IllegalAction: the chat is closed, or the line exceeds its limits.
        """
        reason = self._closed_chat() or (self.chat and self.chat.refuse(actor, text, self.requests))
        if self.chat is None or reason:
            raise IllegalAction(reason or "")
        later = {*after, *self._closed}
        asked = tuple(name for name in self._asked if name in later)
        line = ChatLine(self.requests, actor, text, asked)
        self.chat.add(line, self.heard)
        return line

    def chat_turn(self, actor: str, number: int) -> ChatTurn:
        """Return an actor's turn to chat; ``number`` numbers the random streams of its turns.

        Raises:
            IllegalAction: the chat is closed.
        """
        reason = self._closed_chat()
        if self.chat is None or reason:
            raise IllegalAction(reason or "")
        chance = self.chance.apart("chat", actor, number)
        left, chat = self.chat.left(actor, self.requests), self.chat.heard.get(actor, ())
        return ChatTurn(actor, self.heard[actor], chat, left, chance)

    def _closed_chat(self) -> str | None:
        """Return why nobody can chat now, or None."""
        if self.chat is None:
            return "this game has no chat"
        if self.over:
            return "the match has ended"
        when = self.chat.settings.when
        if when == "during" or not (self._closed or (when == "before" and self.requests)):
            return None
        return "the chat has ended"

    def legal(self, actor: str) -> list[Action] | None:
        """Return all legal answers to the actor's open request.

        Returns:
            None if the answers cannot be enumerated, such as messages, amounts, or integers without
            a range in the schema. ``pending[actor].action`` then defines the type of an answer, and
            ``pending[actor].refuse`` returns why an answer is illegal.

        Raises:
            WrongValue: the actor has no open request.
        """
        ask = self._open(actor)
        actions = listed(ask.action, ask.alternatives())
        return None if actions is None else [action for action in actions if not ask.refuse(action)]

    def clone(self) -> "Table":
        """Return an independent copy of the match, with the same history and random draws.

        The copy is made by replaying the match, which takes as long as the rules do.
        """
        copy = Table(self.game, self.instance, self.chance.seed)
        lines = self.chat_lines
        for request, actor, action in self.given:
            copy.repeat_chat(lines, request)
            if action is None:
                copy.forfeit(actor)
            else:
                copy.answer(actor, action)
        copy.repeat_chat(lines, self.requests)
        return copy

    @property
    def chat_lines(self) -> Sequence[ChatLine]:
        """The lines of chat so far, in order; empty if the game has no chat."""
        return () if self.chat is None else self.chat.lines

    def repeat_chat(self, lines: Sequence[ChatLine], request: int) -> None:
        """Send the recorded lines that were sent up to a request and not yet repeated.

        Raises:
            IllegalAction: the chat is closed, or a line exceeds its limits.
        """
        for line in lines[len(self.chat_lines) :]:
            if line.request > request:
                break
            self.say(line.actor, line.text, line.after)

    def answer(self, actor: str, action: object) -> None:
        """Close the actor's request with an action.

        Raises:
            IllegalAction: the rules refuse the action; the request stays open.
        """
        ask = self._open(actor)
        reason = ask.refuse(action)
        if reason is not None:
            raise IllegalAction(reason)
        self._close(ask, action)  # type: ignore[arg-type]  # refuse() has checked the type

    def forfeit(self, actor: str) -> None:
        """Close the actor's request without an action, because the actor failed to answer."""
        self._close(self._open(actor), None)

    def result(self) -> Result:
        """Return the finished match, the input of metrics.

        Raises:
            WrongValue: the match has no outcome, because it is not over or was forfeited.
        """
        if self.outcome is None:
            raise WrongValue(f"the match has no outcome: {self.standing}")
        given = tuple(self.given)
        return Result(self.game, self.instance, self.outcome, lambda: given)

    def _open(self, actor: str) -> Ask:
        ask = self.pending.get(actor)
        if ask is None:
            raise WrongValue(f'"{actor}" has no open request')
        return ask

    def _close(self, ask: Ask, action: Action | None) -> None:
        """Record an answer, and continue the rules when no request remains open."""
        actor = ask.actor
        self.given.append(made(Given, (self.requests, actor, action)))
        if len(self._asked) == 1 and action is not None:  # a faster path for the common case
            self.heard[actor].append(made(Moment, (ask.event, action)))
            self.pending = {}
            self.requests += 1
            self._advance(self._rules.send, {actor: action} if self._together else action)
            return
        self._closed[actor] = action
        self.pending = self.pending.copy()
        del self.pending[actor]
        if self.pending:
            return
        answers = {}
        for name, ask in self._asked.items():
            answer = self._closed.pop(name)
            self.heard[name].append(made(Moment, (ask.event, answer)))
            if answer is not None:
                answers[name] = answer
        self.requests += 1
        if len(answers) == len(self._asked):
            self._advance(self._rules.send, answers if self._together else action)
            return
        failed = frozenset(self._asked.keys() - answers.keys())
        self._advance(self._rules.throw, Forfeited(failed, answers))

    def _advance(self, resume: Callable[[Any], Step], value: object) -> None:
        """Run the rules to the next request or to the end."""
        events = 0
        try:
            step = resume(value)
            while isinstance(step, Tell):
                self._hear(step)
                events += 1
                if events > MAX_EVENTS:
                    raise self._wrong(f"the game yields {events:,} events without a request")
                step = next(self._rules)
        except StopIteration as end:
            self.outcome = self._outcome(end.value)
        except Forfeited as failure:
            self.forfeited = failure.actors
        except CheaptalkError:
            raise
        except Exception as error:
            raise self._wrong(f"the game fails: {describe(error)}") from error
        else:
            if isinstance(step, Ask) and step.actor in self.heard:
                self._together = False
                self.pending = self._asked = {step.actor: step}
            else:
                self._together = True
                self.pending = self._asked = self._asks(step)
            if self.requests >= MAX_REQUESTS:
                problem = f"the game makes more than {MAX_REQUESTS:,} requests; end it earlier"
                raise self._wrong(problem)

    def _outcome(self, returned: object) -> Outcome:
        if type(returned) is not self.game.outcome_type:
            raise self._wrong(
                f"the game returns {shown(returned)}, but outcome_type is "
                f"{self.game.outcome_type.__name__}; return an object of this type"
            )
        return returned

    def _hear(self, tell: Tell) -> None:
        moment = made(Moment, (tell.event, None))
        try:
            for actor in (tell.to,) if isinstance(tell.to, str) else tell.to:
                self.heard[actor].append(moment)
        except KeyError as stranger:
            raise self._stranger("tells", tell.event, stranger.args[0]) from None

    def _asks(self, step: Ask | tuple[Ask, ...]) -> dict[str, Ask]:
        """Return the simultaneous requests by actor; raise an error for any other step."""
        is_tuple = isinstance(step, tuple) and not isinstance(step, Ask)
        asks = step if is_tuple else (step,)
        by_actor: dict[str, Ask] = {}
        for ask in asks:
            if not isinstance(ask, Ask):
                is_iterable = isinstance(step, Iterable) and not isinstance(step, str)
                raise self._wrong(
                    f"the game yields {f'a {type(step).__name__}' if is_iterable else repr(step)}; "
                    "yield ct.Tell(actor, event), ct.Ask(actor, action, event) or a tuple of asks"
                )
            if ask.actor not in self.heard:
                raise self._stranger("asks", ask.event, ask.actor)
            by_actor[ask.actor] = ask
        if len(by_actor) < len(asks):
            raise self._wrong("the game makes two simultaneous requests to one actor")
        if not by_actor:
            raise self._wrong("the game yields an empty tuple; yield at least one ct.Ask")
        return by_actor

    def _stranger(self, verb: str, event: Event, actor: object) -> RulesError:
        return self._wrong(
            f"the game {verb} {shown(actor)} ({type(event).__name__}), which is not an actor; the "
            f"actors are {', '.join(self.heard)}"
        )

    def _wrong(self, problem: str) -> RulesError:
        return RulesError(f"{self.game.name}: play() of {type(self.game).__name__}: {problem}")
