"""The strategic landscape: regret and welfare at equilibrium, and who answers whom best."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from cheaptalk.equilibrium.analysis.analysis import Analysis
from cheaptalk.equilibrium.analysis.estimation import analyse
from cheaptalk.equilibrium.analysis.providers import ProviderReading, providers_of_models
from cheaptalk.equilibrium.analysis.selection import PLUS, selected, with_names
from cheaptalk.games.item_bargaining.rules import PLACES
from cheaptalk.papers.metagame import paper_tables
from cheaptalk.papers.metagame.behaviour import GAME, scored
from cheaptalk.papers.printed import chosen
from cheaptalk.reports.charts.colours import tones_of
from cheaptalk.reports.metagame import figures, parts
from cheaptalk.reports.metagame.graph import best_response_graph
from cheaptalk.reports.pages import anchor
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Answer, Charts, Drawing, Lacking, Text
from cheaptalk.reports.recipes.tables import ReportTable
from cheaptalk.rules import CheaptalkError


def landscape(evidence: Evidence) -> Iterator[Answer | ReportTable | Charts | Drawing]:
    """Each game's equilibrium of most entropy, and how strategies fare against it.

    Deals are drawn again with replacement, and each draw's game is solved anew. Numbers are means
    over draws with the ends between which 95 % of the draws are; tables in the paper's form have
    their standard deviation instead. Regret is how much less a strategy gets against the
    equilibrium than the equilibrium against itself. NW is the geometric
    mean of both payoffs, NW+ that of what both get above their outside options, UW their sum, each
    in percent of the greatest that deals allow on average; EF1 is the share of agreements in which
    nobody envies the other after one item less. Several games mixed weigh alike.

    The paper's own tables differ in whether welfare is discounted, so both are given.
    """
    mixed_first = sorted(evidence.once(analyses), key=lambda one: not _mixed(one))
    for one in mixed_first:
        yield Answer(*(f"{_called(one)}: {text}" for text in parts.answer(one)))
    for one in mixed_first:
        prefix = anchor(one.name)
        yield from _drawn(one)
        yield parts.strategies(one, prefix)
        yield from parts.readings(one, prefix)
    yield paper_tables.instances(evidence, scored(evidence))
    agents = _by_agents(evidence)
    if len(agents) > 1:
        for one in agents[paper_tables.LLM_ONLY]:
            yield from _drawn(one, ", language models alone")
    yield from paper_tables.landscapes(evidence, agents)


def _called(one: Analysis) -> str:
    """A game's name; of several games mixed, with theirs."""
    if one.selected is None or not _mixed(one):
        return one.name
    return f"{one.name} ({', '.join(one.selected.configurations)} mixed)"


def _mixed(one: Analysis) -> bool:
    """Whether it is several games, which weigh alike."""
    return one.selected is not None and len(one.selected.configurations) > 1


def _drawn(one: Analysis, among: str = "") -> Iterator[Charts | Drawing]:
    """The equilibrium and the best responses of a game, among some of its players if it says so."""
    name = anchor(f"{one.name}{among}")
    yield Charts(
        f"equilibrium-{name}", f"Who would be chosen in {one.name}{among}",
        [figures.mixture_bars(one), figures.regret_ranking(one), figures.payoff_map(one)],
        parts.HOW_DRAWN if one.draws else "",
    )  # fmt: skip
    drawing = parts.best_replies(one, tones_of(one.labels), name)
    yield drawing._replace(title=f"Best responses in {one.name}{among}")


def providers(evidence: Evidence) -> Iterator[Text | ReportTable | Drawing]:
    """If each provider chose among its own strategies, who would answer whom best.

    Two published readings: each ordered pair of providers plays an equilibrium of the game between
    their strategies, found by Lemke and Howson's algorithm (appendix K.1), or each provider sends
    the one strategy that does best against all others' equilibrium (section 6.5). Value given is
    what a provider's offers give away, in its own values, against the equilibrium among providers.
    """
    owners = providers_of_models(evidence.players)
    if len(set(map(owners.get, evidence.labels)) - {None}) < 2:
        raise Lacking(
            "fewer than two providers' models played item bargaining; seat models of two with "
            "--player, or name providers of strategies with cheaptalk metagame --provider"
        )
    for one in evidence.once(analyses):
        if one.providers:
            yield from parts.providers(one, one.providers, anchor(one.name))
            yield from (_provider_graph(one, each) for each in one.providers.readings)
    _, configurations = with_names(GAME, evidence.frames[GAME])
    for one in _solved(evidence, evidence.labels, [PLUS.join(configurations)])[0]:
        yield from paper_tables.providers(evidence, one)


def analyses(evidence: Evidence) -> tuple[Analysis, ...]:
    """The games of the study that can be solved, with all who played them.

    Raises:
        Lacking: none can be; it says why.
    """
    found, problems = _solved(evidence, evidence.labels)
    if not found:
        matches = scored(evidence).height
        raise Lacking("; ".join(problems) or f"no game of {matches} matches can be solved")
    return found


def _by_agents(evidence: Evidence) -> dict[str, tuple[Analysis, ...]]:
    """The games among language models alone, and those with baselines, if there are any.

    Those alone count as all who are asked for in tables of the paper's form.
    """
    shown = chosen(evidence, evidence.labels)
    models = [label for label in shown if "model" in evidence.players.get(label, {})]
    found = {}
    if len(models) > 1:
        found[paper_tables.LLM_ONLY] = _among(evidence, models)
    if len(models) < len(shown):
        found[paper_tables.WITH_BASELINES] = _among(evidence, shown)
    return found


def _among(evidence: Evidence, labels: Sequence[str]) -> tuple[Analysis, ...]:
    every = set(labels) == set(evidence.labels)
    return evidence.once(analyses) if every else _solved(evidence, labels)[0]


def _solved(
    evidence: Evidence, labels: Sequence[str], games: Sequence[str] = ()
) -> tuple[tuple[Analysis, ...], list[str]]:
    """The games that can be solved among some players, and why others cannot be."""
    seated = [pl.col(f"player.{place}").is_in(labels) for place in PLACES]
    owners = providers_of_models(evidence.players)
    found, problems = [], []
    scored(evidence)  # says so if there is no match
    for one in selected({GAME: evidence.frames[GAME].filter(*seated)}, games):
        try:
            found.append(analyse(one, draws=evidence.draws, seed=evidence.seed, providers=owners))
        except (CheaptalkError, ValueError) as error:
            problems.append(str(error))
    return tuple(found), problems


def _provider_graph(one: Analysis, reading: ProviderReading) -> Drawing:
    assert one.providers is not None
    payoffs = [[figures.number(cell) for cell in row] for row in reading.payoffs]
    shares = [figures.number(share) for share in reading.shares]
    graph = best_response_graph(
        list(one.providers.members), np.array(payoffs), np.array(reading.responses), shares
    )
    name = f"provider-responses-{reading.name}-{anchor(one.name)}"
    return Drawing(name, f"Best responses among providers: {one.name}", graph.svg())
