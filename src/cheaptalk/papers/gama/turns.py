"""The two games in which players take turns: battles and pirates, ballot by ballot."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from cheaptalk.papers.gama import paper_tables
from cheaptalk.papers.gama.rounds import by_round
from cheaptalk.papers.gama.scores import alone, default_players, default_runs, lead
from cheaptalk.reports.charts.chart import Axis, Boxes, Chart, Line, Mark, Points, Shape
from cheaptalk.reports.charts.kinds import Row, columns
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Charts, Lacking
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.rules import SHARE, game_box, numbered
from cheaptalk.statistics import STRATA
from cheaptalk.text import plain

BATTLE, PIRATES = "battle_royale", "pirate_game"
ENDS = ("rounds", "survivors", "misses_on_purpose")
"""Measures of how battles end."""
BALLOTS = ("plan_distance", "vote_accuracy", "optimal_votes", "ballots", "overboard")
"""Measures of plans and votes."""
MOST = 12
"""Players of whom a match is drawn, the first by name."""
WIDEST = 20
"""Pirates up to which a ballot is shown in a table."""


def battles(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """Battles of players who fill all seats: how they end, and one of each drawn shot by shot.

    In the figures time runs to the right, and a row is a player, the best shot on top. A line is
    grey while the player lives; an arrow leads from who shoots to whom it shoots at, with a cross
    where it hits and a ring where it misses. A dot without an arrow is a miss on purpose. Drawn is
    the first run of each player. Means have 95 % intervals clustered by deal (CR1, Student's t).
    """
    runs = _alone(evidence, BATTLE, "no battle royale of one player in all seats has finished")
    yield _means(evidence, runs, BATTLE, "battles", "How battles end", ENDS)
    every = evidence.once(by_round)[BATTLE]
    panels = [_battle(who, every.filter(match=match)) for who, match in _samples(runs)]
    yield Charts("battles", "One battle of each player", panels)


def pirates(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """Plans and votes of crews in which one player fills all seats.

    Bars above the line are the mean distance of plans from the optimal one, as a share of the most
    it can be (twice the gold); bars below are the share of right votes; a pair a ballot. The table
    has the first run of each player: what each pirate would get, and whether it is for the plan;
    the distance in coins and the share of right votes of each ballot. Right is what the measures
    say that the score is made of. Means have 95 % intervals clustered by deal (CR1, Student's t).
    """
    runs = _alone(evidence, PIRATES, "no pirate game of one player in all seats has finished")
    yield _means(evidence, runs, PIRATES, "pirates", "Plans and votes", BALLOTS)
    every = evidence.once(by_round)[PIRATES].join(
        runs.select("match", who="player"), on="match", validate="m:1", maintain_order="left"
    )
    gold = evidence.scored(PIRATES).select("match", pl.col("game.gold").alias("gold"))
    ballots = every.filter(pl.col("place").is_null()).join(
        gold, on="match", validate="m:1", maintain_order="left"
    )
    shares = ballots.with_columns(wrong=pl.col("plan_distance") / (2 * pl.col("gold")))
    values = ["wrong", "vote_accuracy"]
    bars = means(shares, values, ["who", "round"], bounds=dict.fromkeys(values, SHARE)).sort(
        "who", "round"
    )
    players = bars["who"].unique(maintain_order=True).to_list()[:MOST]
    longest = int(bars["round"].n_unique())
    yield Charts(
        "pirates", "Wrong plans and right votes by ballot",
        [_double(who, bars.filter(who=who).to_dicts(), longest) for who in players],
    )  # fmt: skip
    ballots_shown = _sample_ballots(every, runs)
    yield ballots_shown
    yield from paper_tables.voyages(evidence, ballots_shown.frame)


def _alone(evidence: Evidence, game: str, lacking: str) -> pl.DataFrame:
    runs = default_runs(default_players(evidence.once(alone))).filter(game=game)
    if runs.is_empty():
        raise Lacking(f"{lacking}; run the preset gama")
    return runs


def _samples(runs: pl.DataFrame) -> list[tuple[str, str]]:
    """The first match of each player, of so many players."""
    firsts = runs.sort("player", "run").unique("player", keep="first", maintain_order=True)
    return firsts.select("player", "match").rows()[:MOST]


def _means(
    evidence: Evidence,
    runs: pl.DataFrame,
    game: str,
    name: str,
    title: str,
    values: tuple[str, ...],
) -> ReportTable:
    """Means of some of the game's measures, a row a player."""
    box = game_box(game)
    frame = evidence.scored(game).join(
        runs.select("match", who="player"), on="match", validate="1:1", maintain_order="left"
    )
    bounds = {value: box.measures[value].bounds for value in values}
    found = means(frame, values, ["who"], bounds=bounds, strata=STRATA).sort("who")
    columns = tuple(
        Header(one, one.replace("_", " ").capitalize(), box.measures[one].unit, 2,
               box.measures[one].meaning)
        for one in values
    )  # fmt: skip
    return ReportTable(
        name, title, found, (Header("who", "Player"), *columns),
        leads=lambda row: lead(runs, game, row["who"]),
    )  # fmt: skip


def _battle(who: str, match: pl.DataFrame) -> Chart:
    """One battle: who lived until when, and all shots."""
    shots = match.drop_nulls("strongest").sort("round").to_dicts()
    living = match.filter(pl.col("place").is_null()).sort("round")["living"][0]
    seats = list(numbered("player", int(living + (shots[0]["hit"] or 0))))  # before the first shot
    ends = {seats[int(shot["target"]) - 1]: shot["round"] for shot in shots if shot["hit"]}
    last = len(shots)
    lives = _segments([(0.5, seat, ends.get(seat, last + 0.5), seat) for seat in seats])
    layers: list[Line | Points] = [Line(lives, tone="rule", width=5, dots=False)]
    aimed = [shot for shot in shots if shot["target"] is not None]
    kinds: tuple[tuple[int, str, Shape], ...] = ((0, "miss", "ring"), (1, "hit", "cross"))
    for hit, name, shape in kinds:
        own = [shot for shot in aimed if shot["hit"] == hit]
        if own:
            layers += _arrows(own, seats, name, shape, hit)
    idle = [shot for shot in shots if shot["target"] is None]
    if idle:
        layers.append(Points(_marks(idle, [shot["place"] for shot in idle]), "miss on purpose", 2))
    labels = tuple(seat.rpartition("_")[2] for seat in seats)
    across = Axis("round", ends=(0.4, last + 0.6), whole=True)
    down = Axis("player", names=tuple(seats), labels=labels)
    return Chart(who, "", layers, across, down, 220)


def _segments(ends: list[tuple[float, str, float, str]]) -> list[Mark]:
    return [
        mark for x, y, to_x, to_y in ends for mark in (Mark(x, y), Mark(to_x, to_y), Mark(None, y))
    ]


def _arrows(
    shots: Sequence[Row], seats: list[str], name: str, shape: Shape, tone: int
) -> list[Line | Points]:
    targets = [seats[int(shot["target"]) - 1] for shot in shots]
    ends = [(shot["round"], shot["place"], shot["round"], target)
            for shot, target in zip(shots, targets, strict=True)]  # fmt: skip
    starts = [Mark(shot["round"], shot["place"], size=2.5) for shot in shots]
    return [
        Line(_segments(ends), tone=tone, dots=False), Points(starts, tone=tone),
        Points(_marks(shots, targets), name, tone, shape),
    ]  # fmt: skip


def _marks(shots: Sequence[Row], y: list[str]) -> list[Mark]:
    said = [
        f"round {shot['round']}: {plain(shot['place'])} "
        + ("misses on purpose" if shot["target"] is None
           else f"shoots at player {int(shot['target'])}: {'hit' if shot['hit'] else 'miss'}")
        for shot in shots
    ]  # fmt: skip
    return [
        Mark(shot["round"], where, text) for shot, where, text in zip(shots, y, said, strict=True)
    ]


def _double(who: str, rows: Sequence[Row], ballots: int) -> Chart:
    """Two bars a ballot: how wrong its plans were, upwards, and its right votes, downwards."""
    layers: list[Boxes] = []
    for tone, (value, name, sign) in enumerate(
        (("vote_accuracy", "right votes", -1), ("wrong", "plan's distance", 1))
    ):
        heights = [
            (row["round"], sign * row[value],
             f"ballot {row['round']}, {name}: {row[value]:.0%} in {row[f'{value}.n']} matches")
            for row in rows
        ]  # fmt: skip
        layers.append(columns(heights, name=name, tone=tone))
    ticks = tuple((tick, f"{abs(tick):.0%}") for tick in (-1, -0.5, 0, 0.5, 1))
    across = Axis("ballot", ends=(0.4, ballots + 0.6), whole=True)
    return Chart(who, "", layers[::-1], across, Axis(ends=(-1.05, 1.05), ticks=ticks))


def _sample_ballots(every: pl.DataFrame, runs: pl.DataFrame) -> ReportTable:
    """The ballots of one match of each player, pirate by pirate."""
    rows: list[dict[str, Any]] = []
    for who, match in _samples(runs):
        ballots = every.filter(match=match).group_by("round", maintain_order=True)
        for (number, *_), ballot in ballots:
            table = ballot.filter(pl.col("place").is_null()).row(0, named=True)
            numbers = {name: table[name] for name in ("plan_distance", "vote_accuracy")}
            voted = {"who": who, "ballot": number, **numbers}
            for row in ballot.drop_nulls("place").iter_rows(named=True):
                pirate, sign = row["place"].rpartition("_")[2], "✓" if row["accepted"] else "✗"
                voted[f"pirate {pirate}"] = f"{row['coins']:.0f}\u00a0{sign}"
            rows.append(voted)
    places = dict.fromkeys(key for row in rows for key in row if key.startswith("pirate "))
    shown = list(places)[:WIDEST]
    columns = (
        Header("who", "Player"), Header("ballot", "Ballot", "", 0),
        *(Header(place, place.removeprefix("pirate ")) for place in shown),
        Header("plan_distance", "Distance", "coins", 0),
        Header("vote_accuracy", "Right votes", "share", 2),
    )  # fmt: skip
    note = f"Of {len(places)} pirates the first {WIDEST} are shown." * (len(places) > WIDEST)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return ReportTable(
        "pirate-ballots", "One voyage of each player", frame, columns,
        "Coins for each pirate by rank, with ✓ where it is for the plan and ✗ where it is not.",
        (note,) if note else (), lambda row: lead(runs, PIRATES, row["who"]),
    )  # fmt: skip
