"""The charts of a game's scores: small multiples with shared rows."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import polars as pl

from cheaptalk.records import FEW
from cheaptalk.reports.charts.chart import SERIES, SHAPES, Axis, Chart, Ends, Lead, Mark, Points
from cheaptalk.reports.charts.kinds import Cell, cells, columns
from cheaptalk.reports.recipes.tables import Estimate, estimate
from cheaptalk.reports.study.scores import GameScores, Score, query, seated_text
from cheaptalk.rules import counted
from cheaptalk.text import capital, fixed

COUNTS = ("match", "instance")
"""The units of observations and clusters."""
Row = Mapping[str, Any]


def gains(game: GameScores) -> list[Chart]:
    """Return charts of each role's gain, followed by charts of other payoffs, one per unit."""
    panels = [_by_player(game, game.gain(role), [role]) for role in game.roles]
    payoffs = [
        score for score in game.scores if score.is_payoff and score != game.gain(_role_of(score))
    ]
    for unit, scores in groupby(payoffs, key=lambda score: score.unit):
        layers = {score.title: _dots(game, _role_of(score), score) for score in scores}
        title = next(iter(layers)) if len(layers) == 1 else "Payoff"
        panels.append(_rows(game, title, unit, list(layers.values())))
    return panels


def _role_of(score: Score) -> str:
    return score.role or ""


def metrics(game: GameScores) -> list[Chart]:
    """Return the charts of all metrics except roles' payoffs, by pairing."""
    gained = {game.gain(role).key for role in game.roles}
    return [
        _by_player(game, score, [score.role] if score.role else [*game.roles])
        for score in game.scores
        if score.key not in gained and not score.is_payoff
    ]


def _by_player(game: GameScores, score: Score, roles: list[str]) -> Chart:
    return _rows(game, score.title, score.unit, [_dots(game, role, score) for role in roles])


def _rows(game: GameScores, title: str, unit: str, layers: list[Points]) -> Chart:
    labels = (row[f"player_{role}"] for role in game.roles for row in _scored(game.players[role]))
    order = list(dict.fromkeys(labels))
    zeros = not any(mark.x for layer in layers for mark in layer.marks)
    across = Axis(ends=(0, 1) if zeros else (None, None))
    return Chart(title, unit, layers, across, Axis(names=tuple(order)))


def _scored(frame: pl.DataFrame) -> Iterator[Row]:
    return (row for row in frame.iter_rows(named=True) if row["finished"] > 0)


def _dots(game: GameScores, role: str, score: Score) -> Points:
    decimals = game.decimals[score.key]
    marks = []
    for row in _scored(game.players[role]):
        estimated, label = estimate(row, score.key), row[f"player_{role}"]
        if estimated.value is not None:
            text = f"{label} as {capital(role)}\n{_score_text(estimated, decimals)}"
            marks.append(
                Mark(estimated.value, label, text, _lead(game, row), x_ends=_ends(estimated))
            )
    name = capital(role) if len(game.roles) > 1 else ""
    return Points(marks, name, list(game.roles).index(role) % SERIES)


def _lead(game: GameScores, row: Row) -> Lead:
    return Lead(game.name, query(row) | {"status": "finished"})


def _ends(estimate: Estimate) -> Ends:
    """Return the interval to plot; None if missing or based on fewer than three instances."""
    return estimate.ends if (estimate.clusters or 0) >= 3 else None


def _score_text(estimate: Estimate, decimals: int) -> str:
    text = f"{fixed(estimate.value or 0.0, decimals)} {estimate.spread(decimals)}".rstrip()
    return (
        f"{text}\n{counted(estimate.n or 0, 'match')} in "
        f"{counted(estimate.clusters or 0, 'instance')}"
    )


def matrices(game: GameScores) -> list[Chart]:
    """Return heat maps of mean scores that vary over pairings of two seats, the first one down.

    If both seats have the same role, the payoff of the first seat is included.
    """
    scored = list(_scored(game.pairings))
    if len(game.seats) != 2 or len(scored) < 2:
        return []
    scores = [
        score
        for score in game.pairing_scores
        if not score.is_payoff or (game.shares and score.key == f"payoff_{game.seats[0]}")
    ]
    return [
        _matrix(game, score, scored)
        for score in scores
        if game.pairings[score.key].drop_nulls().n_unique() > 1
    ]


def _matrix(game: GameScores, score: Score, scored: list[Row]) -> Chart:
    down, across = game.seats
    seated = {(row[f"player_{down}"], row[f"player_{across}"]): row for row in scored}
    rows, columns = (sorted({names[side] for names in seated}) for side in (0, 1))
    decimals = game.decimals[score.key]

    def cell(first: str, second: str) -> Cell | None:
        row = seated.get((first, second))
        estimated = None if row is None else estimate(row, score.key)
        if row is None or estimated is None or estimated.value is None:
            return None
        pairing = f"{capital(down)} {first}, {capital(across)} {second}"
        text = f"{pairing}\n{_score_text(estimated, decimals)}"
        return Cell(estimated.value, text, _lead(game, row))

    names = (capital(down), rows), (capital(across), columns)
    return cells(score.title, score.unit, *names, cell, decimals=decimals)


def trade_off(game: GameScores) -> list[Chart]:
    """Return a chart of each pairing's efficiency and fairness, coloured by the first player."""
    keys = ("efficiency", "fairness")
    units = {score.key: score.unit for score in game.scores}
    if not all(key in units for key in keys):
        return []
    rows = game.pairings.drop_nulls(keys).rows(named=True)
    if len(rows) < 2 or not any(len({row[key] for row in rows}) > 1 for key in keys):
        return []
    first = game.seats[0]
    labels = sorted({row[f"player_{first}"] for row in rows})
    groups = [[row for row in rows if row[f"player_{first}"] == label] for label in labels]
    if len(labels) > SERIES or len(game.seats) > FEW:
        groups, labels = [rows], [""]
    layers = [
        _cloud(game, group, label, index, keys)
        for index, (group, label) in enumerate(zip(groups, labels, strict=True))
    ]
    across, up = (Axis(f"{key}, {units[key]}") for key in keys)
    return [Chart("Efficiency and fairness", "", layers, across, up, height=300)]


def _cloud(
    game: GameScores, rows: list[dict[str, Any]], name: str, tone: int, keys: tuple[str, str]
) -> Points:
    marks = []
    for row in rows:
        across, up = (estimate(row, key) for key in keys)
        text = f"{seated_text(row)}\nefficiency {across.value:.3f}, fairness {up.value:.3f}"
        marks.append(
            Mark(across.value, up.value, text, _lead(game, row), _ends(across), _ends(up), 4.5)
        )
    return Points(marks, name, tone, SHAPES[tone % len(SHAPES)])


def distributions(game: GameScores) -> list[Chart]:
    """Return histograms of integer scores, except scores with fewer than three values."""
    charts = []
    for score in game.scores:
        values = game.scored[score.key].drop_nulls()
        if score.is_payoff or values.n_unique() < 3:
            continue
        if not (values == values.round()).all():
            continue
        tally = values.cast(pl.Int64).value_counts(sort=False).sort(score.key)
        heights = [
            (
                value,
                count / len(values),
                f"{value} {score.unit}: {count / len(values):.1%}, {counted(count, 'match')}",
            )
            for value, count in tally.iter_rows()
        ]
        across = Axis(score.unit, integer=True)
        up = Axis("share of matches", zero=True, percent=True)
        charts.append(Chart(score.title, "", [columns(heights, width=0.9)], across, up))
    return charts
