"""The command with which a model judges what was recorded."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
import yaml
from pydantic import ValidationError

import cheaptalk as ct
from cheaptalk.cli.base import (
    DEFAULT_STORE,
    JsonOption,
    StoreOption,
    app,
    err,
    out,
    player_entry,
    print_json,
    print_table,
)
from cheaptalk.cli.caching import CacheFileOption, CacheOption, cache_at
from cheaptalk.cli.reporting import extra

EVERY = 5.0
"""Seconds between two lines of progress."""


@app.command()
def judge(
    study: Annotated[str, typer.Argument(help="The name of a study in the store.")],
    by: Annotated[
        str | None,
        typer.Option("--judge", help="A rubric: hallucination, honesty, promises or a .yaml file."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="The judge's model: a model string, or YAML such as "
            "'{model: openai/gpt-4o, temperature: 0}'.",
            metavar="SPEC",
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(min=1, help="Judge so many matches, drawn at random.", show_default="all"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the sample.")] = 0,
    budget: Annotated[
        list[str] | None,
        typer.Option(
            help="What the judge may spend on the study in all, such as calls=500.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Matches judged at once.")] = 32,
    cache: CacheOption = None,
    cache_file: CacheFileOption = None,
    store: StoreOption = DEFAULT_STORE,
    ask: Annotated[
        bool, typer.Option("--ask", help="Show what the judge is asked first, and ask nothing.")
    ] = False,
    report: Annotated[
        bool, typer.Option("--report", help="Ask nothing; show verdicts and agreement so far.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Have a model judge a study's matches by a rubric; what is judged is not judged again."""
    with ct.Store.open(store) as opened:
        if report:
            _report(opened, study, json)
            return
        if by is None or (model is None and not ask):
            missing = "--judge" if by is None else "--model"
            raise ct.CheaptalkError(f"name {missing}, or see what was judged with --report")
        judge = ct.measures.judge_of(by, player_entry(model or "vllm/any"))
        if ask:
            _ask(opened, study, judge, sample, seed, json)
            return
        started = time.monotonic()
        try:
            state = ct.judge(
                opened, study, judge, sample=sample, seed=seed, budget=_budget(budget or []),
                concurrency=concurrency, progress=_shown(study),
                cache=cache_at(cache, cache_file),
            )  # fmt: skip
        except KeyboardInterrupt:
            err.print("stopped; what was judged is kept: run the same command again to go on")
            raise
    _summarise(study, judge, state, time.monotonic() - started, store, json)
    if state.halted or state.problems:
        raise typer.Exit(1)


def _budget(written: list[str]) -> ct.studies.Cap:
    """A budget of NAME=VALUE pairs.

    Raises:
        CheaptalkError: one is no such pair, or has no legal value.
    """
    pairs = [one.partition("=") for one in written]
    try:
        return ct.studies.Cap.model_validate({name: yaml.safe_load(v) for name, _, v in pairs})
    except ValidationError as error:
        raise ct.CheaptalkError(f"--budget: {ct.studies.spec.first_problem(error)}") from None


def _shown(study: str) -> Callable[[ct.measures.Judging], None]:
    """Show progress: in place on a terminal, a line now and then elsewhere."""
    last = time.monotonic()

    def show(state: ct.measures.Judging) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < (0.2 if sys.stderr.isatty() else EVERY):
            return
        last = now
        line = f"{study}: {state.done:,} of {state.matches:,} matches, {state.judged:,} verdicts"
        err.print(line, end="\r" if sys.stderr.isatty() else "\n")

    return show


def _ask(
    store: ct.Store,
    study: str,
    judge: ct.measures.Judge,
    sample: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Show the first question as the judge would read it."""
    match, item = ct.measures.first_item(store, study, judge, sample=sample, seed=seed)
    messages = [message.model_dump() for message in judge.messages(item)]
    if as_json:
        print_json({"match": match, "item": item.name, "messages": messages})
        return
    for message in messages:
        out.print(f"[dim]{message['role']}[/]")
        out.print(message["content"], markup=False)


def _summarise(
    study: str,
    judge: ct.measures.Judge,
    state: ct.measures.Judging,
    seconds: float,
    store: Path,
    as_json: bool,
) -> None:
    kinds = {kind.value: count for kind, count in state.kinds.items()}
    if as_json:
        print_json(
            {
                "study": study, "judge": judge.digest, "rubric": judge.rubric.name,
                "model": judge.seat.model, "matches": state.matches, "done": state.done,
                "before": state.before, "judged": state.judged, "verdicts": state.verdicts,
                "kinds": kinds, "cost": state.cost.as_json(), "problems": state.problems,
                "halted": state.halted, "seconds": round(seconds, 2),
            }
        )  # fmt: skip
        return
    out.print(
        f"{study}: {state.judged:,} judged now, {state.before:,} before, in {state.done:,} of "
        f"{state.matches:,} matches",
        markup=False,
    )
    for verdict, count in state.verdicts.most_common():
        out.print(f"  {count:,} x {verdict}", markup=False)
    bad = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items() if kind != "ok")
    if bad:
        out.print(f"of the judge's answers: {bad}")
    for problem, count in state.problems.most_common(10):
        out.print(f"  {count:,} x no verdict: {problem}", markup=False)
    if state.halted:
        cure = "; raise --budget to go on" if state.short else ""
        out.print(f"halted: {state.halted}{cure}", markup=False)
    again = f"cheaptalk judge {study} --report --store {shlex.quote(str(store))}"
    out.print(f"see verdicts and agreement with: {again}", markup=False, soft_wrap=True)


def _report(store: ct.Store, study: str, as_json: bool) -> None:
    """What all judges of a study said, and how well they agree."""
    with extra("analysis"):
        sections = ct.reports.judge_sections(store, study)
    if as_json:
        print_json({"study": study, "judges": [section.as_json() for section in sections]})
        return
    if not sections:
        out.print(f"{study} has not been judged: name --judge and --model", markup=False)
    for section in sections:
        _verdicts(section)
        for agreement in section.agreements:
            _agreement(agreement, section.names[agreement.reference])
        out.print()


def _verdicts(section: ct.reports.JudgeSection) -> None:
    """What a judge said of each player: the estimates, then how often it said what."""
    estimates: list[list[object]] = [
        [one.player, one.items, one.invalid, *one.numbers] for one in section.players
    ]
    what = "mean score" if section.rubric.scale else "share found"
    columns = ["player", "items", "no verdict", what, "95 % interval"]
    print_table(section.name, columns, estimates)
    counts: list[list[object]] = [
        [label, *(one.verdicts.get(label, 0) for one in section.players)]
        for label in section.rubric.labels
    ]
    print_table(None, ["verdict", *(one.player for one in section.players)], counts)


def _agreement(one: ct.measures.Agreement, reference: str) -> None:
    """How well a judge agrees with a reference, in words and as a table."""
    out.print(f"against {reference}:", markup=False)
    for line in ct.reports.agreement_lines(one):
        out.print(f"  {line}", markup=False)
    rows: list[list[object]] = [
        [name, *counts] for name, counts in zip(one.labels, one.table, strict=True)
    ]
    print_table(None, [f"{reference} \\ judge", *one.labels], rows)
