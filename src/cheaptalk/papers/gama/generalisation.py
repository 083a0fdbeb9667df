"""Generalisation: scores over the settings of each game."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from cheaptalk.papers.gama.charts import marked_line
from cheaptalk.papers.gama.leaderboard import UNIT
from cheaptalk.papers.gama.scores import GAMES, scored, scores, varied
from cheaptalk.reports.figures import Panel, legend_above
from cheaptalk.reports.pages import anchor
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import side_by_side
from cheaptalk.reports.recipes.parts import Charts, Header, Lacking, Lead, ReportTable
from cheaptalk.text import plain, readable

MANY = 4
"""Numbers in a list up to which all are shown."""


def settings(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """Scores of players alone at their tables, setting by setting of each game.

    A setting is what varies in the game's parameters. Intervals are clustered by deal (CR1,
    Student's t). The last rows take each setting once: the mean over settings, and the spread, a
    sample standard deviation over settings. Figures show the same.
    """
    runs = scored(evidence)
    several = [game for game in GAMES
               if runs.filter(pl.col("game") == game)["configuration"].n_unique() > 1]  # fmt: skip
    if not several:
        raise Lacking(
            "no game was played alone in two settings; run the preset gama-settings, or give a "
            "game a grid of parameters"
        )
    panels = []
    for game in several:
        found = _means(evidence, runs, game)
        yield _table(game, found)
        panels.append(_panel(game, found))
    yield Charts("settings", "Scores by setting", panels, "Whiskers are 95 % intervals.")


def _means(evidence: Evidence, runs: pl.DataFrame, game: str) -> pl.DataFrame:
    """One row a setting and player, settings in order of their values."""
    own = runs.filter(pl.col("game") == game)
    named = varied(evidence.scored(game))
    used = {key: named[key] for key in own["configuration"].unique(maintain_order=True)}
    order = sorted(used, key=lambda key: [_sortable(value) for value in used[key].values()])
    parts = [
        scores(own.filter(pl.col("configuration") == key)).filter(game=game)
        .with_columns(configuration=pl.lit(key), setting=pl.lit(setting_text(used[key])))
        for key in order
    ]  # fmt: skip
    return pl.concat(parts)


def setting_text(values: Mapping[str, Any]) -> str:
    """A setting as people read it.

    >>> setting_text({"ratio": "1/2", "told": "smart"})
    'ratio 1/2, told smart'
    >>> setting_text({"hit_rates": [0.1, 0.2, 0.3, 0.4, 0.5]})
    'hit rates 0.1 to 0.5'
    """
    return ", ".join(f"{plain(name)} {_value_text(value)}" for name, value in values.items())


def _value_text(value: Any) -> str:
    if isinstance(value, list) and len(value) > MANY:
        return f"{readable(value[0])} to {readable(value[-1])}"
    return readable(value)


def _sortable(value: Any) -> tuple[int, float, str]:
    """Where a value stands: numbers and fractions by size, then texts."""
    over, _, under = str(value).partition("/")
    try:
        return 0, float(over) / float(under or 1), ""
    except (ValueError, ZeroDivisionError):
        return 1, 0.0, str(value)


def _table(game: str, found: pl.DataFrame) -> ReportTable:
    players = found["player"].unique(maintain_order=True).to_list()
    keys = {player: f"score {player}" for player in players}
    named = found.with_columns(pl.col("player").replace_strict(keys))
    frame = side_by_side(named, "score", "player")
    last = [
        frame.select(pl.lit(title).alias("setting"), *(of(key) for key in keys.values()))
        for title, of in (("mean of the settings", pl.mean), ("spread over the settings", pl.std))
    ]
    return ReportTable(
        f"settings-{anchor(game.replace('_', '-'))}", GAMES[game],
        pl.concat([frame, *last], how="diagonal"),
        (
            Header("setting", "Setting"),
            *(Header(key, player, UNIT, 1) for player, key in keys.items()),
        ),
        leads=lambda row: Lead(game, {"configuration": row["configuration"], "status": "finished"})
        if row["configuration"] else None,
    )  # fmt: skip


def _panel(game: str, found: pl.DataFrame) -> Panel:
    order = found["setting"].unique(maintain_order=True).to_list()
    players = found["player"].unique(maintain_order=True).to_list()
    traces = []
    for place, player in enumerate(players):
        own = found.filter(player=player)
        traces.append(marked_line(player, own["setting"].to_list(), own.to_dicts(), place))
    axis = {"type": "category", "categoryorder": "array", "categoryarray": order, "tickangle": -35}
    return Panel(GAMES[game], UNIT, 320, traces, {"xaxis": axis, **legend_above(len(players) > 1)})
