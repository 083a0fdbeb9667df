"""Steps: the pages that people come to on the path through a study."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from cheaptalk.rules import Event, Game, Value, suggest
from cheaptalk.rules.chance import Stream
from cheaptalk.rules.errors import shown
from cheaptalk.rules.registry import Registry, is_function
from cheaptalk.studies.people.items import Item, Words, distinct, in_languages

Failing: TypeAlias = Literal["screened_out", "failed_attention", "go_on"]
"""What becomes of somebody who does not answer rightly."""


class Step(Value):
    """A page, or several.

    Attributes:
        name: in records; by default what kind of step it is.
        once: whether those who come again pass it by.
    """

    kind: ClassVar[str]
    shorthand: ClassVar[str | None] = None
    """The key that a list or a text stands for."""

    name: str = ""
    once: bool = True

    @property
    def called(self) -> str:
        """The step's name."""
        return self.name or self.kind


class Consent(Step):
    """What people agree to before anything else.

    Attributes:
        text: what they read.
        statements: each to be ticked.
    """

    kind = "consent"
    shorthand = "text"

    text: Words
    statements: list[Words] = Field(default_factory=list)


class FirstName(Step):
    """The name by which the others at a table know somebody: a first name, or a neutral one.

    Names stand on people's pages alone: no model reads them, and no match records them.
    """

    kind = "first_name"


class Instructions(Step):
    """What is to be done.

    Attributes:
        pages: texts, a page each.
        game: whether the game is explained, too, in its own words.
        code_word: is hidden in the last text, and asked for below: who types it has read.
        otherwise: what becomes of those who do not.
    """

    kind = "instructions"
    shorthand = "pages"

    pages: list[Words] = Field(default_factory=list)
    game: bool = False
    code_word: str | None = None
    otherwise: Failing = "failed_attention"
    once: bool = False

    @model_validator(mode="after")
    def _says_something(self) -> "Instructions":
        if not self.pages and not self.game:
            raise ValueError("instructions: write pages, or game: true")
        return self


class Screening(Step):
    """Questions that tell who can take part: all answers must be right where one is wanted."""

    kind = "screening"
    shorthand = "items"

    items: Annotated[list[Item], Field(min_length=1)]
    otherwise: Failing = "screened_out"

    @model_validator(mode="after")
    def _are_distinct(self) -> "Screening":
        distinct(self.items, self.kind)
        return self


class Comprehension(Step):
    """Questions about the instructions, with what was wrong said after each try.

    Attributes:
        tries: how often they may be answered.
    """

    kind = "comprehension"
    shorthand = "items"

    items: Annotated[list[Item], Field(min_length=1)]
    tries: Annotated[int, Field(ge=1, le=10)] = 2
    otherwise: Failing = "screened_out"

    @model_validator(mode="after")
    def _are_distinct(self) -> "Comprehension":
        distinct(self.items, self.kind)
        if not any(item.right for item in self.items):
            raise ValueError("comprehension: no item has a right answer")
        return self


class Quiz(Step):
    """A question about the game just played, on what somebody was told there.

    Attributes:
        otherwise: what becomes of those who answer wrongly.
        erase: whether what they did is then deleted.
    """

    kind = "quiz"

    otherwise: Failing = "failed_attention"
    erase: bool = False
    once: bool = False


MakeQuiz: TypeAlias = Callable[[Game, str, Sequence[Event], Stream], Item]
"""Makes the question for who sat in a place, of what they were told, its choices in an order drawn
by luck."""
QUIZZES: Registry[MakeQuiz] = Registry("quiz", "cheaptalk.quizzes", is_function)
"""Makers of quizzes, by the game that they are about."""


class Survey(Step):
    """Questions without right answers.

    Attributes:
        text: what stands before them.
    """

    kind = "survey"
    shorthand = "items"

    text: Words = ""
    items: Annotated[list[Item], Field(min_length=1)]

    @model_validator(mode="after")
    def _are_distinct(self) -> "Survey":
        distinct(self.items, self.kind)
        return self


class Debrief(Step):
    """What people are told in the end."""

    kind = "debrief"
    shorthand = "text"

    text: Words


class Attention(Value):
    """A prompt in the midst of a game, to be answered in time.

    Attributes:
        text: what is asked for.
        word: what is to be typed.
        seconds: in which it must be answered.
        games: in which games it comes, by their numbers.
        after: it comes so many seconds after a game began, between these two.
        otherwise: what becomes of those who do not answer.
    """

    text: Words = {  # noqa: RUF012 - frozen
        "en": "Are you there? Type the word \u201c{word}\u201d.",
        "de": "Sind Sie da? Schreiben Sie das Wort \u201e{word}\u201c.",
    }
    word: str = "here"
    seconds: Annotated[float, Field(gt=0, le=3600)] = 60
    games: list[int] = [1]  # noqa: RUF012 - frozen
    after: tuple[float, float] = (20, 120)
    otherwise: Literal["failed_attention", "go_on"] = "failed_attention"


class Lobby(Value):
    """Where people wait for others.

    Attributes:
        minutes: after which somebody may go, and is paid for having waited.
        stand_ins: whether programs then take the empty places instead, where they can.
    """

    minutes: Annotated[float, Field(gt=0, le=600)] = 10
    stand_ins: bool = False


class Games(Step):
    """Games, one after the other, each with what comes before and after it.

    Attributes:
        most: in one visit.
        may_stop: whether people are asked after each whether they go on.
        same: whether all games of a visit are at tables of one kind, drawn for the first.
        together: whether those who met in its first game play the others together, too; where one
            of them has left, the visit of the others ends as when a partner leaves.
        before, after: steps around each game.
        lobby: where they wait for others.
        attention: prompts while they play.
    """

    kind = "games"
    shorthand = "most"

    most: Annotated[int, Field(ge=1, le=1000)] = 1
    may_stop: bool = False
    same: bool = False
    together: bool = False
    before: "list[AnyStep]" = Field(default_factory=list)
    after: "list[AnyStep]" = Field(default_factory=list)
    lobby: Lobby = Lobby()
    attention: Attention | None = None
    once: bool = False

    @model_validator(mode="after")
    def _holds_no_games(self) -> "Games":
        if self.together and not self.same:
            raise ValueError("games: together: true goes with same: true, at tables of one kind")
        if any(isinstance(one, Games) for one in (*self.before, *self.after)):
            raise ValueError("games: no games stand before or after a game")
        if any(isinstance(one, Quiz) for one in self.before):
            raise ValueError("games.before: a quiz is about a game that was played; write it after")
        return self


STEPS: dict[str, type[Step]] = {
    one.kind: one
    for one in (
        Consent, FirstName, Screening, Instructions, Comprehension, Games, Quiz, Survey, Debrief,
    )
}  # fmt: skip
"""All kinds of steps by name."""


def read_step(data: Any) -> Any:
    """A step as it is written: its kind, or its kind with its settings.

    Raises:
        ValueError: there is no such kind.
    """
    if isinstance(data, Step):
        return data
    if isinstance(data, str):
        data = {data: {}}
    if not isinstance(data, Mapping) or len(data) != 1:
        raise ValueError(f"{shown(data)} is no step; write {{consent: {{text: ...}}}} or another")
    ((kind, settings),) = data.items()
    if kind not in STEPS:
        raise ValueError(f"there is no step {suggest(str(kind), list(STEPS))}")
    of = STEPS[kind]
    if not isinstance(settings, Mapping) or (of.shorthand == "text" and in_languages(settings)):
        if of.shorthand is None:
            raise ValueError(f"{kind}: {shown(settings)} are no settings; write a mapping")
        settings = {of.shorthand: settings}
    return of.model_validate(dict(settings))


def write_step(step: Step) -> dict[str, Any]:
    """A step as it is read."""
    return {step.kind: step.model_dump(mode="json", exclude_defaults=True)}


AnyStep = Annotated[Step, BeforeValidator(read_step), PlainSerializer(write_step)]
"""A step of any kind, by its kind."""
Games.model_rebuild()


def steps_within(steps: list[Step]) -> Iterator[Step]:
    """All steps in the order of the path, those around a game with it."""
    for step in steps:
        if isinstance(step, Games):
            yield from step.before
            yield step
            yield from step.after
        else:
            yield step
