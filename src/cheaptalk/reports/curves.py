"""The page of a training run: learning curves from its reported metrics."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from cheaptalk.reports.charts.chart import Axis, Chart, Line, Mark
from cheaptalk.reports.output import write_page
from cheaptalk.reports.recipes.parts import Answer, Charts, MadePart, Recipe, RecipePart, Shown
from cheaptalk.reports.recipes.tables import Header, ReportTable, counts
from cheaptalk.rules import counted
from cheaptalk.text import capital, fixed, plain

Records: TypeAlias = Sequence[Mapping[str, Any]]
Meanings: TypeAlias = Mapping[str, str]
MOST = 400
"""Maximum number of points of a curve; longer curves are thinned evenly."""
AGAIN = 10
"""Seconds after which the page reloads during training."""


def write_curves(
    records: Records, out: Path | str, title: str, meanings: Meanings, *, under_way: bool = False
) -> None:
    """Write a page with the learning curves of a training run.

    Args:
        records: the reports of the training run, in order: ``matches`` so far, ``seconds``, the
            payoffs as ``returns``, its metrics and, if evaluated, the exploitability of the policy
            as ``gains``: a number and its standard error for each player.
        out: the file of the self-contained page.
        title: the title of the page.
        meanings: the meaning of each metric.
        under_way: whether the run is in progress, so that browsers reload the page.

    Raises:
        CheaptalkError: the page cannot be written.
    """
    out = Path(out)
    about, methods = "The metrics that a training run reported.", "methods/training.html.jinja"
    recipe = Recipe("training", "a training run", about, (), heading=title, methods=methods)
    part = MadePart(RecipePart("Learning", "", lambda _: ()), tuple(_contents(records, meanings)))
    again = AGAIN if under_way else 0
    write_page(recipe, [part], out, name=title, meanings=meanings, again=again)


def _contents(records: Records, meanings: Meanings) -> Iterator[Shown]:
    if not records:
        yield Answer("The training run has not reported any metrics yet.")
        return
    last, seats = records[-1], len(records[-1]["returns"])
    rate = last["matches"] / last["seconds"] if last["seconds"] else 0.0
    got = " and ".join(f"{payoff:.4g}" for payoff in last["returns"])
    yield Answer(
        f"The policy has been trained on {counted(last['matches'], 'match')} in "
        f"{fixed(last['seconds'], 0)} "
        f"seconds ({fixed(rate, 0)} per second); the current payoffs are {got}.",
        f"{counted(last['matches'], 'match')}, {fixed(rate, 0)} per second",
    )
    step = max(1, len(records) // MOST)
    rows = [*records[::step], *([] if records[::step][-1] is last else [last])]
    curves = [_chart(name, rows, [(name, [row[name] for row in rows])]) for name in meanings]
    lines = [
        (f"player {seat + 1}", [row["returns"][seat] for row in rows]) for seat in range(seats)
    ]
    pace = [_pace(before, after) for before, after in pairwise(rows)]
    yield from _gains(records)
    yield Charts("learning", "Metrics", curves)
    payoffs = [_chart("payoffs", rows, lines)]
    if pace:
        payoffs.append(_chart("matches per second", rows[1:], [("rate", pace)], zero=True))
    yield Charts("returns", "Payoffs", payoffs)
    yield _table(rows, meanings)


def _gains(records: Records) -> Iterator[Shown]:
    rows = [row for row in records if row.get("gains")]
    if not rows:
        return
    last = rows[-1]
    gained = " and ".join(map(_give_or_take, last["gains"]))
    yield Answer(
        f"After {counted(last['matches'], 'match')}, a player that deviates from the policy while "
        f"all others follow it can gain {gained}."
    )
    layers = []
    for seat in range(len(last["gains"])):
        marks = [
            Mark(
                row["seconds"],
                gain,
                y_ends=(gain - error, gain + error),
                text=f"{_give_or_take((gain, error))} after {row['matches']:,} matches",
            )
            for row in rows
            for gain, error in [row["gains"][seat]]
        ]
        layers.append(Line(marks, f"player {seat + 1}", seat))
    axes = Axis("seconds of training", zero=True), Axis(zero=True)
    chart = Chart("Gain of a best response to the policy", "", layers, *axes)
    yield Charts("gains", "Exploitability", [chart])


def _give_or_take(spread: Sequence[float]) -> str:
    gain, error = spread
    return f"{gain:.4g} (±{error:.2g})" if error else f"{gain:.4g}"


def _pace(before: Mapping[str, Any], after: Mapping[str, Any]) -> float:
    seconds = after["seconds"] - before["seconds"]
    rate: float = (after["matches"] - before["matches"]) / seconds if seconds > 0 else 0.0
    return rate


def _chart(
    name: str, rows: Records, lines: Sequence[tuple[str, Sequence[float]]], *, zero: bool = False
) -> Chart:
    layers = []
    for tone, (label, values) in enumerate(lines):
        marks = [
            Mark(row["matches"], value, f"{label}: {value:.4g} after {row['matches']:,} matches")
            for row, value in zip(rows, values, strict=True)
        ]
        layers.append(Line(marks, label if len(lines) > 1 else "", tone, dots=len(rows) < 20))
    return Chart(capital(plain(name)), "", layers, Axis("matches", zero=True), Axis(zero=zero))


def _table(rows: Records, meanings: Meanings) -> ReportTable:
    payoffs = {f"got_{seat + 1}": seat for seat in range(len(rows[-1]["returns"]))}
    frame = pl.DataFrame(
        [
            {name: row[name] for name in ("matches", "seconds", *meanings)}
            | {name: row["returns"][seat] for name, seat in payoffs.items()}
            for row in rows
        ]
    )
    columns = counts(matches="Matches", seconds="Seconds")
    columns += [
        Header(name, capital(plain(name)), "", 4, f"{capital(text)}.")
        for name, text in meanings.items()
    ]
    columns += [
        Header(name, f"Payoff of player {seat + 1}", "", 2) for name, seat in payoffs.items()
    ]
    return ReportTable("training", "Metrics during training", frame, tuple(columns))
