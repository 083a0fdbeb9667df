"""The page of a training: how it went, from the lines that it told as it went."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from cheaptalk.reports.charts.chart import Axis, Chart, Line, Mark
from cheaptalk.reports.output import write_page
from cheaptalk.reports.recipes.parts import Answer, Charts, MadePart, Recipe, RecipePart, Shown
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.rules import counted
from cheaptalk.text import capital, fixed, plain

MOST = 400
"""Points of a curve; of more lines as many are taken, evenly."""
AGAIN = 10
"""Seconds after which a page is loaded again while the training goes on."""


def write_curves(
    told: Sequence[Mapping[str, Any]], out: Path, title: str, meanings: Mapping[str, str],
    *, under_way: bool = False,
) -> None:  # fmt: skip
    """Write the page of a training.

    Args:
        told: what the training told, in order: ``matches`` so far, ``seconds``, what the players
            got as ``returns``, its metrics, and what could be gained against the policy as
            ``gains`` where somebody looked: a number and its standard error for each player.
        out: the page, which needs nothing else.
        title: what was trained.
        meanings: what each metric means.
        under_way: whether it goes on, so that browsers load the page again.

    Raises:
        CheaptalkError: the page cannot be written.
    """
    recipe = Recipe("training", "a training", "How a policy was learned, as it was told then.", (),
                    heading=title, methods="methods/training.html.jinja")  # fmt: skip
    part = RecipePart("Learning", "", lambda _: ())
    shown = tuple(_shown(told, meanings))
    write_page(
        recipe, [MadePart(part, shown, "")], out, name=title, meanings=meanings,
        again=AGAIN if under_way else 0,
    )  # fmt: skip


def _shown(told: Sequence[Mapping[str, Any]], meanings: Mapping[str, str]) -> Iterator[Shown]:
    if not told:
        yield Answer("It has told nothing yet.")
        return
    last, seats = told[-1], len(told[-1]["returns"])
    rate = last["matches"] / last["seconds"] if last["seconds"] else 0.0
    got = " and ".join(f"{one:.4g}" for one in last["returns"])
    yield Answer(
        f"It has learned from {counted(last['matches'], 'match')} in {fixed(last['seconds'], 0)} "
        f"seconds ({fixed(rate, 0)} a second); players now get {got}.",
        f"{counted(last['matches'], 'match')}, {fixed(rate, 0)} a second",
    )
    step = max(1, len(told) // MOST)
    rows = [*told[::step], *([] if told[::step][-1] is last else [last])]
    curves = [_chart(name, rows, [(name, [row[name] for row in rows])]) for name in meanings]
    lines = [(f"player {seat + 1}", [row["returns"][seat] for row in rows])
             for seat in range(seats)]  # fmt: skip
    pace = [_pace(before, now) for before, now in pairwise(rows)]
    yield from _gains(told)
    yield Charts("learning", "What it told", curves)
    yield Charts("returns", "What players got", [
        _chart("what players got", rows, lines),
        *([_chart("matches a second", rows[1:], [("rate", pace)], zero=True)] if pace else []),
    ])  # fmt: skip
    yield _table(rows, meanings)


def _gains(told: Sequence[Mapping[str, Any]]) -> Iterator[Shown]:
    """What could be gained against the policy, against wall time."""
    rows = [row for row in told if row.get("gains")]
    if not rows:
        return
    last = rows[-1]
    gained = " and ".join(map(_give_or_take, last["gains"]))
    yield Answer(
        f"After {counted(last['matches'], 'match')} whoever leaves the policy, while all others "
        f"keep to it, could gain {gained}."
    )
    layers = [
        Line(
            [
                Mark(row["seconds"], gain, y_ends=(gain - error, gain + error),
                     text=f"{_give_or_take((gain, error))} after {row['matches']:,} matches")
                for row in rows for gain, error in [row["gains"][seat]]
            ],
            f"player {seat + 1}", seat, dots=True,
        )
        for seat in range(len(last["gains"]))
    ]  # fmt: skip
    chart = Chart("What could be gained against the policy", "", layers,
                  Axis("seconds of learning", zero=True), Axis(zero=True))  # fmt: skip
    yield Charts("gains", "How exploitable it is", [chart])


def _give_or_take(found: Sequence[float]) -> str:
    gain, error = found
    return f"{gain:.4g} (±{error:.2g})" if error else f"{gain:.4g}"


def _pace(before: Mapping[str, Any], now: Mapping[str, Any]) -> float:
    seconds = now["seconds"] - before["seconds"]
    rate: float = (now["matches"] - before["matches"]) / seconds if seconds > 0 else 0.0
    return rate


def _chart(
    name: str, rows: Sequence[Mapping[str, Any]], lines: Sequence[tuple[str, Sequence[float]]],
    *, zero: bool = False,
) -> Chart:  # fmt: skip
    """A number over the matches that were learned from, a line each."""
    several = len(lines) > 1
    layers = [
        Line(
            [Mark(row["matches"], value, text=f"{label}: {value:.4g} after {row['matches']:,} "
                  "matches") for row, value in zip(rows, values, strict=True)],
            label if several else "", tone, dots=len(rows) < 20,
        )
        for tone, (label, values) in enumerate(lines)
    ]  # fmt: skip
    return Chart(capital(plain(name)), "", layers, Axis("matches", zero=True), Axis(zero=zero))


def _table(rows: Sequence[Mapping[str, Any]], meanings: Mapping[str, str]) -> ReportTable:
    seats = len(rows[-1]["returns"])
    frame = pl.DataFrame([
        {name: row[name] for name in ("matches", "seconds", *meanings)}
        | {f"got_{seat + 1}": row["returns"][seat] for seat in range(seats)}
        for row in rows
    ])  # fmt: skip
    return ReportTable(
        "training", "As it was told", frame,
        (
            Header("matches", "Matches", "", 0), Header("seconds", "Seconds", "", 0),
            *(Header(name, capital(plain(name)), "", 4, f"{capital(text)}.")
              for name, text in meanings.items()),
            *(Header(f"got_{seat + 1}", f"Player {seat + 1} got", "", 2) for seat in range(seats)),
        ),
    )  # fmt: skip
