"""How what judges said is printed: verdicts, and how well they agree."""

from __future__ import annotations

import cheaptalk as ct
from cheaptalk.cli.base import out, print_json, print_table
from cheaptalk.cli.reporting import extra


def print_verdicts(store: ct.Store, study: str, as_json: bool) -> None:
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
        if section.alone:
            out.print(section.alone, markup=False)
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
    out.print(f"against {reference}:", markup=False)
    for line in ct.reports.agreement_lines(one):
        out.print(f"  {line}", markup=False)
    if not one.items:
        return
    rows: list[list[object]] = [
        [name, *counts] for name, counts in zip(one.labels, one.table, strict=True)
    ]
    print_table(None, [f"{reference} \\ judge", *one.labels], rows)
