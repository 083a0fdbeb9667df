"""Behaviour and mistakes of strategies in item bargaining, also by prompt (``circle_N``)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from cheaptalk.equilibrium.analysis.selection import NAME, with_names
from cheaptalk.frames.seats import by_seat
from cheaptalk.games.item_bargaining.empirical_view import MISTAKE_RADAR, OPPOSITION
from cheaptalk.games.item_bargaining.rules import FIRST, SEATS
from cheaptalk.papers.printed import paper_table, position, selected_labels
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.metagame.figures import instance_histogram, radar_panel
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means, side_by_side
from cheaptalk.reports.recipes.parts import Charts, NoData, Shown
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.rules import COUNT, get_game
from cheaptalk.statistics import STRATA

table = partial(paper_table, "metagame")
AGENTS = pl.read_csv(Path(__file__).parent / "printed" / "table-5.csv")["agent"].to_list()
"""The paper's agents in the order of the tables."""
GAME = "item_bargaining"
OWN = (
    "own_mistakes",
    "bad_acceptance",
    "bad_acceptance_by_turn",
    "bad_offer_accepted",
    "utility_given",
    "concession",
    "false_holdings_stated",
)
SHARED = ("rounds_played", "agreement", "ef1")
PERCENT = (0.0, 100.0)
TOUGH = "tough"
"""The name of the strategy that concedes only its least valuable item."""
OPPONENTS = ("vs tough", "vs others")
MANNER = (
    *("rounds_played", "rounds_agreed", "rounds_walked", "agreement", "own"),
    *OWN[4:6],
    OWN[0],
)


def scored(evidence: Evidence) -> pl.DataFrame:
    """Return the scored matches with named configurations; raise NoData if there are none."""
    frame = evidence.scored(GAME)
    if frame.is_empty():
        raise NoData(
            "no match of item bargaining has finished; the preset item-bargaining-heuristics "
            "has such matches, which take seconds"
        )
    return with_names(GAME, frame)[0]


def seats(evidence: Evidence) -> pl.DataFrame:
    """Return one row per match and seat, with both players, the metrics and the player's payoff."""
    return by_seat(scored(evidence), get_game(GAME), evidence.seats[GAME]).with_columns(
        own="payoff",
        rounds_agreed=pl.when(pl.col("agreement") == 1).then(pl.col("rounds_played")),
        rounds_walked=pl.when(pl.col("agreement") == 0).then(pl.col("rounds_played")),
    )


def _leads(row: Mapping[str, Any]) -> Lead:
    return Lead(GAME, {"player": row["player"], "status": "finished"})


def manner(evidence: Evidence) -> Iterator[ReportTable]:
    """Report the mean behaviour of each strategy over all opponents and both seats.

    95 % confidence intervals are clustered by instance within configurations. The value that an
    offer gives away is the value of these items to the proposer. A match between copies of a
    strategy counts twice, once per seat.
    """
    frame, metrics = seats(evidence), get_game(GAME).metrics
    bounds = {name: metrics[f"{name}_{FIRST}"].bounds for name in OWN}
    bounds |= {name: metrics[name].bounds for name in SHARED}
    bounds |= dict.fromkeys(("rounds_agreed", "rounds_walked"), bounds["rounds_played"])
    against = "Behaviour of a strategy against each opponent, in both seats."
    for name, title, by, caption in (
        ("behaviour", "By strategy", ["player"], ""),
        ("behaviour-by-opponent", "By strategy and opponent", ["player", "opponent"], against),
        ("behaviour-by-game", "By game and strategy", [NAME, "player"], ""),
    ):
        averages = means(frame, MANNER, by, bounds=bounds, strata=STRATA).sort(by)
        if NAME in by and averages[NAME].n_unique() == 1:
            continue
        titles = {NAME: "Game", "opponent": "Opponent"}
        yield table(
            evidence,
            "behaviour",
            averages.select("player", pl.exclude("player")),
            name=name,
            columns={"by": {key: titles[key] for key in by if key in titles}},
            facts={"title": title, "caption": caption},
            leads=_leads if len(by) == 1 else lambda _: None,
        )


def low_acceptances(evidence: Evidence) -> Iterator[ReportTable]:
    """Report how often a strategy accepts an offer that is worth less than its own outside option.

    Three shares are reported: of turns with an offer, of offers below the outside option (as in the
    paper), and of matches with at least one such acceptance. Matches against players named tough,
    or playing the strategy tough, are reported separately, because nearly all of their offers are
    too low.
    """
    frame = seats(evidence)
    named = {
        label: (spec.get("strategies") or {}).get(GAME) or spec.get("strategy")
        for label, spec in evidence.players.items()
    }
    tough = [label for label in evidence.labels if TOUGH in (label, named.get(label))]
    against = pl.when(pl.col("opponent").is_in(tough)).then(pl.lit("vs tough"))
    frame = frame.with_columns(against=against.otherwise(pl.lit("vs others")))
    counts = {
        "bad_acceptance_by_turn": "turns with an offer",
        "bad_offer_accepted": "low offers",
        "bad_acceptance": "matches",
    }
    percent, bounds = frame.with_columns(pl.col(*counts) * 100), dict.fromkeys(counts, PERCENT)
    rates = means(percent, [*counts], ["player", "against"], strata=STRATA, bounds=bounds)
    for key, denominator in counts.items():
        rate = rates.select("player", "against", f"^{key}(\\..*)?$")
        wide = side_by_side(rate, key, "against").sort("player")
        shown = [name for name in OPPONENTS if name in wide.columns]
        yield table(
            evidence,
            "low-acceptances",
            wide,
            name=f"low-acceptances-{key.replace('_', '-')}",
            columns={"opponents": {name: name.capitalize() for name in shown}},
            facts={"denominator": denominator},
            leads=_leads,
            notes=() if tough else ("No player uses the strategy tough.",),
        )
    offered = pl.col("bad_offer_accepted").is_not_null()
    shares = percent.group_by("player", "against", maintain_order=True).agg(
        pl.col("bad_offer_accepted").mean().alias("turn"),
        pl.col("bad_acceptance").filter(offered).mean().alias("game"),
    )
    yield from _table_12(evidence, shares)


def _table_12(evidence: Evidence, shares: pl.DataFrame) -> Iterator[ReportTable]:
    """Yield Table 12: how often agents accept less than their outside options, by opponent.

    ``shares`` has one row per agent and kind of opponent, ``against``. ``turn`` is the percentage
    of accepted low offers; ``game`` is the percentage of matches with low offers in which an agent
    accepts one.
    """
    rates = shares.filter(pl.col("player").is_in(selected_labels(evidence, evidence.labels)))
    kinds = [kind for kind in OPPONENTS if kind in set(rates["against"])]
    if not kinds:
        return
    levels = ["turn", "game"]
    wide = rates.pivot("against", index="player", values=levels, separator=" ")
    columns = {level: {f"{level} {kind}": kind for kind in kinds} for level in levels}
    yield table(
        evidence, "table-12", wide.sort(position("player", AGENTS), "player"), columns=columns
    )


def false_holdings(evidence: Evidence) -> Iterator[ReportTable]:
    """Report how often a player's reasoning misstates the bundle in an offer that it accepts.

    The share is relative to acceptances with a bundle in the reasoning. An acceptance counts if
    none of the bundles in the reasoning is the offered bundle (section 6.4).
    """
    frame = seats(evidence).drop_nulls("false_holdings_stated")
    if frame.is_empty():
        raise NoData("no player's reasoning mentions the bundle of an accepted offer")
    frame, key = frame.with_columns(pl.col("false_holdings_stated") * 100), "false_holdings_stated"
    rates = means(frame, [key], ["player"], strata=STRATA, bounds={key: PERCENT})
    yield table(evidence, "false-holdings", rates.sort("player"), leads=_leads)


def opposition(evidence: Evidence) -> Iterator[Charts]:
    """Report how strongly the players' interests conflict, by instance.

    The opposition level is the smallest distance from any outcome to the point (1, 1), at which
    both players get their maximum. Each player's value is divided by the player's maximum. The
    level is 0 if one outcome is best for both players.
    """
    frame = scored(evidence)
    panels = [
        replace(panel, title=str(name))
        for (name,), part in frame.group_by(NAME, maintain_order=True)
        if (panel := instance_histogram(part, OPPOSITION)) is not None
    ]
    if not panels:
        raise NoData("the matches were played with another version of the rules")
    yield Charts(
        "opposition",
        "Opposition levels",
        sorted(panels, key=lambda panel: panel.title),
        "The number of instances by level; each instance counts once.",
    )


CIRCLE = re.compile(r"circle_(\d+)")
MISTAKES = tuple(MISTAKE_RADAR.axes.values())


def circled(spec: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return a model or strategy and the number of its prompt; None if the prompt has no number."""
    style = spec.get("style")
    style = style.get(GAME) if isinstance(style, dict) else style
    match = CIRCLE.fullmatch(style or "")
    base = spec.get("model") or spec.get("strategy")
    return (str(base), int(match[1])) if match and base else None


def self_play(evidence: Evidence) -> Iterator[Shown]:
    """Report how often players make mistakes M1 to M5 in self-play (appendix B).

    M1: ask for less than the last offer. M2: ask for less than the outside option. M3: offer
    everything or nothing. M4: accept less than the outside option. M5: walk away from an offer
    above the outside option. Mistakes of both seats are added. If players differ by prompt circle,
    each model has a radar chart, and the circle with the fewest mistakes is marked.
    """
    frame = scored(evidence)
    first, second = (f"player_{seat}" for seat in SEATS)
    matches = frame.filter(pl.col(first) == pl.col(second)).rename({first: "player"})
    if matches.is_empty():
        raise NoData("no player met itself in item bargaining; use pairing: all")
    values = ["mistakes", *MISTAKES]
    bounds = dict.fromkeys(values, COUNT)
    mistakes = means(matches, values, ["player"], bounds=bounds, strata=STRATA).sort("player")
    players = (evidence.players.get(label, {}) for label in mistakes["player"])
    circles = [circled(spec) or (None, None) for spec in players]
    schema = {"model": pl.String, "circle": pl.Int64}
    has_fewest = pl.col("mistakes") == pl.col("mistakes").min().over("model")
    fewest = pl.when(has_fewest).then(pl.lit("fewest")).otherwise(pl.lit(""))
    mistakes = mistakes.hstack(pl.DataFrame(circles, schema, orient="row")).with_columns(
        fewest=pl.when(pl.col("model").is_not_null()).then(fewest)
    )
    if mistakes["model"].is_not_null().any():
        mistakes = mistakes.sort("model", "circle", "player", nulls_last=True)
    with_circles = mistakes["circle"].is_not_null().any()
    circle_columns = (
        Header("model", "Model"),
        Header("circle", "Circle", "", 0),
        Header("fewest", "Within the model"),
    )
    yield table(
        evidence,
        "mistakes",
        mistakes,
        columns={
            "circles": circle_columns if with_circles else (),
            "kinds": {name: kind for kind, name in MISTAKE_RADAR.axes.items()},
        },
        notes=() if with_circles else ("No player has a prompt circle.",),
        leads=lambda row: Lead(
            GAME, {f"player_{seat}": row["player"] for seat in SEATS} | {"status": "finished"}
        ),
    )
    charts = []
    for (model,), part in mistakes.drop_nulls("mistakes").group_by("model", maintain_order=True):
        rows = [
            (
                row["player"] if row["circle"] is None else f"circle {row['circle']}",
                row["mistakes.n"],
                [row[name] for name in MISTAKES],
            )
            for row in part.iter_rows(named=True)
        ]
        title = str(model or "Players without a prompt circle")
        charts.append(radar_panel(MISTAKE_RADAR, title, rows))
    yield Charts("mistake-radars", "Mistakes by kind", charts)
