"""The recipes that there are, and what one makes of a study."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from cheaptalk.records import Store
from cheaptalk.reports.recipes import chips, gama, glee, metagame, self_play
from cheaptalk.reports.recipes.evidence import DRAWS, Evidence
from cheaptalk.reports.recipes.parts import Charts, Made, Part, Recipe, Table, made
from cheaptalk.reports.recipes.played import PLAYED
from cheaptalk.rules import CheaptalkError, suggest

RECIPES: dict[str, Recipe] = {
    one.name: one
    for one in (metagame.RECIPE, chips.RECIPE, gama.RECIPE, self_play.RECIPE, glee.RECIPE)
}
"""All recipes by name."""


def recipe_of(name: str) -> Recipe:
    """A recipe by its name.

    Raises:
        CheaptalkError: there is none of this name; the sentence lists those that there are.
    """
    if name not in RECIPES:
        raise CheaptalkError(f"no recipe {suggest(name, list(RECIPES))}")
    return RECIPES[name]


@dataclass(frozen=True, eq=False)
class Findings:
    """What a recipe makes of a study; prints as its tables.

    Attributes:
        recipe: which one.
        evidence: the study, and how its numbers were made.
        parts: what each part of the recipe gave.
    """

    recipe: Recipe
    evidence: Evidence
    parts: tuple[Made, ...]

    @cached_property
    def tables(self) -> dict[str, Table]:
        """All tables by name."""
        shown = (one for part in self.parts for one in part.shown)
        return {one.name: one for one in shown if isinstance(one, Table)}

    @cached_property
    def charts(self) -> dict[str, Charts]:
        """All groups of charts by name."""
        shown = (one for part in self.parts for one in part.shown)
        return {one.name: one for one in shown if isinstance(one, Charts)}

    @property
    def empty(self) -> bool:
        """Whether the study holds nothing of what makes the recipe."""
        return all(one.lacking for one in self.parts if one.part is not PLAYED)

    @property
    def lacking(self) -> dict[str, str]:
        """What the study does not hold, by the title of the part that takes it."""
        return {one.part.title: one.lacking for one in self.parts if one.lacking}

    def __str__(self) -> str:
        """All tables, then what is missing."""
        missing = [f"{title}: {why}" for title, why in self.lacking.items()]
        return "\n\n".join([*map(str, self.tables.values()), *missing])


def findings(
    store: Store,
    study: str,
    recipe: str | Recipe,
    *,
    as_published: bool = False,
    draws: int = DRAWS,
    seed: int = 0,
    options: Mapping[str, str] | None = None,
    told: Callable[[Part], None] | None = None,
) -> Findings:
    """A paper's tables and figures from a study.

    Args:
        store: where the study is recorded.
        study: its name.
        recipe: the name of one of :data:`RECIPES`, or a recipe of your own.
        as_published: compute what the published systems' code does, where that differs.
        draws: of bootstraps and permutation tests, 100 at least.
        seed: of the draws.
        options: what the recipe is told besides, by name; see :class:`.Recipe`.
        told: called with each part before it is made, for progress.

    Raises:
        StoreError: there is no such study.
        CheaptalkError: there is no such recipe or option, a game is not installed, or a measure
            failed.
        ValueError: fewer than 100 draws.
    """
    if draws < 100:
        raise ValueError(f"intervals take 100 draws at least, not {draws}")
    chosen = recipe_of(recipe) if isinstance(recipe, str) else recipe
    for name in options or {}:
        if name not in chosen.options:
            known = suggest(name, list(chosen.options)) if chosen.options else f'"{name}"'
            raise CheaptalkError(f"the recipe {chosen.name} has no option {known}")
    evidence = Evidence(store, study, as_published, chosen.measures, draws, seed, options or {})

    def parts() -> Iterator[Made]:
        for part in chosen.parts:
            if told:
                told(part)
            yield made(part, evidence)

    return Findings(chosen, evidence, tuple(parts()))
