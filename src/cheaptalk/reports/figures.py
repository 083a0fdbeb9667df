"""The charts of a game's scores: small ones that share their rows, so that they compare."""

import polars as pl

from cheaptalk.records import FEW
from cheaptalk.reports.charts.chart import SERIES, SHAPES, Axis, Chart, Lead, Mark, Points
from cheaptalk.reports.charts.kinds import Cell, cells, columns
from cheaptalk.reports.score_lines import Score, ScoreEstimate, ScoreLine
from cheaptalk.reports.scores import GameScores
from cheaptalk.rules import counted
from cheaptalk.text import capital, fixed


def gains(game: GameScores) -> list[Chart]:
    """For every score, what players got in each role, over all others: dots with whiskers.

    Those with a scored match are shown, who gained most in the first role on top.

    Payoffs are shown of roles with several places, whose players no measure tells apart.
    """
    played = [line for role in game.roles for line in game.players[role] if line.estimates]
    order = list(dict.fromkeys(label for line in played for label in line.players.values()))
    charts = []
    for score in game.scores:
        if score.key.startswith("payoff.") and not game.shared(score.role or ""):
            continue
        roles = [score.role] if score.role else list(game.roles)
        layers = [_dots(game, role, score) for role in roles]
        zeros = not any(mark.x for layer in layers for mark in layer.marks)
        across = Axis(ends=(0, 1) if zeros else (None, None))
        charts.append(Chart(score.title, score.unit, layers, across, Axis(names=tuple(order))))
    return charts


def _dots(game: GameScores, role: str, score: Score) -> Points:
    lines = [line for line in game.players[role] if score.key in line.estimates]
    places = game.decimals[score.key]
    marks = [
        Mark(
            one.mean, line.players[role],
            f"{line.players[role]} as {capital(role)}\n{_told(one, places)}", _lead(game, line),
            x_ends=_ends(one),
        )
        for line in lines for one in (line.estimates[score.key],)
    ]  # fmt: skip
    name = capital(role) if len(game.roles) > 1 else ""
    return Points(marks, name, list(game.roles).index(role) % SERIES)


def _lead(game: GameScores, line: ScoreLine) -> Lead:
    return Lead(game.name, line.query | {"status": "finished"})


def _ends(one: ScoreEstimate) -> tuple[float, float] | None:
    """An interval; none where two deals give one so wide that it would hide the others."""
    if one.low is None or one.high is None or one.clusters < 3:
        return None
    return one.low, one.high


def _told(one: ScoreEstimate, places: int) -> str:
    matches, deals = counted(one.n, "match"), counted(one.clusters, "deal")
    return f"{fixed(one.mean, places)} {one.interval(places)}\n{matches} in {deals}"


def matrices(game: GameScores) -> list[Chart]:
    """For every score, the means of all pairings: rows play the first place, columns the second.

    There are none where a game has not exactly two places. Where these have one role, no measure
    tells them apart, and what the first got is shown too.
    """
    scored = [line for line in game.pairings if line.estimates]
    if len(game.places) != 2 or len(scored) < 2:
        return []
    shown = [
        score for score in game.pairing_scores
        if not score.key.startswith("payoff.")
        or (game.shares and score.key == f"payoff.{game.places[0]}")
    ]  # fmt: skip
    return [_matrix(game, score, scored) for score in shown]


def _matrix(game: GameScores, score: Score, scored: list[ScoreLine]) -> Chart:
    down, across = game.places
    rows = sorted({line.players[down] for line in scored})
    found = sorted({line.players[across] for line in scored})
    seated = {(line.players[down], line.players[across]): line for line in scored}
    places = game.decimals[score.key]

    def cell(row: str, column: str) -> Cell | None:
        line = seated.get((row, column))
        if line is None or score.key not in line.estimates:
            return None
        one = line.estimates[score.key]
        said = f"{capital(down)} {row}, {capital(across)} {column}\n{_told(one, places)}"
        return Cell(one.mean, said, _lead(game, line))

    return cells(
        score.title, score.unit, (capital(down), rows), (capital(across), found), cell,
        places=places,
    )  # fmt: skip


def trade_off(game: GameScores) -> list[Chart]:
    """Efficiency against fairness, a dot a pairing, coloured by who plays the first place."""
    keys = ("efficiency", "fairness")
    titles = {score.key: score for score in game.scores}
    lines = [line for line in game.pairings if all(key in line.estimates for key in keys)]
    if len(lines) < 2:
        return []
    first = game.places[0]
    labels = sorted({line.players[first] for line in lines})
    groups = [[line for line in lines if line.players[first] == label] for label in labels]
    if len(labels) > SERIES or len(game.places) > FEW:
        groups, labels = [lines], [""]
    layers = [
        _cloud(game, group, f"{capital(first)} is {label}" if label else "", place, keys)
        for place, (group, label) in enumerate(zip(groups, labels, strict=True))
    ]
    across, up = (Axis(f"{key}, {titles[key].unit}") for key in keys)
    return [Chart("Efficiency and fairness", "", layers, across, up, height=300)]


def _cloud(
    game: GameScores, lines: list[ScoreLine], name: str, place: int, keys: tuple[str, str]
) -> Points:
    marks = [
        Mark(
            across.mean, up.mean,
            f"{line.label}\nefficiency {across.mean:.3f}, fairness {up.mean:.3f}",
            _lead(game, line), _ends(across), _ends(up), 4.5,
        )
        for line in lines for across, up in ([line.estimates[key] for key in keys],)
    ]  # fmt: skip
    return Points(marks, name, place, SHAPES[place % len(SHAPES)])


def distributions(game: GameScores) -> list[Chart]:
    """How often each value came, for scores that are whole numbers and more than yes or no."""
    charts = []
    for score in game.scores:
        values = game.scored[score.key].drop_nulls()
        if score.key.startswith("payoff.") or values.n_unique() < 3:
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
