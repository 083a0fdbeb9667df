"""The commands ``judge run`` and ``judge label``, which judge matches with a model or by hand."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared import sentences
from cheaptalk.cli.shared.interrupts import finishing
from cheaptalk.cli.shared.playing import costs
from cheaptalk.cli.shared.printing import StatusLine, err, hint, out, print_json, print_table, say
from cheaptalk.cli.shared.sentences import Field, at_store, counted, each, see_verdicts
from cheaptalk.extras import needing


def _repaired(count: int) -> str:
    return f"{counted(count, 'verdict')} valid only after a retry"


def _without_verdict(state: ct.judges.Judging) -> dict[str, int]:
    return {kind.replace("_", " "): count for kind, count in state.without.items()}


SUMMARY = (
    Field("matches"),
    Field("done"),
    Field("failed"),
    Field("judged"),
    Field("no_verdict", "invalid"),
    Field("before"),
    Field("no_verdict_before", "invalid_before"),
    Field("verdicts", text=each("{count:,} x {name}")),
    Field("kinds", lambda state: {kind.value: count for kind, count in state.kinds.items()}),
    Field("kinds_before", lambda state: {k.value: n for k, n in state.kinds_before.items()}),
    Field("", lambda state: state.kinds[ct.players.Kind.REPAIRED], _repaired),
    Field("", _without_verdict, each("{count:,} without a valid verdict: {name}")),
    Field("problems", text=each("{count:,} x not judged: {name}", sentences.MAX_PROBLEMS)),
    Field("nothing", text="nothing to judge: {}".format),
    Field("unresolved", text=sentences.unresolved_text),
    Field("spent", text=sentences.cost_of("cost of this judge for the study so far: ")),
    Field("cost"),
    Field("halted"),
)
"""The fields of a judge's summary."""


def judge(
    context: typer.Context,
    study: opt.StoredStudy,
    /,
    rubric: opt.RubricName | None = None,
    model: Annotated[str | None, opt.Settings(metavar="SPEC")] = None,
    sample: Annotated[opt.Count | None, opt.Settings(show_default="all matches")] = None,
    seed: int = 0,
    with_player: opt.Label | None = None,
    budget: Annotated[list[str] | None, opt.Settings(metavar=opt.CAPS)] = None,
    concurrency: opt.Count = 32,
    cache: opt.Cache = None,
    cache_file: opt.CacheFile = None,
    prices: opt.Prices = None,
    store: opt.Store = opt.DEFAULT_STORE,
    retry_invalid: bool = False,
    allow_failures: bool = False,
    show_prompt: bool = False,
    dry_run: bool = False,
    results_only: bool = False,
    json: opt.Json = False,
) -> None:
    """Judge a study's matches with a model.

    Items that already have a verdict of the same judge are skipped.

    Args:
        model: Use this model: a model string, or YAML such as '{model: openai/gpt-4o,
            temperature: 0}'.
        sample: Only judge a random sample of N matches.
        seed: Set the random seed of the sample.
        with_player: Only judge matches with this player (label).
        budget: Set the judge's budget for the study, over all runs.
        concurrency: Judge up to N matches at once.
        retry_invalid: Retry items without a valid verdict.
        allow_failures: Exit with status 0 even if items have no verdict.
        show_prompt: Print the first prompt without calling the model.
        dry_run: Estimate the cost without calling the model.
        results_only: Print earlier verdicts and their agreement, without calling the model.
    """
    selection: dict[str, Any] = {"sample": sample, "seed": seed, "player": with_player}
    with ct.Store.open(store) as opened:
        if results_only:
            _show_verdicts(opened, study, json)
            return
        if rubric is None or (model is None and not show_prompt):
            missing = "--rubric" if rubric is None else "--model"
            raise ct.CheaptalkError(
                f"missing option {missing}; to show earlier verdicts, use --results-only"
            )
        with needing("analysis"):
            judge = ct.judges.judge_of(rubric, opt.player_entry(model or "vllm/any"))
        if show_prompt:
            _print_prompt(opened, study, judge, selection, json)
            return
        price_list = ct.models.load_prices(prices)
        cap = opt.cap_of(budget or [])
        if not dry_run:
            ct.studies.check_free(opened)
        if dry_run or costs(judge.seat.model, price_list):
            with err.status(f"{study}: estimating"):
                estimate = ct.judges.estimate_judging(
                    opened, study, judge, **selection, again=retry_invalid, prices=price_list
                )
            doubts = [
                *ct.studies.limit_warnings(
                    estimate.amounts, cap, estimate.spent, key="--budget ", subject="the judge"
                )
            ]
            if dry_run:
                _print_estimate(study, judge, estimate, doubts, context, json)
                return
            _print_lines(study, f"estimated {estimate.amounts.line}", *doubts)
        started = time.monotonic()
        try:
            with StatusLine().shown(f"{study}: judging") as show:
                state = ct.judge(
                    opened,
                    study,
                    judge,
                    **selection,
                    again=retry_invalid,
                    budget=cap,
                    prices=price_list,
                    concurrency=concurrency,
                    cache=opt.cache_at(cache, cache_file),
                    progress=lambda state: show(_progress(study, judge, state)),
                )
        except KeyboardInterrupt:
            message = f"stopped; verdicts so far are kept; continue with: {_again(context)}"
            say(message, to=err, wrap=False)
            raise
    seconds = time.monotonic() - started
    if json:
        data = _identity(study, judge) | sentences.as_json(SUMMARY, state)
        print_json(data | {"seconds": round(seconds, 2)})
    else:
        _summarize(study, judge, state, context, store)
    missing_verdicts = state.problems or state.without
    if state.halted or (missing_verdicts and not allow_failures):
        raise typer.Exit(1)


def _print_lines(study: str, *lines: str) -> None:
    for line in lines:
        say(f"{study}: {line}", to=err, wrap=False)


def _again(context: typer.Context, *more: str) -> str:
    """Return the current command line with ``more`` options and without conflicting ones."""
    return opt.retyped(context, *more, without=("json", "dry_run", "show_prompt", "results_only"))


def _identity(study: str, judge: ct.judges.Judge) -> dict[str, Any]:
    rubric, model = judge.rubric.name, judge.seat.model
    return {"study": study, "judge": judge.digest, "rubric": rubric, "model": model}


def _unit(judge: ct.judges.Judge) -> str:
    return "participant" if judge.rubric.item == "answer" else "match"


def _progress(study: str, judge: ct.judges.Judge, state: ct.judges.Judging) -> str:
    judged = f"{study}: {state.done:,} of {counted(state.matches, _unit(judge))} judged"
    parts = [judged, counted(state.judged, "verdict")]
    parts += [f"{state.invalid:,} invalid"] if state.invalid else []
    parts += [f"{state.failed:,} failed"] if state.failed else []
    return ", ".join(parts + sentences.state_notes(state.state))


def _print_prompt(
    store: ct.Store, study: str, judge: ct.judges.Judge, selection: dict[str, Any], as_json: bool
) -> None:
    match, item = ct.judges.first_item(store, study, judge, **selection)
    messages = [message.model_dump() for message in judge.messages(item)]
    if as_json:
        print_json({"match_id": match, "item": item.name, "messages": messages})
        return
    for message in messages:
        out.print(f"[dim]{message['role']}[/]")
        say(message["content"])


def _print_estimate(
    study: str,
    judge: ct.judges.Judge,
    estimate: ct.judges.JudgingEstimate,
    doubts: list[str],
    context: typer.Context,
    as_json: bool,
) -> None:
    if as_json:
        print_json(_identity(study, judge) | {"doubts": doubts} | estimate.as_json())
        return
    about = "" if estimate.read == estimate.matches else "about "
    matches = counted(estimate.matches, _unit(judge))
    parts = [
        f"{about}{counted(estimate.items, 'item')} to judge in {matches}",
        f"{about}{estimate.before:,} judged earlier",
    ]
    if estimate.invalid_before:
        parts.append(f"{about}{estimate.invalid_before:,} without a valid verdict")
    say(f"{study}: {', '.join(parts)}")
    if estimate.nothing:
        say(f"nothing to judge: {estimate.nothing}")
    if estimate.invalid_before:
        hint(_retry_advice(context))
    if estimate.nothing:
        return
    say(f"{judge.seat.model}: {estimate.amounts.line}", wrap=False)
    for doubt in doubts:
        say(doubt, wrap=False)
    out.print("Assumptions:")
    for assumption in estimate.assumes:
        say(f"- {assumption}")
    hint(f"No model was called. To judge, run: {_again(context)}")


def _retry_advice(context: typer.Context) -> str:
    return f"retry items without a valid verdict with: {_again(context, '--retry-invalid')}"


def _summarize(
    study: str, judge: ct.judges.Judge, state: ct.judges.Judging, context: typer.Context, store: str
) -> None:
    parts = [f"{state.judged:,} judged now", f"{state.before:,} earlier"]
    if state.without:
        parts.append(f"{state.without.total():,} without a valid verdict")
    scope = f"in {state.done:,} of {counted(state.matches, _unit(judge))}"
    say(f"{study}: {', '.join([*parts, scope])}")
    for line in sentences.lines(SUMMARY, state):
        say(f"  {line}")
    if state.halted:
        say(f"halted: {sentences.halt_text(state.halted)}")
    if remaining := state.matches - state.done:
        advice = "continue with a larger --budget" if state.short else "continue with"
        if state.uncountable:
            advice = "continue with --budget tokens=none,dollars=none,calls=N"
        next_step = f"{remaining:,} remaining; {advice}: {_again(context)}"
    elif state.without:
        next_step = _retry_advice(context)
    else:
        next_step = f"to show verdicts and agreement, run: {see_verdicts(study, store)}"
    hint(next_step)


def _show_verdicts(store: ct.Store, study: str, as_json: bool) -> None:
    """Print the verdicts of all judges of a study, and their agreement."""
    with needing("analysis"):
        sections = ct.reports.judge_sections(store, study)
        answers = ct.judges.answer_verdicts(store, study)
    counts = answers.group_by("rubric", "model", "item", "verdict", maintain_order=True).len()
    if as_json:
        verdicts = {"answers": counts.to_dicts()} if counts.height else {}
        judges = [section.as_json() for section in sections]
        print_json({"study": study, "judges": judges} | verdicts)
        return
    if not sections and counts.is_empty():
        say(f"{study} has not been judged; to judge it, set --rubric and --model")
    if counts.height:
        columns = ["rubric", "judge", "question", "verdict", "participants"]
        rows = [[*names, verdict or "none", count] for *names, verdict, count in counts.rows()]
        print_table("Participants' answers", columns, rows)
    for section in sections:
        _verdicts(section)
        for reliability in section.reliabilities:
            say(ct.reports.reliability_line(reliability))
        for agreement in section.agreements:
            _agreement(agreement, section.names[agreement.reference])
        if section.alone:
            say(section.alone)
        out.print()


def _verdicts(section: ct.reports.JudgeSection) -> None:
    estimates = [
        [player.player, player.items, player.instances, player.invalid, *player.numbers]
        for player in section.players
    ]
    estimate = "mean score" if section.rubric.scale else "share found"
    columns = ["player", "items", "instances", "invalid", estimate, "95 % CI"]
    print_table(section.name, columns, estimates)
    counts = [
        [label, *(player.verdicts.get(label, 0) for player in section.players)]
        for label in section.rubric.labels
    ]
    print_table(None, ["verdict", *(player.player for player in section.players)], counts)


def _agreement(agreement: ct.judges.Agreement, reference: str) -> None:
    """Print the agreement of a judge with a reference, as text and table."""
    say(f"agreement with {reference}:")
    for line in ct.reports.agreement_lines(agreement):
        say(f"  {line}")
    if not agreement.items:
        return
    rows = [[name, *counts] for name, counts in zip(agreement.labels, agreement.table, strict=True)]
    print_table(None, [f"{reference} \\ judge", *agreement.labels], rows)


@finishing()
def label(
    study: opt.StoredStudy,
    /,
    rubric_name: opt.RubricName,
    sheet: Annotated[opt.NewFile | None, opt.Settings(metavar="FILE")] = None,
    labels: opt.File | None = None,
    annotator: opt.Name = "hand",
    sample: opt.Count = 100,
    seed: int = 0,
    store: opt.Store = opt.DEFAULT_STORE,
    json: opt.Json = False,
) -> None:
    """Create or import hand labels to validate a judge.

    Write a sheet with --sheet, fill in its column "verdict", and import the sheet with --labels.
    Then cheaptalk judge run --results-only shows the agreement between labels and judges.

    Args:
        sheet: Write a CSV sheet of items to label to this file.
        labels: Import the labels from this completed sheet.
        annotator: Record the labels under this annotator's name.
        sample: Draw a random sample of N items.
        seed: Set the random seed of the sample.
    """
    if (sheet is None) == (labels is None):
        raise ct.CheaptalkError("set either --sheet (write a sheet) or --labels (import labels)")
    rubric = ct.judges.find_rubric(rubric_name)
    with ct.Store.open(store) as opened:
        if sheet is not None:
            items = ct.judges.write_sheet(opened, study, rubric, sheet, sample=sample, seed=seed)
            if json:
                print_json({"study": study, "sheet": str(sheet), "items": items})
            else:
                _print_instructions(study, rubric_name, sheet, items, store)
            return
        assert labels is not None
        result = ct.judges.import_labels(opened, study, rubric, labels, by=annotator)
    if json:
        print_json({"study": study, "by": annotator, **result._asdict()})
        return
    say(
        f"{study}: {counted(result.taken, 'label')} imported, {result.before:,} imported before, "
        f"{result.empty:,} without a verdict"
    )
    hint(f"to show the agreement, run: {see_verdicts(study, store)}")


def _print_instructions(study: str, rubric_name: str, sheet: Path, items: int, store: str) -> None:
    rubric = ct.judges.find_rubric(rubric_name)
    say(f"{sheet}: {counted(items, 'item')} to label\n{rubric.question}")
    if rubric.scale is None:
        for name, meaning in (rubric.categories or {}).items():
            say(f"  {name}: {meaning}")
    else:
        scale = rubric.scale
        say(f"  {scale.low}: {scale.low_means}\n  {scale.high}: {scale.high_means}")
    hint(
        'enter a label in the column "verdict" of each row, then run: cheaptalk judge label '
        f"{study} --rubric {shlex.quote(rubric_name)} --labels {shlex.quote(str(sheet))} "
        f"{at_store(store)}"
    )
