"""The strategic landscape: regret and welfare in equilibrium, and best responses."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from cheaptalk.equilibrium.analysis.analysis import Analysis
from cheaptalk.equilibrium.analysis.estimation import analyse
from cheaptalk.equilibrium.analysis.providers import providers_of_models
from cheaptalk.equilibrium.analysis.selection import PLUS, selected, with_names
from cheaptalk.games.item_bargaining.rules import SEATS
from cheaptalk.papers.metagame import paper_tables
from cheaptalk.papers.metagame.behaviour import GAME, scored
from cheaptalk.papers.printed import selected_labels
from cheaptalk.reports.charts.chart import tones_of
from cheaptalk.reports.metagame import figures, parts
from cheaptalk.reports.metagame.graph import best_response_graph
from cheaptalk.reports.pages import anchor
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Answer, Charts, Drawing, NoData, Text
from cheaptalk.reports.recipes.tables import ReportTable
from cheaptalk.rules import CheaptalkError


def landscape(evidence: Evidence) -> Iterator[Answer | ReportTable | Charts | Drawing]:
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
    yield paper_tables.instances(evidence, scored(evidence))
    agents = _by_agents(evidence)
    if len(agents) > 1:
        for analysis in agents[paper_tables.LLM_ONLY]:
            yield from _figures(analysis, ", only language models")
    yield from paper_tables.landscapes(evidence, agents)


def _title(analysis: Analysis) -> str:
    if analysis.selected is None or not _mixed(analysis):
        return analysis.name
    return f"{analysis.name} ({', '.join(analysis.selected.configurations)} mixed)"


def _mixed(analysis: Analysis) -> bool:
    """Return whether an analysis covers a mixture of several games."""
    return analysis.selected is not None and len(analysis.selected.configurations) > 1


def _figures(analysis: Analysis, among: str = "") -> Iterator[Charts | Drawing]:
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


def providers(evidence: Evidence) -> Iterator[Text | ReportTable | Drawing]:
    """Report providers' best responses to one another if each chooses among its own strategies.

    The paper has two definitions. In appendix K.1, each ordered pair of providers plays an
    equilibrium of the game between their strategies (Lemke-Howson algorithm). In section 6.5, each
    provider plays the strategy with the highest payoff against the equilibrium of all other
    strategies. The value given is the value, to the provider, of the items that its offers give
    away against the equilibrium among providers.
    """
    owners = providers_of_models(evidence.players)
    if len(set(map(owners.get, evidence.labels)) - {None}) < 2:
        raise NoData(
            "models of fewer than two providers played item bargaining; add models of two with "
            "--player, or set the providers of strategies with cheaptalk metagame --provider"
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
    for analysis in _solved(evidence, evidence.labels, [PLUS.join(configurations)])[0]:
        yield from paper_tables.providers(evidence, analysis)


def analyses(evidence: Evidence) -> tuple[Analysis, ...]:
    """Return the analyses of the games that can be solved; raise NoData if there are none."""
    solved, problems = _solved(evidence, evidence.labels)
    if not solved:
        matches = scored(evidence).height
        raise NoData("; ".join(problems) or f"cannot solve a game with {matches} matches")
    return solved


def _by_agents(evidence: Evidence) -> dict[str, tuple[Analysis, ...]]:
    """The analyses for the paper's tables: of language models only, and of all players."""
    shown = selected_labels(evidence, evidence.labels)
    models = [label for label in shown if "model" in evidence.players.get(label, {})]
    groups = {}
    if len(models) > 1:
        groups[paper_tables.LLM_ONLY] = models
    if len(models) < len(shown):
        groups[paper_tables.WITH_BASELINES] = shown
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
    owners = providers_of_models(evidence.players)
    solved, problems = [], []
    scored(evidence)  # raises if there is no match
    for selection in selected({GAME: evidence.frames[GAME].filter(*filters)}, games):
        draws, seed = evidence.draws, evidence.seed
        try:
            solved.append(analyse(selection, draws=draws, seed=seed, providers=owners))
        except (CheaptalkError, ValueError) as error:
            problems.append(str(error))
    return tuple(solved), problems
