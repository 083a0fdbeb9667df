"""Rubrics: what a judge is asked about recorded matches, written as YAML."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from cheaptalk.rules import CheaptalkError, UnknownName, Value, game_box, games, suggest
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
    """A rubric that cannot be judged by as written; the message names file, key and cure."""


class Scale(Value):
    """Whole numbers from ``low`` to ``high`` that a judge answers with, and what the ends mean."""

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
    """A judged case that the judge is shown: what was seen, and its category or its score."""

    seen: RubricText
    category: str | None = None
    score: int | None = None
    reason: RubricText


class Rubric(Value):
    """What a judge is asked.

    Attributes:
        name: what reports call it.
        description: for people.
        games: the games it fits; all if not set.
        item: what is judged at a time. ``move``: one answer, with all that its seat had seen by
            then. ``seat``: a seat's conduct in a match, with all that this seat saw. ``match``: a
            match, with all that anyone saw. ``answer``: what a person wrote in a survey.
        actions: for moves, the types of answers that are judged; all with a message if not set.
        answers: for answers, the items of the survey that are judged; all with texts if not set.
        question: what the judge is to find out.
        categories: the verdicts, each with what it means; or
        scale: the numbers to answer with.
        found: the categories that count as a find; all but the first if not set.
        examples: cases with their verdicts.
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
                raise ValueError("examples: each needs a score on the scale")
        if self.actions is not None and self.item != "move":
            raise ValueError("actions go with item: move")
        if self.answers is not None and self.item != "answer":
            raise ValueError("answers go with item: answer")
        return self

    def _known(self, name: str | None, where: str) -> None:
        if name not in (self.categories or {}):
            raise ValueError(
                f"{where}: no category {suggest(str(name), list(self.categories or {}))}"
            )

    def check(self) -> None:
        """Refuse games and answers that there are not; what was judged by a rubric stays readable.

        Raises:
            RubricError: there is no such game or answer.
        """
        try:
            known = {
                action.__name__
                for game in self.games or games()
                for action in game_box(game).rules.actions
            }
        except UnknownName as error:
            raise RubricError(f"games: {error}") from None
        for action in self.actions or ():
            if action not in known:
                of = ", ".join(self.games or ["any game"])
                raise RubricError(f"actions: no answer of {of} is {suggest(action, sorted(known))}")

    @property
    def labels(self) -> list[str]:
        """The verdicts in order, scores as text."""
        if self.scale is not None:
            return [str(score) for score in range(self.scale.low, self.scale.high + 1)]
        return list(self.categories or {})

    @property
    def finds(self) -> list[str]:
        """The categories that count as a find; none on a scale."""
        if self.scale is not None:
            return []
        return self.labels[1:] if self.found is None else self.found

    def fits(self, game: str) -> bool:
        """Whether it is for this game."""
        return self.games is None or game in self.games


RUBRICS: Registry["Path | Rubric"] = Registry(
    "rubric", "cheaptalk.rubrics", instances(Path, Rubric), several
)
"""All rubrics by name; an entry point refers to a mapping of them or their files."""


def rubric_names() -> list[str]:
    """The rubrics that come with this and other packages."""
    return sorted(RUBRICS)


def find_rubric(name: Rubric | Path | str) -> Rubric:
    """A rubric as it is, from a file (``.yaml`` or ``.yml``), or one that comes with the package.

    Raises:
        RubricError: there is none, or it is not legal.
    """
    if isinstance(name, Rubric):
        return name
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        return load_rubric(path)
    found = RUBRICS.get(str(name))
    if found is None:
        raise RubricError(
            f"no rubric {suggest(str(name), rubric_names())}; a file's name ends in .yaml"
        )
    return found if isinstance(found, Rubric) else load_rubric(found)


def load_rubric(source: Path | str) -> Rubric:
    """Read a rubric file.

    Raises:
        RubricError: it cannot be read, or is not legal.
    """
    data: Any = read_yaml(Path(source))
    if not isinstance(data, dict):
        raise RubricError(f"{source}: a rubric is a mapping with a name, an item and a question")
    try:
        rubric = Rubric.model_validate(data)
        rubric.check()
    except ValidationError as error:
        raise RubricError(f"{source}: {first_problem(error)}") from None
    except RubricError as error:
        raise RubricError(f"{source}: {error}") from None
    return rubric
