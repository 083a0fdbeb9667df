"""Participants in a study of Deal or No Deal: number of games, and pay."""

from collections.abc import Iterator

import polars as pl

from cheaptalk.frames.people import read_plays
from cheaptalk.papers.printed import position
from cheaptalk.papers.self_play.stages import GAME, OBJECTIVES, objective_name, table
from cheaptalk.reports.charts.kinds import histogram
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Answer, Charts, NoData, Shown
from cheaptalk.reports.recipes.people import PERSON, currency, pay
from cheaptalk.reports.recipes.tables import ReportTable, estimate
from cheaptalk.rules import counted
from cheaptalk.rules.bounds import COUNT, SHARE
from cheaptalk.statistics.columns import with_matching
from cheaptalk.text import fixed

ENDS = ("points", "no points", "not finished")
"""The results of a game for a person, which determine the pay."""
MEANS = {
    "games": "Games",
    "all": "Pay, {unit}",
    "base": "Base pay, {unit}",
    "bonus": "Bonus, {unit}",
    "with_bonus": "Share with a bonus",
}
UNKNOWN = "unknown"
"""The name of the objective for games that never began or were erased."""


def played(evidence: Evidence) -> pl.DataFrame:
    """Return the completed games of participants, one row per game and participant.

    Columns: ``participant``, ``match_id``, ``weight`` (null if unknown), ``objective``, ``ended``
    (one of :data:`ENDS`), ``score``, ``earned`` and ``rewarded`` (1 for positive earnings, else 0).

    Raises:
        NoData: no participant has completed a game.
    """
    games = read_plays(evidence.store, evidence.study).filter(
        pl.col("game") == GAME, pl.col("match_id").is_not_null(), pl.col("state") != "playing"
    )
    if games.is_empty() or GAME not in evidence.frames:
        raise NoData(f"no person has completed a game of {GAME}")
    weights = evidence.frames[GAME].select(
        "match_id", pl.col("game_objective").cast(pl.Float64).alias("weight")
    )
    finished, scored = pl.col("state") == "finished", pl.col("payoff") > 0
    outcome = pl.when(finished & scored).then(pl.lit(ENDS[0]))
    ended = outcome.when(finished).then(pl.lit(ENDS[1])).otherwise(pl.lit(ENDS[2]))
    earned = pl.col("cents") / 100
    named = with_matching(games, weights, "match_id", "m:1").with_columns(
        objective=pl.col("weight").map_elements(objective_name, pl.String).fill_null(UNKNOWN),
        ended=ended,
        score="payoff",
        earned=earned,
        rewarded=(pl.col("cents") > 0).cast(pl.Float64),
    )
    order = (position("weight", OBJECTIVES), "weight", position("ended", ENDS))
    return named.sort(order, maintain_order=True)


def people_and_pay(evidence: Evidence) -> Iterator[Shown]:
    """Report participants' numbers of games and pay: base pay, and a bonus by points.

    Dialogues are matches with participants. Pay comes from the study's payments, and earnings are
    recorded at the end of a game. The last table shows the payment rule: earnings for games with
    points, without points, and not finished. The paper pays $1.00, $0.10 per game, $0.20 per point
    in semi-competitive and $0.10 per point in cooperative games, and $0.25 for a game that the
    model aborted.
    """
    games = evidence.once(played)
    people = _by_person(evidence, games)
    bounds = dict.fromkeys(MEANS, COUNT) | {"with_bonus": SHARE}
    single = people.with_columns(one=pl.lit(""))
    rows = means(single, [*MEANS], ["one"], cluster=PERSON, bounds=bounds)
    totals = rows.row(0, named=True)
    dialogues = games["match_id"].n_unique()
    unit, sign = currency(evidence)
    number, spent = estimate(totals, "games"), estimate(totals, "all")
    text = f"{counted(people.height, 'participant')} played {counted(dialogues, 'dialogue')}"
    text += f", {fixed(number.value or 0, 1)} each{number.within(1)}"
    if spent.value is not None:
        text += f", and earned {sign}{fixed(spent.value, 2)} on average{spent.within(2)}"
    yield Answer(f"{text}.")
    panels = [histogram("Games by person", people["games"].to_list(), "games", "people", width=1)]
    if people["all"].is_not_null().any():
        paid = people["all"].drop_nulls().to_list()
        panels.append(histogram("Pay by person", paid, f"pay, {unit}", "people"))
    yield Charts("people-figure", "Games and pay by person", panels)
    yield table(evidence, "people", _transposed(totals, people, unit))
    yield pay_by_rule(evidence, games, unit)
    figure = {
        "row": ["Workers", "Dialogues", f"Mean pay, {unit}"],
        "value": [float(people.height), float(dialogues), spent.value],
        "places": [0, 0, 2],
    }
    yield table(evidence, "figure-4", pl.DataFrame(figure))


def _by_person(evidence: Evidence, games: pl.DataFrame) -> pl.DataFrame:
    """Return games and pay by participant; the pay is null if there are no payments yet."""
    counts = games.group_by("participant", maintain_order=True).agg(
        pl.len().cast(pl.Float64).alias("games")
    )
    try:
        paid = evidence.once(pay)
    except NoData:
        amounts = dict.fromkeys(("all", "base", "bonus"), pl.Float64())
        paid = pl.DataFrame(schema={"participant": pl.String(), **amounts})
    with_bonus = (pl.col("bonus") > 0).cast(pl.Float64)
    return with_matching(counts, paid, "participant").with_columns(with_bonus=with_bonus)


def _transposed(totals: dict[str, float | None], people: pl.DataFrame, unit: str) -> pl.DataFrame:
    rows = [
        {
            "title": title.format(unit=unit),
            "people": people[key].count(),
            "median": people[key].median(),
            "most": people[key].max(),
            "total": people[key].sum() if people[key].count() else None,
        }
        | {
            name.replace(key, "mean", 1): value
            for name, value in totals.items()
            if name == key or name.startswith(f"{key}.")
        }
        for key, title in MEANS.items()
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def pay_by_rule(evidence: Evidence, games: pl.DataFrame, unit: str) -> ReportTable:
    """Return a table of participants' earnings by objective and result of a game."""
    by = ["objective", "ended"]
    bounds = {"earned": COUNT, "rewarded": SHARE}
    averages = means(games, ["score", "earned", "rewarded"], by, cluster=PERSON, bounds=bounds)
    point = pl.when(pl.col("score").sum() > 0).then(pl.col("earned").sum() / pl.col("score").sum())
    counts = games.group_by(by, maintain_order=True).agg(
        pl.len().alias("games"),
        pl.col("match_id").n_unique().alias("dialogues"),
        pl.col("participant").n_unique().alias("people"),
        point.alias("point"),
    )
    frame = counts.join(averages, on=by, maintain_order="left", validate="1:1")
    return table(evidence, "pay-by-rule", frame, facts={"unit": unit})
