"""The steps of a participant's path through a study."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, count
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    model_validator,
)

from cheaptalk.rules import Event, Game, Value, suggest
from cheaptalk.rules.chance import Stream
from cheaptalk.rules.errors import Location, shown
from cheaptalk.rules.registry import Registry, is_function
from cheaptalk.studies.people.conditions import When, has_parameters
from cheaptalk.studies.people.items import Item, distinct, pages_of
from cheaptalk.studies.people.page_texts.texts import CONTENT, LONG, Prose, Words, in_languages
from cheaptalk.studies.people.schedules import Design, Matching, Roles
from cheaptalk.styles.writing import Writing

Failing: TypeAlias = Literal["screened_out", "failed_attention", "go_on"]
"""The consequence of a wrong answer."""


class Step(Value):
    """A step of a participant's path, with one or more pages.

    Attributes:
        name: its name in records; by default the kind of step, for the second step of a kind
            ``survey_2`` and so on.
        once: whether returning participants skip it.
        when: conditions on earlier answers under which the step is part of the path. A condition on
            the ``treatment`` refers to the game before or after which the step is; elsewhere, to
            all treatments in which the participant finished a game.
        title: heading of its pages; by default, a standard heading of the kind of step.
    """

    kind: ClassVar[str]
    shorthand: ClassVar[str | None] = None
    """The key that a bare list or text sets."""

    name: str = ""
    once: bool = True
    when: When = Field(default_factory=dict)
    title: Words = ""

    @model_validator(mode="after")
    def _items_are_distinct(self) -> Self:
        distinct(getattr(self, "items", ()), self.kind)
        return self

    @property
    def called(self) -> str:
        return self.name or self.kind

    @cached_property
    def parts(self) -> list[list[Item]]:
        """The items of each page; a page has no item that depends on another one."""
        return pages_of(getattr(self, "items", ()))


class Consent(Step):
    """A consent form, optionally with statements that the participant ticks.

    Attributes:
        text: the consent text.
        statements: statements to be ticked.
    """

    kind = "consent"
    shorthand = "text"

    text: Prose
    statements: list[Words] = Field(default_factory=list)


class FirstName(Step):
    """The choice of the participant's name in matches: their first name or a neutral name.

    Names appear only on participants' pages: no model reads them, and no match records them.
    """

    kind = "first_name"


class Instructions(Step):
    """Instructions for the study, on one or more pages.

    Attributes:
        pages: texts, one per page.
        game: whether to include the game's own instructions.
        code_word: a word in the last text that attentive readers enter below it.
        on_fail: the consequence of not entering it.
    """

    kind = "instructions"
    shorthand = "pages"

    pages: list[Prose] = Field(default_factory=list)
    game: bool = False
    code_word: str | None = None
    on_fail: Failing = "failed_attention"
    once: bool = False

    @model_validator(mode="after")
    def _says_something(self) -> "Instructions":
        if not self.pages and not self.game:
            raise ValueError("instructions: no text; write pages, or set game: true")
        return self


class Screening(Step):
    """Screening questions, all of which must be answered correctly."""

    kind = "screening"
    shorthand = "items"

    items: Annotated[list[Item], Field(min_length=1)]
    on_fail: Failing = "screened_out"


class Comprehension(Step):
    """A comprehension check with feedback after each attempt.

    Attributes:
        tries: maximum number of attempts.
    """

    kind = "comprehension"
    shorthand = "items"

    items: Annotated[list[Item], Field(min_length=1)]
    tries: Annotated[int, Field(ge=1, le=10)] = 2
    on_fail: Failing = "screened_out"

    @model_validator(mode="after")
    def _has_answers(self) -> "Comprehension":
        if not any(item.correct for item in self.items):
            raise ValueError("comprehension: no item has a correct answer; set correct")
        return self


class Quiz(Step):
    """A question about something that the participant saw in the latest game.

    Attributes:
        on_fail: the consequence of a wrong answer.
        erase: whether to delete the participant's data then.
    """

    kind = "quiz"

    on_fail: Failing = "failed_attention"
    erase: bool = False
    once: bool = False


MakeQuiz: TypeAlias = Callable[[Game, str, Sequence[Event], Stream, Mapping[str, Writing]], Item]
"""A function that creates a question about the events that a participant in a seat observed.

The last argument contains the formats of numbers and amounts by language code.
"""
QUIZZES: Registry[MakeQuiz] = Registry("quiz", "cheaptalk.quizzes", is_function)
"""Quiz functions by game."""


class Survey(Step):
    """Survey questions without correct answers.

    Attributes:
        text: the introduction.
    """

    kind = "survey"
    shorthand = "items"

    text: Prose = ""
    items: Annotated[list[Item], Field(min_length=1)]


class CustomPage(Step):
    """A page with the researcher's own template.

    Attributes:
        template: the template (see :mod:`.page_templates`) or the name of its file, also by
            language.
        items: the questions, each of which the template renders.
    """

    kind = "page"
    shorthand = "template"

    template: Annotated[str | dict[str, str], CONTENT, LONG]
    items: list[Item] = Field(default_factory=list)


class Debrief(Step):
    """A debriefing text that explains the study to the participant."""

    kind = "debrief"
    shorthand = "text"

    text: Prose


class Payment(Step):
    """A page with the participant's payment for the visit, if they complete it.

    It comes after the games and all paid tasks. The last page repeats the payment.

    Attributes:
        text: the introduction.
    """

    kind = "payment"
    shorthand = "text"

    text: Prose = ""
    once: bool = False


PROMPT = "Are you there? Type the word \u201c{word}\u201d."


class Attention(Value):
    """An attention check during a game.

    Attributes:
        text: the prompt; the default is translated.
        word: the word to type.
        seconds: timeout for the answer.
        games: numbers of the games in which it appears.
        after: range of seconds after the start of the game.
        on_fail: the consequence of a missing answer.
    """

    text: Words = PROMPT
    word: str = "here"
    seconds: Annotated[float, Field(gt=0, le=3600)] = 60
    games: list[int] = [1]  # noqa: RUF012 - frozen
    after: tuple[float, float] = (20, 120)
    on_fail: Literal["failed_attention", "go_on"] = "failed_attention"


class Lobby(Value):
    """Settings of the waiting room in which participants wait for other players.

    Attributes:
        minutes: waiting time after which a participant may leave and is paid for waiting.
        substitutes: whether scripted players then fill the empty seats if possible.
        waitlist: maximum number of participants who may enter a full study and wait for the place
            of a participant who drops out, for up to ``minutes``.
    """

    minutes: Annotated[float, Field(gt=0, le=600)] = 10
    substitutes: bool = False
    waitlist: Annotated[int, Field(ge=0, le=10_000)] = 0


class Treatment(Value):
    """A treatment: the matches of the study that it includes.

    Attributes:
        game: the game's name; None for all games.
        when: parameter values that the game must have.
        players: labels of all players of a match, in any order; None for all matches.
        quota: maximum number of participants, with ``design: between``.
    """

    game: str | None = None
    when: dict[str, Any] = Field(default_factory=dict)
    players: list[str] | None = None
    quota: Annotated[int, Field(ge=1)] | None = None

    def includes(self, game: Game, labels: Sequence[str]) -> bool:
        """Return whether the treatment includes matches of a game between given players."""
        if self.players is not None and sorted(self.players) != sorted(labels):
            return False
        return self.game in (None, game.name) and has_parameters(game, self.when)


class Games(Step):
    """A sequence of games, each with the steps before and after it.

    Attributes:
        max: maximum number of games in one visit.
        can_stop: whether participants may stop after each game.
        same_treatment: whether all games of a visit have the treatment drawn for the first.
        fixed_groups: whether the group of the first game stays together; if a member leaves, the
            visit of the others ends with ``partner_left``.
        design: the assignment to treatments: in the order of ``arrival``, so that groups are soon
            complete; one treatment per participant (``between``); or all treatments, in a
            ``fixed_order``, in a ``random_order``, or in orders that are used equally often: those
            of a ``latin_square``, or all (``counterbalanced``).
        treatments: the treatments of a design by name, in the order of ``fixed_order``.
        rounds: number of successive games in each treatment of a design.
        matching: who meets whom: ``any`` available participant; always the same ``partner``;
            randomly drawn strangers (``stranger``), of whom no pair meets twice with
            ``perfect_stranger``; or a ``rotation`` in which all meet before any pair meets again.
        matching_group: number of participants who start together and meet only each other.
        roles: whether participants' roles are drawn for each game (``any``), ``fixed``, or
            ``switching`` after each game.
        stratify: name of an item before the games, such as in a survey; treatments or orders are
            balanced among participants with the same answer.
        before, after: steps around each game.
        lobby: the waiting room.
        attention: attention checks during games.
    """

    kind = "games"
    shorthand = "max"

    max: Annotated[int, Field(ge=1, le=1000)] = 1
    can_stop: bool = False
    same_treatment: bool = False
    fixed_groups: bool = False
    design: Design = "arrival"
    treatments: dict[str, Treatment] = Field(default_factory=dict)
    rounds: Annotated[int, Field(ge=1, le=1000)] = 1
    matching: Matching = "any"
    matching_group: Annotated[int, Field(ge=2, le=500)] | None = None
    roles: Roles = "any"
    stratify: str | None = None
    before: "list[AnyStep]" = Field(default_factory=list)
    after: "list[AnyStep]" = Field(default_factory=list)
    lobby: Lobby = Lobby()
    attention: Attention | None = None
    once: bool = False

    @property
    def count(self) -> int:
        """Maximum number of games in one visit."""
        if self.design == "arrival":
            return self.max
        return self.rounds * (1 if self.design == "between" else len(self.treatments))

    @property
    def rematches(self) -> bool:
        """Whether participants go on to the next game after a partner has left."""
        return self.matching in ("stranger", "perfect_stranger", "rotation")

    @model_validator(mode="after")
    def _holds_no_games(self) -> "Games":
        if self.when:
            raise ValueError("games: games can't depend on answers; remove when")
        if self.fixed_groups and not self.same_treatment:
            raise ValueError("games: fixed_groups requires same_treatment; set both to true")
        if any(isinstance(step, Games) for step in (*self.before, *self.after)):
            raise ValueError("games: before and after cannot contain games")
        if any(isinstance(step, Quiz) for step in self.before):
            raise ValueError("games.before: a quiz is about the game just played; move it to after")
        return self

    @model_validator(mode="after")
    def _has_design(self) -> "Games":
        arrival = self.design == "arrival"
        for problem in self._without_design() if arrival else self._with_design():
            raise ValueError(f"games: {problem}")
        return self

    def _without_design(self) -> Iterator[str]:
        """Yield the problems of settings that only a design has."""
        names = {"treatments", "rounds", "matching", "matching_group", "roles", "stratify"}
        for name in type(self).model_fields:
            if name in names & self.model_dump(exclude_defaults=True).keys():
                yield f"{name} requires a design; set, for example, design: between"
        if self.lobby.waitlist:
            yield "lobby.waitlist requires a design; set, for example, design: between"

    def _with_design(self) -> Iterator[str]:
        """Yield the problems of the settings of a design."""
        if not self.treatments:
            yield (
                f"{self.design} requires treatments; write, for example, {{person: {{players: "
                "[people, people]}, model: {players: [people, gpt]}}"
            )
        for name in ("can_stop", "same_treatment", "fixed_groups"):
            if getattr(self, name):
                yield f"{name} is possible only without a design; remove {name} or design"
        if self.max not in (1, self.count):
            yield f"max is {self.max}, but the design has {self.count} games; remove max"
        meets_any, grouped = self.matching == "any", self.matching_group is not None
        if meets_any and grouped:
            yield "matching_group requires matching; set, for example, matching: stranger"
        if not (meets_any or grouped or self.matching == "partner"):
            yield (
                f"{self.matching} matching requires matching_group, the number of participants "
                "who start together; set, for example, matching_group: 12"
            )
        if self.stratify is not None and not meets_any:
            yield f"stratify requires matching: any, not {self.matching}"
        limited = any(treatment.quota for treatment in self.treatments.values())
        if limited and not (meets_any and self.design == "between"):
            yield "quota requires design: between and matching: any"


STEPS: dict[str, type[Step]] = {
    step_class.kind: step_class
    for step_class in (
        Consent,
        FirstName,
        Screening,
        Instructions,
        Comprehension,
        Games,
        Quiz,
        Survey,
        CustomPage,
        Payment,
        Debrief,
    )
}
"""Step classes by kind."""


def read_step(data: Any) -> Any:
    """Parse a step, written as its kind or as a mapping from the kind to settings."""
    if isinstance(data, Step):
        return data
    if isinstance(data, str):
        data = {data: {}}
    if not isinstance(data, Mapping) or len(data) != 1:
        raise ValueError(
            f"{shown(data)} is not a step; write, for example, {{consent: {{text: ...}}}}"
        )
    ((kind, settings),) = data.items()
    if kind not in STEPS:
        raise ValueError(f"unknown step {suggest(str(kind), list(STEPS))}")
    step_class = STEPS[kind]
    if not isinstance(settings, Mapping) or (
        step_class.shorthand == "text" and in_languages(settings)
    ):
        if step_class.shorthand is None:
            raise ValueError(f"{kind}: {shown(settings)} is not a mapping of settings")
        settings = {step_class.shorthand: settings}
    return step_class.model_validate(dict(settings))


def write_step(step: Step) -> dict[str, Any]:
    """Convert a step to the mapping that a study file contains."""
    return {step.kind: step.model_dump(mode="json", exclude_defaults=True)}


AnyStep = Annotated[Step, BeforeValidator(read_step), PlainSerializer(write_step)]
"""A step of any kind."""
Games.model_rebuild()


def located_steps(path: Iterable[Step]) -> Iterator[tuple[Location, Step]]:
    """Yield all steps in order, with their locations, including those around each game."""
    for number, step in enumerate(path):
        if isinstance(step, Games):
            for at, before in enumerate(step.before):
                yield (number, step.kind, "before", at), before
            yield (number,), step
            for at, after in enumerate(step.after):
                yield (number, step.kind, "after", at), after
        else:
            yield (number,), step


def with_names(path: Sequence[Step]) -> list[Step]:
    """Name each step without a name whose kind is the name of another step.

    >>> [step.called for step in with_names([Payment(), Payment(), Payment(name="payment_2")])]
    ['payment', 'payment_3', 'payment_2']
    """
    taken = {step.name for _, step in located_steps(path) if step.name}

    def named(step: Step) -> Step:
        if isinstance(step, Games):
            around = {
                "before": list(map(named, step.before)),
                "after": list(map(named, step.after)),
            }
            step = step.model_copy(update=around)
        if step.name:
            return step
        numbered = (f"{step.kind}_{number}" for number in count(2))
        name = next(name for name in chain([step.kind], numbered) if name not in taken)
        taken.add(name)
        return step if name == step.kind else step.model_copy(update={"name": name})

    return [named(step) for step in path]


def correct_answers(steps: list[Step]) -> dict[str, str]:
    """Return a correct answer to each question that has one, by the field of its form."""
    items = [item for _, step in located_steps(steps) for item in getattr(step, "items", ())]
    return {field: text for item in items for field, text in item.solution.items()}
