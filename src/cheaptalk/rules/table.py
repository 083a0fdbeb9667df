"""A match in progress: the rules' generator, the open questions and what every seat has heard."""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from cheaptalk.rules.actions import Action, listed
from cheaptalk.rules.chance import Chance
from cheaptalk.rules.display import brief, html_table
from cheaptalk.rules.errors import CheaptalkError, RulesError, counted, describe, expect, shown
from cheaptalk.rules.game import Deal, Game, Outcome
from cheaptalk.rules.steps import Ask, Event, Forfeited, Step, Tell


class IllegalAction(ValueError):
    """An action that the rules refuse; the message is the reason. Nothing has changed."""


class Moment(NamedTuple):
    """One thing a seat lived through: news (no action), or a question and its own answer."""

    event: Event
    action: Action | None = None


class Given(NamedTuple):
    """An answer as it was given: the action, or None where the seat forfeited."""

    request: int
    seat: str
    action: Action | None


class Asked(NamedTuple):
    """A question as its seat sees it: all that a player may know when it answers.

    Attributes:
        request: the number of the question within the match, from 0.
        ask: the question.
        heard: all that this seat was told and asked before, oldest first.
        chance: random streams of this seat's own.
    """

    request: int
    ask: Ask
    heard: Sequence[Moment]
    chance: Chance

    def __repr__(self) -> str:
        return brief(self, f"{self.seat} in request {self.request}, {self.event!r}")

    @property
    def seat(self) -> str:
        return self.ask.seat

    @property
    def event(self) -> Any:
        """What the seat is told with the question."""
        return self.ask.event

    @property
    def briefing(self) -> Any:
        """The first thing this seat was told: what it knows of the game."""
        return self.heard[0].event


MOST_NEWS = 100_000
"""Pieces of news between two questions, and..."""
MOST_QUESTIONS = 1_000_000
"""...questions in a match, beyond which the rules are taken to be endless."""


T = TypeVar("T")


@dataclass(frozen=True)
class Result:
    """A finished match as measures see it."""

    game: Any
    deal: Any
    outcome: Any
    given: Callable[[], Sequence[Given]] = field(default=tuple, compare=False)
    """The answers in order; read only by measures that need more than the outcome."""
    _found: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, of: "Callable[[Result], T]") -> T:
        """What a function reads off this match; what several measures ask for is read once."""
        if of not in self._found:
            self._found[of] = of(self)
        found: T = self._found[of]
        return found

    @classmethod
    def of(cls, game: Game, deal: Deal, outcome: Outcome) -> "Result":
        return cls(game, deal, outcome)


made = tuple.__new__
"""Makes a named tuple of all its fields, in half the time that calling its class takes."""


class Table:
    """A match in progress.

    ``pending`` holds the open questions by seat, several where they are asked at once;
    :meth:`answer` or :meth:`forfeit` each, and the rules go on when the last is closed. Answers
    given at once are shown to nobody before. Each answer makes a new ``pending``, so that a loop
    over its seats may answer them.
    """

    def __init__(self, game: Game, deal: Deal, seed: str) -> None:
        expect(game, Game, "a game, such as ct.game_box(NAME).rules(),")
        expect(deal, Deal, "a deal, such as game.deal(ct.Chance(SEED)),")
        self.game = game
        self.deal = deal
        self.chance = Chance(seed)
        self.seats = game.seats
        self.heard: dict[str, list[Moment]] = {seat.name: [] for seat in self.seats}
        self.requests = 0
        self.given: list[Given] = []
        self.pending: dict[str, Ask] = {}
        self.outcome: Outcome | None = None
        self.forfeited: frozenset[str] = frozenset()
        self._asked: dict[str, Ask] = {}
        self._closed: dict[str, Action | None] = {}
        self._streams = {seat: self.chance.apart("player", seat) for seat in self.heard}
        self._together = False
        self._rules: Generator[Step, Any, Any] = game.play(deal, self.chance)
        if not hasattr(self._rules, "send"):
            raise self._wrong(
                f"play() returns {shown(self._rules)}; it must yield what it asks and tells, as in "
                "yield ct.Ask(...)"
            )
        self._advance(self._rules.send, None)

    @property
    def over(self) -> bool:
        return not self.pending

    @property
    def standing(self) -> str:
        """How far the match is, in words."""
        if self.pending:
            return f"asks {', '.join(self.pending)}"
        return f"forfeited by {', '.join(sorted(self.forfeited))}" if self.forfeited else "over"

    def __repr__(self) -> str:
        return brief(
            self, f"{self.game.name}, {counted(len(self.given), 'answer')}, {self.standing}"
        )

    def _repr_html_(self) -> str:
        rows = [(one.request, one.seat, one.action or "forfeited") for one in self.given]
        return html_table(
            f"{self.game.name}: {self.standing}", ["request", "seat", "answer"], rows,
            [] if self.outcome is None else [repr(self.outcome)],
        )  # fmt: skip

    def asked(self, seat: str) -> Asked:
        """The open question to this seat, as the seat sees it.

        Raises:
            ValueError: the seat has no open question.
        """
        known = self.requests, self._open(seat), self.heard[seat], self._streams[seat]
        return made(Asked, known)

    def legal(self, seat: str) -> list[Action] | None:
        """All legal answers to this seat's open question.

        None where they cannot be listed, as with words, amounts, or whole numbers that the rules
        alone bound; ``pending[seat].action`` then says what an answer is, and
        ``pending[seat].refuse`` why one is none.

        Raises:
            ValueError: the seat has no open question.
        """
        ask = self._open(seat)
        possible = listed(ask.action)
        return None if possible is None else [one for one in possible if not ask.refuse(one)]

    def clone(self, request: int | None = None) -> "Table":
        """A table of its own at which the same has happened, with the same luck to come.

        It is played again from the deal, which takes as long as its rules do.

        Args:
            request: let it stand as when this question was asked, from 0; by default as now.

        Raises:
            ValueError: there was no such question.
        """
        if request is not None and not 0 <= request <= self.requests:
            raise ValueError(f"there was no question {request}: they are 0 to {self.requests}")
        other = Table(self.game, self.deal, self.chance.seed)
        for earlier, seat, action in self.given:
            if request is not None and earlier >= request:
                break
            if action is None:
                other.forfeit(seat)
            else:
                other.answer(seat, action)
        return other

    def answer(self, seat: str, action: object) -> None:
        """Close this seat's question with an action.

        Raises:
            IllegalAction: with the reason; the question stays open and nothing has changed.
        """
        ask = self._open(seat)
        reason = ask.refuse(action)
        if reason is not None:
            raise IllegalAction(reason)
        self._close(ask, action)  # type: ignore[arg-type]  # refuse() has checked the type

    def forfeit(self, seat: str) -> None:
        """Close this seat's question without an action: it finally failed to answer."""
        self._close(self._open(seat), None)

    def result(self) -> Result:
        """The finished match as measures see it.

        Raises:
            ValueError: it has no outcome: it is not over, or a seat forfeited it.
        """
        if self.outcome is None:
            raise ValueError(f"the match has no outcome: {self.standing}")
        given = tuple(self.given)
        return Result(self.game, self.deal, self.outcome, lambda: given)

    def _open(self, seat: str) -> Ask:
        ask = self.pending.get(seat)
        if ask is None:
            raise ValueError(f'seat "{seat}" has no open question')
        return ask

    def _close(self, ask: Ask, action: Action | None) -> None:
        """Note the answer; when it was the last one open, let the rules go on."""
        seat = ask.seat
        self.given.append(made(Given, (self.requests, seat, action)))
        if len(self._asked) == 1 and action is not None:  # the same as below, faster
            self.heard[seat].append(made(Moment, (ask.event, action)))
            self.pending = {}
            self.requests += 1
            self._advance(self._rules.send, {seat: action} if self._together else action)
            return
        self._closed[seat] = action
        self.pending = self.pending.copy()
        del self.pending[seat]
        if self.pending:
            return
        answers = {}
        for name, ask in self._asked.items():
            given = self._closed.pop(name)
            self.heard[name].append(made(Moment, (ask.event, given)))
            if given is not None:
                answers[name] = given
        self.requests += 1
        if len(answers) == len(self._asked):
            self._advance(self._rules.send, answers if self._together else action)
            return
        failed = frozenset(self._asked.keys() - answers.keys())
        self._advance(self._rules.throw, Forfeited(failed, answers))

    def _advance(self, resume: Callable[[Any], Step], value: object) -> None:
        """Run the rules to their next question or their end."""
        told = 0
        try:
            step = resume(value)
            while isinstance(step, Tell):
                self._hear(step)
                told += 1
                if told > MOST_NEWS:
                    raise self._wrong(f"it tells {told:,} times and asks nobody")
                step = next(self._rules)
        except StopIteration as end:
            self.outcome = self._outcome(end.value)
        except Forfeited as failure:
            self.forfeited = failure.seats
        except CheaptalkError:
            raise
        except Exception as error:
            raise self._wrong(f"it fails: {describe(error)}") from error
        else:
            if isinstance(step, Ask) and step.seat in self.heard:
                self._together = False
                self.pending = self._asked = {step.seat: step}
            else:
                self._together = True
                self.pending = self._asked = self._asks(step)
            if self.requests >= MOST_QUESTIONS:
                raise self._wrong(f"it asks more than {MOST_QUESTIONS:,} times; let the match end")

    def _outcome(self, returned: object) -> Outcome:
        """What the rules returned, if it is an outcome of the declared type."""
        if type(returned) is not self.game.outcome_type:
            raise self._wrong(
                f"it returns {shown(returned)}, and outcome_type is "
                f"{self.game.outcome_type.__name__}; return one of these"
            )
        return returned

    def _hear(self, tell: Tell) -> None:
        moment = made(Moment, (tell.event, None))
        try:
            if isinstance(tell.to, str):
                self.heard[tell.to].append(moment)
            else:
                for seat in tell.to:
                    self.heard[seat].append(moment)
        except KeyError as stranger:
            raise self._stranger("tells", tell.event, stranger.args[0]) from None

    def _asks(self, step: Ask | tuple[Ask, ...]) -> dict[str, Ask]:
        """The questions that the rules ask at once, by the seats that they are to."""
        several = isinstance(step, tuple) and not isinstance(step, Ask)
        asks = step if several else (step,)
        found: dict[str, Ask] = {}
        for ask in asks:
            if not isinstance(ask, Ask):
                many = isinstance(step, Iterable) and not isinstance(step, str)
                raise self._wrong(
                    f"it yields {f'a {type(step).__name__}' if many else repr(step)}; yield "
                    "ct.Tell(seat, event), ct.Ask(seat, action, event) or a tuple of asks"
                )
            if ask.seat not in self.heard:
                raise self._stranger("asks", ask.event, ask.seat)
            found[ask.seat] = ask
        if len(found) < len(asks):
            raise self._wrong("it asks one seat twice at once")
        if not found:
            raise self._wrong("it yields an empty tuple, which asks nobody")
        return found

    def _stranger(self, does: str, event: Event, seat: object) -> RulesError:
        return self._wrong(
            f"it {does} {shown(seat)} ({type(event).__name__}), which is no seat; the seats are "
            f"{', '.join(self.heard)}"
        )

    def _wrong(self, what: str) -> RulesError:
        """What is wrong with the rules."""
        return RulesError(f"{self.game.name}: play() of {type(self.game).__name__}: {what}")
