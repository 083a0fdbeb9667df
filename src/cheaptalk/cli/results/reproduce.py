"""The command ``reproduce``, which plays the studies of a paper and writes one page about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace as changed
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple, TypeAlias

import typer

import cheaptalk as ct
from cheaptalk.cli.results.report import FiguresFolder, Outputs, TablesFolder, write_report
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.lookup import FoundStudy, is_stored, opened, pooled
from cheaptalk.cli.shared.playing import EXIT_BATCHES, REPLACEMENTS, play_study
from cheaptalk.cli.shared.printing import err, print_json, print_table, say
from cheaptalk.extras import ANALYSIS, needing

REHEARSAL = 100
"""Default number of matches per study with the mock model."""
Select: TypeAlias = "Callable[[ct.studies.Plan], ct.studies.Plan]"
"""A function that selects the matches of a plan that the command plays."""
BESIDE = "printed"
"""The option of recipes with which tables show the paper's values beside ours."""


class _PaperStudy(NamedTuple):
    """A study of the paper, its plan, and the part of the plan that the command plays."""

    study: ct.Study
    plan: ct.studies.Plan
    part: ct.studies.Plan
    forecast: ct.studies.Forecast
    missing: list[str]
    retired: list[ct.studies.RetiredModel]

    @property
    def with_people(self) -> int:
        """Number of matches with people."""
        return len(self.plan.matches.only(ct.studies.has_people))

    @property
    def to_play(self) -> int:
        """Number of matches that the command plays now."""
        return len(self.part.matches) - self.forecast.settled

    @property
    def estimate(self) -> str:
        """The estimated cost as text."""
        if self.with_people == len(self.plan.matches):
            return "requires participants"
        takes = self.forecast.takes
        return takes.line if takes and takes.players else "free"

    def as_json(self) -> dict[str, Any]:
        return {
            "study": self.study.name,
            "matches": len(self.plan.matches),
            "with_people": self.with_people,
            "to_play": self.to_play,
            "estimate": self.estimate,
            "missing": self.missing,
            "retired": [model._asdict() for model in self.retired],
        }


def reproduce(
    context: typer.Context,
    paper: Annotated[str, opt.Settings(autocompletion=completion.recipes)],
    /,
    store: Annotated[
        str | None, opt.Settings(envvar="CHEAPTALK_STORE", show_default="PAPER.sqlite")
    ] = None,
    plan: bool = False,
    mock: bool = False,
    without_models: bool = False,
    models: Annotated[
        list[str] | None, opt.Settings(metavar="ROSTER", autocompletion=completion.rosters)
    ] = None,
    replace: opt.Replace = None,
    out: Annotated[opt.NewPage | None, opt.Settings(show_default="PAPER.html")] = None,
    tables: TablesFolder = None,
    figures: FiguresFolder = None,
    draws: Annotated[int, opt.Settings(min=100, metavar="N")] = 1000,
    seed: opt.DrawSeed = 0,
    *,
    options: opt.PlayOptions,
) -> None:
    """Play a paper's studies, and write one page about their results.

    The page has the paper's tables and figures, with the printed values beside ours. The command
    plays all matches without people (see --plan). Run it again to continue; matches in the store
    are not played again. To include participants, serve the studies with people from the same
    store.

    Args:
        paper: The paper's recipe: chips, gama, glee, metagame or self-play.
        store: Use this store: a SQLite file or a database URL.
        plan: Only show the studies, their costs, and what is missing; play nothing.
        mock: Use a mock model in place of all models, and a temporary store.
        without_models: Only play matches between scripts.
        models: Use the models of this roster instead of the paper's: NAME or FILE, with
            :LABEL,... for some of them. Repeatable.
        out: Write the page to this HTML file.
        draws: Use N bootstrap or permutation draws.
    """
    with needing("analysis", *ANALYSIS), ExitStack() as stack:
        specs = ct.papers.paper_studies(paper, models, opt.replacements(replace or ()))
        location, viewer = store or f"{paper}.sqlite", opt.VIEWER
        page = out or Path(f"{paper}-mock.html" if mock else f"{paper}.html")
        opt.check_writable(page)
        if mock:
            url = stack.enter_context(ct.mock_server())
            specs = [ct.papers.redirected(spec, url) for spec in specs]
            folder = stack.enter_context(TemporaryDirectory())
            location, viewer = str(Path(folder) / "mock.sqlite"), ""
            options = changed(options, max_matches=options.max_matches or REHEARSAL, yes=True)
        select = partial(_selected, models=not without_models)
        studies = [_plan(spec, location, options, select) for spec in specs]
        if plan and options.json:
            print_json([each.as_json() for each in studies])
            return
        _print_plan(studies)
        if mock:
            say("A mock model answers; the costs are those of the models that it replaces.", to=err)
        if plan or any(each.missing for each in studies):
            _print_needs(studies)
        if plan:
            return
        _check_missing(studies)
        status = _play(studies, location, options, select, opt.retyped(context))
        with pooled(_recorded(specs, location), [location]) as pooled_study:
            findings = write_report(
                pooled_study,
                page,
                Outputs(out, tables, figures, viewer=viewer, json=options.json),
                recipe=paper,
                draws=draws,
                seed=seed,
                options={BESIDE: "beside"},
                workers=options.workers,
            )
        if not options.json:
            _print_people(studies, findings, store or f"{paper}.sqlite")
    raise typer.Exit(status)


def _selected(planned: ct.studies.Plan, *, models: bool) -> ct.studies.Plan:
    """Return the matches of a plan without people and, unless ``models``, without models."""
    part = ct.studies.without_people(planned)
    return part if models else ct.studies.without_models(part)


def _plan(spec: ct.Study, location: str, options: opt.PlayOptions, select: Select) -> _PaperStudy:
    with opened(location) as store, err.status(f"{spec.name}: estimating"):
        complete = ct.studies.plan_in_store(spec, store)
        part = select(complete)
        own = _own_options(part, options)
        if options.game and not own.game:
            part = ct.studies.Plan.of(spec, [])
        elif own.in_part:
            part = ct.studies.restrict_plan(
                part, store, games=own.game or (), limit=own.max_matches
            )
        forecast = ct.studies.forecast(
            part,
            store,
            ct.models.load_prices(options.prices),
            batch=options.batch,
            concurrency=options.concurrency,
        )
        missing = ct.studies.missing_requirements(part, store)
        return _PaperStudy(spec, complete, part, forecast, missing, ct.studies.retired_models(part))


def _own_options(planned: ct.studies.Plan, options: opt.PlayOptions) -> opt.PlayOptions:
    """Return options with only those of the chosen games that a study has."""
    games = planned.configurations()
    return changed(options, game=[game for game in options.game or () if game in games] or None)


def _print_plan(studies: Sequence[_PaperStudy]) -> None:
    rows: list[list[object]] = [
        [each.study.name, len(each.plan.matches), each.with_people, each.to_play, each.estimate]
        for each in studies
    ]
    print_table(None, ["study", "matches", "with people", "to play now", "estimate"], rows)


def _print_needs(studies: Sequence[_PaperStudy]) -> None:
    """Print all retired models, and everything that the studies need but lack."""
    retired = dict.fromkeys(str(model) for each in studies for model in each.retired)
    missing = dict.fromkeys(need for each in studies for need in each.missing)
    for line in (
        *retired,
        *[REPLACEMENTS] * bool(retired),
        *(f"missing: {need}" for need in missing),
    ):
        say(line, to=err, wrap=False)


def _check_missing(studies: Sequence[_PaperStudy]) -> None:
    if any(each.missing for each in studies):
        raise ct.CheaptalkError(
            "some models cannot be called; provide what is missing, add --without-models to play "
            "only scripts, or add --mock to rehearse with a mock model"
        )


def _play(
    studies: Sequence[_PaperStudy],
    location: str,
    options: opt.PlayOptions,
    select: Select,
    again: str,
) -> int:
    """Play the studies one after the other within one budget, and return the exit status."""
    status = 0
    remaining: opt.PlayOptions | None = options
    for each in studies:
        name = each.study.name
        if not each.to_play:
            continue
        if remaining is None:
            say(f"{name} is not played, because the budget is spent", to=err)
            status = status or 1
            continue
        before = _cost(location, name)
        progress = play_study(
            name,
            FoundStudy(each.study),
            location,
            _own_options(each.part, remaining),
            again=again,
            part=select,
        )
        remaining = _remaining(remaining, before, _cost(location, name))
        if progress.waiting:
            status = EXIT_BATCHES
        elif progress.left and (progress.halted or not options.allow_failures):
            status = status or 1
    return status


def _remaining(
    options: opt.PlayOptions, before: ct.records.Cost, after: ct.records.Cost
) -> opt.PlayOptions | None:
    """Return options with the rest of the budget; None if it is spent."""
    limits = {
        "max_dollars": (options.max_dollars, after.dollars - before.dollars),
        "max_calls": (options.max_calls, after.calls - before.calls),
        "max_tokens": (options.max_tokens, after.tokens - before.tokens),
    }
    rest: dict[str, Any] = {
        name: limit - used for name, (limit, used) in limits.items() if limit is not None
    }
    return None if any(value <= 0 for value in rest.values()) else changed(options, **rest)


def _cost(location: str, study: str) -> ct.records.Cost:
    """Return the cost of a study so far."""
    with opened(location) as store:
        if store is None or not is_stored(study, store):
            return ct.records.Cost()
        return ct.records.study_cost(store, study)


def _recorded(specs: Sequence[ct.Study], location: str) -> list[str]:
    """Return the names of the studies with ended matches; raise an error if there are none."""
    with ct.Store.open(location) as store:
        recorded = {summary.name for summary in store.studies() if summary.done}
    names = [spec.name for spec in specs if spec.name in recorded]
    if not names:
        raise ct.CheaptalkError(f"no match has ended in {location}, so there are no results")
    return names


def _print_people(
    studies: Sequence[_PaperStudy], findings: ct.reports.Findings, location: str
) -> None:
    """Print which tables and figures require participants, and how to invite them."""
    made = {each.part for each in findings.parts}
    parts = [part for part in findings.recipe.parts if part not in made]
    served = [each.study.name for each in studies if each.with_people]
    if parts and served:
        listed = ", ".join(f"{part.title} ({part.source})" for part in parts)
        command = f"cheaptalk serve {served[0].removesuffix('-mock')} --store {location}"
        say(f"These parts require participants: {listed}; to invite them, run: {command}")
