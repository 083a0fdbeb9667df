"""Behaviour and mistakes of strategies in item bargaining, also by prompt (``circle_N``)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations
from typing import Any

import polars as pl

from cheaptalk.equilibrium.analysis.selection import NAME, with_names
from cheaptalk.games.item_bargaining.empirical_view import MISTAKE_RADAR, OPPOSITION
from cheaptalk.games.item_bargaining.rules import FIRST, SEATS
from cheaptalk.papers.metagame import paper_tables
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.metagame.behaviour_figures import instance_histogram, radar_panel
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means, side_by_side
from cheaptalk.reports.recipes.parts import Charts, NoData
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.rules import COUNT, get_game
from cheaptalk.statistics import STRATA
from cheaptalk.statistics.limits import Bounds

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
"""Metrics of each player."""
SHARED = ("rounds", "agreement", "ef1")
"""Metrics of the whole match."""
TOUGH = "tough"
"""The name of the strategy that concedes only its least valuable item."""
MANNER = (
    Header("rounds", "Rounds", "until the end", 2),
    Header("rounds_agreed", "Agreed in", "rounds", 2, "Rounds of matches with an agreement."),
    Header("rounds_walked", "Walked in", "rounds", 2, "Rounds of matches without an agreement."),
    Header("agreement", "Agreement", "share", 3),
    Header("own", "Own payoff", "points, discounted", 1),
    Header(
        "utility_given",
        "Given",
        "points, own values",
        1,
        "The mean value, to the player, of the items that its offers give away.",
    ),
    Header(
        "concession",
        "Concession",
        "points, own values",
        1,
        "The value given away by the last offer minus the first; in matches with two offers.",
    ),
    Header("own_mistakes", "Mistakes", "per match", 2, "The sum of M1 to M5."),
)


def scored(evidence: Evidence) -> pl.DataFrame:
    """Return the scored matches with named configurations; raise NoData if there are none."""
    frame = evidence.scored(GAME)
    if frame.is_empty():
        raise NoData(
            "no match of item bargaining has finished; run the preset item-bargaining-heuristics, "
            "which takes seconds"
        )
    return with_names(GAME, frame)[0]


def seats(evidence: Evidence) -> pl.DataFrame:
    """Return one row per match and seat, with both players, the metrics and the player's payoff."""
    frame = scored(evidence)
    return pl.concat(
        frame.select(
            "match_id",
            "configuration",
            "instance",
            NAME,
            pl.lit(seat).alias("seat"),
            pl.col(f"player_{seat}").alias("player"),
            pl.col(f"player_{opponent}").alias("opponent"),
            pl.col(f"payoff_{seat}").alias("own"),
            *SHARED,
            *(pl.col(f"{name}_{seat}").alias(name) for name in OWN),
        )
        for seat, opponent in permutations(SEATS)
    ).with_columns(
        rounds_agreed=pl.when(pl.col("agreement") == 1).then(pl.col("rounds")),
        rounds_walked=pl.when(pl.col("agreement") == 0).then(pl.col("rounds")),
    )


def _bounds() -> dict[str, Bounds]:
    metrics = get_game(GAME).metrics
    own = {name: metrics[f"{name}_{FIRST}"].bounds for name in OWN}
    shared = {name: metrics[name].bounds for name in SHARED}
    return own | shared | dict.fromkeys(("rounds_agreed", "rounds_walked"), shared["rounds"])


def _leads(row: Mapping[str, Any]) -> Lead:
    return Lead(GAME, {"player": row["player"], "status": "finished"})


def manner(evidence: Evidence) -> Iterator[ReportTable]:
    """Report the mean behaviour of each strategy over all opponents and both seats.

    95 % confidence intervals are clustered by instance within configurations. The value that an
    offer gives away is the value of these items to the proposer. A match between copies of a
    strategy counts twice, once per seat.
    """
    frame = seats(evidence)
    values = [column.key for column in MANNER]
    bounds = _bounds()
    by_player = means(frame, values, ["player"], bounds=bounds, strata=STRATA).sort("player")
    yield ReportTable(
        "behaviour", "By strategy", by_player, (Header("player", "Strategy"), *MANNER), leads=_leads
    )
    pairs = means(frame, values, ["player", "opponent"], bounds=bounds, strata=STRATA)
    yield ReportTable(
        "behaviour-by-opponent",
        "By strategy and opponent",
        pairs.sort("player", "opponent"),
        (Header("player", "Strategy"), Header("opponent", "Opponent"), *MANNER),
        "Behaviour of a strategy against each opponent, in both seats.",
    )
    games = means(frame, values, [NAME, "player"], bounds=bounds, strata=STRATA)
    if games[NAME].n_unique() > 1:
        yield ReportTable(
            "behaviour-by-game",
            "By game and strategy",
            games.sort(NAME, "player").select("player", pl.exclude("player")),
            (Header("player", "Strategy"), Header(NAME, "Game"), *MANNER),
        )


def low_acceptances(evidence: Evidence) -> Iterator[ReportTable]:
    """Report how often a strategy accepts an offer that is worth less than its own outside option.

    Three shares are reported: of turns with an offer, of offers below the outside option (as in the
    paper), and of matches with at least one such acceptance. Matches against players named tough,
    or playing the strategy tough, are reported separately, because nearly all of their offers are
    too low.
    """
    frame = seats(evidence)
    tough = _playing(evidence, TOUGH)
    frame = frame.with_columns(
        against=pl.when(pl.col("opponent").is_in(tough))
        .then(pl.lit("vs tough"))
        .otherwise(pl.lit("vs others"))
    )
    counts = {
        "bad_acceptance_by_turn": "turns with an offer",
        "bad_offer_accepted": "low offers",
        "bad_acceptance": "matches",
    }
    percent = frame.with_columns(pl.col(list(counts)) * 100)
    rates = means(
        percent,
        list(counts),
        ["player", "against"],
        strata=STRATA,
        bounds=dict.fromkeys(counts, (0.0, 100.0)),
    )
    for key, denominator in counts.items():
        rate = rates.select("player", "against", f"^{key}(\\..*)?$")
        wide = side_by_side(rate, key, "against").sort("player")
        columns = [
            Header(name, name.capitalize(), f"% of {denominator}", 1)
            for name in ("vs tough", "vs others")
            if name in wide.columns
        ]
        yield ReportTable(
            f"low-acceptances-{key.replace('_', '-')}",
            f"Share of {denominator}",
            wide,
            (Header("player", "Strategy"), *columns),
            leads=_leads,
            notes=() if tough else ("No player uses the strategy tough.",),
        )
    offered = pl.col("bad_offer_accepted").is_not_null()
    shares = percent.group_by("player", "against", maintain_order=True).agg(
        pl.col("bad_offer_accepted").mean().alias("turn"),
        pl.col("bad_acceptance").filter(offered).mean().alias("game"),
    )
    yield from paper_tables.acceptances(evidence, shares)


def false_holdings(evidence: Evidence) -> Iterator[ReportTable]:
    """Report how often a player's reasoning misstates the bundle in an offer that it accepts.

    The share is relative to acceptances with a bundle in the reasoning. An acceptance counts if
    none of the bundles in the reasoning is the offered bundle (section 6.4).
    """
    frame = seats(evidence).drop_nulls("false_holdings_stated")
    if frame.is_empty():
        raise NoData("no player's reasoning mentions the bundle of an accepted offer")
    frame = frame.with_columns(pl.col("false_holdings_stated") * 100)
    rates = means(
        frame,
        ["false_holdings_stated"],
        ["player"],
        strata=STRATA,
        bounds={"false_holdings_stated": (0.0, 100.0)},
    )
    yield ReportTable(
        "false-holdings",
        "False holdings",
        rates.sort("player"),
        (
            Header("player", "Player"),
            Header("false_holdings_stated", "False", "% of acceptances", 1),
            Header("false_holdings_stated.n", "Acceptances", "with holdings stated", 0),
        ),
        leads=_leads,
    )


def _playing(evidence: Evidence, strategy: str) -> list[str]:
    named = {
        label: (spec.get("strategies") or {}).get(GAME) or spec.get("strategy")
        for label, spec in evidence.players.items()
    }
    return [label for label in evidence.labels if strategy in (label, named.get(label))]


def opposition(evidence: Evidence) -> Iterator[Charts]:
    """Report how strongly the players' interests conflict, by instance.

    The opposition level is the smallest distance from any outcome to the point (1, 1), at which
    both players get their maximum. Each player's value is divided by the player's maximum. The
    level is 0 if one outcome is best for both players.
    """
    frame = scored(evidence)
    panels = []
    for (name,), part in frame.group_by(NAME, maintain_order=True):
        panel = instance_histogram(part, OPPOSITION)
        if panel is not None:
            panels.append(replace(panel, title=str(name)))
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
KINDS = tuple(Header(name, title, "per match", 2) for title, name in MISTAKE_RADAR.axes.items())


def circled(spec: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return a model or strategy and the number of its prompt; None if the prompt has no number.

    >>> circled({"model": "openai/o3-mini", "style": "circle_2"})
    ('openai/o3-mini', 2)
    """
    style = spec.get("style")
    style = style.get(GAME) if isinstance(style, dict) else style
    match = CIRCLE.fullmatch(style or "")
    base = spec.get("model") or spec.get("strategy")
    return (str(base), int(match[1])) if match and base else None


def self_play(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """Report how often players make mistakes M1 to M5 in self-play (appendix B).

    M1: ask for less than the last offer. M2: ask for less than the outside option. M3: offer
    everything or nothing. M4: accept less than the outside option. M5: walk away from an offer
    above the outside option. Mistakes of both seats are added. If players differ by prompt circle,
    each model has a radar chart, and the circle with the fewest mistakes is marked.
    """
    frame = scored(evidence)
    first, second = (name for name in frame.columns if name.startswith("player_"))
    matches = frame.filter(pl.col(first) == pl.col(second)).rename({first: "player"})
    if matches.is_empty():
        raise NoData("no player met itself in item bargaining; use pairing: all")
    values = ["mistakes", *MISTAKES]
    bounds = dict.fromkeys(values, COUNT)
    mistakes = means(matches, values, ["player"], bounds=bounds, strata=STRATA).sort("player")
    players = (evidence.players.get(label, {}) for label in mistakes["player"])
    circles = [circled(spec) or (None, None) for spec in players]
    schema = {"model": pl.String, "circle": pl.Int64}
    mistakes = mistakes.hstack(pl.DataFrame(circles, schema, orient="row")).with_columns(
        fewest=pl.when(pl.col("model").is_not_null()).then(
            pl.when(pl.col("mistakes") == pl.col("mistakes").min().over("model"))
            .then(pl.lit("fewest"))
            .otherwise(pl.lit(""))
        )
    )
    if mistakes["model"].is_not_null().any():
        mistakes = mistakes.sort("model", "circle", "player", nulls_last=True)
    with_circles = mistakes["circle"].is_not_null().any()
    prompts = (
        (
            Header("model", "Model"),
            Header("circle", "Circle", "", 0),
            Header("fewest", "Within the model"),
        )
        if with_circles
        else ()
    )
    yield ReportTable(
        "mistakes",
        "Mistakes in self-play",
        mistakes,
        (Header("player", "Player"), *prompts, Header("mistakes", "All", "per match", 2), *KINDS),
        notes=() if with_circles else ("No player has a prompt circle.",),
        leads=lambda row: Lead(
            GAME,
            {
                "player_player_1": row["player"],
                "player_player_2": row["player"],
                "status": "finished",
            },
        ),
    )
    yield Charts("mistake-radars", "Mistakes by kind", list(_radars(mistakes)))


def _radars(mistakes: pl.DataFrame) -> Iterator[Any]:
    """Yield a radar chart of mistakes per model with numbered prompts, and one for all others."""
    for (model,), part in mistakes.group_by("model", maintain_order=True):
        rows = [
            (
                row["player"] if row["circle"] is None else f"circle {row['circle']}",
                row["mistakes.n"],
                [row[name] for name in MISTAKES],
            )
            for row in part.iter_rows(named=True)
            if row["mistakes"] is not None
        ]
        if rows:
            yield radar_panel(MISTAKE_RADAR, str(model or "Players without a prompt circle"), rows)
