"""The strategic landscape: regret and welfare at equilibrium, and who answers whom best."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from cheaptalk.equilibrium.analysis.analysis import Analysis
from cheaptalk.equilibrium.analysis.estimation import analyse
from cheaptalk.equilibrium.analysis.providers import ProviderReading, providers_of_models
from cheaptalk.equilibrium.analysis.selection import selected
from cheaptalk.equilibrium.empirical.bootstrap import Spread
from cheaptalk.papers.metagame.behaviour import GAME, scored
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.metagame import figures
from cheaptalk.reports.metagame.graph import best_response_graph
from cheaptalk.reports.pages import anchor
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import (
    ERROR,
    Charts,
    Drawing,
    Header,
    Lacking,
    ReportTable,
    finite,
)
from cheaptalk.rules import CheaptalkError, MeasureTable

STARS = ((0.01, "***"), (0.05, "**"), (0.1, "*"))
"""What stands beside the strategy of least regret, by p of its lead over the next."""
TableRow = dict[str, float | str | None]


def landscape(evidence: Evidence) -> Iterator[ReportTable | Charts | Drawing]:
    """Each game's equilibrium of most entropy, and how strategies fare against it.

    Deals are drawn again with replacement, and each draw's game is solved anew. Numbers are means
    over draws with their standard deviation in brackets, as in the paper. Regret is how much less a
    strategy gets against the equilibrium than the equilibrium against itself. NW is the geometric
    mean of both payoffs, NW+ that of what both get above their outside options, UW their sum, each
    in percent of the greatest that deals allow on average; EF1 is the share of agreements in which
    nobody envies the other after one item less. Several games mixed weigh alike.

    Stars at the first strategy say that it leads the next by regret: * p < .10, ** p < .05,
    *** p < .01, of a two-sided test over draws on the same deals. The paper's own tables differ in
    whether welfare is discounted, so both are given.
    """
    for one in _analyses(evidence):
        prefix = anchor(one.name)
        yield _regrets(one, prefix)
        for reading in one.readings:
            yield _welfare(one, reading, prefix)
        yield Charts(
            f"equilibrium-{prefix}", f"Who would be chosen in {one.name}",
            [figures.mixture_bars(one), figures.regret_ranking(one), figures.payoff_map(one)],
        )  # fmt: skip
        shares = [figures.number(each) for each in one.against("mixture")]
        responses = one.responses
        graph = best_response_graph(one.labels, responses.payoffs, responses.alone, shares)
        yield Drawing(
            f"best-responses-{prefix}", f"Best responses in {one.name}", graph.svg(),
            "An arrow leads from a strategy to its best response, dotted up to a third of the "
            "draws, dashed up to two thirds, solid above; the darker, the more the response gets. "
            "Filled circles are the equilibrium.",
        )  # fmt: skip


def providers(evidence: Evidence) -> Iterator[ReportTable | Drawing]:
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
    for one in _analyses(evidence):
        for reading in one.providers.readings if one.providers else ():
            yield _provider_table(one, reading)
            yield _provider_graph(one, reading)


def _analyses(evidence: Evidence) -> Iterator[Analysis]:
    """The games of the study that can be solved.

    Raises:
        Lacking: none can be; it says why.
    """
    frame = scored(evidence)
    owners = providers_of_models(evidence.players)
    problems: list[str] = []
    found = False
    for one in selected({GAME: evidence.frames[GAME]}, ()):
        try:
            analysis = analyse(one, draws=evidence.draws, seed=evidence.seed, providers=owners)
        except (CheaptalkError, ValueError) as error:
            problems.append(str(error))
            continue
        found = True
        yield analysis
    if not found:
        raise Lacking("; ".join(problems) or f"no game of {frame.height} matches can be solved")


def _numbers(key: str, one: Spread) -> TableRow:
    """A number with its standard deviation over draws and its interval, where there are draws."""
    mean = one.estimate if one.mean is None else one.mean
    return {key: finite(mean), key + ERROR: one.error}


def _regrets(one: Analysis, prefix: str) -> ReportTable:
    regrets, shares, gets = one.against("regret"), one.against("mixture"), one.gets
    lead = one.gaps[0].p if one.gaps else 1.0
    star = next((sign for limit, sign in STARS if lead < limit), "")
    rows: list[TableRow] = [
        {"strategy": one.labels[at], "stars": star if not place else ""}
        | _numbers("regret", regrets[at])
        | _numbers("share", shares[at])
        | _numbers("payoff", gets[at])
        | {"reply": 100 * one.answering[at]}
        for place, at in enumerate(one.ranking)
    ]
    columns = (
        Header("strategy", "Strategy"),
        Header("stars", "Leads the next"),
        Header("regret", "Regret", "points", 2),
        Header("share", "Share of equilibrium", "", 3),
        Header("payoff", "Payoff against it", "points", 2),
        Header("reply", "Only best reply", "% of draws and rivals", 1),
    )
    caption = f"{one.found_in_words}. "
    caption += f"No intervals: {one.unsure}." if one.unsure else f"{one.draws:,} draws."
    return ReportTable(
        f"regret-{prefix}", f"Regret in {one.name}", pl.DataFrame(rows, infer_schema_length=None),
        columns, caption,
        leads=lambda row: Lead(GAME, {"player": str(row["strategy"]), "status": "finished"}),
    )  # fmt: skip


def _welfare(one: Analysis, reading: MeasureTable, prefix: str) -> ReportTable:
    measured = {title: one.against(title) for title, _, _ in reading.columns}
    rows: list[TableRow] = []
    for at in one.ranking:
        row: TableRow = {"strategy": one.labels[at]}
        for name, spreads in measured.items():
            row |= _numbers(name, spreads[at])
        rows.append(row)
    whole: TableRow = {"strategy": "the equilibrium itself"}
    for name in measured:
        whole |= _numbers(name, one.at_equilibrium(name))
    columns = (Header("strategy", "Strategy"), *(Header(name, name, "%", 2) for name in measured))
    return ReportTable(
        f"{anchor(reading.title).lower()}-{prefix}", f"{reading.title}: {one.name}",
        pl.DataFrame([*rows, whole], infer_schema_length=None), columns, reading.about,
    )  # fmt: skip


def _provider_table(one: Analysis, reading: ProviderReading) -> ReportTable:
    assert one.providers is not None
    names = list(one.providers.members)
    rows: list[TableRow] = []
    for at, name in enumerate(names):
        row: TableRow = {"provider": name, **_numbers("share", reading.shares[at])}
        if reading.given is not None:
            row |= _numbers("given", reading.given[at])
        for rival, share in zip(names, reading.responses[at], strict=True):
            row[f"reply {rival}"] = share
        rows.append(row)
    given = () if reading.given is None else (Header("given", "Value given", "points", 1),)
    columns = (
        Header("provider", "Provider"), Header("share", "Share", "of the equilibrium", 3), *given,
        *(Header(f"reply {rival}", f"To {rival}", "best reply, share", 2) for rival in names),
    )  # fmt: skip
    missing = tuple(f"{what} is missing: {why}." for what, why in one.providers.absent.items())
    return ReportTable(
        f"providers-{reading.name}-{anchor(one.name)}", f"{reading.title}: {one.name}",
        pl.DataFrame(rows, infer_schema_length=None), columns, reading.about, missing,
    )  # fmt: skip


def _provider_graph(one: Analysis, reading: ProviderReading) -> Drawing:
    assert one.providers is not None
    payoffs = [[figures.number(cell) for cell in row] for row in reading.payoffs]
    shares = [figures.number(share) for share in reading.shares]
    graph = best_response_graph(
        list(one.providers.members), np.array(payoffs), np.array(reading.responses), shares
    )
    name = f"provider-responses-{reading.name}-{anchor(one.name)}"
    return Drawing(name, f"Best responses among providers: {one.name}", graph.svg())
