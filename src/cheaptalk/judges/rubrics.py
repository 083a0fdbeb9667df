"""Rubrics: a judge's question with its possible verdicts, written as YAML."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from cheaptalk.names import RubricName
from cheaptalk.rules import CheaptalkError, UnknownName, Value, games, get_game, suggest
from cheaptalk.rules.display import brief
from cheaptalk.rules.errors import first_problem
from cheaptalk.rules.registry import Registry, instances, several
from cheaptalk.studies.study import read_yaml
from cheaptalk.yaml_files import yaml_files

OURS = yaml_files(__file__, "rubrics")
RubricText = Annotated[str, Field(min_length=1, max_length=10_000)]
Name = Annotated[str, Field(pattern=r"^[\w.-]{1,80}$")]
CategoryName = Annotated[str, Field(min_length=1, max_length=80)]


class RubricError(CheaptalkError, ValueError):
    """An error in a rubric; the message names the file, the key and the fix."""


class Scale(Value):
    """Integer scores from ``low`` to ``high``, with the meanings of both ends."""

    low: int = 1
    high: int = 7
    low_means: RubricText
    high_means: RubricText

    @model_validator(mode="after")
    def _rises(self) -> "Scale":
        if not self.low < self.high <= self.low + 100:
            raise ValueError("high must be above low, by 100 at most")
        return self


class Example(Value):
    """An example for the judge: a record, the correct verdict and the reason."""

    seen: RubricText
    category: str | None = None
    score: int | None = None
    reason: RubricText


class Rubric(Value):
    """A judge's question with its possible verdicts.

    Attributes:
        name: the name in reports.
        description: what the rubric measures, for readers.
        games: the games that can be judged; by default all.
        item: the unit of judgement: ``move`` (an action, with the actor's observations so far),
            ``seat`` (an actor's conduct in a match, with the actor's observations), ``match`` (with
            all observations) or ``answer`` (a survey answer).
        actions: for moves, the action types to judge; by default all with a message.
        answers: for answers, the survey questions to judge; by default all with text.
        question: the question that the judge answers.
        categories: the possible verdicts with their meanings; None with a scale.
        scale: the range of scores; None with categories.
        found: the categories that count as positive; by default all but the first.
        examples: examples with their verdicts.
    """

    name: Name
    description: str = ""
    games: list[str] | None = None
    item: Literal["move", "seat", "match", "answer"]
    actions: list[str] | None = None
    answers: list[str] | None = None
    question: RubricText
    categories: dict[CategoryName, RubricText] | None = None
    scale: Scale | None = None
    found: list[str] | None = None
    examples: list[Example] = Field(default_factory=list)

    def __repr__(self) -> str:
        return brief(self, f"{self.name}: {self.question}")

    @model_validator(mode="after")
    def _fits_together(self) -> "Rubric":
        if (self.categories is None) == (self.scale is None):
            raise ValueError("give either categories or a scale")
        if self.categories is not None and len(self.categories) < 2:
            raise ValueError("categories: give two or more")
        for name in self.found or ():
            self._known(name, "found")
        for example in self.examples:
            if self.scale is None:
                self._known(example.category, "examples")
            elif example.score is None or not self.scale.low <= example.score <= self.scale.high:
                raise ValueError("examples: each needs a score within the scale")
        if self.actions is not None and self.item != "move":
            raise ValueError("actions: only allowed with item: move")
        if self.answers is not None and self.item != "answer":
            raise ValueError("answers: only allowed with item: answer")
        return self

    def _known(self, name: str | None, key: str) -> None:
        if name not in (self.categories or {}):
            known = list(self.categories or {})
            raise ValueError(f"{key}: no category {suggest(str(name), known)}")

    def check(self) -> None:
        """Raise a RubricError if one of the rubric's games or actions does not exist."""
        try:
            actions = {
                action.__name__
                for game in self.games or games()
                for action in get_game(game).rules.actions
            }
        except UnknownName as error:
            raise RubricError(f"games: {error}") from None
        for action in self.actions or ():
            if action not in actions:
                games_text = ", ".join(self.games or ["any game"])
                raise RubricError(
                    f"actions: no action of {games_text} is named "
                    f"{suggest(action, sorted(actions))}"
                )

    @property
    def labels(self) -> list[str]:
        """All possible verdicts in order, with scores as text."""
        if self.scale is not None:
            return [str(score) for score in range(self.scale.low, self.scale.high + 1)]
        return list(self.categories or {})

    @property
    def finds(self) -> list[str]:
        """The categories that count as positive; empty for a scale."""
        if self.scale is not None:
            return []
        return self.labels[1:] if self.found is None else self.found

    def fits(self, game: str) -> bool:
        return self.games is None or game in self.games


RUBRICS: Registry["Path | Rubric"] = Registry(
    "rubric", "cheaptalk.rubrics", instances(Path, Rubric), several
)
"""All rubrics by name; an entry point refers to a mapping of rubrics or their files."""


def rubric_names() -> list[str]:
    """Return the names of all installed rubrics."""
    return sorted(RUBRICS)


def find_rubric(name: Rubric | Path | RubricName) -> Rubric:
    """Return a rubric by name or from a YAML file (``.yaml`` or ``.yml``).

    Raises:
        RubricError: the rubric is unknown or invalid.
    """
    if isinstance(name, Rubric):
        return name
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        return load_rubric(path)
    registered = RUBRICS.get(str(name))
    if registered is None:
        raise RubricError(
            f"no rubric {suggest(str(name), rubric_names())}; a file's name must end in .yaml"
        )
    return registered if isinstance(registered, Rubric) else load_rubric(registered)


def load_rubric(source: Path | str) -> Rubric:
    """Load a rubric from a YAML file.

    Raises:
        RubricError: the file can't be read, or the rubric is invalid.
    """
    data: Any = read_yaml(Path(source))
    if not isinstance(data, dict):
        raise RubricError(f"{source}: expected a mapping with a name, an item and a question")
    try:
        rubric = Rubric.model_validate(data)
        rubric.check()
    except ValidationError as error:
        raise RubricError(f"{source}: {first_problem(error)}") from None
    except RubricError as error:
        raise RubricError(f"{source}: {error}") from None
    return rubric
