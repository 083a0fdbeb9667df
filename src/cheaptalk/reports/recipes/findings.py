"""Find recipes by name, apply them to a study, and write their pages."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cheaptalk.names import RecipeName
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.records import Store
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.reports.charts.chart import tones_of
from cheaptalk.reports.output import MOST_SAMPLED, packed, sampled, write_page
from cheaptalk.reports.pages import VIEWER
from cheaptalk.reports.recipes.evidence import DRAWS, Evidence
from cheaptalk.reports.recipes.parts import (
    RECIPES,
    Answer,
    Charts,
    Drawing,
    MadePart,
    NoData,
    Recipe,
    RecipePart,
    by_reason,
)
from cheaptalk.reports.recipes.study_overview import PLAYED
from cheaptalk.reports.recipes.tables import ReportTable
from cheaptalk.rules import Chance, CheaptalkError, WrongValue, counted, suggest
from cheaptalk.rules.display import brief
from cheaptalk.rules.errors import Named


def recipe_of(name: RecipeName) -> Recipe:
    """Return a recipe by its name.

    Raises:
        CheaptalkError: there is no such recipe; the message lists the available recipes.
    """
    if name not in RECIPES:
        raise CheaptalkError(f"no recipe {suggest(name, list(RECIPES))}")
    return RECIPES[name]


@dataclass(frozen=True, eq=False, repr=False)
class Findings(Printed):
    """The results of a recipe for a study, printed as tables.

    Attributes:
        recipe: the recipe.
        evidence: the data of the study, with the settings of the computation.
        parts: the results of each part of the recipe.
    """

    recipe: Recipe
    evidence: Evidence
    parts: tuple[MadePart, ...]

    @cached_property
    def tables(self) -> dict[str, ReportTable]:
        items = (item for part in self.parts for item in part.shown)
        return Named.of("table", {i.name: i for i in items if isinstance(i, ReportTable)})

    @cached_property
    def charts(self) -> dict[str, Charts]:
        items = (item for part in self.parts for item in part.shown)
        return Named.of("chart", {i.name: i for i in items if isinstance(i, Charts)})

    @property
    def answers(self) -> dict[str, str]:
        """Return the answer sentences of each part as one text, keyed by the part's title."""
        answers: dict[str, str] = {}
        for part in self.parts:
            texts = [item.text for item in part.shown if isinstance(item, Answer)]
            if texts:
                title = part.part.title
                answers[title] = " ".join(filter(None, (answers.get(title), *texts)))
        return answers

    @property
    def empty(self) -> bool:
        """Return whether every part of the recipe lacks data."""
        return all(part.lacking for part in self.parts if not part.part.design)

    @property
    def lacking(self) -> dict[str, str]:
        """Return the reason why each missing part lacks data, keyed by the part's title."""
        return {part.part.title: part.lacking for part in self.parts if part.lacking}

    @property
    def omitted(self) -> dict[str, list[RecipePart]]:
        """Return the missing parts by reason."""
        return by_reason(self.parts)

    def __repr__(self) -> str:
        return brief(self, self._title)

    @property
    def _title(self) -> str:
        summary = f"{counted(len(self.tables), 'table')}, {len(self.lacking):,} lacking"
        return f"{self.recipe.name} from {self.evidence.study}: {summary}"

    def printout(self) -> Printout:
        lacking = [(part, f"not available: {why}") for part, why in self.lacking.items()]
        return Printout(self._title, ["part", "answer"], [*self.answers.items(), *lacking])

    def _repr_html_(self) -> str:
        items = [item for part in self.parts for item in part.shown]
        shown = (
            item._repr_html_() for item in items if isinstance(item, ReportTable | Charts | Drawing)
        )
        return "".join([self.printout().html(), *shown])

    def latex(self, label: str = "") -> str:
        """Return all tables in LaTeX; their labels begin with ``label`` if it is given."""
        prefix = f"{label}-" if label else ""
        return "\n\n".join(table.latex(prefix + name) for name, table in self.tables.items())

    def __str__(self) -> str:
        missing = [f"{title}: {why}" for title, why in self.lacking.items()]
        return "\n\n".join([*self.answers.values(), *map(str, self.tables.values()), *missing])


def check_options(recipe: RecipeName | Recipe, options: Mapping[str, str]) -> None:
    """Check that a recipe exists and has all options.

    Raises:
        CheaptalkError: there is no such recipe or option.
    """
    chosen = recipe_of(recipe) if isinstance(recipe, str) else recipe
    for name in options:
        if name not in chosen.options:
            suggestion = suggest(name, list(chosen.options)) if chosen.options else f'"{name}"'
            raise CheaptalkError(f"the recipe {chosen.name} has no option {suggestion}")


@reads
def findings(
    store: StoreLike,
    study: StudyLike,
    recipe: RecipeName | Recipe,
    *,
    as_published: bool = False,
    draws: int = DRAWS,
    seed: int = 0,
    options: Mapping[str, str] | None = None,
    workers: int = 1,
    progress: Callable[[str], None] | None = None,
) -> Findings:
    """Apply a recipe to a study and return its tables, charts and answers.

    Args:
        recipe: the name of one of :data:`RECIPES`, or a recipe of your own.
        as_published: compute metrics as the published systems' code does, where that differs.
        draws: the number of draws of bootstraps and permutation tests, at least 100.
        seed: the seed of the draws.
        options: options of the recipe, by name; see :class:`.Recipe`.
        workers: processes that read matches; see :func:`.read_matches`.
        progress: called with the title of each part before it is computed, and repeatedly with the
            state of long computations.

    Raises:
        StoreError: there is no such study.
        CheaptalkError: there is no such recipe or option, a game is not installed, or a metric
            failed.
        WrongValue: fewer than 100 draws.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    if draws < 100:
        raise WrongValue(f"draws must be at least 100, not {draws}")
    chosen = recipe_of(recipe) if isinstance(recipe, str) else recipe
    check_options(chosen, options or {})
    evidence = Evidence(
        store,
        study,
        as_published,
        chosen.metrics,
        draws,
        seed,
        options or {},
        workers,
        count_moves=PLAYED in chosen.parts,
        progress=progress,
    )
    tones = tones_of([*evidence.labels, *chosen.players])

    def parts() -> Iterator[MadePart]:
        for part in chosen.parts:
            if not part.fits(evidence):
                continue
            if progress:
                progress(part.title)
            try:
                yield part.made(evidence, tones)
            except NoData as error:
                yield MadePart(part, (), str(error))

    return Findings(chosen, evidence, tuple(parts()))


def write_findings(
    results: Findings,
    out: Path | str,
    *,
    sample: int = 1,
    viewer: str = VIEWER,
    command: str | None = None,
) -> None:
    """Write the results of a recipe as a page that works offline.

    The same store gives the same page. An existing file is replaced atomically.

    Args:
        results: see :func:`.findings`.
        out: the file to write.
        sample: transcripts in the page, for each pairing and status.
        viewer: the address of a viewer, for links to transcripts; empty for a page without them.
        command: the command that starts the viewer; by default ``cheaptalk view`` with the store.

    Raises:
        CheaptalkError: the file cannot be written.
    """
    evidence = results.evidence
    chosen = sampled(evidence.frames, sample, Chance(evidence.study))
    write_page(
        results.recipe,
        results.parts,
        out,
        name=evidence.study,
        evidence=evidence,
        leads_to=evidence.study if viewer else "",
        viewer=viewer,
        command=command,
        sample=sample,
        sampled=len(chosen),
        most=MOST_SAMPLED,
        store=evidence.store.title,
        transcripts=packed(evidence.store, evidence.study, chosen),
    )
