"""The choice of prompts: which circle of instructions a model makes the fewest mistakes with."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.games.item_bargaining.empirical_view import MISTAKE_RADAR
from cheaptalk.papers.metagame.behaviour import GAME, scored
from cheaptalk.reports.metagame.behaviour_figures import radar_panel
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Charts, Header, Lacking, Lead, ReportTable
from cheaptalk.rules import COUNT
from cheaptalk.statistics import STRATA

CIRCLE = re.compile(r"circle_(\d+)")
MISTAKES = tuple(MISTAKE_RADAR.axes.values())
KINDS = tuple(Header(name, title, "a match", 2) for title, name in MISTAKE_RADAR.axes.items())


class Circled(NamedTuple):
    """A player that is prompted with a circle: what it is without it, and the circle's number."""

    base: str
    circle: int


def circled(spec: Mapping[str, Any]) -> Circled | None:
    """The circle of a player as a study writes it; None where it has none.

    >>> circled({"model": "openai/o3-mini", "style": "circle_2"})
    Circled(base='openai/o3-mini', circle=2)
    """
    style = spec.get("style")
    style = style.get(GAME) if isinstance(style, dict) else style
    found = CIRCLE.fullmatch(style or "")
    base = spec.get("model") or spec.get("strategy")
    return Circled(str(base), int(found[1])) if found and base else None


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
    players = evidence.store.study(evidence.study, counted=False).spec.get("players") or {}
    circles = {label: circled(players.get(label, {})) for label in found["player"]}
    found = found.with_columns(
        model=pl.Series([one.base if one else None for one in circles.values()], dtype=pl.String),
        circle=pl.Series([one.circle if one else None for one in circles.values()], dtype=pl.Int64),
    ).with_columns(
        fewest=pl.when(pl.col("model").is_not_null())
        .then(pl.when(pl.col("mistakes") == pl.col("mistakes").min().over("model"))
              .then(pl.lit("fewest")).otherwise(pl.lit("")))
    )  # fmt: skip
    if found["model"].is_not_null().any():
        found = found.sort("model", "circle", "player", nulls_last=True)
    yield _table(found)
    yield Charts("mistake-radars", "Mistakes by kind", list(_panels(found)))


def _table(found: pl.DataFrame) -> ReportTable:
    known = found["circle"].is_not_null().any()
    prompts = (
        Header("model", "Model"), Header("circle", "Circle", "", 0),
        Header("fewest", "Of its model"),
    ) if known else ()  # fmt: skip
    return ReportTable(
        "mistakes", "Mistakes in self-play", found,
        (Header("player", "Player"), *prompts, Header("mistakes", "All", "a match", 2), *KINDS),
        notes=() if known else ("No player is prompted with a circle.",),
        leads=lambda row: Lead(GAME, {
            "player.player_1": row["player"], "player.player_2": row["player"],
            "status": "finished",
        }),
    )  # fmt: skip


def _panels(found: pl.DataFrame) -> Iterator[Any]:
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
