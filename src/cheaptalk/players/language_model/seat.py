"""Settings of language models as players."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import Field, field_validator, model_validator

from cheaptalk.models import (
    AskedRoute,
    ModelName,
    ModelSettings,
    Reasoning,
    check_settings,
    missing_requirement,
)
from cheaptalk.models.model_strings import canonical
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
from cheaptalk.rules.errors import LocatedError, shown
from cheaptalk.rules.registry import GAMES
from cheaptalk.styles import JsonCodec, Style, style
from cheaptalk.styles.template_files import is_template_file, named_files, with_texts

Stop: TypeAlias = Annotated[str, Field(min_length=1)]


class ModelSeat(SeatSpec):
    """The settings of a language model as a player.

    Attributes:
        model: ``provider/NAME``, ``provider/NAME@URL``, or ``smollm2``.
        style: the prompt style or template file, such as ``mine/bargaining.jinja``, or styles and
            files by game; by default the style of the game.
        templates: the texts of template files by name, set when the files are read.
        reasoning: reasoning effort before each answer: a level, or a token budget.
        stream: whether the server streams each response.
        answers: how answers are requested: ``auto`` uses the strictest method that the server
            supports; ``text``, the default with a chain of thought, uses only the prompt.
        persona: text before the game's prompt: a sentence, or a name from
            :data:`~cheaptalk.players.language_model.treatments.PERSONAS`.
        chain_of_thought: text after each request: a sentence, or a name from
            :data:`~cheaptalk.players.language_model.treatments.CHAINS_OF_THOUGHT`.
        history: the model's memory: ``all``, ``{last: N}`` turns, or its own ``summary``.
        past_answers: how the model's past answers are shown: in ``canonical`` form, or as
            ``verbatim`` responses; candidates are always canonical.
        refine: candidates that the model writes down before it chooses an answer.
        tries: maximum attempts for each answer, summary, list of candidates and choice before the
            model forfeits; by default that of the game.
        reask: whether a retry contains the ``reason`` why the last response is invalid, all invalid
            responses ``quoted`` with their reasons, or only the request (``afresh``).
        refusals: whether a request is repeated after a refusal by the model or the provider's
            filter (``again``, at most ``tries`` times), or the refusal is ``final``.
        deadline: timeout of one call, in seconds.
        words: digest of the prompt style's templates, set when the match is planned.
    """

    optional: ClassVar[frozenset[str]] = frozenset(
        (
            *("templates", "reasoning", "stream", "answers", "history", "past_answers", "refine"),
            *("reask", "refusals"),
        )
    )
    may_fail: ClassVar[bool] = True

    model: str
    style: str | dict[str, str] | None = None
    templates: dict[str, str] = Field(default_factory=dict)
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
        return canonical(text)

    @model_validator(mode="before")
    @classmethod
    def _with_read_files(cls, data: Any) -> Any:
        """Read template files that Python code names by a ``Path``."""
        return with_texts(data)

    @field_validator("templates")
    @classmethod
    def _is_of_files(cls, templates: dict[str, str]) -> dict[str, str]:
        for name in templates:
            if not is_template_file(name):
                raise ValueError(f'"{name}" is not the name of a template file; end it with .jinja')
        return templates

    @model_validator(mode="after")
    def _has_texts(self) -> Self:
        for file in named_files({"style": self.style}):
            if file not in self.templates:
                raise LocatedError(
                    f'the text of the template file "{file}" is missing; name the file in a study '
                    f'file, a roster or an option, or in Python write Path("{file}")',
                    "style",
                )
        return self

    @field_validator("style")
    @classmethod
    def _is_of_games(cls, styles: str | dict[str, str] | None) -> str | dict[str, str] | None:
        for game in styles if isinstance(styles, dict) else ():
            if game not in GAMES:
                raise ValueError(f"unknown game {suggest(game, list(games()))}")
        return styles

    @field_validator("history", mode="before")
    @classmethod
    def _is_history(cls, data: Any) -> Any:
        last = data["last"] if isinstance(data, Mapping) and [*data] == ["last"] else None
        is_number = type(last) is int and last >= 0
        if not (is_number or isinstance(data, LastTurns) or data in ("all", "summary")):
            raise ValueError(f"{shown(data)} is not a history; write all, summary or {{last: N}}")
        return data

    def settings(self) -> ModelSettings:
        return ModelSettings(**{name: getattr(self, name) for name in ModelSettings.model_fields})

    def check(self) -> None:
        """Raise a ValueError if the model does not support a setting, or if settings conflict."""
        check_settings(self.settings(), self.model, self.route)
        if self.chain_of_thought and self.route != "text" and self.reasoning in (None, "none"):
            raise ValueError(
                f'answers: "{self.route}" leaves no room for a written chain_of_thought; '
                "omit answers, or set it to text"
            )

    def seat(self, game: Game, seat: str) -> "ModelSeat":
        """Return the settings with the prompt style resolved for a game.

        Raises:
            ValueError: the settings are incompatible with the prompt style.
            UnknownName: the game has no such prompt style.
        """
        words = self._style(game)
        if not isinstance(words.codec, JsonCodec):
            answers = f'answers in the style "{words.name}" of {game.name} are not'
            if self.refine:
                raise ValueError(
                    f"refine: candidates are written as JSON, but {answers}; choose another style"
                )
            if self.answers in ("schema", "tool"):
                raise ValueError(
                    f'answers: "{self.answers}" requests JSON, but {answers}; '
                    "choose another style, or text"
                )
        used = {name: text for name, text in self.templates.items() if name == words.name}
        update = {"style": words.name, "words": words.digest, "templates": used}
        return self.model_copy(update=update)

    def player(self, game: Game, sources: Sources = NO_SOURCES) -> LanguageModel:
        prompt = Prompt(**{name: getattr(self, name) for name in Prompt._fields})
        tries, style = self.tries or game.tries, self._style(game)
        return LanguageModel(game, style, self.model, self.settings(), prompt, tries, self.route)

    def _style(self, game: Game) -> Style:
        if isinstance(self.style, dict):
            return style(game.name, self.style.get(game.name), templates=self.templates)
        try:
            return style(game.name, self.style, templates=self.templates)
        except UnknownName as error:
            supporting = [spec.name for spec in games().values() if self.style in spec.styles]
            if not supporting:
                raise
            advice = f"write style: {{{supporting[0]}: {self.style}}}"
            raise UnknownName(f"{error}; to use it only for {supporting[0]}, {advice}") from None

    @property
    def route(self) -> AskedRoute:
        """The answer format; by default, ``text`` with a chain of thought, else ``auto``."""
        return self.answers or ("text" if self.chain_of_thought else "auto")

    def missing(self, game: Game, sources: Sources) -> str | None:
        name = ModelName.parse(self.model)
        if name.protocol == "remote" and sources.remote_agents is not None:
            return sources.remote_agents.unavailable(name.model)
        return self.unreachable()

    def unreachable(self) -> str | None:
        """Return why the model cannot be called, such as a missing API key; None if it can."""
        return missing_requirement(self.model)

    def unbatchable(self) -> str | None:
        if ModelName.parse(self.model).entry.batch is None:
            return (
                f"{self.model} does not support batches; use a model of "
                f"{' or '.join(with_batches())}, or run without batches"
            )
        if self.stream:
            return "batches do not support streaming; omit stream, or run without batches"
        return None

    def call_deadline(self) -> float:
        return self.deadline
