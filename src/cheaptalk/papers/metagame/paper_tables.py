"""Tables 1 to 5 and 12 to 15, and the tables of Figure 1, with the paper's layout."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from cheaptalk.equilibrium.analysis.analysis import Analysis
from cheaptalk.equilibrium.analysis.selection import NAME
from cheaptalk.frames.reader import decoded
from cheaptalk.papers.printed import paper_table, selected_labels
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.tables import BOLD, ERROR, STARS, Header, ReportTable, finite
from cheaptalk.text import readable

table = partial(paper_table, "metagame")
SMALL, LARGE = ("BG4", "BG5", "BG6", "BGS0"), ("BG1", "BG2", "BG3", "BGL0")
LLM_ONLY, WITH_BASELINES = "LLM-only", "LLM+baselines"
AGENTS = (
    "sonnet-3.7-c-5",
    "sonnet-3.7-c-6",
    "sonnet-3.7-r-c-0",
    "gem-2.0-f-c-2",
    "gem-2.0-f-c-5",
    "4o-c-4",
    "4o-c-5",
    "4o-c-6",
    "o3-mini-c-0",
    "nfsp",
    "rnad",
    "aspire",
    "soft",
    "tough",
    "walk",
)
"""The paper's agents in the order of the tables."""
OPPONENTS: tuple[str, ...] = ("vs tough", "vs others")
REGRET = "regret"
METRICS = {
    REGRET: ("MENE regret", "points"),
    "nw": ("NW", "%"),
    "nw_plus": ("NW+", "%"),
    "uw": ("UW", "%"),
    "ef1": ("EF1", "%"),
}
"""The columns of every game, with their units."""
SIGNIFICANT = ((0.01, "***"), (0.05, "**"), (0.1, "*"))
"""The stars of a lead, by p-value."""
Cell: TypeAlias = float | str | bool | None
STARS_NOTE = (
    " Stars mark the two best values of each column, by the p-value of the lead over draws: "
    "* p < .10, ** p < .05, *** p < .01."
)


def instances(evidence: Evidence, frame: pl.DataFrame) -> ReportTable:
    """Return Table 1: the games with their numbers of instances for a pair of agents in any order."""
    pair = pl.concat_list("player_player_1", "player_player_2").list.sort().list.join("\n")
    games = frame.group_by(NAME, maintain_order=True).agg(
        pl.struct("instance", pair).n_unique().alias("settings"),
        pl.col("^game\\.(quantities|discount|rounds)$").first().name.replace("game.", ""),
    )
    rows = []
    for row in games.sort(NAME).iter_rows(named=True):
        game = row.pop(NAME)
        kind = "BGS" if game in SMALL else "BGL" if game in LARGE else "other"
        kinds, quantities = _pool(decoded(row.pop("quantities")))
        rows.append({"class": kind, "kinds": kinds, "quantities": quantities, "game": game, **row})
    settings, pool = pl.col("settings"), ("class", "kinds", "quantities")
    first = pl.int_range(pl.len()).over(pool) == 0
    total = pl.when(first).then(settings.sum().over(pool)).alias("total")
    columns = (*pool, "game", "discount", "rounds", "settings")
    return table(evidence, "table-1", pl.DataFrame(rows).select(*columns, total))


def _pool(quantities: Any) -> tuple[str, str]:
    """The number of kinds of items, and the number of items of each kind, as text."""
    if isinstance(quantities, Mapping):
        return str(quantities["kinds"]), f"Poisson({readable(quantities['mean'])}) each"
    return str(len(quantities)), f"({readable(quantities)})"


def landscapes(
    evidence: Evidence, analyses: Mapping[str, Sequence[Analysis]]
) -> Iterator[ReportTable]:
    """Yield Tables 2 to 5 and 15 and the tables of Figure 1, for games that were played."""
    tables = pl.read_csv(Path(__file__).with_name("landscapes.csv"))
    for name, number, agents, stars, included in tables.iter_rows():
        games = [
            analysis
            for game in included.split(" ")
            for analysis in analyses.get(agents, ())
            if analysis.name == game
        ]
        if games:
            facts = {"number": number, "agents": agents, "stars": STARS_NOTE * stars}
            facts["parameters"] = "".join(map(_parameters, games))
            frame, columns = _side_by_side(games, stars=stars), {"metrics": _headers(games)}
            yield table(evidence, "landscape", frame, name=name, columns=columns, facts=facts)


def _headers(games: Sequence[Analysis]) -> list[Header]:
    return [
        Header(f"{analysis.name} {metric}", title, unit, 2, group=analysis.name)
        for analysis in games
        for metric, (title, unit) in METRICS.items()
    ]


def _side_by_side(games: Sequence[Analysis], *, stars: bool) -> pl.DataFrame:
    rows: dict[str, dict[str, Any]] = {}
    for analysis in games:
        for metric in METRICS:
            for label, cell in _column(analysis, metric, stars=stars).items():
                row = rows.setdefault(label, {"agent": label})
                row |= {f"{analysis.name} {metric}{part}": value for part, value in cell.items()}
    order = sorted(rows, key=lambda label: AGENTS.index(label) if label in AGENTS else len(AGENTS))
    return pl.DataFrame([rows[label] for label in order], infer_schema_length=None)


def _parameters(analysis: Analysis) -> str:
    configurations = list(analysis.selected.configurations.values()) if analysis.selected else []
    if len(configurations) != 1:
        return ""
    discount, rounds = (readable(configurations[0][name]) for name in ("discount", "rounds"))
    return f"{analysis.name}: \N{GREEK SMALL LETTER GAMMA} = {discount}, R = {rounds}. "


def _column(analysis: Analysis, metric: str, *, stars: bool) -> dict[str, dict[str, Cell]]:
    """Each agent's mean and error of a metric; the best mean is bold and can have stars."""
    title, _ = METRICS[metric]
    name = metric if metric == REGRET else title
    if metric == "uw" and analysis.name in SMALL:
        name += ", of allocations"
    spreads = analysis.against(name)
    means = [finite(spread.estimate if spread.mean is None else spread.mean) for spread in spreads]
    values = [np.nan if mean is None else -mean if metric == REGRET else mean for mean in means]
    best = np.nanmax(values) if np.isfinite(values).any() else np.nan
    cells: dict[str, dict[str, Cell]] = {
        label: {"": mean, ERROR: spread.error, BOLD: bool(score == best)}
        for label, mean, spread, score in zip(analysis.labels, means, spreads, values, strict=True)
    }
    if stars and analysis.draws and np.isfinite(values).sum() > 1:
        lead = analysis.bootstrap.differences(name).row(0, named=True)
        sign = next((sign for limit, sign in SIGNIFICANT if lead["p"] < limit), "")
        for label in cells:
            cells[label][STARS] = sign if label in (lead["ahead"], lead["behind"]) else ""
    return cells


def acceptances(evidence: Evidence, shares: pl.DataFrame) -> Iterator[ReportTable]:
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
    position = pl.col("player").replace_strict(
        AGENTS, range(len(AGENTS)), default=len(AGENTS), return_dtype=pl.Int64
    )
    columns = {level: {f"{level} {kind}": kind for kind in kinds} for level in levels}
    yield table(evidence, "table-12", wide.sort(position, "player"), columns=columns)


def providers(evidence: Evidence, analysis: Analysis) -> Iterator[ReportTable]:
    """Yield Tables 13 and 14 (appendix K.1): the values that providers give, and best responses."""
    shown = analysis.providers
    for reading in shown.readings if shown else ():
        if shown is None or reading.name != "mixtures":
            continue
        names, facts = list(shown.members), {"about": reading.about}
        if reading.value_given is not None:
            given = [
                spread.estimate if spread.mean is None else spread.mean
                for spread in reading.value_given
            ]
            errors = [spread.error for spread in reading.value_given]
            frame = pl.DataFrame({"provider": names, "given": given, f"given{ERROR}": errors})
            yield table(evidence, "table-13", frame, facts=facts)
        replies = {f"reply {name}": name for name in names}
        shares = dict(zip(replies, zip(*reading.responses, strict=True), strict=True))
        frame = pl.DataFrame({"provider": names, **shares})
        yield table(evidence, "table-14", frame, columns={"replies": replies}, facts=facts)
