"""The strategic landscape: regret and welfare in equilibrium, and best responses."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from cheaptalk.equilibrium.analysis.analysis import Analysis
from cheaptalk.equilibrium.analysis.estimation import AnalysisOptions, analyse
from cheaptalk.equilibrium.analysis.providers import providers_of_models
from cheaptalk.equilibrium.analysis.selection import NAME, PLUS, selected, with_names
from cheaptalk.games.item_bargaining.rules import SEATS
from cheaptalk.papers.metagame.behaviour import AGENTS, GAME, scored, table
from cheaptalk.papers.printed import selected_labels
from cheaptalk.reports.charts.chart import tones_of
from cheaptalk.reports.metagame import figures, parts
from cheaptalk.reports.metagame.graph import best_response_graph
from cheaptalk.reports.pages import anchor
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Answer, Charts, Drawing, NoData, Shown
from cheaptalk.reports.recipes.tables import BOLD, ERROR, STARS, Header, ReportTable, finite
from cheaptalk.rules import CheaptalkError
from cheaptalk.text import readable

SMALL, LARGE = ("BG4", "BG5", "BG6", "BGS0"), ("BG1", "BG2", "BG3", "BGL0")
LLM_ONLY, WITH_BASELINES = "LLM-only", "LLM+baselines"
REGRET = "regret"
METRICS = {
    REGRET: ("MENE regret", "points"),
    "nw": ("NW", "%"),
    "nw_plus": ("NW+", "%"),
    "uw": ("UW", "%"),
    "ef1": ("EF1", "%"),
}
SIGNIFICANT = ((0.01, "***"), (0.05, "**"), (0.1, "*"))
Cell: TypeAlias = float | str | bool | None
STARS_NOTE = (
    " Stars mark the two best values of each column, by the p-value of the lead over draws: "
    "* p < .10, ** p < .05, *** p < .01."
)


def landscape(evidence: Evidence) -> Iterator[Shown]:
    """Report each game's maximum-entropy equilibrium and the strategies' results against it.

    Each bootstrap draw resamples instances and solves the game. Numbers are means over draws with
    95 % intervals; tables with the paper's layout have standard deviations instead. Regret is the
    payoff of the equilibrium against itself minus a strategy's payoff against the equilibrium.

    NW is the geometric mean of both payoffs, NW+ the geometric mean of gains above outside options,
    and UW the sum of payoffs, each in percent of the mean attainable maximum. Welfare is reported
    with and without discounting, because the paper's tables differ. EF1 is the share of agreements
    in which neither player envies the other after the removal of one item. Mixtures give all games
    equal weight.
    """
    mixed_first = sorted(evidence.once(analyses), key=lambda analysis: not _mixed(analysis))
    for analysis in mixed_first:
        yield Answer(*(f"{_title(analysis)}: {text}" for text in parts.answer(analysis)))
    for analysis in mixed_first:
        prefix = anchor(analysis.name)
        yield from _figures(analysis)
        yield parts.strategies(analysis, prefix)
        yield from parts.readings(analysis, prefix)
    yield _table_1(evidence, scored(evidence))
    agents = _by_agents(evidence)
    if len(agents) > 1:
        for analysis in agents[LLM_ONLY]:
            yield from _figures(analysis, ", only language models")
    yield from _landscapes(evidence, agents)


def _title(analysis: Analysis) -> str:
    if analysis.selected is None or not _mixed(analysis):
        return analysis.name
    return f"{analysis.name} ({', '.join(analysis.selected.configurations)} mixed)"


def _mixed(analysis: Analysis) -> bool:
    """Return whether an analysis covers a mixture of several games."""
    return analysis.selected is not None and len(analysis.selected.configurations) > 1


def _figures(analysis: Analysis, among: str = "") -> Iterator[Shown]:
    """Yield charts of a game's equilibrium and best responses."""
    name = anchor(f"{analysis.name}{among}")
    yield Charts(
        f"equilibrium-{name}",
        f"Equilibrium of {analysis.name}{among}",
        [
            figures.mixture_bars(analysis),
            figures.regret_ranking(analysis),
            figures.payoff_map(analysis),
        ],
        parts.HOW_DRAWN if analysis.draws else "",
    )
    drawing = parts.best_responses(analysis, tones_of(analysis.labels), name)
    yield drawing._replace(title=f"Best responses in {analysis.name}{among}")


def providers(evidence: Evidence) -> Iterator[Shown]:
    """Report providers' best responses to one another if each chooses among its own strategies.

    The paper has two definitions. In appendix K.1, each ordered pair of providers plays an
    equilibrium of the game between their strategies (Lemke-Howson algorithm). In section 6.5, each
    provider plays the strategy with the highest payoff against the equilibrium of all other
    strategies. The value given is the value, to the provider, of the items that its offers give
    away against the equilibrium among providers.
    """
    owners = providers_of_models(evidence.players)
    models = [label for label in evidence.labels if owners.get(label) is not None]
    if len(set(map(owners.get, models))) < 2:
        raise NoData(
            "models of fewer than two providers played item bargaining; add models of two, or "
            "set the providers of strategies in the command cheaptalk metagame"
        )
    for analysis in evidence.once(analyses):
        if analysis.providers:
            yield from parts.providers(analysis, analysis.providers, anchor(analysis.name))
            members = list(analysis.providers.members)
            for reading in analysis.providers.readings:
                rows = [list(map(figures.number, row)) for row in reading.payoffs]
                shares = list(map(figures.number, reading.shares))
                graph = best_response_graph(
                    members, np.array(rows), np.array(reading.responses), shares
                )
                name = f"provider-responses-{reading.name}-{anchor(analysis.name)}"
                title = f"Best responses among providers: {analysis.name}"
                yield Drawing(name, title, graph.svg())
    _, configurations = with_names(GAME, evidence.frames[GAME])
    for analysis in _solved(evidence, models, [PLUS.join(configurations)])[0]:
        yield from _provider_tables(evidence, analysis)


def analyses(evidence: Evidence) -> tuple[Analysis, ...]:
    """Return the analyses of the games that can be solved; raise NoData if there are none."""
    solved, problems = _solved(evidence, evidence.labels)
    if not solved:
        raise NoData("; ".join(problems) or "only one strategy played; a game needs two")
    return solved


def _by_agents(evidence: Evidence) -> dict[str, tuple[Analysis, ...]]:
    """The analyses for the paper's tables: of language models only, and of all players."""
    shown = selected_labels(evidence, evidence.labels)
    models = [label for label in shown if "model" in evidence.players.get(label, {})]
    groups = {}
    if len(models) > 1:
        groups[LLM_ONLY] = models
    if len(models) < len(shown):
        groups[WITH_BASELINES] = shown
    return {
        name: evidence.once(analyses)
        if set(labels) == set(evidence.labels)
        else _solved(evidence, labels)[0]
        for name, labels in groups.items()
    }


def _solved(
    evidence: Evidence, labels: Sequence[str], games: Sequence[str] = ()
) -> tuple[tuple[Analysis, ...], list[str]]:
    """Analyse the games among the given players; return the analyses and error messages."""
    filters = [pl.col(f"player_{seat}").is_in(labels) for seat in SEATS]
    options: AnalysisOptions = {
        "draws": evidence.draws,
        "seed": evidence.seed,
        "providers": providers_of_models(evidence.players),
        "processes": evidence.workers,
    }
    if evidence.progress:
        options["progress"] = evidence.progress
    solved, problems = [], []
    scored(evidence)  # raises if there is no match
    strategies = pl.col("player_player_1").n_unique()
    several = (strategies.over("configuration") > 1) | (strategies == 1)
    for selection in selected({GAME: evidence.frames[GAME].filter(*filters, several)}, games):
        try:
            solved.append(analyse(selection, **options))
        except (CheaptalkError, ValueError) as error:
            problems.append(str(error))
    return tuple(solved), problems


def _table_1(evidence: Evidence, frame: pl.DataFrame) -> ReportTable:
    """Return Table 1: the games with their numbers of instances for unordered pairs of agents."""
    pair = pl.concat_list("player_player_1", "player_player_2").list.sort().list.join("\n")
    games = frame.group_by(NAME, maintain_order=True).agg(
        pl.struct("instance", pair).n_unique().alias("settings"),
        pl.col("^game_(quantities|discount|rounds)$").first().name.replace("game_", ""),
    )
    rows = []
    for row in games.sort(NAME).iter_rows(named=True):
        game = row.pop(NAME)
        kind = "BGS" if game in SMALL else "BGL" if game in LARGE else "other"
        kinds, quantities = _pool(json.loads(row.pop("quantities")))
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


def _landscapes(
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
            headers = [
                Header(f"{analysis.name} {metric}", title, unit, 2, group=analysis.name)
                for analysis in games
                for metric, (title, unit) in METRICS.items()
            ]
            frame, columns = _side_by_side(games, stars=stars), {"metrics": headers}
            yield table(evidence, "landscape", frame, name=name, columns=columns, facts=facts)


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


def _provider_tables(evidence: Evidence, analysis: Analysis) -> Iterator[ReportTable]:
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
