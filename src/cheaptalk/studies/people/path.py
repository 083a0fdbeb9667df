"""A participant's path through a study: a generator that yields stops and receives responses.

The responses determine the position on the path. Therefore only responses are stored; the server
replays them after a restart.
"""

import re
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.people.answers import Recorded
from cheaptalk.studies.people.conditions import hold
from cheaptalk.studies.people.items import Item, answered, problems
from cheaptalk.studies.people.protocol import Ending, Protocol
from cheaptalk.studies.people.steps import (
    Comprehension,
    Consent,
    CustomPage,
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
"""Maximum characters of a first name."""
CODE_WORD = "code_word"
UNTICKED = "To take part, please tick this box. Otherwise, choose “I decline”."
GO_ON = "go_on"
"""The step at which participants choose whether to play another game."""
ENDED = "ended"
"""The step of a response that ends a visit externally, for example by a researcher.

The answer contains the ``ending`` and, if the visit was deleted later, the last step ``at``.
"""
OUTCOMES: Mapping[str, Ending] = {
    "left": "withdrawn",
    "partner_left": "partner_left",
    "timed_out": "timed_out",
    "technical": "technical",
}
"""The ending of a visit by the state of an incomplete game."""


class PathChanged(CheaptalkError):
    """Raised if a participant's recorded responses do not match the study's steps."""


class Response(NamedTuple):
    """A response by the participant or the server at a stop on the study path.

    Attributes:
        visit, game: number of the visit, and number of games assigned so far.
        answer: answers by item; for a game, its state and payment.
        correct: whether the answers are correct; None if every answer is accepted.
        shown, answered: Unix times in seconds.
        text_version: version of the texts on the page, which counts from 1; None without a page.
    """

    step: str
    visit: int
    game: int
    answer: dict[str, Any]
    correct: bool | None = None
    shown: float | None = None
    answered: float = 0.0
    text_version: int | None = None


@dataclass(frozen=True)
class Stop:
    """A participant's position: step, visit (from 1) and latest game (0 before the first game)."""

    name: str
    visit: int
    game: int


@dataclass(frozen=True)
class Page(Stop):
    """A page to read and answer.

    Attributes:
        items: the questions; the question of a quiz is generated when the page is shown.
        part: index of the page within the step.
        attempt: number of earlier attempts.
        wrong: names of wrongly answered items in the last attempt.
    """

    step: Step
    items: tuple[Item, ...] = ()
    part: int = 0
    attempt: int = 0
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True)
class Assign(Stop):
    """A stop on the path where the server assigns a ``treatment`` and a ``game``, or neither."""


@dataclass(frozen=True)
class Play(Stop):
    """A stop during a game, to which the server responds with the game's ``state`` and payment."""


@dataclass(frozen=True)
class GoOn(Stop):
    """A stop on the path where the participant chooses whether to play another game."""


@dataclass(frozen=True)
class End(Stop):
    """The end of a visit, to which the server responds when the participant returns."""

    ending: Ending


Steps = Generator[Stop, Response, Ending | None]


class _VisitEnded(Exception):
    """Raised inside the path's generator to end a visit before its last step."""

    def __init__(self, ending: Ending) -> None:
        self.ending = ending


class Journey:
    """A participant's progress on the path of a protocol, given the responses so far.

    The responses include those of deleted visits. ``ended_at`` is the step at which the last visit
    ended; it is empty if no visit has ended.

    Raises:
        PathChanged: the responses do not fit the path.
    """

    def __init__(self, protocol: Protocol, responses: Iterable[Response] = ()) -> None:
        self.protocol = protocol
        self.responses: list[Response] = []
        self.endings: list[Ending] = []
        self.ended_at = ""
        self._path = _Path(protocol)
        self._stops = self._path.path()
        self.stop = next(self._stops)
        earlier = list(responses)
        ends = [response for response in earlier if response.step == ENDED]
        deleted = {response.visit for response in ends if "at" in response.answer}
        for response in earlier:
            if response.visit in deleted and response.step != ENDED:
                self.responses.append(response)
            else:
                self.take(response)

    def take(self, response: Response) -> Stop:
        """Process a response and return the next stop."""
        step = self.stop.name
        if response.step == ENDED and self.ending is None:
            step = response.answer.get("at", step)
            self.stop = self._stops.throw(_VisitEnded(response.answer["ending"]))
        elif (response.step, response.visit) != (self.stop.name, self.stop.visit):
            raise PathChanged(
                f"the path of the study has changed: expected a response to "
                f'"{self.stop.name}", but the record has "{response.step}"'
            )
        else:
            self.stop = self._stops.send(response)
        self.responses.append(response)
        if isinstance(self.stop, End):
            self.endings.append(self.stop.ending)
            self.ended_at = step
        return self.stop

    @property
    def ending(self) -> Ending | None:
        """How the current visit ended; None while it is in progress."""
        return self.stop.ending if isinstance(self.stop, End) else None

    @property
    def values(self) -> Mapping[str, Recorded]:
        """The latest answer by column, the latest game's ``treatment``, and its ``payoff``."""
        return self._path.values

    @property
    def games(self) -> list[Response]:
        """The responses recorded for games so far."""
        return [response for response in self.responses if "state" in response.answer]

    @property
    def assigned(self) -> Response | None:
        """The latest assignment to a treatment; None before the first one."""
        latest = reversed(self.responses)
        return next((response for response in latest if "treatment" in response.answer), None)


class _Path:
    """State of the path generator: current visit, number of assigned games, and values so far."""

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.visit = 1
        self.game = 0
        self.values: dict[str, Recorded] = {}
        self.met: list[str] = []
        self.shown: set[str] = set()
        self.treatments: list[str] = []
        """The treatment of the current game or, outside games, all treatments met so far."""

    def path(self) -> Generator[Stop, Response, None]:
        """Yield the stops of all of a participant's visits in order; the generator never ends."""
        while True:
            try:
                ending = yield from self._visit()
            except _VisitEnded as ended:
                ending = ended.ending
            yield End("end", self.visit, self.game, ending)
            self.visit += 1

    def _visit(self) -> Generator[Stop, Response, Ending]:
        for step in self.protocol.path:
            self.treatments = [*self.met]
            if (step.once and self.visit > 1) or not hold(step.when, self.known):
                continue
            stops = self._games(step) if isinstance(step, Games) else self._step(step)
            if (ending := (yield from stops)) is not None:
                return ending
        return "complete"

    @property
    def known(self) -> dict[str, Recorded | list[str]]:
        """The values to which conditions refer."""
        return {**self.values, "treatment": self.treatments}

    def _games(self, step: Games) -> Steps:
        played = 0
        while played < step.count and self.game < self.protocol.limits.games:
            assignment = yield Assign("assignment", self.visit, self.game + 1)
            treatment = assignment.answer.get("treatment")
            if treatment is None:
                return None if played or self.visit > 1 else "quota_full"
            self.game += 1
            self.treatments = [treatment]
            self.values |= {"treatment": treatment, "payoff": None}
            if (ending := (yield from self._around(step.before))) is not None:
                return ending
            game_response = yield Play(step.called, self.visit, self.game)
            state = game_response.answer["state"]
            self.values["payoff"] = game_response.answer.get("payoff")
            played += 1
            if state == "partner_left" and step.rematches:
                continue
            if state != "finished":
                return OUTCOMES[state]
            self.met.append(treatment)
            if (ending := (yield from self._around(step.after))) is not None:
                return ending
            may_continue = played < step.count and self.game < self.protocol.limits.games
            if step.can_stop and may_continue:
                wish = yield GoOn(GO_ON, self.visit, self.game)
                if not wish.answer["more"]:
                    return None
        return None

    def _around(self, steps: Iterable[Step]) -> Steps:
        """Yield the stops of the steps before or after a game."""
        for step in steps:
            if not hold(step.when, self.known):
                continue
            repeated = step.called in self.shown if step.when else self.game > 1
            if step.once and repeated:
                continue
            self.shown.add(step.called)
            if (ending := (yield from self._step(step))) is not None:
                return ending
        return None

    def _step(self, step: Step) -> Steps:
        match step:
            case Instructions():
                return (yield from self._instructions(step))
            case Comprehension():
                return (yield from self._comprehension(step))
            case Screening():
                return (yield from self._questions(step, step.on_fail))
            case Survey() | CustomPage(items=[_, *_]):
                return (yield from self._questions(step, "go_on"))
            case Consent():
                response = yield from self._page(step)
                return None if response.answer["agreed"] else "declined"
            case Quiz():
                response = yield from self._page(step)
                return _failing(response.correct, step.on_fail)
            case _:
                yield from self._page(step)
        return None

    def _questions(self, step: Step, on_fail: Failing) -> Steps:
        """Yield pages with the items that apply, divided if an item depends on another one."""
        for part, page_items in enumerate(step.parts):
            applicable = tuple(item for item in page_items if item.applies(self.known))
            omitted = (item for item in page_items if item not in applicable)
            self.values |= {name: None for item in omitted for name in item.columns.values()}
            if applicable:
                response = yield from self._page(step, applicable, part=part)
                if (ending := _failing(response.correct, on_fail)) is not None:
                    return ending
        return None

    def _instructions(self, step: Instructions) -> Steps:
        last_part = len(step.pages) - (not step.game)
        for part in range(last_part + 1):
            items: tuple[Item, ...] = ()
            if part == last_part and step.code_word is not None:
                items = (code_word_item(step.code_word),)
            response = yield from self._page(step, items, part=part)
        return _failing(response.correct, step.on_fail)

    def _comprehension(self, step: Comprehension) -> Steps:
        items = tuple(item for item in step.items if item.applies(self.known))
        if not items:
            return None
        wrong: tuple[str, ...] = ()
        for attempt in range(step.tries):
            response = yield from self._page(step, items, attempt=attempt, wrong=wrong)
            if not response.answer:  # skipped by a researcher
                return None
            wrong = wrong_items(items, response.answer)
            if not wrong:
                return None
        return _failing(False, step.on_fail)

    def _page(
        self, step: Step, items: tuple[Item, ...] = (), **options: Any
    ) -> Generator[Stop, Response, Response]:
        """Yield a page, and note the answers for later conditions and texts."""
        response = yield Page(step.called, self.visit, self.game, step, items, **options)
        columns = {name for item in items for name in item.columns.values()}
        self.values |= {name: response.answer.get(name) for name in columns}
        return response


def code_word_item(word: str) -> Item:
    """Return the text field that checks whether participants read the instructions."""
    return Item(name=CODE_WORD, ask="Your questions or comments", correct=[word], optional=True)


def _failing(correct: bool | None, on_fail: Failing) -> Ending | None:
    return None if correct is not False or on_fail == "go_on" else on_fail


def wrong_items(items: Iterable[Item], answer: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of items that were answered incorrectly."""
    return tuple(item.name for item in items if not item.is_right(answer))


class Unanswered(Exception):
    """Raised if a page's form is incomplete or invalid, with the error messages by field."""

    def __init__(self, problems: Mapping[str, str | dict[str, str]]) -> None:
        super().__init__("; ".join(map(str, problems.values())))
        self.problems = problems


def read_page(
    page: Page, fields: Mapping[str, str], reserved: Iterable[str] = ()
) -> tuple[dict[str, Any], bool | None]:
    """Return the answer to record for a page, and whether it is correct.

    The answer excludes first names, which are stored separately. Names in ``reserved`` are already
    used in the match.

    Raises:
        Unanswered: the form is incomplete or invalid.
    """
    match page.step:
        case Consent(statements=statements):
            return _read_consent(fields, len(statements)), None
        case FirstName():
            return {"chosen": bool(chosen_name(fields, reserved))}, None
    if errors := problems(page.items, fields):
        raise Unanswered(errors)
    answer = answered(page.items, fields)
    graded = any(item.correct for item in page.items)
    return answer, not wrong_items(page.items, answer) if graded else None


def _read_consent(fields: Mapping[str, str], statements: int) -> dict[str, Any]:
    agreed = fields.get("agreed")
    if agreed not in ("yes", "no"):
        raise Unanswered({"agreed": "Please choose whether you agree or decline."})
    names = [f"statement_{number}" for number in range(statements)]
    if agreed == "yes" and (unticked := [name for name in names if name not in fields]):
        raise Unanswered(dict.fromkeys(unticked, UNTICKED))
    return {"agreed": agreed == "yes"}


def chosen_name(fields: Mapping[str, str], reserved: Iterable[str] = ()) -> str | None:
    """Return the entered first name; None if the participant chose a neutral name."""
    name = " ".join(fields.get("name", "").split())
    if not name or fields.get("neutral"):
        return None
    if len(name) > LONGEST_NAME or not FIRST_NAME.fullmatch(name):
        raise Unanswered({"name": "Please enter a first name of up to 20 letters."})
    if name.casefold() in {other_name.casefold() for other_name in reserved}:
        raise Unanswered(
            {"name": "Another player already uses this name. Please choose a different one."}
        )
    return name
