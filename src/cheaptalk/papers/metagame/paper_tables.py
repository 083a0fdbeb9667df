"""Tables 1 to 5 and 12 to 15, and the tables of Figure 1, with the paper's layout."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from cheaptalk.equilibrium.analysis.analysis import Analysis
from cheaptalk.equilibrium.analysis.selection import NAME
from cheaptalk.frames.reader import decoded
from cheaptalk.papers.printed import as_printed, selected_labels
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.tables import BOLD, ERROR, STARS, Header, ReportTable, finite
from cheaptalk.text import readable

PAPER = "metagame"
GAMMA = "\N{GREEK SMALL LETTER GAMMA}"
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
CAPTION = (
    "Means over bootstrap draws, with standard deviations in parentheses; the best value of each "
    "column is bold. Payoffs are discounted. The maxima of NW, and of UW in BG1 to BG3, include "
    "the outside options. As in the printed numbers, the maxima of UW in BG4 to BG6 do not."
)
FIGURE_CAPTION = (
    " Stars mark the two best values of each column, by the p-value of the lead over draws: "
    "* p < .10, ** p < .05, *** p < .01."
)


class PaperTable(NamedTuple):
    """A table with several games side by side.

    Attributes:
        name: the table's name in file names.
        printed: the table's number in the paper.
        games: the games in the table.
        agents: the set of agents, :data:`LLM_ONLY` or :data:`WITH_BASELINES`.
        stars: whether leads have stars.
    """

    name: str
    printed: str
    games: tuple[str, ...]
    agents: str
    stars: bool = False


TABLES = (
    PaperTable("figure-1-llm-only", "Figure 1", SMALL[3:], LLM_ONLY, stars=True),
    PaperTable("figure-1-baselines", "Figure 1", SMALL[3:], WITH_BASELINES, stars=True),
    PaperTable("table-2", "Table 2", LARGE[:3], LLM_ONLY),
    PaperTable("table-3", "Table 3", SMALL, LLM_ONLY),
    PaperTable("table-4", "Table 4", LARGE[:3], WITH_BASELINES),
    PaperTable("table-5", "Table 5", SMALL[:3], WITH_BASELINES),
    PaperTable("table-15-llm-only", "Table 15", LARGE[3:], LLM_ONLY),
    PaperTable("table-15-baselines", "Table 15", LARGE[3:], WITH_BASELINES),
)


def instances(evidence: Evidence, frame: pl.DataFrame) -> ReportTable:
    """Return Table 1: the games, each with the number of settings that were played.

    A setting is an instance for a pair of agents in either order.

    Args:
        frame: the matches, with the names of games.
    """
    pair = pl.concat_list("player_player_1", "player_player_2").list.sort().list.join("\n")
    games = (
        frame.group_by(NAME, maintain_order=True)
        .agg(
            pl.struct("instance", pair).n_unique().alias("settings"),
            pl.col("^game\\.(quantities|discount|rounds)$").first(),
        )
        .sort(NAME)
    )
    rows = [
        {
            "class": _pool_class(row[NAME]),
            "kinds": kinds,
            "quantities": quantities,
            "game": row[NAME],
            "discount": row["game.discount"],
            "rounds": row["game.rounds"],
            "settings": row["settings"],
        }
        for row in games.iter_rows(named=True)
        for kinds, quantities in [_pool(decoded(row["game.quantities"]))]
    ]
    total = pl.col("settings").sum().over("class", "kinds", "quantities")
    first = pl.int_range(pl.len()).over("class", "kinds", "quantities") == 0
    table = pl.DataFrame(rows).with_columns(pl.when(first).then(total).alias("total"))
    columns = (
        Header("class", "Game class"),
        Header("kinds", "T"),
        Header("quantities", "q"),
        Header("game", "Game"),
        Header("discount", GAMMA, "", 2),
        Header("rounds", "R", "", 0),
        Header("settings", "Settings in cohort", "", 0),
        Header("total", "Settings", "total", 0),
    )
    return as_printed(
        evidence,
        PAPER,
        ReportTable(
            "table-1",
            "Instances of the games",
            table,
            columns,
            f"T: kinds of items; q: items of each kind; {GAMMA}: discount factor; R: rounds. A setting "
            "is one instance for one pair of agents.",
            printed="Table 1",
        ),
    )


def _pool_class(game: str) -> str:
    return "BGS" if game in SMALL else "BGL" if game in LARGE else "other"


def _pool(quantities: Any) -> tuple[str, str]:
    """Return the number of kinds of items, and the number of items of each kind, as text.

    >>> _pool([7, 4, 1]), _pool({"kinds": 5, "mean": 4})
    (('3', '(7, 4, 1)'), ('5', 'Poisson(4) each'))
    """
    if isinstance(quantities, Mapping):
        return str(quantities["kinds"]), f"Poisson({readable(quantities['mean'])}) each"
    return str(len(quantities)), f"({readable(quantities)})"


def landscapes(
    evidence: Evidence, analyses: Mapping[str, Sequence[Analysis]]
) -> Iterator[ReportTable]:
    """Yield Tables 2 to 5 and 15 and the tables of Figure 1, for games that were played.

    Args:
        analyses: the analyses of the games, by set of agents.
    """
    for table in TABLES:
        games = [
            analysis
            for game in table.games
            for analysis in analyses.get(table.agents, ())
            if analysis.name == game
        ]
        if games:
            yield as_printed(evidence, PAPER, _side_by_side(table, games))


def _side_by_side(table: PaperTable, games: Sequence[Analysis]) -> ReportTable:
    rows: dict[str, dict[str, Any]] = {}
    for analysis in games:
        for metric in METRICS:
            for label, cell in _column(analysis, metric, stars=table.stars).items():
                row = rows.setdefault(label, {"agent": label})
                row |= {f"{analysis.name} {metric}{part}": value for part, value in cell.items()}
    order = sorted(rows, key=lambda label: AGENTS.index(label) if label in AGENTS else len(AGENTS))
    headers = (
        Header(f"{analysis.name} {metric}", title, unit, 2, group=analysis.name)
        for analysis in games
        for metric, (title, unit) in METRICS.items()
    )
    return ReportTable(
        table.name,
        f"Regret and welfare, {table.agents}",
        pl.DataFrame([rows[label] for label in order], infer_schema_length=None),
        (Header("agent", "Agent"), *headers),
        "".join(map(_parameters, games)) + CAPTION + FIGURE_CAPTION * table.stars,
        printed=table.printed,
    )


def _parameters(analysis: Analysis) -> str:
    configurations = list(analysis.selected.configurations.values()) if analysis.selected else []
    if len(configurations) != 1:
        return ""
    discount, rounds = (readable(configurations[0][name]) for name in ("discount", "rounds"))
    return f"{analysis.name}: {GAMMA} = {discount}, R = {rounds}. "


def _column(analysis: Analysis, metric: str, *, stars: bool) -> dict[str, dict[str, Cell]]:
    """Return each agent's mean and error of a metric; the best mean is bold and can have stars."""
    name = _metric_name(analysis, metric)
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


def _metric_name(analysis: Analysis, metric: str) -> str:
    """Return the name of the metric variant that the paper reports."""
    title, _ = METRICS[metric]
    if metric == "uw" and analysis.name in SMALL:
        return f"{title}, of allocations"
    return metric if metric == REGRET else title


def acceptances(evidence: Evidence, shares: pl.DataFrame) -> Iterator[ReportTable]:
    """Yield Table 12: how often agents accept less than their outside options, by opponent.

    Args:
        shares: one row per agent and kind of opponent, ``against``. ``turn`` is the percentage of
            accepted low offers; ``game`` is the percentage of matches with low offers in which an
            agent accepts one.
    """
    levels = {"turn": "Turn level acceptance rate", "game": "Game level acceptance rate"}
    rates = shares.filter(pl.col("player").is_in(selected_labels(evidence, evidence.labels)))
    kinds = [kind for kind in ("vs tough", "vs others") if kind in set(rates["against"])]
    if not kinds:
        return
    wide = rates.pivot("against", index="player", values=list(levels), separator=" ")
    position = pl.col("player").replace_strict(
        AGENTS, range(len(AGENTS)), default=len(AGENTS), return_dtype=pl.Int64
    )
    headers = (
        Header(f"{level} {kind}", kind, "%", 1, group=title)
        for level, title in levels.items()
        for kind in kinds
    )
    yield as_printed(
        evidence,
        PAPER,
        ReportTable(
            "table-12",
            "Accepting less than the outside option",
            wide.sort(position, "player"),
            (Header("player", "Agent"), *headers),
            "Turn level: share of offers below the outside option. Game level: share of matches with "
            "such offers.",
            printed="Table 12",
        ),
    )


def providers(evidence: Evidence, analysis: Analysis) -> Iterator[ReportTable]:
    """Yield Tables 13 and 14 (appendix K.1): the values that providers give, and best responses.

    Args:
        analysis: the analysis of all configurations with equal weight.
    """
    readings = [
        reading
        for reading in (analysis.providers.readings if analysis.providers else ())
        if reading.name == "mixtures"
    ]
    for reading in readings:
        assert analysis.providers is not None
        names = list(analysis.providers.members)
        if reading.value_given is not None:
            given = [
                spread.estimate if spread.mean is None else spread.mean
                for spread in reading.value_given
            ]
            errors = [spread.error for spread in reading.value_given]
            yield as_printed(
                evidence,
                PAPER,
                ReportTable(
                    "table-13",
                    "Value given in equilibrium",
                    pl.DataFrame({"provider": names, "given": given, f"given{ERROR}": errors}),
                    (Header("provider", "Family"), Header("given", "Mean", "points", 2)),
                    f"{reading.about} In parentheses, the standard deviation over draws.",
                    printed="Table 13",
                ),
            )
        columns = zip(*reading.responses, strict=True)
        replies = {f"reply {name}": column for name, column in zip(names, columns, strict=True)}
        yield as_printed(
            evidence,
            PAPER,
            ReportTable(
                "table-14",
                "Best responses among providers",
                pl.DataFrame({"provider": names, **replies}),
                (
                    Header("provider", "Best response"),
                    *(Header(f"reply {name}", name, "", 2, group="Response to") for name in names),
                ),
                f"{reading.about} Shares of draws in which the row is a best response to the column.",
                printed="Table 14",
            ),
        )
