"""The command ``reproduce``, which plays the studies of a paper and writes one page about them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace as changed
from functools import partial, reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple, TypeAlias

import typer

import cheaptalk as ct
from cheaptalk.cli.results.report import (
    FiguresFolder,
    Outputs,
    RecipeOptions,
    TablesFolder,
    recipe_options,
    write_report,
)
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.lookup import FoundStudy, is_stored, opened, pooled
from cheaptalk.cli.shared.playing import EXIT_BATCHES, REPLACEMENTS, play_study
from cheaptalk.cli.shared.printing import err, hint, print_json, print_table, say
from cheaptalk.cli.shared.sentences import at_store, cost_text, counted
from cheaptalk.extras import ANALYSIS, needing
from cheaptalk.text import duration

Select: TypeAlias = "Callable[[ct.studies.Plan], ct.studies.Plan]"
"""A function that selects the matches of a plan that the command plays."""
MOST_NAMED = 6
"""Maximum number of players named in a line."""
BESIDE = "printed"
"""The option of recipes with which tables show the paper's values beside ours."""


class _PaperStudy(NamedTuple):
    """A study of the paper, its plan, and the part of the plan that the command plays.

    The ``options`` contain only games of the study.
    """

    loaded: FoundStudy
    plan: ct.studies.Plan
    part: ct.studies.Plan
    forecast: ct.studies.Forecast
    missing: list[ct.studies.Requirement]
    retired: list[ct.studies.RetiredModel]
    options: opt.PlayOptions

    @property
    def name(self) -> str:
        return self.loaded.study.name

    @property
    def with_people(self) -> int:
        """Number of matches with people."""
        return len(self.plan.matches.only(ct.studies.has_people))

    @property
    def to_play(self) -> int:
        """Number of matches that the command plays now."""
        return len(self.part.matches) - self.forecast.settled

    @property
    def estimate(self) -> ct.studies.Estimate:
        assert self.forecast.takes is not None
        return self.forecast.takes

    def as_json(self) -> dict[str, Any]:
        return {
            "study": self.name,
            "matches": len(self.plan.matches),
            "with_people": self.with_people,
            "to_play": self.to_play,
            "estimate": self.estimate.as_json() if self.estimate.players else None,
            "missing": [requirement._asdict() for requirement in self.missing],
            "replaced": self.loaded.replaced,
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
    recipe_option: RecipeOptions = None,
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
    started = time.monotonic()
    with needing("analysis", *ANALYSIS), ExitStack() as stack:
        loaded = _paper_studies(paper, models, opt.replacements(replace or ()))
        chosen = recipe_options(paper, {BESIDE: "beside"}, recipe_option)
        location, viewer = store or f"{paper}.sqlite", opt.VIEWER
        page = out or Path(f"{paper}-mock.html" if mock else f"{paper}.html")
        opt.check_writable(page)
        if mock:
            url = stack.enter_context(ct.mock_server())
            loaded = [each._replace(study=ct.papers.redirected(each.study, url)) for each in loaded]
            folder = stack.enter_context(TemporaryDirectory())
            location, viewer = str(Path(folder) / "mock.sqlite"), ""
            options = changed(options, yes=True, no_estimate=True)
        select = partial(_selected, models=not without_models)
        limits = [
            study.rehearsed if mock else None for study in ct.reports.recipe_of(paper).studies
        ]
        studies = [
            _plan(each, location, options, select, limit)
            for each, limit in zip(loaded, limits, strict=True)
        ]
        if plan and options.json:
            print_json([each.as_json() for each in studies])
            return
        _print_plan(studies, timed=not mock)
        if mock:
            say("A mock model answers; the costs are those of the models that it replaces.", to=err)
        if plan or any(each.missing for each in studies):
            _print_needs(studies)
        if plan:
            if not mock:
                _print_people(studies, location)
            return
        _check_missing(studies)
        status = _play(studies, location, options, select, opt.retyped(context))
        recorded = _recorded(studies, location)
        with pooled(recorded, [location], f"{paper}-mock" if mock else paper) as pooled_study:
            write_report(
                pooled_study,
                page,
                Outputs(out, tables, figures, viewer=viewer, json=options.json),
                recipe=paper,
                draws=draws,
                seed=seed,
                options=chosen,
                workers=options.workers,
            )
        if not options.json:
            say(f"The reproduction took {duration(time.monotonic() - started)}.")
            if not mock:
                _print_people(studies, location)
    raise typer.Exit(status)


def _paper_studies(
    paper: str, models: Sequence[str] | None, replace: Mapping[str, str]
) -> list[FoundStudy]:
    """Return the studies of a paper, and the labels of their replaced players."""
    originals = ct.papers.paper_studies(paper, models)
    studies = ct.papers.paper_studies(paper, models, replace)
    return [
        FoundStudy(study, replaced=ct.papers.replaced_labels(original, replace))
        for original, study in zip(originals, studies, strict=True)
    ]


def _selected(planned: ct.studies.Plan, *, models: bool) -> ct.studies.Plan:
    """Return the matches of a plan without people and, unless ``models``, without models."""
    part = ct.studies.without_people(planned)
    return part if models else ct.studies.without_models(part)


def _plan(
    loaded: FoundStudy,
    location: str,
    options: opt.PlayOptions,
    select: Select,
    limit: int | None,
) -> _PaperStudy:
    spec = loaded.study
    with opened(location) as store, err.status(f"{spec.name}: estimating"):
        complete = ct.studies.plan_in_store(spec, store)
        part = select(complete)
        own = _own_options(part, options, limit)
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
        retired = ct.studies.retired_models(part)
        return _PaperStudy(loaded, complete, part, forecast, missing, retired, own)


def _own_options(
    planned: ct.studies.Plan, options: opt.PlayOptions, limit: int | None
) -> opt.PlayOptions:
    """Return options with those of the chosen games that a study has, and its number of matches."""
    games = planned.configurations()
    return changed(
        options,
        game=[game for game in options.game or () if game in games] or None,
        max_matches=options.max_matches or limit,
    )


def _print_plan(studies: Sequence[_PaperStudy], *, timed: bool) -> None:
    """Print a row for each study, their total and, if ``timed``, the estimated duration."""
    columns = ("study", "matches", "with people", "to play now", "calls", "tokens", "model cost")
    rows: list[list[object]] = [
        [each.name, len(each.plan.matches), each.with_people, each.to_play, *_amounts([each])]
        for each in studies
    ]
    matches = sum(len(each.plan.matches) for each in studies)
    with_people = sum(each.with_people for each in studies)
    to_play = sum(each.to_play for each in studies)
    rows.append(["total", matches, with_people, to_play, *_amounts(studies)])
    print_table(None, columns, rows, right=columns[1:])
    unpriced = {model: None for each in studies for model in each.estimate.unpriced}
    if unpriced:
        names = ", ".join(map(ct.models.prices.without_url, unpriced))
        say(
            f"* without models of unknown price: {names}; to add prices, run: "
            "cheaptalk model prices --init prices.yaml",
            wrap=False,
        )
    seconds = reduce(ct.studies.Range.plus, (each.estimate.seconds for each in studies))
    if timed and seconds.high:
        say(f"estimated time: {ct.studies.estimates.amounts.duration_shown(seconds)}")


def _amounts(studies: Sequence[_PaperStudy]) -> list[str]:
    """Return estimated calls, tokens and cost as text; an asterisk marks unknown prices."""
    total = reduce(ct.studies.Amounts.plus, (each.estimate.total for each in studies))
    players = [player for each in studies for player in each.estimate.players.values()]
    amounts = ct.studies.estimates.amounts
    cost = amounts.dollars_shown(total.dollars or amounts.NOTHING)
    if any(player.dollars is None for player in players):
        priced = any(player.dollars is not None for player in players)
        cost = f"{cost}*" if priced else "no price*"
    return [amounts.shown(total.calls), amounts.shown(total.tokens), cost]


def _print_needs(studies: Sequence[_PaperStudy]) -> None:
    """Print replacements, retired models, and everything that the studies need but lack."""
    replaced = dict.fromkeys(line for each in studies for line in each.loaded.replacements)
    retired: dict[tuple[str, str], dict[str, list[str]]] = {}
    missing: dict[str, dict[str, list[str]]] = {}
    for each in studies:
        for model in each.retired:
            retired.setdefault(model[:2], {})[each.name] = model.players
        for requirement in each.missing:
            missing.setdefault(requirement.need, {})[each.name] = requirement.players
    for line in (
        *replaced,
        *(
            f"retired since {date}: {model} ({_named(players)})"
            for (model, date), players in retired.items()
        ),
        *[f"to replace a retired model, add --replace OLD=MODEL. {REPLACEMENTS}"] * bool(retired),
        *(f"missing: {need} ({_named(players)})" for need, players in missing.items()),
    ):
        say(line, to=err, wrap=False)


def _named(players: Mapping[str, Sequence[str]]) -> str:
    """Return the players of each study as text, abbreviated if there are many."""
    texts = []
    for study, labels in players.items():
        more = f" and {len(labels) - MOST_NAMED} more" if len(labels) > MOST_NAMED else ""
        texts.append(f"{study}: {', '.join(labels[:MOST_NAMED])}{more}")
    return "; ".join(texts)


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
        name = each.name
        if not each.to_play:
            continue
        if remaining is None:
            say(f"{name} is not played, because the budget is spent", to=err)
            status = status or 1
            continue
        before, started = _cost(location, name), time.monotonic()
        progress = play_study(
            name,
            each.loaded,
            location,
            changed(remaining, game=each.options.game, max_matches=each.options.max_matches),
            again=again,
            part=select,
        )
        cost = _cost(location, name)
        remaining = _remaining(remaining, before, cost)
        paid = f"; cost of the study so far: {cost_text(cost)}" if cost.calls else ""
        say(f"{name}: {progress.how_far} in {duration(time.monotonic() - started)}{paid}", to=err)
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


def _recorded(studies: Sequence[_PaperStudy], location: str) -> list[str]:
    """Return the names of the studies with ended matches; raise an error if there are none."""
    with ct.Store.open(location) as store:
        recorded = {summary.name for summary in store.studies() if summary.done}
    names = [each.name for each in studies if each.name in recorded]
    if not names:
        raise ct.CheaptalkError(f"no match has ended in {location}, so there are no results")
    return names


def _print_people(studies: Sequence[_PaperStudy], location: str) -> None:
    """Print how to invite participants to the studies with people."""
    for each in studies:
        if each.with_people:
            matches = counted(each.with_people, "match")
            command = f"cheaptalk serve {each.name} {at_store(location)}"
            hint(f"{each.name}: {matches} with people; to invite participants, run: {command}")
