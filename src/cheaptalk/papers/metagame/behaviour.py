"""How strategies bargain, and the mistakes they make, also by the circle of their prompts."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations
from typing import Any

import polars as pl

from cheaptalk.equilibrium.analysis.selection import NAME, with_names
from cheaptalk.games.item_bargaining.empirical_view import MISTAKE_RADAR, OPPOSITION
from cheaptalk.games.item_bargaining.rules import FIRST, PLACES
from cheaptalk.papers.metagame import paper_tables
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.metagame.behaviour_figures import deal_histogram, radar_panel
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means, side_by_side
from cheaptalk.reports.recipes.parts import Charts, Lacking
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.rules import COUNT, game_box
from cheaptalk.statistics import STRATA
from cheaptalk.statistics.intervals import Bounds

GAME = "item_bargaining"
OWN = (
    "own_mistakes", "bad_acceptance", "bad_acceptance_by_turn", "bad_offer_accepted",
    "utility_given", "concession", "false_holdings_stated",
)  # fmt: skip
"""Measures that there are of each player."""
SHARED = ("rounds", "agreement", "ef1")
"""Measures of the whole match."""
TOUGH = "tough"
"""The strategy that gives nothing but its least item."""
MANNER = (
    Header("rounds", "Rounds", "until the end", 2),
    Header("rounds_agreed", "Agreed in", "rounds", 2, "Rounds of matches that end in agreement."),
    Header("rounds_walked", "Walked in", "rounds", 2, "Rounds of matches that do not."),
    Header("agreement", "Agreement", "share", 3),
    Header("own", "Own payoff", "points, discounted", 1),
    Header("utility_given", "Given", "points, own values", 1,
           "The mean worth, to the player itself, of what its offers give away."),
    Header("concession", "Concession", "points, own values", 1,
           "By how much more its last offer gives away than its first; of matches with two."),
    Header("own_mistakes", "Mistakes", "a match", 2, "M1 to M5, added up."),
)  # fmt: skip


def scored(evidence: Evidence) -> pl.DataFrame:
    """The matches of item bargaining that count, with the names of their configurations.

    Raises:
        Lacking: there are none.
    """
    frame = evidence.scored(GAME)
    if frame.is_empty():
        raise Lacking(
            "no match of item bargaining has finished; the preset item-bargaining-heuristics "
            "plays some in seconds"
        )
    return with_names(GAME, frame)[0]


def seats(evidence: Evidence) -> pl.DataFrame:
    """One row a match and place: ``player``, ``opponent``, what the player did and ``own`` payoff.

    Raises:
        Lacking: no match has finished.
    """
    frame = scored(evidence)
    return pl.concat(
        frame.select(
            "match", "configuration", "deal", NAME,
            pl.lit(place).alias("place"),
            pl.col(f"player.{place}").alias("player"),
            pl.col(f"player.{other}").alias("opponent"),
            pl.col(f"payoff.{place}").alias("own"),
            *SHARED,
            *(pl.col(f"{name}_{place}").alias(name) for name in OWN),
        )
        for place, other in permutations(PLACES)
    ).with_columns(
        rounds_agreed=pl.when(pl.col("agreement") == 1).then(pl.col("rounds")),
        rounds_walked=pl.when(pl.col("agreement") == 0).then(pl.col("rounds")),
    )  # fmt: skip


def _bounds() -> dict[str, Bounds]:
    """The least and the most that what :func:`seats` tells can be, as the game declares it."""
    measures = game_box(GAME).measures
    own = {name: measures[f"{name}_{FIRST}"].bounds for name in OWN}
    shared = {name: measures[name].bounds for name in SHARED}
    return own | shared | dict.fromkeys(("rounds_agreed", "rounds_walked"), shared["rounds"])


def _leads(row: Mapping[str, Any]) -> Lead:
    return Lead(GAME, {"player": row["player"], "status": "finished"})


def manner(evidence: Evidence) -> Iterator[ReportTable]:
    """What each strategy did on average, over all opponents and both seats, with 95 % intervals.

    Matches on the same deal are alike, so intervals are clustered by deal within configurations.
    What an offer gives is counted in the values of who makes it: it is what the offer costs. A
    match between copies of one strategy counts twice, once for each seat.
    """
    frame = seats(evidence)
    values = [column.key for column in MANNER]
    bounds = _bounds()
    alone = means(frame, values, ["player"], bounds=bounds, strata=STRATA).sort("player")
    yield ReportTable(
        "behaviour", "By strategy", alone, (Header("player", "Strategy"), *MANNER), leads=_leads
    )
    pairs = means(frame, values, ["player", "opponent"], bounds=bounds, strata=STRATA)
    yield ReportTable(
        "behaviour-by-opponent", "By strategy and opponent", pairs.sort("player", "opponent"),
        (Header("player", "Strategy"), Header("opponent", "Opponent"), *MANNER),
        "What a strategy did against each opponent, in both seats.",
    )  # fmt: skip
    games = means(frame, values, [NAME, "player"], bounds=bounds, strata=STRATA)
    if games[NAME].n_unique() > 1:
        yield ReportTable(
            "behaviour-by-game", "By game and strategy", games.sort(NAME, "player").select(
                "player", pl.exclude("player")
            ),
            (Header("player", "Strategy"), Header(NAME, "Game"), *MANNER),
        )  # fmt: skip


def low_acceptances(evidence: Evidence) -> Iterator[ReportTable]:
    """How often a strategy accepts an offer that is worth less than its own outside option.

    Three ways to count: of all turns on which it was offered something; of the offers that were
    worth less (in which a strategy that accepts everything has 100 %, as in the paper); and of
    matches, whether it ever did so. Matches against strategies called tough, or that play tough,
    stand apart from all others, since its offers are nearly always worth less.
    """
    frame = seats(evidence)
    tough = _playing(evidence, TOUGH)
    frame = frame.with_columns(
        against=pl.when(pl.col("opponent").is_in(tough)).then(pl.lit("vs tough"))
        .otherwise(pl.lit("vs others"))
    )  # fmt: skip
    counts = {
        "bad_acceptance_by_turn": "turns with an offer",
        "bad_offer_accepted": "low offers",
        "bad_acceptance": "matches",
    }
    percent = frame.with_columns(pl.col(list(counts)) * 100)
    found = means(
        percent, list(counts), ["player", "against"], strata=STRATA,
        bounds=dict.fromkeys(counts, (0.0, 100.0)),
    )  # fmt: skip
    for key, of in counts.items():
        own = found.select("player", "against", f"^{key}(\\..*)?$")
        wide = side_by_side(own, key, "against").sort("player")
        columns = [
            Header(name, name.capitalize(), f"% of {of}", 1)
            for name in ("vs tough", "vs others") if name in wide.columns
        ]  # fmt: skip
        yield ReportTable(
            f"low-acceptances-{key.replace('_', '-')}", f"Of {of}", wide,
            (Header("player", "Strategy"), *columns), leads=_leads,
            notes=() if tough else ("Nobody plays tough in this study.",),
        )  # fmt: skip
    offered = pl.col("bad_offer_accepted").is_not_null()
    shares = percent.group_by("player", "against", maintain_order=True).agg(
        pl.col("bad_offer_accepted").mean().alias("turn"),
        pl.col("bad_acceptance").filter(offered).mean().alias("game"),
    )
    yield from paper_tables.acceptances(evidence, shares)


def false_holdings(evidence: Evidence) -> Iterator[ReportTable]:
    """How often the reasoning behind an acceptance gets wrong what it would hold.

    Of acceptances whose reasoning states a bundle to hold: the share in which no bundle stated is
    the one offered (section 6.4). Reasoning that states none is left out.
    """
    frame = seats(evidence).drop_nulls("false_holdings_stated")
    if frame.is_empty():
        raise Lacking("no player reasoned in words about what it would hold on accepting")
    frame = frame.with_columns(pl.col("false_holdings_stated") * 100)
    found = means(
        frame, ["false_holdings_stated"], ["player"], strata=STRATA,
        bounds={"false_holdings_stated": (0.0, 100.0)},
    )  # fmt: skip
    yield ReportTable(
        "false-holdings", "False holdings", found.sort("player"),
        (Header("player", "Player"),
         Header("false_holdings_stated", "False", "% of acceptances", 1),
         Header("false_holdings_stated.n", "Acceptances", "with holdings stated", 0)),
        leads=_leads,
    )  # fmt: skip


def _playing(evidence: Evidence, strategy: str) -> list[str]:
    """The players that are called so, or that play this strategy."""
    named = {
        label: (spec.get("strategies") or {}).get(GAME) or spec.get("strategy")
        for label, spec in evidence.players.items()
    }
    return [label for label in evidence.labels if strategy in (label, named.get(label))]


def opposition(evidence: Evidence) -> Iterator[Charts]:
    """How opposed the players' interests were, deal by deal.

    The level is the least distance from any outcome to the point where both get the most they
    can, (1, 1), each player's worth divided by the most it could get. It is 0 where one outcome is
    best for both.
    """
    frame = scored(evidence)
    panels = []
    for (name,), part in frame.group_by(NAME, maintain_order=True):
        panel = deal_histogram(part, OPPOSITION)
        if panel is not None:
            panels.append(replace(panel, title=str(name)))
    if not panels:
        raise Lacking("the matches were played under other rules than those installed")
    yield Charts(
        "opposition", "Opposition levels", sorted(panels, key=lambda one: one.title),
        "Deals by level, each deal once.",
    )  # fmt: skip


CIRCLE = re.compile(r"circle_(\d+)")
MISTAKES = tuple(MISTAKE_RADAR.axes.values())
KINDS = tuple(Header(name, title, "a match", 2) for title, name in MISTAKE_RADAR.axes.items())


def circled(spec: Mapping[str, Any]) -> tuple[str, int] | None:
    """What a player is without the circle of its prompt, and the circle; None where it has none.

    >>> circled({"model": "openai/o3-mini", "style": "circle_2"})
    ('openai/o3-mini', 2)
    """
    style = spec.get("style")
    style = style.get(GAME) if isinstance(style, dict) else style
    found = CIRCLE.fullmatch(style or "")
    base = spec.get("model") or spec.get("strategy")
    return (str(base), int(found[1])) if found and base else None


def self_play(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """How often players make mistakes M1 to M5 in matches against themselves (appendix B).

    M1 asks for less than was just offered; M2 asks for less than the outside option; M3 offers
    everything or nothing; M4 accepts less than the outside option; M5 walks away from more. Both
    seats are counted together. Where players differ by the circle of their prompt, each model's
    circles stand in one radar, and the circle with the fewest mistakes is marked.
    """
    frame = scored(evidence)
    first, second = (name for name in frame.columns if name.startswith("player."))
    own = frame.filter(pl.col(first) == pl.col(second)).rename({first: "player"})
    if own.is_empty():
        raise Lacking("nobody met itself in item bargaining; let players meet with pairing: all")
    values = ["mistakes", *MISTAKES]
    bounds = dict.fromkeys(values, COUNT)
    found = means(own, values, ["player"], bounds=bounds, strata=STRATA).sort("player")
    players = (evidence.players.get(label, {}) for label in found["player"])
    circles = [circled(spec) or (None, None) for spec in players]
    found = found.with_columns(
        model=pl.Series([base for base, _ in circles], dtype=pl.String),
        circle=pl.Series([circle for _, circle in circles], dtype=pl.Int64),
    ).with_columns(
        fewest=pl.when(pl.col("model").is_not_null())
        .then(pl.when(pl.col("mistakes") == pl.col("mistakes").min().over("model"))
              .then(pl.lit("fewest")).otherwise(pl.lit("")))
    )  # fmt: skip
    if found["model"].is_not_null().any():
        found = found.sort("model", "circle", "player", nulls_last=True)
    known = found["circle"].is_not_null().any()
    prompts = (
        Header("model", "Model"), Header("circle", "Circle", "", 0),
        Header("fewest", "Of its model"),
    ) if known else ()  # fmt: skip
    yield ReportTable(
        "mistakes", "Mistakes in self-play", found,
        (Header("player", "Player"), *prompts, Header("mistakes", "All", "a match", 2), *KINDS),
        notes=() if known else ("No player is prompted with a circle.",),
        leads=lambda row: Lead(GAME, {
            "player.player_1": row["player"], "player.player_2": row["player"],
            "status": "finished",
        }),
    )  # fmt: skip
    yield Charts("mistake-radars", "Mistakes by kind", list(_radars(found)))


def _radars(found: pl.DataFrame) -> Iterator[Any]:
    """A radar a model, its circles in it; one for all players without a circle."""
    for (model,), part in found.group_by("model", maintain_order=True):
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
            yield radar_panel(MISTAKE_RADAR, str(model or "Players without a circle"), rows)
