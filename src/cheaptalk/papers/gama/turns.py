"""Battle royale shot by shot, and the pirate game ballot by ballot."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from cheaptalk.papers.gama.paper_tables import numbered_table, shown
from cheaptalk.papers.gama.rounds import by_round
from cheaptalk.papers.gama.scores import (
    default_players,
    default_runs,
    lead,
    single_player_runs,
    table,
)
from cheaptalk.reports.charts.chart import Axis, Boxes, Chart, Line, Mark, Points, Shape
from cheaptalk.reports.charts.kinds import Row, columns
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Charts, NoData, Shown
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.rules import SHARE, get_game, numbered_seats
from cheaptalk.statistics import STRATA
from cheaptalk.statistics.columns import with_matching
from cheaptalk.text import plain

BATTLE, PIRATES = "battle_royale", "pirate_game"
ENDS = ("rounds_played", "survivors", "misses_on_purpose")
BALLOTS = ("plan_distance", "vote_accuracy", "optimal_votes", "ballots", "overboard")
MAX_PANELS = 12
MAX_PIRATES = 20


def battles(evidence: Evidence) -> Iterator[Shown]:
    """Report how battle royales end if one player fills all seats, and plot one run per player.

    In the figures, time runs to the right; each row is a player, with the best shot on top. Grey
    lines show players who are alive. Arrows lead from the shooter to the target, with a cross for a
    hit and a ring for a miss. A dot without an arrow is an intentional miss. The figures show each
    player's first run. Means have 95 % confidence intervals clustered by instance (CR1, Student's
    t).
    """
    runs = _single_player_matches(evidence, BATTLE)
    yield _means(evidence, runs, BATTLE, "End of battles", ENDS)
    frame = evidence.once(by_round)[BATTLE]
    panels = [_battle(label, frame.filter(match_id=match)) for label, match in _samples(runs)]
    yield Charts("battles", "One battle per player", panels)


def pirates(evidence: Evidence) -> Iterator[Shown]:
    """Report the plans and votes in pirate games in which one player fills all seats.

    For each ballot, the bar above the line is the mean distance of plans from the optimal plan, as
    a share of the maximum (twice the gold). The bar below the line is the share of correct votes,
    as defined by the game's metrics. The table shows each player's first run: the coins and vote of
    each pirate, the distance of the plan in coins, and the share of correct votes. Means have 95 %
    confidence intervals clustered by instance (CR1, Student's t).
    """
    runs = _single_player_matches(evidence, PIRATES)
    yield _means(evidence, runs, PIRATES, "Plans and votes", BALLOTS)
    gold = evidence.scored(PIRATES).select("match_id", gold="game_gold")
    known = with_matching(runs.select("match_id", who="player"), gold, "match_id")
    frame = evidence.once(by_round)[PIRATES].join(
        known, on="match_id", validate="m:1", maintain_order="left"
    )
    ballots = frame.filter(pl.col("seat").is_null())
    shares = ballots.with_columns(wrong=pl.col("plan_distance") / (2 * pl.col("gold")))
    bounds = dict.fromkeys(("wrong", "vote_accuracy"), SHARE)
    bars = means(shares, [*bounds], ["who", "round"], bounds=bounds).sort("who", "round")
    players = bars["who"].unique(maintain_order=True).to_list()[:MAX_PANELS]
    longest = int(bars["round"].n_unique())
    yield Charts(
        "pirates",
        "Plan distance and correct votes by ballot",
        [_double(label, bars.filter(who=label).to_dicts(), longest) for label in players],
    )
    ballots_shown = _sample_ballots(evidence, frame, runs)
    yield ballots_shown
    yield from _voyages(evidence, ballots_shown.numbers)


def _single_player_matches(evidence: Evidence, game: str) -> pl.DataFrame:
    runs = default_runs(default_players(evidence.once(single_player_runs))).filter(game=game)
    if runs.is_empty():
        lacking = f"no {plain(game)} with one player in all seats has finished"
        raise NoData(f"{lacking}; the preset gama has such matches")
    return runs


def _samples(runs: pl.DataFrame) -> list[tuple[str, str]]:
    firsts = runs.sort("player", "run").unique("player", keep="first", maintain_order=True)
    return firsts.select("player", "match_id").rows()[:MAX_PANELS]


def _means(
    evidence: Evidence, runs: pl.DataFrame, game: str, title: str, values: tuple[str, ...]
) -> ReportTable:
    metrics = {value: get_game(game).metrics[value] for value in values}
    frame = evidence.scored(game).join(
        runs.select("match_id", who="player"), on="match_id", validate="1:1", maintain_order="left"
    )
    bounds = {name: metric.bounds for name, metric in metrics.items()}
    headers = [
        Header(value, plain(value).capitalize(), metric.unit, 2, metric.meaning)
        for value, metric in metrics.items()
    ]
    return table(
        evidence,
        "metrics",
        means(frame, values, ["who"], bounds=bounds, strata=STRATA).sort("who"),
        name={BATTLE: "battles", PIRATES: "pirates"}[game],
        columns={"metrics": headers},
        facts={"title": title},
        leads=lambda row: lead(runs, game, row["who"]),
    )


def _battle(label: str, match: pl.DataFrame) -> Chart:
    shots = match.drop_nulls("strongest").sort("round").to_dicts()
    living = match.filter(pl.col("seat").is_null()).sort("round")["survivors"][0]
    seats = list(
        numbered_seats("player", int(living + (shots[0]["hit"] or 0)))
    )  # before the first shot
    ends = {seats[int(shot["target"]) - 1]: shot["round"] for shot in shots if shot["hit"]}
    last = len(shots)
    lives = _segments([(0.5, seat, ends.get(seat, last + 0.5), seat) for seat in seats])
    layers: list[Line | Points] = [Line(lives, tone="rule", width=5, dots=False)]
    kinds: tuple[tuple[int, str, Shape], ...] = ((0, "miss", "ring"), (1, "hit", "cross"))
    for hit, name, shape in kinds:
        aimed = [shot for shot in shots if shot["target"] is not None and shot["hit"] == hit]
        layers += _arrows(aimed, seats, name, shape, hit) if aimed else []
    if idle := [shot for shot in shots if shot["target"] is None]:
        layers.append(Points([_mark(shot, shot["seat"]) for shot in idle], "intentional miss", 2))
    labels = tuple(seat.rpartition("_")[2] for seat in seats)
    across = Axis("round", ends=(0.4, last + 0.6), integer=True)
    down = Axis("player", names=tuple(seats), labels=labels)
    return Chart(label, "", layers, across, down, 220)


def _segments(ends: list[tuple[float, str, float, str]]) -> list[Mark]:
    return [
        mark for x, y, to_x, to_y in ends for mark in (Mark(x, y), Mark(to_x, to_y), Mark(None, y))
    ]


def _arrows(
    shots: Sequence[Row], seats: list[str], name: str, shape: Shape, tone: int
) -> list[Line | Points]:
    aims = [(shot, seats[int(shot["target"]) - 1]) for shot in shots]
    ends = [(shot["round"], shot["seat"], shot["round"], target) for shot, target in aims]
    starts = [Mark(shot["round"], shot["seat"], size=2.5) for shot in shots]
    return [
        Line(_segments(ends), tone=tone, dots=False),
        Points(starts, tone=tone),
        Points([_mark(shot, target) for shot, target in aims], name, tone, shape),
    ]


def _mark(shot: Row, seat: str) -> Mark:
    result = "misses intentionally"
    if shot["target"] is not None:
        result = f"shoots at player {int(shot['target'])}: {'hit' if shot['hit'] else 'miss'}"
    return Mark(shot["round"], seat, f"round {shot['round']}: {plain(shot['seat'])} {result}")


def _double(label: str, rows: Sequence[Row], ballots: int) -> Chart:
    layers: list[Boxes] = []
    for tone, (value, name, sign) in enumerate(
        (("vote_accuracy", "correct votes", -1), ("wrong", "plan distance", 1))
    ):
        heights = []
        for row in rows:
            sample = f"{row[value]:.0%} in {row[f'{value}.n']} matches"
            text = f"ballot {row['round']}, {name}: {sample}"
            heights.append((row["round"], sign * row[value], text))
        layers.append(columns(heights, name=name, tone=tone))
    ticks = tuple((tick, f"{abs(tick):.0%}") for tick in (-1, -0.5, 0, 0.5, 1))
    across = Axis("ballot", ends=(0.4, ballots + 0.6), integer=True)
    return Chart(label, "", layers[::-1], across, Axis(ends=(-1.05, 1.05), ticks=ticks))


def _sample_ballots(
    evidence: Evidence, frame_by_round: pl.DataFrame, runs: pl.DataFrame
) -> ReportTable:
    rows: list[dict[str, Any]] = []
    for label, match in _samples(runs):
        ballots = frame_by_round.filter(match_id=match).group_by("round", maintain_order=True)
        for (number, *_), ballot in ballots:
            results = ballot.filter(pl.col("seat").is_null())
            voted = {"who": label, "ballot": number}
            voted |= results.select("plan_distance", "vote_accuracy").row(0, named=True)
            for row in ballot.drop_nulls("seat").iter_rows(named=True):
                pirate, sign = row["seat"].rpartition("_")[2], "✓" if row["approval"] else "✗"
                voted[f"pirate {pirate}"] = f"{row['coins']:.0f}\u00a0{sign}"
            rows.append(voted)
    pirates = dict.fromkeys(key for row in rows for key in row if key.startswith("pirate "))
    shown = list(pirates)[:MAX_PIRATES]
    note = f"The first {MAX_PIRATES} of {len(pirates)} pirates are shown."
    return table(
        evidence,
        "pirate-ballots",
        pl.DataFrame(rows, infer_schema_length=None),
        columns={"pirates": {pirate: pirate.removeprefix("pirate ") for pirate in shown}},
        notes=[note] * (len(pirates) > MAX_PIRATES),
        leads=lambda row: lead(runs, PIRATES, row["who"]),
    )


def _voyages(evidence: Evidence, ballots: pl.DataFrame) -> Iterator[ReportTable]:
    """Yield Table 2 for each player ``who``: a row per ballot and a column per pirate.

    Pirates who have been thrown overboard have a dash. Voyages are random, so cells can't be
    compared with the printed values.
    """
    pirates = [name for name in ballots.columns if name.startswith("pirate ")]
    columns = {"pirates": {name: name.removeprefix("pirate ") for name in pirates}}
    frame = ballots.with_columns(
        pl.format("Round {}", "ballot").alias("ballot"),
        pl.col(pirates).str.replace("\u00a0", "").fill_null("-"),
    )
    players = ballots["who"].unique(maintain_order=True).to_list()
    for label, model in shown(evidence, players).items():
        rows = frame.filter(who=label).select("ballot", *pirates, "plan_distance", "vote_accuracy")
        yield numbered_table(evidence, "voyage", model, label, rows, columns=columns)
