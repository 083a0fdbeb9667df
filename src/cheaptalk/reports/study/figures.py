"""The charts of a game's scores: small ones that share their rows, so that they compare."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import polars as pl

from cheaptalk.records import FEW
from cheaptalk.reports.charts.chart import SERIES, SHAPES, Axis, Chart, Lead, Mark, Points
from cheaptalk.reports.charts.kinds import Cell, cells, columns
from cheaptalk.reports.recipes.tables import Estimate, estimate
from cheaptalk.reports.study.scores import GameScores, Score, query, seated_text
from cheaptalk.rules import counted
from cheaptalk.text import capital, fixed

COUNTS = ("match", "deal")
"""What numbers of a study are of, and what clusters are."""
Row = Mapping[str, Any]


def gains(game: GameScores) -> list[Chart]:
    """What players gained: each role's gain, then payoffs, those of one unit in one chart."""
    found = [_along(game, game.gain(role), [role]) for role in game.roles]
    payoffs = [score for score in game.scores if score.is_payoff and score != game.gain(_of(score))]
    for unit, scores in groupby(payoffs, key=lambda score: score.unit):
        own = list(scores)
        title = own[0].title if len(own) == 1 else "Payoff"
        found.append(_rows(game, title, unit, [_dots(game, _of(one), one) for one in own]))
    return found


def _of(score: Score) -> str:
    """The role whose payoff it is."""
    return score.role or ""


def measures(game: GameScores) -> list[Chart]:
    """What matches came to besides: every measure that is nobody's gain, by who sat where."""
    gained = {game.gain(role).key for role in game.roles}
    return [
        _along(game, score, [score.role] if score.role else [*game.roles])
        for score in game.scores if score.key not in gained and not score.is_payoff
    ]  # fmt: skip


def _along(game: GameScores, score: Score, roles: list[str]) -> Chart:
    return _rows(game, score.title, score.unit, [_dots(game, role, score) for role in roles])


def _rows(game: GameScores, title: str, unit: str, layers: list[Points]) -> Chart:
    """A line a player, who gained most in the first role on top."""
    scored = (
        (role, row) for role in game.roles for row in _scored(game.players[role])
    )  # fmt: skip
    order = list(dict.fromkeys(row[f"player.{role}"] for role, row in scored))
    zeros = not any(mark.x for layer in layers for mark in layer.marks)
    across = Axis(ends=(0, 1) if zeros else (None, None))
    return Chart(title, unit, layers, across, Axis(names=tuple(order)))


def _scored(frame: pl.DataFrame) -> Iterator[Row]:
    return frame.filter(pl.col("finished") > 0).iter_rows(named=True)


def _dots(game: GameScores, role: str, score: Score) -> Points:
    places = game.decimals[score.key]
    marks = []
    for row in _scored(game.players[role]):
        one, label = estimate(row, score.key), row[f"player.{role}"]
        if one.value is not None:
            said = f"{label} as {capital(role)}\n{_told(one, places)}"
            marks.append(Mark(one.value, label, said, _lead(game, row), x_ends=_ends(one)))
    name = capital(role) if len(game.roles) > 1 else ""
    return Points(marks, name, list(game.roles).index(role) % SERIES)


def _lead(game: GameScores, row: Row) -> Lead:
    return Lead(game.name, query(row) | {"status": "finished"})


def _ends(one: Estimate) -> tuple[float, float] | None:
    """An interval; none where two deals give one so wide that it would hide the others."""
    if one.low is None or one.high is None or (one.clusters or 0) < 3:
        return None
    return one.low, one.high


def _told(one: Estimate, places: int) -> str:
    said = f"{fixed(one.value or 0.0, places)} {one.spread(places)}".rstrip()
    return f"{said}\n{counted(one.n or 0, 'match')} in {counted(one.clusters or 0, 'deal')}"


def matrices(game: GameScores) -> list[Chart]:
    """For every score, the means of all pairings: rows play the first place, columns the second.

    There are none where a game has not exactly two places, and none of a score that is the same in
    all pairings. Where the places have one role, no measure tells them apart, and what the first
    got is shown too.
    """
    scored = list(_scored(game.pairings))
    if len(game.places) != 2 or len(scored) < 2:
        return []
    shown = [
        score for score in game.pairing_scores
        if not score.is_payoff or (game.shares and score.key == f"payoff.{game.places[0]}")
    ]  # fmt: skip
    return [
        _matrix(game, score, scored) for score in shown
        if game.pairings[score.key].drop_nulls().n_unique() > 1
    ]  # fmt: skip


def _matrix(game: GameScores, score: Score, scored: list[Row]) -> Chart:
    down, across = game.places
    seated = {(row[f"player.{down}"], row[f"player.{across}"]): row for row in scored}
    rows, found = (sorted({names[side] for names in seated}) for side in (0, 1))
    places = game.decimals[score.key]

    def cell(first: str, second: str) -> Cell | None:
        row = seated.get((first, second))
        one = None if row is None else estimate(row, score.key)
        if row is None or one is None or one.value is None:
            return None
        said = f"{capital(down)} {first}, {capital(across)} {second}\n{_told(one, places)}"
        return Cell(one.value, said, _lead(game, row))

    return cells(
        score.title, score.unit, (capital(down), rows), (capital(across), found), cell,
        places=places,
    )  # fmt: skip


def trade_off(game: GameScores) -> list[Chart]:
    """Efficiency against fairness, a dot a pairing, coloured by who plays the first place."""
    keys = ("efficiency", "fairness")
    units = {score.key: score.unit for score in game.scores}
    if not all(key in units for key in keys):
        return []
    rows = game.pairings.drop_nulls(keys).rows(named=True)
    if len(rows) < 2 or not any(len({row[key] for row in rows}) > 1 for key in keys):
        return []
    first = game.places[0]
    labels = sorted({row[f"player.{first}"] for row in rows})
    groups = [[row for row in rows if row[f"player.{first}"] == label] for label in labels]
    if len(labels) > SERIES or len(game.places) > FEW:
        groups, labels = [rows], [""]
    layers = [
        _cloud(game, group, label, place, keys)
        for place, (group, label) in enumerate(zip(groups, labels, strict=True))
    ]
    across, up = (Axis(f"{key}, {units[key]}") for key in keys)
    return [Chart("Efficiency and fairness", "", layers, across, up, height=300)]


def _cloud(
    game: GameScores, rows: list[dict[str, Any]], name: str, place: int, keys: tuple[str, str]
) -> Points:
    marks = []
    for row in rows:
        across, up = (estimate(row, key) for key in keys)
        said = f"{seated_text(row)}\nefficiency {across.value:.3f}, fairness {up.value:.3f}"
        marks.append(
            Mark(across.value, up.value, said, _lead(game, row), _ends(across), _ends(up), 4.5)
        )
    return Points(marks, name, place, SHAPES[place % len(SHAPES)])


def distributions(game: GameScores) -> list[Chart]:
    """How often each value came, for scores that are whole numbers and more than yes or no."""
    charts = []
    for score in game.scores:
        values = game.scored[score.key].drop_nulls()
        if score.is_payoff or values.n_unique() < 3:
            continue
        if not (values == values.round()).all():
            continue
        tally = values.cast(pl.Int64).value_counts(sort=False).sort(score.key)
        heights = [
            (value, count / len(values),
             f"{value} {score.unit}: {count / len(values):.1%}, {counted(count, 'match')}")
            for value, count in tally.iter_rows()
        ]  # fmt: skip
        across = Axis(score.unit, whole=True)
        up = Axis("share of matches", zero=True, percent=True)
        charts.append(Chart(score.title, "", [columns(heights, width=0.9)], across, up))
    return charts
