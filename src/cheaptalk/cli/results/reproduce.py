"""The command ``reproduce``, which plays the studies of a paper and writes one page about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace as changed
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import typer

import cheaptalk as ct
from cheaptalk.cli.results.report import FiguresFolder, Outputs, TablesFolder, write_report
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.lookup import FoundStudy, opened, pooled
from cheaptalk.cli.shared.playing import REPLACEMENTS, play_study
from cheaptalk.cli.shared.printing import err, print_json, print_table, say
from cheaptalk.extras import ANALYSIS, needing

REHEARSAL = 100
"""Default number of matches per study with the mock model."""
BESIDE = "printed"
"""The option of recipes with which tables show the paper's values beside ours."""


class _Planned(NamedTuple):
    """A study of the paper, its plan, and what is known about it before it is played."""

    study: ct.Study
    plan: ct.studies.Plan
    played: int
    forecast: ct.studies.Forecast | None
    missing: list[str]
    retired: list[ct.studies.RetiredModel]

    @property
    def with_people(self) -> int:
        """Number of matches with people."""
        return sum(
            group.matches
            for group in self.plan.matches.groups()
            if any(map(ct.studies.is_person, group.seating))
        )

    def as_json(self) -> dict[str, Any]:
        estimate = self.forecast and self.forecast.takes
        return {
            "study": self.study.name,
            "matches": len(self.plan.matches),
            "with_people": self.with_people,
            "to_play": self.played,
            "settled": self.forecast and self.forecast.settled,
            "estimate": estimate and estimate.line,
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
        studies = ct.papers.paper_studies(paper, models, opt.replacements(replace or ()))
        location = store or f"{paper}.sqlite"
        page = out or Path(f"{paper}-mock.html" if mock else f"{paper}.html")
        opt.check_writable(page)
        if mock:
            url = stack.enter_context(ct.mock_server())
            studies = [ct.papers.redirected(study, url) for study in studies]
            location = str(Path(stack.enter_context(TemporaryDirectory())) / "mock.sqlite")
            options = changed(options, max_matches=options.max_matches or REHEARSAL, yes=True)
        part = partial(_played, models=not without_models)
        planned = [_plan(study, location, options, part) for study in studies]
        if plan and options.json:
            print_json([each.as_json() for each in planned])
            return
        _print_plan(planned)
        if mock:
            say("A mock model answers; the costs are those of the models that it replaces.", to=err)
        if plan:
            return
        _check_missing(planned)
        _play(planned, location, options, part, opt.retyped(context))
        with _recorded(studies, location) as (joint, name):
            findings = write_report(
                joint,
                name,
                page,
                Outputs(out, tables, figures, json=options.json),
                recipe=paper,
                draws=draws,
                seed=seed,
                options={BESIDE: "beside"},
                workers=options.workers,
            )
            if not options.json:
                _print_people(planned, findings, store or f"{paper}.sqlite")


def _played(planned: ct.studies.Plan, *, models: bool) -> ct.studies.Plan:
    """Return the matches of a plan that the command plays."""
    part = ct.studies.without_people(planned)
    return part if models else ct.studies.without_models(part)


def _plan(study: ct.Study, store: str, options: opt.PlayOptions, part: Any) -> _Planned:
    with opened(store) as existing, err.status(f"{study.name}: estimating"):
        complete = ct.studies.plan_in_store(study, existing)
        played = part(complete)
        if options.in_part:
            played = _restricted(played, existing, options)
        only_people = any(
            any(map(ct.studies.is_person, g.seating)) for g in played.matches.groups()
        )
        forecast = None
        if not only_people:
            prices = ct.models.load_prices(options.prices)
            forecast = ct.studies.forecast(
                played, existing, prices, batch=options.batch, concurrency=options.concurrency
            )
        missing = [] if only_people else ct.studies.missing_requirements(played, existing)
        retired = [] if only_people else ct.studies.retired_models(played)
        settled = forecast.settled if forecast else 0
        to_play = 0 if only_people else len(played.matches) - settled
        return _Planned(study, complete, to_play, forecast, missing, retired)


def _restricted(
    planned: ct.studies.Plan, store: ct.Store | None, options: opt.PlayOptions
) -> ct.studies.Plan:
    """Restrict a plan to a number of matches, or to those of the given games that it has."""
    names = set(planned.configurations())
    games = [game for game in options.game or () if game in names]
    if options.game and not games:
        return ct.studies.Plan.of(planned.study, [])
    return ct.studies.restrict_plan(planned, store, games=games, limit=options.max_matches)


def _print_plan(planned: Sequence[_Planned]) -> None:
    rows: list[list[object]] = []
    for each in planned:
        estimate = each.forecast.takes if each.forecast else None
        cost = estimate.line if estimate and estimate.players else "free"
        if each.forecast is None:
            cost = "requires participants"
        rows.append([each.study.name, len(each.plan.matches), each.with_people, each.played, cost])
    print_table(None, ["study", "matches", "with people", "to play now", "estimate"], rows)
    lines = dict.fromkeys(line for each in planned for line in map(str, each.retired))
    for line in (*lines, *[REPLACEMENTS] * bool(lines)):
        say(line, to=err, wrap=False)
    for line in dict.fromkeys(line for each in planned for line in each.missing):
        say(f"missing: {line}", to=err, wrap=False)


def _check_missing(planned: Sequence[_Planned]) -> None:
    """Raise an error that lists everything that the studies need but lack."""
    missing = dict.fromkeys(line for each in planned for line in each.missing)
    if missing:
        needs = "\n".join(f"- {line}" for line in missing)
        raise ct.CheaptalkError(
            f"models cannot be called:\n{needs}\nto play without models, add --without-models; to "
            "rehearse with a mock model, add --mock"
        )


def _play(
    planned: Sequence[_Planned], store: str, options: opt.PlayOptions, part: Any, again: str
) -> None:
    """Play the studies one after the other, within one budget for all of them."""
    spent = 0.0
    for each in planned:
        if not each.played:
            continue
        names = each.plan.configurations()
        left = changed(options, game=[game for game in options.game or () if game in names] or None)
        if options.max_dollars is not None:
            if spent >= options.max_dollars:
                say(f"{each.study.name} is not played: the budget is spent", to=err)
                continue
            left = changed(left, max_dollars=options.max_dollars - spent)
        before = _cost(store, each.study.name)
        play_study(each.study.name, FoundStudy(each.study), store, left, again=again, part=part)
        spent += _cost(store, each.study.name) - before


def _cost(store: str, study: str) -> float:
    with opened(store) as existing:
        if existing is None or study not in {each.name for each in existing.studies(counted=False)}:
            return 0.0
        return ct.records.study_cost(existing, study).dollars


@contextmanager
def _recorded(studies: Sequence[ct.Study], store: str) -> Iterator[tuple[ct.Store, str]]:
    """Yield a store with one study of all recorded matches, and its name."""
    with ct.Store.open(store) as existing:
        stored = {summary.name for summary in existing.studies() if summary.done}
    names = [study.name for study in studies if study.name in stored]
    if not names:
        raise ct.CheaptalkError(f"no match has ended in {store}; see the messages above")
    with pooled(names, [store]) as joint:
        yield joint


def _print_people(planned: Sequence[_Planned], findings: ct.reports.Findings, store: str) -> None:
    """Print which tables and figures require participants, and how to invite them."""
    made = {each.part for each in findings.parts}
    parts = [part for part in findings.recipe.parts if part not in made]
    studies = [each.study.name for each in planned if each.with_people]
    if parts and studies:
        listed = ", ".join(f"{part.title} ({part.source})" for part in parts)
        command = f"cheaptalk serve {studies[0].removesuffix('-mock')} --store {store}"
        say(f"These parts require participants: {listed}; to invite them, run: {command}")
