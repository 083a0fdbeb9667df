"""The path of a participant: a generator that asks and is answered, as the rules of a game are.

Where somebody is on it follows from what they answered so far. So nothing but answers is kept, and
to take a path up again after the server was killed is to answer it again.
"""

import re
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.people.items import Item, answered, problems
from cheaptalk.studies.people.protocol import Ending, Protocol
from cheaptalk.studies.people.steps import (
    Comprehension,
    Consent,
    Failing,
    FirstName,
    Games,
    Instructions,
    Quiz,
    Screening,
    Step,
    Survey,
)

FIRST_NAME = re.compile("(?:[^\\W\\d_]{1,20}[ '\u2019-]?){1,3}")
LONGEST_NAME = 20
"""Characters of a first name."""
CODE_WORD = "code_word"
GO_ON = "go_on"
"""The step at which people say whether they play another game."""
ENDED = "ended"
"""The step of a response that ends a visit from outside, such as by a researcher.

Its answer is the ``ending``; of a visit that was deleted since, ``at`` is where it ended.
"""
OUTCOMES: Mapping[str, Ending] = {
    "left": "withdrawn", "partner_left": "partner_left", "timed_out": "timed_out",
    "technical": "technical",
}  # fmt: skip
"""How a visit ends by what became of a game that was not played to its end."""


class PathChanged(CheaptalkError):
    """The study's path is no longer the one on which somebody was."""


class Response(NamedTuple):
    """What somebody answered at a stop, or the server for them.

    Attributes:
        step: its name.
        visit, game: where it was: in which visit, and after how many games had been assigned.
        answer: by item; of games what became of them.
        right: whether it was what was wanted; None where nothing was.
        shown, answered: when, in seconds since 1970.
    """

    step: str
    visit: int
    game: int
    answer: dict[str, Any]
    right: bool | None = None
    shown: float | None = None
    answered: float = 0.0


@dataclass(frozen=True)
class Stop:
    """Where somebody is on the path.

    Attributes:
        name: of the step.
        visit: the number of their visit, from 1.
        game: the number of the game that they come to or from; 0 before the first.
    """

    name: str
    visit: int
    game: int


@dataclass(frozen=True)
class Page(Stop):
    """A page to be read and answered.

    Attributes:
        step: what it is of.
        items: its questions; those of a quiz are made when it is shown.
        part: which page of several.
        attempt: how often it was answered before.
        wrong: the items that were then answered wrongly.
    """

    step: Step
    items: tuple[Item, ...] = ()
    part: int = 0
    attempt: int = 0
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True)
class Assign(Stop):
    """The server says which table somebody comes to: ``treatment`` and ``game``, or neither."""


@dataclass(frozen=True)
class Play(Stop):
    """A game, which the server answers with its ``state`` and what it was worth."""


@dataclass(frozen=True)
class GoOn(Stop):
    """Whether somebody plays another game."""


@dataclass(frozen=True)
class End(Stop):
    """The end of a visit; it is answered by coming again.

    Attributes:
        ending: how it ended.
    """

    ending: Ending


Steps = Generator[Stop, Response, Ending | None]


class _VisitEnded(Exception):
    """A visit is ended from outside."""

    def __init__(self, ending: Ending) -> None:
        self.ending = ending


class Journey:
    """A participant on the path of a protocol.

    Args:
        responses: what was answered so far.

    Attributes:
        stop: where they are.
        responses: what was answered, in order; of a visit that was deleted, where it was.
        endings: how each visit ended that has.
        ended_at: the step at which the last one did; empty where none has.

    Raises:
        PathChanged: the responses were given on another path.
    """

    def __init__(self, protocol: Protocol, responses: Iterable[Response] = ()) -> None:
        self.protocol = protocol
        self.responses: list[Response] = []
        self.endings: list[Ending] = []
        self.ended_at = ""
        self._path = _Way(protocol).path()
        self.stop = next(self._path)
        answered = list(responses)
        deleted = {one.visit for one in answered if one.step == ENDED and "at" in one.answer}
        for response in answered:
            if response.visit in deleted and response.step != ENDED:
                self.responses.append(response)
            else:
                self.take(response)

    def take(self, response: Response) -> Stop:
        """Go on by a response; where that leads.

        Raises:
            PathChanged: it was given elsewhere, such as at a visit that has ended.
        """
        at = self.stop.name
        if response.step == ENDED and self.ending is None:
            at = response.answer.get("at", at)
            self.stop = self._path.throw(_VisitEnded(response.answer["ending"]))
        elif (response.step, response.visit) != (self.stop.name, self.stop.visit):
            raise PathChanged(
                f'the path of the study was changed: "{response.step}" was answered where it now '
                f'has "{self.stop.name}"'
            )
        else:
            self.stop = self._path.send(response)
        self.responses.append(response)
        if isinstance(self.stop, End):
            self.endings.append(self.stop.ending)
            self.ended_at = at
        return self.stop

    @property
    def ending(self) -> Ending | None:
        """How the visit ended; None while it goes on."""
        return self.stop.ending if isinstance(self.stop, End) else None

    def of_step(self, name: str) -> list[Response]:
        """What was answered at a step."""
        return [one for one in self.responses if one.step == name]

    @property
    def games(self) -> list[Response]:
        """What became of the games so far."""
        return [one for one in self.responses if "state" in one.answer]

    @property
    def assigned(self) -> Response | None:
        """Which table they were assigned to last; None for none yet."""
        return next((one for one in reversed(self.responses) if "treatment" in one.answer), None)


class _Way:
    """The steps of a protocol, as somebody takes them.

    Attributes:
        visit: the number of the visit.
        game: how many games were assigned.
    """

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.visit = 1
        self.game = 0

    def path(self) -> Generator[Stop, Response, None]:
        """All visits, for ever."""
        while True:
            try:
                ending = yield from self._visit()
            except _VisitEnded as ended:
                ending = ended.ending
            yield End("end", self.visit, self.game, ending)
            self.visit += 1

    def _visit(self) -> Generator[Stop, Response, Ending]:
        for step in self.protocol.path:
            if step.once and self.visit > 1:
                continue
            taking = self._games(step) if isinstance(step, Games) else self._step(step)
            ending = yield from taking
            if ending is not None:
                return ending
        return "complete"

    def _games(self, step: Games) -> Steps:
        played = 0
        while played < step.most and self.game < self.protocol.limits.games:
            found = yield Assign("assignment", self.visit, self.game + 1)
            if found.answer.get("treatment") is None:
                return None if played or self.visit > 1 else "screened_out"
            self.game += 1
            if (ending := (yield from self._around(step.before))) is not None:
                return ending
            played_one = yield Play(step.called, self.visit, self.game)
            if (state := played_one.answer["state"]) != "finished":
                return OUTCOMES[state]
            played += 1
            if (ending := (yield from self._around(step.after))) is not None:
                return ending
            more = played < step.most and self.game < self.protocol.limits.games
            if step.may_stop and more:
                wish = yield GoOn(GO_ON, self.visit, self.game)
                if not wish.answer["more"]:
                    return None
        return None

    def _around(self, steps: Iterable[Step]) -> Steps:
        """Steps before or after a game."""
        for step in steps:
            if step.once and self.game > 1:
                continue
            if (ending := (yield from self._step(step))) is not None:
                return ending
        return None

    def _step(self, step: Step) -> Steps:
        match step:
            case Instructions():
                return (yield from self._instructions(step))
            case Comprehension():
                return (yield from self._comprehension(step))
            case Consent():
                given = yield self._page(step)
                return None if given.answer["agreed"] else "declined"
            case Screening():
                given = yield self._page(step, tuple(step.items))
                return _failing(given.right, step.otherwise)
            case Quiz():
                given = yield self._page(step)
                return _failing(given.right, step.otherwise)
            case Survey():
                yield self._page(step, tuple(step.items))
            case _:
                yield self._page(step)
        return None

    def _instructions(self, step: Instructions) -> Steps:
        last = len(step.pages) - (not step.game)
        for part in range(last + 1):
            items: tuple[Item, ...] = ()
            if part == last and step.code_word is not None:
                items = (code_word_item(step.code_word),)
            given = yield self._page(step, items, part=part)
        return _failing(given.right, step.otherwise)

    def _comprehension(self, step: Comprehension) -> Steps:
        wrong: tuple[str, ...] = ()
        for attempt in range(step.tries):
            given = yield self._page(step, tuple(step.items), attempt=attempt, wrong=wrong)
            wrong = wrong_items(step.items, given.answer)
            if not wrong:
                return None
        return _failing(False, step.otherwise)

    def _page(self, step: Step, items: tuple[Item, ...] = (), **more: Any) -> Page:
        return Page(step.called, self.visit, self.game, step, items, **more)


def code_word_item(word: str) -> Item:
    """The box below the instructions, which does not say what belongs there."""
    return Item(name=CODE_WORD, ask="Your questions or remarks", right=[word], optional=True)


def _failing(right: bool | None, otherwise: Failing) -> Ending | None:
    return None if right is not False or otherwise == "go_on" else otherwise


def wrong_items(items: Iterable[Item], answer: Mapping[str, Any]) -> tuple[str, ...]:
    """The items that are not answered rightly, by name."""
    return tuple(one.name for one in items if not one.is_right(answer.get(one.name)))


class Unanswered(Exception):
    """A page's form lacks something, or something in it does not fit.

    Attributes:
        problems: what, by field.
    """

    def __init__(self, problems: dict[str, str]) -> None:
        super().__init__("; ".join(problems.values()))
        self.problems = problems


def read_page(
    page: Page, fields: Mapping[str, str], reserved: Iterable[str] = ()
) -> tuple[dict[str, Any], bool | None]:
    """What a page was answered, as it is recorded, and whether that is right.

    A first name is no part of it: names are kept apart from answers.

    Args:
        page: the page, a quiz with its item.
        fields: as its form was filled in.
        reserved: names that others at the table have.

    Raises:
        Unanswered: it is no whole answer.
    """
    match page.step:
        case Consent(statements=statements):
            return _read_consent(fields, len(statements)), None
        case FirstName():
            return {"chosen": bool(chosen_name(fields, reserved))}, None
    if found := problems(page.items, fields):
        raise Unanswered(found)
    answer = answered(page.items, fields)
    wanted = any(item.right for item in page.items)
    return answer, not wrong_items(page.items, answer) if wanted else None


def _read_consent(fields: Mapping[str, str], statements: int) -> dict[str, Any]:
    agreed = fields.get("agreed")
    if agreed not in ("yes", "no"):
        raise Unanswered({"agreed": "Please say whether you agree."})
    ticked = [f"statement_{number}" in fields for number in range(statements)]
    if agreed == "yes" and not all(ticked):
        raise Unanswered(
            {
                f"statement_{number}": "Please tick this, too, or decline."
                for number, one in enumerate(ticked)
                if not one
            }
        )
    return {"agreed": agreed == "yes"}


def chosen_name(fields: Mapping[str, str], reserved: Iterable[str] = ()) -> str | None:
    """The first name that was written; None where a neutral one was preferred.

    Raises:
        Unanswered: it is none, or somebody at the table is called so.
    """
    name = " ".join(fields.get("name", "").split())
    if not name or fields.get("neutral"):
        return None
    if len(name) > LONGEST_NAME or not FIRST_NAME.fullmatch(name):
        raise Unanswered({"name": "Please write a first name, in letters alone."})
    if name.casefold() in {one.casefold() for one in reserved}:
        raise Unanswered({"name": "Somebody else here is called so. Please write another name."})
    return name
