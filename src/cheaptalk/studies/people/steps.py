"""The steps of a participant's path through a study."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from cheaptalk.rules import Event, Game, Value, suggest
from cheaptalk.rules.chance import Stream
from cheaptalk.rules.errors import shown
from cheaptalk.rules.registry import Registry, is_function
from cheaptalk.studies.people.items import Item, Words, distinct, in_languages
from cheaptalk.styles.writing import Writing

Failing: TypeAlias = Literal["screened_out", "failed_attention", "go_on"]
"""The consequence of a wrong answer."""


class Step(Value):
    """A step of a participant's path, with one or more pages.

    Attributes:
        name: its name in records; by default the kind of step.
        once: whether returning participants skip it.
    """

    kind: ClassVar[str]
    shorthand: ClassVar[str | None] = None
    """The key that a bare list or text sets."""

    name: str = ""
    once: bool = True

    @model_validator(mode="after")
    def _items_are_distinct(self) -> Self:
        distinct(getattr(self, "items", ()), self.kind)
        return self

    @property
    def called(self) -> str:
        return self.name or self.kind


class Consent(Step):
    """A consent form, optionally with statements that the participant ticks.

    Attributes:
        text: the consent text.
        statements: statements to be ticked.
    """

    kind = "consent"
    shorthand = "text"

    text: Words
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

    pages: list[Words] = Field(default_factory=list)
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

    text: Words = ""
    items: Annotated[list[Item], Field(min_length=1)]


class Debrief(Step):
    """A debriefing text that explains the study to the participant."""

    kind = "debrief"
    shorthand = "text"

    text: Words


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
    """

    minutes: Annotated[float, Field(gt=0, le=600)] = 10
    substitutes: bool = False


class Games(Step):
    """A sequence of games, each with the steps before and after it.

    Attributes:
        max: maximum number of games in one visit.
        can_stop: whether participants may stop after each game.
        same_treatment: whether all games of a visit have the treatment drawn for the first.
        fixed_groups: whether the group of the first game stays together; if a member leaves, the
            visit of the others ends with ``partner_left``.
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
    before: "list[AnyStep]" = Field(default_factory=list)
    after: "list[AnyStep]" = Field(default_factory=list)
    lobby: Lobby = Lobby()
    attention: Attention | None = None
    once: bool = False

    @model_validator(mode="after")
    def _holds_no_games(self) -> "Games":
        if self.fixed_groups and not self.same_treatment:
            raise ValueError("games: fixed_groups requires same_treatment; set both to true")
        if any(isinstance(step, Games) for step in (*self.before, *self.after)):
            raise ValueError("games: before and after cannot contain games")
        if any(isinstance(step, Quiz) for step in self.before):
            raise ValueError("games.before: a quiz is about the game just played; move it to after")
        return self


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


def steps_within(steps: list[Step]) -> Iterator[Step]:
    """Yield all steps in order, including those before and after each game."""
    for step in steps:
        if isinstance(step, Games):
            yield from step.before
            yield step
            yield from step.after
        else:
            yield step
