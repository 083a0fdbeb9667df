"""A language model's seat as data: every setting that makes one."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer

from cheaptalk.models import (
    AskedRoute,
    ModelName,
    ModelSettings,
    Reasoning,
    check_settings,
    missing,
)
from cheaptalk.models.providers import with_batches
from cheaptalk.players.language_model.player import LanguageModel
from cheaptalk.players.language_model.treatments import (
    ChainOfThought,
    History,
    LastTurns,
    PastAnswers,
    Persona,
    Prompt,
    Reask,
    Refine,
    Refusals,
)
from cheaptalk.players.seats import NO_SOURCES, SeatSpec, Sources
from cheaptalk.rules import Game, UnknownName, games, suggest
from cheaptalk.rules.errors import shown
from cheaptalk.rules.registry import GAMES
from cheaptalk.styles import JsonCodec, Style, style

LATER = ("reasoning", "stream", "answers", "history", "past_answers", "refine", "reask", "refusals")
"""Settings that are younger than the first records. They are written only where they are set, so
that whoever leaves them alone stays the same player, and matches of then stay the same matches."""
Stop: TypeAlias = Annotated[str, Field(min_length=1)]


class ModelSeat(SeatSpec):
    """A seat filled by a language model.

    Attributes:
        model: ``provider/NAME`` or ``provider/NAME@URL``.
        style: the style of the game's words, or styles by game; the game's default one if not set.
        reasoning: how much it is to reason before it answers: a level, or a budget of tokens.
        stream: whether its server is to send each answer in pieces, as it is written.
        answers: how its answers are asked for: ``auto`` takes the strictest way that its server
            knows; ``text``, the default with a chain of thought, asks in words alone.
        persona: who it is told to be, before the game's words: a sentence, or a name from
            :data:`~cheaptalk.players.language_model.treatments.PERSONAS`.
        chain_of_thought: how it is told to think, after each question: a sentence, or a name from
            :data:`~cheaptalk.players.language_model.treatments.CHAINS_OF_THOUGHT`.
        history: what it remembers: ``all``, ``{last: N}`` turns, or a ``summary`` of its own.
        past_answers: whether its past answers are shown to it in ``canonical`` form, or
            ``verbatim``, with all that it wrote; candidates are always canonical.
        refine: candidates that it writes down before it chooses its answer among them.
        tries: how often it is asked in all before it forfeits; the game's own number if not set.
            Holds for each of its questions: a summary, candidates and a choice are asked for as
            often.
        reask: whether it is asked again with the ``reason`` why its reply does not count, or
            ``afresh``, with nothing but the same question.
        refusals: whether what it or its provider's filter declines is asked ``again``, within
            ``tries``, or is ``final`` at once.
        deadline: seconds that one call may take.
        words: digest of the style's words, noted when the player sits down: other words make
            another match.
    """

    may_fail: ClassVar[bool] = True

    model: str
    style: str | dict[str, str] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: int | None = None
    stop: Annotated[tuple[Stop, ...], Field(min_length=1)] | None = None
    reasoning: Reasoning | None = None
    stream: Literal[True] | None = None
    answers: AskedRoute | None = None
    persona: Persona | None = None
    chain_of_thought: ChainOfThought | None = None
    history: History = "all"
    past_answers: PastAnswers = "canonical"
    refine: Refine | None = None
    tries: Annotated[int, Field(ge=1, le=20)] | None = None
    reask: Reask = "reason"
    refusals: Refusals = "again"
    deadline: Annotated[float, Field(gt=0)] = 300
    words: str | None = None

    @field_validator("model")
    @classmethod
    def _is_model_string(cls, text: str) -> str:
        try:
            ModelName.parse(text)
        except LookupError as error:
            raise ValueError(str(error)) from None
        return text

    @field_validator("style")
    @classmethod
    def _is_of_games(cls, named: str | dict[str, str] | None) -> str | dict[str, str] | None:
        for game in named if isinstance(named, dict) else ():
            if game not in GAMES:
                raise ValueError(f"unknown game {suggest(game, list(games()))}")
        return named

    @field_validator("history", mode="before")
    @classmethod
    def _is_history(cls, data: Any) -> Any:
        last = data["last"] if isinstance(data, Mapping) and [*data] == ["last"] else None
        counted = type(last) is int and last >= 0
        if not (counted or isinstance(data, LastTurns) or data in ("all", "summary")):
            raise ValueError(f"{shown(data)} is no history: write all, summary or {{last: N}}")
        return data

    @model_serializer(mode="wrap")
    def _written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        left_alone = {name for name in LATER if getattr(self, name) == fields[name].default}
        return {name: value for name, value in handler(self).items() if name not in left_alone}

    def settings(self) -> ModelSettings:
        """The sampling settings."""
        return ModelSettings(**{name: getattr(self, name) for name in ModelSettings.model_fields})

    def check(self) -> None:
        """Refuse settings that the model does not take, or that undo one another.

        Raises:
            ValueError: it does not take one, or two undo one another; the message names the cure.
        """
        check_settings(self.settings(), self.model, self.route)
        if self.chain_of_thought and self.route != "text" and self.reasoning in (None, "none"):
            raise ValueError(
                f'answers: by "{self.route}" there is no room for a chain_of_thought in words; '
                "leave answers out, or set it to text"
            )

    def seat(self, game: Game, place: str) -> "ModelSeat":
        """The same player with the words of this game noted.

        Raises:
            ValueError: its settings do not go with the words.
            UnknownName: the game has no such style.
        """
        words = self._words(game)
        if not isinstance(words.codec, JsonCodec):
            answers = f'answers in the style "{words.name}" of {game.name} are not'
            if self.refine:
                raise ValueError(
                    f"refine: candidates are written as JSON, but {answers}; choose another style"
                )
            if self.answers in ("schema", "tool"):
                raise ValueError(
                    f'answers: by "{self.answers}" JSON is asked for, but {answers}; '
                    "choose another style, or text"
                )
        return self.model_copy(update={"style": words.name, "words": words.digest})

    def player(self, game: Game, sources: Sources = NO_SOURCES) -> LanguageModel:
        """Who sits down at a game with these settings."""
        prompt = Prompt(**{name: getattr(self, name) for name in Prompt._fields})
        tries = self.tries or game.tries
        words = self._words(game)
        return LanguageModel(game, words, self.model, self.settings(), prompt, tries, self.route)

    def _words(self, game: Game) -> Style:
        if isinstance(self.style, dict):
            return style(game.name, self.style.get(game.name))
        try:
            return style(game.name, self.style)
        except UnknownName as error:
            others = [one.name for one in games().values() if self.style in one.styles]
            if not others:
                raise
            cure = f"for {others[0]} alone write style: {{{others[0]}: {self.style}}}"
            raise UnknownName(f"{error}; {cure}") from None

    @property
    def route(self) -> AskedRoute:
        """How the answers are asked for: in words alone where it is told how to think first."""
        return self.answers or ("text" if self.chain_of_thought else "auto")

    def missing(self, game: Game, sources: Sources) -> str | None:
        """What must be done before the model can be asked; None where nothing is missing."""
        name = ModelName.parse(self.model)
        if name.protocol == "guest" and sources.guests is not None:
            return sources.guests.lacking(name.model)
        return self.unreachable()

    def unreachable(self) -> str | None:
        """Why the model cannot be asked, such as a key that is not set; None where it can."""
        return missing(self.model)

    def unbatchable(self) -> str | None:
        """Why the model's calls cannot go out in batches; None where they can."""
        if ModelName.parse(self.model).entry.batch is None:
            return (
                f"there are no batches for {self.model}, only for models of "
                f"{' and '.join(with_batches())}; play without --batch"
            )
        if self.stream:
            return "a batch brings whole answers; leave stream out, or play without --batch"
        return None

    def call_deadline(self) -> float:
        """Seconds that one call may take."""
        return self.deadline
