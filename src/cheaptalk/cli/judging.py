"""The command with which a model judges what was recorded."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

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
)
from cheaptalk.cli.caching import CacheFileOption, CacheOption, cache_at
from cheaptalk.cli.caps import CAPS, cap_of
from cheaptalk.cli.controlling import spent
from cheaptalk.cli.pricing import PricesOption, cost_text
from cheaptalk.cli.progress import EVERY
from cheaptalk.cli.verdicts import print_verdicts
from cheaptalk.rules import counted
from cheaptalk.studies.estimates.estimate import shortfalls


@app.command()
def judge(
    context: typer.Context,
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
        typer.Option(help="What the judge may spend on the study in all its runs.", metavar=CAPS),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Matches judged at once.")] = 32,
    cache: CacheOption = None,
    cache_file: CacheFileOption = None,
    prices: PricesOption = None,
    store: StoreOption = DEFAULT_STORE,
    ask: Annotated[
        bool, typer.Option("--ask", help="Show what the judge is asked first, and ask nothing.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what judging would take, and ask nothing.")
    ] = False,
    report: Annotated[
        bool, typer.Option("--report", help="Ask nothing; show verdicts and agreement so far.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Have a model judge a study's matches by a rubric; what is judged is not judged again."""
    with ct.Store.open(store) as opened:
        if report:
            print_verdicts(opened, study, json)
            return
        if by is None or (model is None and not ask):
            missing = "--judge" if by is None else "--model"
            raise ct.CheaptalkError(f"name {missing}, or see what was judged with --report")
        judge = ct.judges.judge_of(by, player_entry(model or "vllm/any"))
        if ask:
            _ask(opened, study, judge, sample, seed, json)
            return
        known = ct.models.load_prices(prices)
        cap = cap_of(budget or [])
        if dry_run or _costs(judge, known):
            with err.status(f"{study}: estimating"):
                takes = ct.judges.estimate_judging(
                    opened, study, judge, sample=sample, seed=seed, prices=known
                )
            if dry_run:
                _foretell(study, judge, takes, cap, _again(context), json)
                return
            for line in (f"estimated {takes.amounts.line}", *_doubts(takes, cap)):
                err.print(f"{study}: {line}", markup=False, soft_wrap=True)
        started = time.monotonic()
        try:
            with _progress(study) as show:
                state = ct.judge(
                    opened, study, judge, sample=sample, seed=seed, budget=cap, prices=known,
                    concurrency=concurrency, progress=show, cache=cache_at(cache, cache_file),
                )  # fmt: skip
        except KeyboardInterrupt:
            again = f"stopped; what was judged is kept; go on with: {_again(context)}"
            err.print(again, markup=False, soft_wrap=True)
            raise
    seconds = time.monotonic() - started
    if json:
        print_json(_as_json(study, judge, state, seconds))
    else:
        _summarise(study, state, _again(context), store)
    if state.halted or state.problems:
        raise typer.Exit(1)


def _costs(judge: ct.judges.Judge, prices: ct.models.Prices) -> bool:
    """Whether a judge costs something and the price is known."""
    price = prices.of(judge.seat.model)
    return price is not None and not price.free


def _again(context: typer.Context) -> str:
    """The command as it was typed, without --dry-run and --json."""
    words = ["cheaptalk", "judge"]
    for one in context.command.params:
        name, value = str(one.name), context.params[str(one.name)]
        source = context.get_parameter_source(name)
        if source is None or source.name != "COMMANDLINE":
            continue
        if one.param_type_name == "argument":
            words.append(str(value))
        elif not isinstance(value, bool):
            for each in value if isinstance(value, list | tuple) else [value]:
                words += [one.opts[0], str(each)]
        elif name == "cache":
            words.append((one.opts if value else one.secondary_opts)[0])
    return shlex.join(words)


@contextmanager
def _progress(study: str) -> Iterator[Callable[[ct.judges.Judging], None]]:
    """Show progress: in place on a terminal, a line now and then elsewhere."""

    def line(state: ct.judges.Judging) -> str:
        how_far = f"{study}: {state.done:,} of {counted(state.matches, 'match')} judged"
        parts = [how_far, counted(state.judged, "verdict")]
        parts += [f"{state.invalid:,} without one"] if state.invalid else []
        parts += [f"{state.failed:,} failed"] if state.failed else []
        if state.state is not None:
            parts += [one for one in (spent(state.state), state.state.notice) if one]
        return ", ".join(parts)

    if sys.stderr.isatty():
        with err.status(f"{study}: judging") as status:
            yield lambda state: status.update(Text(line(state)))
        return
    last = time.monotonic()

    def show(state: ct.judges.Judging) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY:
            last = time.monotonic()
            err.print(line(state), markup=False, soft_wrap=True)

    yield show


def _ask(
    store: ct.Store,
    study: str,
    judge: ct.judges.Judge,
    sample: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Show the first question as the judge would read it."""
    match, item = ct.judges.first_item(store, study, judge, sample=sample, seed=seed)
    messages = [message.model_dump() for message in judge.messages(item)]
    if as_json:
        print_json({"match": match, "item": item.name, "messages": messages})
        return
    for message in messages:
        out.print(f"[dim]{message['role']}[/]")
        out.print(message["content"], markup=False)


def _foretell(
    study: str,
    judge: ct.judges.Judge,
    takes: ct.judges.JudgingEstimate,
    cap: ct.studies.Cap,
    command: str,
    as_json: bool,
) -> None:
    """Say what judging would take."""
    if as_json:
        print_json(
            {"study": study, "judge": judge.digest, "rubric": judge.rubric.name,
             "model": judge.seat.model, "doubts": [*_doubts(takes, cap)]} | takes.as_json()
        )  # fmt: skip
        return
    about = "" if takes.read == takes.matches else "about "
    out.print(
        f"{study}: {about}{counted(takes.items, 'item')} to judge in "
        f"{counted(takes.matches, 'match')}, {about}{takes.before:,} judged before",
        markup=False,
    )
    if takes.nothing:
        out.print(f"nothing to judge: {takes.nothing}", markup=False)
        return
    out.print(f"{judge.seat.model}: {takes.amounts.line}", markup=False, soft_wrap=True)
    for doubt in _doubts(takes, cap):
        out.print(doubt, markup=False, soft_wrap=True)
    out.print("This assumes:")
    for one in takes.assumes:
        out.print(f"- {one}", markup=False)
    out.print(f"Nothing was asked. Judge with: {command}", markup=False, soft_wrap=True)


def _doubts(takes: ct.judges.JudgingEstimate, cap: ct.studies.Cap) -> Iterator[str]:
    """Where the judge may not, or cannot, end within its budget."""
    return shortfalls(takes.amounts, cap, takes.spent, key="--budget ", who="the judge")


def _as_json(
    study: str, judge: ct.judges.Judge, state: ct.judges.Judging, seconds: float
) -> dict[str, Any]:
    return {
        "study": study, "judge": judge.digest, "rubric": judge.rubric.name,
        "model": judge.seat.model, "matches": state.matches, "done": state.done,
        "failed": state.failed, "judged": state.judged, "no_verdict": state.invalid,
        "before": state.before, "no_verdict_before": state.invalid_before,
        "verdicts": state.verdicts,
        "kinds": {kind.value: count for kind, count in state.kinds.items()},
        "cost": state.cost.as_json(), "spent": state.spent.as_json(),
        "unresolved": state.unresolved, "problems": state.problems,
        "nothing": state.nothing, "halted": state.halted, "seconds": round(seconds, 2),
    }  # fmt: skip


def _summarise(study: str, state: ct.judges.Judging, command: str, store: Path) -> None:
    parts = [f"{state.judged:,} judged now", f"{state.before:,} before"]
    if without := state.invalid + state.invalid_before:
        parts.append(f"{without:,} without a verdict")
    where = f"in {state.done:,} of {counted(state.matches, 'match')}"
    out.print(f"{study}: {', '.join([*parts, where])}", markup=False)
    for verdict, count in state.verdicts.most_common():
        out.print(f"  {count:,} x {verdict}", markup=False)
    for line in _notes(state):
        out.print(f"  {line}", markup=False)
    if state.halted:
        out.print(f"halted: {state.halted}", markup=False)
    if left := state.matches - state.done:
        cure = "raise --budget in" if state.short else "go on with"
        next_step = f"{left:,} left; {cure}: {command}"
    else:
        where = f"cheaptalk judge {study} --report --store {shlex.quote(str(store))}"
        next_step = f"see verdicts and agreement with: {where}"
    out.print(next_step, markup=False, soft_wrap=True)


def _notes(state: ct.judges.Judging) -> Iterator[str]:
    """What there is to say of a run besides its verdicts, a line each."""
    kinds = {kind.value: count for kind, count in state.kinds.items()}
    if repaired := kinds.pop("repaired", 0):
        yield f"{counted(repaired, 'verdict')} only after asking again"
    yield from (
        f"{count:,} x no verdict: {kind.replace('_', ' ')}"
        for kind, count in kinds.items()
        if kind != "ok"
    )
    for problem, count in state.problems.most_common(10):
        yield f"{count:,} x not judged: {problem}"
    if state.nothing:
        yield f"nothing to judge: {state.nothing}"
    if state.unresolved:
        yield f"{counted(state.unresolved, 'call')} of an earlier run stayed without a reply"
    if state.spent.sendings:
        yield f"the judge has taken {cost_text(state.spent)} for this study"
