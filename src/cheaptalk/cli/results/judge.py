"""The command with which a model judges what was recorded: judge."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.cost_preview import costs
from cheaptalk.cli.shared.options import (
    CAPS,
    DEFAULT_STORE,
    CacheFileOption,
    CacheOption,
    JsonOption,
    PricesOption,
    StoredArgument,
    StoreOption,
    cache_at,
    cap_of,
    player_entry,
    retyped,
)
from cheaptalk.cli.shared.printing import err, hint, out, print_json, print_table, say
from cheaptalk.cli.shared.progress import StatusLine
from cheaptalk.cli.shared.sentences import cost_text, counted, see_verdicts, state_notes
from cheaptalk.extras import needing


def judge(
    context: typer.Context,
    study: StoredArgument,
    by: Annotated[
        str | None,
        typer.Option(
            "--judge",
            help="A rubric: claims, hallucination, honesty, promises or a .yaml file.",
            autocompletion=completion.rubrics,
        ),
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
    player: Annotated[
        str | None,
        typer.Option(
            help="Judge the matches alone in which this player sits.",
            metavar="LABEL",
            show_default="everybody's",
        ),
    ] = None,
    budget: Annotated[
        list[str] | None,
        typer.Option(help="What the judge may spend on the study in all its runs.", metavar=CAPS),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Matches judged at once.")] = 32,
    cache: CacheOption = None,
    cache_file: CacheFileOption = None,
    prices: PricesOption = None,
    store: StoreOption = DEFAULT_STORE,
    again: Annotated[
        bool, typer.Option("--again", help="Ask again where the judge gave no verdict.")
    ] = False,
    allow_failures: Annotated[
        bool, typer.Option("--allow-failures", help="Exit with 0 though items have no verdict.")
    ] = False,
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
            _show_verdicts(opened, study, json)
            return
        if by is None or (model is None and not ask):
            missing = "--judge" if by is None else "--model"
            raise ct.CheaptalkError(f"name {missing}, or see what was judged with --report")
        with needing("analysis"):
            judge = ct.judges.judge_of(by, player_entry(model or "vllm/any"))
        if ask:
            _ask(opened, study, judge, sample, seed, player, json)
            return
        known = ct.models.load_prices(prices)
        cap = cap_of(budget or [])
        if not dry_run:
            ct.studies.check_free(opened)
        if dry_run or costs(judge.seat.model, known):
            with err.status(f"{study}: estimating"):
                takes = ct.judges.estimate_judging(
                    opened, study, judge, sample=sample, seed=seed, player=player, again=again,
                    prices=known,
                )  # fmt: skip
            doubts = list(
                ct.studies.shortfalls(
                    takes.amounts, cap, takes.spent, key="--budget ", who="the judge"
                )
            )
            if dry_run:
                _foretell(study, judge, takes, doubts, context, json)
                return
            _announce(study, f"estimated {takes.amounts.line}", *doubts)
        started = time.monotonic()
        try:
            with StatusLine().shown(f"{study}: judging") as tell:
                state = ct.judge(
                    opened, study, judge, sample=sample, seed=seed, player=player, again=again,
                    budget=cap, prices=known, concurrency=concurrency,
                    cache=cache_at(cache, cache_file),
                    progress=lambda state: tell(_how_far(study, judge, state)),
                )  # fmt: skip
        except KeyboardInterrupt:
            kept = f"stopped; what was judged is kept; go on with: {_again(context)}"
            say(kept, to=err, whole=True)
            raise
    seconds = time.monotonic() - started
    if json:
        print_json(_as_json(study, judge, state, seconds))
    else:
        _summarise(study, judge, state, context, store)
    lacking = state.problems or state.without
    if state.halted or (lacking and not allow_failures):
        raise typer.Exit(1)


def _announce(study: str, *lines: str) -> None:
    for line in lines:
        say(f"{study}: {line}", to=err, whole=True)


def _again(context: typer.Context, *more: str) -> str:
    """The command as it was typed, with more options, and without --dry-run and --json."""
    return retyped(context, *more, without=("json", "dry_run", "ask", "report"))


def _unit(judge: ct.judges.Judge) -> str:
    """What a judge is put to, in a word."""
    return "participant" if judge.rubric.item == "answer" else "match"


def _how_far(study: str, judge: ct.judges.Judge, state: ct.judges.Judging) -> str:
    how_far = f"{study}: {state.done:,} of {counted(state.matches, _unit(judge))} judged"
    parts = [how_far, counted(state.judged, "verdict")]
    parts += [f"{state.invalid:,} without one"] if state.invalid else []
    parts += [f"{state.failed:,} failed"] if state.failed else []
    return ", ".join(parts + state_notes(state.state))


def _ask(
    store: ct.Store,
    study: str,
    judge: ct.judges.Judge,
    sample: int | None,
    seed: int,
    player: str | None,
    as_json: bool,
) -> None:
    """Show the first question as the judge would read it."""
    match, item = ct.judges.first_item(store, study, judge, sample=sample, seed=seed, player=player)
    messages = [message.model_dump() for message in judge.messages(item)]
    if as_json:
        print_json({"match": match, "item": item.name, "messages": messages})
        return
    for message in messages:
        out.print(f"[dim]{message['role']}[/]")
        say(message["content"])


def _foretell(
    study: str,
    judge: ct.judges.Judge,
    takes: ct.judges.JudgingEstimate,
    doubts: list[str],
    context: typer.Context,
    as_json: bool,
) -> None:
    if as_json:
        print_json(
            {"study": study, "judge": judge.digest, "rubric": judge.rubric.name,
             "model": judge.seat.model, "doubts": doubts} | takes.as_json()
        )  # fmt: skip
        return
    about = "" if takes.read == takes.matches else "about "
    parts = [
        f"{about}{counted(takes.items, 'item')} to judge in {counted(takes.matches, _unit(judge))}",
        f"{about}{takes.before:,} judged before",
    ]
    if takes.invalid_before:
        parts.append(f"{about}{takes.invalid_before:,} without a verdict")
    say(f"{study}: {', '.join(parts)}")
    if takes.nothing:
        say(f"nothing to judge: {takes.nothing}")
    if takes.invalid_before:
        hint(_ask_again(context))
    if takes.nothing:
        return
    say(f"{judge.seat.model}: {takes.amounts.line}", whole=True)
    for doubt in doubts:
        say(doubt, whole=True)
    out.print("This assumes:")
    for one in takes.assumes:
        say(f"- {one}")
    hint(f"Nothing was asked. Judge with: {_again(context)}")


def _ask_again(context: typer.Context) -> str:
    """How to ask about items without a verdict once more."""
    return f"ask again where there is no verdict with: {_again(context, '--again')}"


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
        "kinds_before": {kind.value: count for kind, count in state.kinds_before.items()},
        "cost": state.cost.as_json(), "spent": state.spent.as_json(),
        "unresolved": state.unresolved, "problems": state.problems,
        "nothing": state.nothing, "halted": state.halted, "seconds": round(seconds, 2),
    }  # fmt: skip


def _summarise(
    study: str,
    judge: ct.judges.Judge,
    state: ct.judges.Judging,
    context: typer.Context,
    store: str,
) -> None:
    parts = [f"{state.judged:,} judged now", f"{state.before:,} before"]
    if state.without:
        parts.append(f"{state.without.total():,} without a verdict")
    where = f"in {state.done:,} of {counted(state.matches, _unit(judge))}"
    say(f"{study}: {', '.join([*parts, where])}")
    for verdict, count in state.verdicts.most_common():
        say(f"  {count:,} x {verdict}")
    for line in _notes(state):
        say(f"  {line}")
    if state.halted:
        say(f"halted: {state.halted}")
    if left := state.matches - state.done:
        cure = "raise --budget in" if state.short else "go on with"
        if state.uncountable:
            cure = "lift its cap (tokens=none, dollars=none) and cap calls with --budget in"
        next_step = f"{left:,} left; {cure}: {_again(context)}"
    elif state.without:
        next_step = _ask_again(context)
    else:
        next_step = f"see verdicts and agreement with: {see_verdicts(study, store)}"
    hint(next_step)


def _notes(state: ct.judges.Judging) -> Iterator[str]:
    """What there is to say of a run besides its verdicts, a line each."""
    if repaired := state.kinds[ct.players.Kind.REPAIRED]:
        yield f"{counted(repaired, 'verdict')} only after asking again"
    for kind, count in state.without.most_common():
        yield f"{count:,} x no verdict: {kind.replace('_', ' ')}"
    for problem, count in state.problems.most_common(10):
        yield f"{count:,} x not judged: {problem}"
    if state.nothing:
        yield f"nothing to judge: {state.nothing}"
    if state.unresolved:
        yield f"{counted(state.unresolved, 'call')} of an earlier run stayed without a reply"
    if state.spent.sendings:
        yield f"the judge has taken {cost_text(state.spent)} for this study"


def _show_verdicts(store: ct.Store, study: str, as_json: bool) -> None:
    """What all judges of a study said, and how well they agree."""
    with needing("analysis"):
        sections = ct.reports.judge_sections(store, study)
        answers = ct.judges.answer_verdicts(store, study)
    counts = answers.group_by("rubric", "model", "item", "verdict", maintain_order=True).len()
    if as_json:
        said = {"answers": counts.to_dicts()} if counts.height else {}
        print_json({"study": study, "judges": [one.as_json() for one in sections]} | said)
        return
    if not sections and counts.is_empty():
        say(f"{study} has not been judged: name --judge and --model")
    if counts.height:
        columns = ["rubric", "by", "answer to", "verdict", "people"]
        rows = [[*known, verdict or "none", people] for *known, verdict, people in counts.rows()]
        print_table("what people wrote", columns, rows)
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
    """What a judge said of each player: the estimates, then how often it said what."""
    estimates: list[list[object]] = [
        [one.player, one.items, one.deals, one.invalid, *one.numbers] for one in section.players
    ]
    what = "mean score" if section.rubric.scale else "share found"
    columns = ["player", "items", "deals", "no verdict", what, "95 % interval"]
    print_table(section.name, columns, estimates)
    counts: list[list[object]] = [
        [label, *(one.verdicts.get(label, 0) for one in section.players)]
        for label in section.rubric.labels
    ]
    print_table(None, ["verdict", *(one.player for one in section.players)], counts)


def _agreement(one: ct.judges.Agreement, reference: str) -> None:
    """How well a judge agrees with a reference, in words and as a table."""
    say(f"against {reference}:")
    for line in ct.reports.agreement_lines(one):
        say(f"  {line}")
    if not one.items:
        return
    rows: list[list[object]] = [
        [name, *counts] for name, counts in zip(one.labels, one.table, strict=True)
    ]
    print_table(None, [f"{reference} \\ judge", *one.labels], rows)
