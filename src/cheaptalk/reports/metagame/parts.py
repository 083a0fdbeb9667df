"""The part of a meta-game's page on one game: who would be chosen, and how sure that is."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from cheaptalk.equilibrium.analysis.analysis import Analysis, called, regret_text
from cheaptalk.equilibrium.analysis.providers import Providers
from cheaptalk.equilibrium.empirical.bootstrap import Spread
from cheaptalk.equilibrium.empirical.next_cells import NextCells
from cheaptalk.reports.charts.chart import Chart, Lead
from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.reports.metagame import figures
from cheaptalk.reports.metagame.figures import number
from cheaptalk.reports.metagame.graph import best_response_graph
from cheaptalk.reports.pages import anchor
from cheaptalk.reports.recipes.parts import Answer, Charts, Drawing, Shown, Text
from cheaptalk.reports.recipes.tables import (
    CLUSTERS,
    COUNT,
    ERROR,
    WANTED,
    Header,
    ReportTable,
    finite,
)
from cheaptalk.rules import counted, game_title
from cheaptalk.text import capital, fixed

SHOWN = 20
"""Equilibria that the page lists."""
SURE = 0.95
OF_DRAWS = "% of draws"
AGAINST = "against."
"""What stands before a rival's label in the name of a column of payoffs."""
SHARE = (
    "The probability of the strategy in the maximum-entropy symmetric Nash equilibrium: of the "
    "mixtures x to which no strategy is a better reply than x itself, the one that maximises the "
    "entropy (Li and Wellman 2024). Where several have equally much, as all pure ones do with "
    "none, it is the one among them that pays most."
)
PAYOFF = (
    "What the strategy gets on average against a player who draws a strategy from the equilibrium."
)
REGRET = (
    "How much less strategy i gets against the equilibrium x than x gets against itself, "
    "u(x, x) - u(i, x): at least 0, and 0 for strategies in the mixture."
)
REPLY = (
    "In what share of the draws the strategy is the only best reply to a rival, on the mean of all "
    "rivals, itself among them. Ties count for nobody."
)
ORDER = (
    "Twice the smaller share of draws in which the lead is not positive, or not negative, with one "
    "draw added: how easily other deals would have turned the order round, not that the lead "
    "matters. The corrected one allows for as many comparisons as there are rows (Holm 1979)."
)
EXISTS = (
    "In what share of draws there is an equilibrium in which the same strategies are played, and "
    "in what share such a one is taken."
)
GIVEN = (
    "What the provider's offers give away, on the mean of each match's offers and by its own "
    "valuation, against the equilibrium among providers. Matches in which it makes no offer do not "
    "count (item bargaining, appendix K)."
)
PROVIDER_REPLY = (
    "In what share of draws the row provider is a best reply to the column provider; providers "
    "that are equally good share a draw, so that each column sums to 100 (item bargaining, table "
    "14)."
)
VARIANCE = (
    "What the cell alone would add to the variance of all regrets, as a share of the sum over "
    "cells; to first order, and with the strategies of the equilibrium taken to be known. Matches "
    "are proposed where each takes most of it away (Neyman's allocation; Cochran 1977, section "
    "5.5). Where cells share deals, the same new deals for several cells are tried too, and what "
    "deals do to all cells alike is allowed for."
)


def spread_out(key: str, one: Spread, *, mean: bool = True) -> dict[str, float | None]:
    """A number over draws as the columns of a table: its interval holds 95 % of the draws.

    Args:
        key: the column.
        one: the number.
        mean: whether it is the mean over draws; else, that of all matches.
    """
    value = number(one) if mean or one.estimate is None else one.estimate
    if one.estimate is None and one.mean is None:
        return {key: None, key + LOW: None, key + HIGH: None, key + ERROR: None}
    low = None if one.low is None else min(one.low, value)
    high = None if one.high is None else max(one.high, value)
    return {key: finite(value), key + LOW: low, key + HIGH: high, key + ERROR: one.error}


def analysis_parts(
    one: Analysis, tones: Mapping[str, int], conduct: Sequence[Chart] = ()
) -> Iterator[Shown]:
    """All that a page shows of a game.

    Args:
        one: the game, analysed.
        tones: the colour of each strategy.
        conduct: charts of how it was played.
    """
    prefix = anchor(one.name)
    yield answer(one)
    yield Charts(
        f"{prefix}-choice", "Who would be chosen",
        [figures.mixture_bars(one), figures.regret_ranking(one)],
        " ".join(filter(None, (_played_text(one), HOW_DRAWN if one.draws else ""))),
    )  # fmt: skip
    yield strategies(one, prefix)
    if one.gaps:
        yield _order(one, prefix)
    yield best_replies(one, tones, prefix)
    yield Charts(
        f"{prefix}-payoffs", "Payoffs", [figures.payoff_map(one)],
        "What the strategy on the left gets against the one on top.", wide=True,
    )  # fmt: skip
    yield _payoffs(one, prefix)
    yield _equilibria(one, prefix)
    yield from _ratings(one, prefix)
    yield from readings(one, prefix)
    if one.providers:
        yield from providers(one, one.providers, prefix)
    if conduct:
        about = one.selected.view.about_figures if one.selected and one.selected.view else ""
        yield Charts(
            f"{prefix}-conduct", "How they played", [*conduct], f"{CONDUCT} {about}".strip()
        )
    if one.next_cells is not None:
        yield _next(one, one.next_cells, prefix)


HOW_DRAWN = "Dots are means over draws of the deals, whiskers hold 95 % of the draws."
CONDUCT = (
    "Demands are means of the offers that are still made in a round, with 95 % intervals clustered "
    "by deal: matches that end early drop out, and so a mean can rise although nobody asks for "
    "more."
)


def answer(one: Analysis) -> Answer:
    """The equilibrium of the mean payoffs, and how sure it is."""
    shares = one.against("mixture")
    order = sorted(range(len(one.labels)), key=lambda at: -(shares[at].estimate or 0.0))
    first = order[0]
    low = None if one.uncertain else shares[first].low
    told = [
        f"{called(one.labels[at])} {_percent(shares[at], drawn=low is not None)}"
        for at in order if (shares[at].estimate or 0.0) >= 0.005
    ][:4]  # fmt: skip
    who = f"people choose {', '.join(told)}"
    if len(told) == 1 and (shares[first].estimate or 0.0) >= 0.995:
        who = f"everybody chooses {called(one.labels[first])}"
    caution = "".join(f" {sentence}." for sentence in one.cautions)
    if low is not None and low <= 0:
        said = f"Whom people choose at equilibrium cannot be told yet: {', '.join(told)}"
        if max(one.tied.values(), default=0.0) < 1:
            said += "; more matches may tell (cheaptalk metagame --next lists them)"
        return Answer(
            f"{said}. Shares are of the equilibrium of the mean payoffs, with 95 % of the draws."
            f"{caution}",
            f"cannot be told yet: {', '.join(told)}",
        )
    means = low is None or one.game.few
    at = "At the equilibrium of the mean payoffs, " if means else "At equilibrium "
    return Answer(f"{at}{who}.{caution}{_others(one)}", ", ".join(told))


def _others(one: Analysis) -> str:
    """That there are other equilibria, and why not they are told; empty where there are none."""
    components = one.found.components
    if len(components) == 1 and components[0].isolated and one.found.complete:
        return ""
    taken = "the one of most entropy"
    if one.tied_entropy > 1:
        taken = "of those of most entropy, the one that pays most"
    return f" The mean payoffs have {one.found_in_words}; {taken} is taken."


def _percent(one: Spread, *, drawn: bool) -> str:
    """A probability at the equilibrium of the mean payoffs, with the interval of the draws."""
    value = one.estimate or 0.0
    said = f"{100 * value:.0f} %"
    if not drawn or one.low is None or one.high is None or one.low == one.high == value:
        return said
    return f"{said} ({100 * min(one.low, value):.0f} to {100 * max(one.high, value):.0f})"


def _played_text(one: Analysis) -> str:
    """How many strategies, matches and deals there are."""
    if one.selected is None:
        return ""
    mixed = one.selected.configurations
    alike = f", the configurations {', '.join(mixed)} weighing alike" if len(mixed) > 1 else ""
    upto = f" to {one.game.most:,}" if one.game.most > one.game.fewest else ""
    said = (
        f"{game_title(one.selected.box)}{alike}: {counted(len(one.labels), 'strategy')}, "
        f"{counted(one.matches, 'match')}, from {counted(one.game.fewest, 'deal')} a cell{upto}."
    )
    if one.game.one_sided:
        cells = counted(len(one.game.one_sided), "cell")
        said += f" In {cells} the players only ever sat in one order, which counts as both."
    return f"{said} Settings: {one.selected.settings}. {one.selected.apart}".strip()


def strategies(one: Analysis, prefix: str) -> ReportTable:
    """Each strategy at equilibrium: its share, its regret, what it gets."""
    shares, regrets = one.against("mixture"), one.against("regret")
    rows = [
        {"strategy": one.labels[at], "reply": 100 * one.answering[at]}
        | spread_out("share", shares[at])
        | spread_out("payoff", one.gets[at])
        | spread_out("regret", regrets[at])
        for at in one.ranking
    ]
    unsure = (f"There are no intervals: {one.unsure}.",) if one.unsure else ()
    means = "Means over draws, with 95 % of the draws." if one.draws else "Of the mean payoffs."
    return ReportTable(
        f"{prefix}-strategies", "Strategies", pl.DataFrame(rows, infer_schema_length=None),
        (
            Header("strategy", "Strategy"),
            Header("share", "Share", "of the equilibrium", 3, SHARE),
            Header("regret", "Regret", figures.unit_of(one), one.places, REGRET),
            Header("payoff", "Payoff", "against the equilibrium", one.places, PAYOFF),
            Header("reply", "Best reply", "% of draws, over rivals", 1, REPLY),
        ),
        means, (*unsure, *(f"{said}." for said in one.warnings)),
    )  # fmt: skip


def _order(one: Analysis, prefix: str) -> ReportTable:
    rows = [
        {"ahead": gap.ahead, "behind": gap.behind, "p": gap.p, "corrected": gap.corrected}
        | spread_out("lead", gap.lead)
        for gap in one.gaps
    ]
    return ReportTable(
        f"{prefix}-order", "Is the order sure?", pl.DataFrame(rows, infer_schema_length=None),
        (
            Header("ahead", "Ahead"), Header("behind", "Behind"),
            Header("lead", "Lead", figures.unit_of(one), one.places),
            Header("p", "p", "two-sided", 3, ORDER),
            Header("corrected", "p corrected", "Holm's rule", 3),
        ),
        "Each strategy against the next by regret, draw by draw.",
    )  # fmt: skip


def best_replies(one: Analysis, tones: Mapping[str, int], prefix: str) -> Drawing:
    """The best-response graph."""
    shares, replies = [*map(number, one.against("mixture"))], one.responses
    graph = best_response_graph(
        one.labels, replies.payoffs, replies.alone, shares, [tones[label] for label in one.labels]
    )
    often = (
        ": dotted where it is one in up to 33 % of draws, dashed up to 66 %, solid above"
        if one.draws else ""
    )  # fmt: skip
    tied = "; ".join(
        f"{label} in {100 * share:.1f} % of draws" for label, share in one.tied.items()
    )
    ties = f" Ties are not drawn: several replies are best against {tied}." if tied else ""
    return Drawing(
        f"{prefix}-best-responses", "Who answers whom best", graph.svg(),
        f"An arrow leads from a strategy to its best reply{often}. The stronger it is, the more "
        f"the reply gets; the fuller a node, the larger its share at equilibrium.{ties}",
    )  # fmt: skip


def _payoffs(one: Analysis, prefix: str) -> ReportTable:
    counts, deals = one.game.counts(), one.game.deals()
    rows = []
    for i, label in enumerate(one.labels):
        row: dict[str, Any] = {"strategy": label}
        for j, rival in enumerate(one.labels):
            row |= spread_out(AGAINST + rival, one.payoffs[i][j], mean=False)
            row |= {
                f"{AGAINST}{rival}{COUNT}": int(counts[i, j]) or None,
                f"{AGAINST}{rival}{CLUSTERS}": int(deals[i, j]) or None,
                f"{AGAINST}{rival}{WANTED}": None,
            }
        rows.append(row)

    def cell(row: Mapping[str, Any], key: str) -> Lead | None:
        return figures.lead(one, row["strategy"], key.removeprefix(AGAINST))

    return ReportTable(
        f"{prefix}-payoffs", "Payoffs against each other",
        pl.DataFrame(rows, infer_schema_length=None),
        (
            Header("strategy", "Strategy"),
            *(Header(AGAINST + rival, f"against {rival}", "", 2) for rival in one.labels),
        ),
        "Means of all matches over both seats, with 95 % of the draws. A number leads to the "
        "matches in which the strategy on the left sits first.",
        cells=cell, counts=("match", "deal"),
    )  # fmt: skip


def _equilibria(one: Analysis, prefix: str) -> ReportTable:
    payoffs, rows = one.game.payoffs(), []
    for component, recurrence in zip(one.found.components[:SHOWN], one.recurring, strict=False):
        point = component.point
        mixture = (f"{called(one.labels[at])} {point.mixture[at]:.3f}" for at in point.support)
        rows.append(
            {
                "mixture": ", ".join(mixture), "payoff": point.payoff,
                "regret": regret_text(point.regret, payoffs), "entropy": point.entropy,
                "exists": 100 * recurrence.exists if recurrence else None,
                "taken": 100 * recurrence.chosen if recurrence else None,
                "extent": "a single point" if component.isolated
                else "a continuum; this is its point of most entropy",
            }
        )  # fmt: skip
    drawn = (
        Header("exists", "Exists", OF_DRAWS, 1, EXISTS), Header("taken", "Taken", OF_DRAWS, 1),
    )  # fmt: skip
    sentences = (one.found_in_words, one.choice_in_words, one.reach_in_words)
    dominated = [one.dominated_in_words] if one.dominated else []
    return ReportTable(
        f"{prefix}-equilibria", "Equilibria of the mean payoffs",
        pl.DataFrame(rows, infer_schema_length=None),
        (
            Header("mixture", "Mixture"), Header("payoff", "Payoff", "", one.places),
            *(() if one.uncertain else drawn), Header("entropy", "Entropy", "nats", 3),
            Header("regret", "Regret", about="How far it is from an exact equilibrium."),
            Header("extent", "Extent"),
        ),
        " ".join([f"{said}." for said in sentences if said] + dominated),
    )  # fmt: skip


def _ratings(one: Analysis, prefix: str) -> Iterator[ReportTable | Text]:
    """How the ratings people know would rank the strategies."""
    ranked = one.rankings
    regrets = one.against("regret")
    rows: list[dict[str, Any]] = [
        {"strategy": one.labels[at]} | spread_out("regret", regrets[at])
        | {rating.kind.name: rating.values[at] for rating in ranked.ratings}
        | {f"{rating.kind.name}.bold": at in rating.first for rating in ranked.ratings}
        for at in one.ranking
    ]  # fmt: skip
    absent = tuple(f"{name} is missing: {why}." for name, why in ranked.absent.items())
    yield ReportTable(
        f"{prefix}-ratings", "How the ratings people know would rank them",
        pl.DataFrame(rows, infer_schema_length=None),
        (
            Header("strategy", "Strategy"),
            Header("regret", "Regret", figures.unit_of(one), one.places),
            *(
                Header(kind.name, kind.name, kind.about, kind.places, kind.meaning)
                for kind in (rating.kind for rating in ranked.ratings)
            ),
        ),
        "By the means of all matches, without intervals. None of these asks what people would "
        "choose, so each may put first what nobody would send.", absent,
    )  # fmt: skip
    if ranked.ratings and ranked.pairs:
        turned = [
            {
                "rating": rating.kind.name, "turned": len(rating.against),
                "first": ", ".join(one.labels[at] for at in rating.first),
                "among": ", ".join(f"{up} before {down}" for up, down in rating.against[:3])
                or "none: it agrees with regret",
            }
            for rating in ranked.ratings
        ]  # fmt: skip
        yield ReportTable(
            f"{prefix}-disagreements", "Where ratings disagree with regret", pl.DataFrame(turned),
            (
                Header("rating", "Rating"), Header("first", "Puts first"),
                Header("turned", "Pairs turned round", f"of {ranked.pairs}", 0),
                Header("among", "Among them"),
            ),
        )  # fmt: skip


def readings(one: Analysis, prefix: str) -> Iterator[ReportTable]:
    """The metrics at and against the equilibrium."""
    for reading in one.readings:
        titles = [column.title for column in reading.columns]
        rows: list[dict[str, Any]] = [{"strategy": "the equilibrium itself"}]
        rows += [{"strategy": one.labels[at]} for at in one.ranking]
        for title in titles:
            against = one.against(title)
            rows[0] |= spread_out(title, one.at_equilibrium(title))
            for row, at in zip(rows[1:], one.ranking, strict=True):
                row |= spread_out(title, against[at])
        yield ReportTable(
            f"{prefix}-{anchor(reading.title).lower()}", reading.title,
            pl.DataFrame(rows, infer_schema_length=None),
            (
                Header("strategy", "Against the equilibrium"),
                *(Header(title, title, "", 2) for title in titles),
            ),
            reading.about,
        )  # fmt: skip


def providers(one: Analysis, among: Providers, prefix: str) -> Iterator[ReportTable | Text]:
    """The game among providers, in both readings."""
    members = "; ".join(f"{name} has {', '.join(of)}" for name, of in among.members.items())
    left = (
        f" Without a provider and left out: {', '.join(among.left_out)}." if among.left_out else ""
    )
    for reading in among.readings:
        rows = []
        for at, provider in enumerate(among.members):
            row: dict[str, Any] = {"provider": provider} | spread_out("share", reading.shares[at])
            if reading.given is not None:
                row |= spread_out("given", reading.given[at])
            for rival, spread, share in zip(
                among.members, reading.payoffs[at], reading.responses[at], strict=True
            ):
                row |= spread_out(AGAINST + rival, spread) | {f"reply.{rival}": 100 * share}
            rows.append(row)
        given = (Header("given", "Value given", "at equilibrium", 1, GIVEN),)
        several = (
            f" Some pair has several such equilibria in {100 * reading.several:.1f} % of draws; "
            "the first that was found is taken." if reading.several else ""
        )  # fmt: skip
        yield ReportTable(
            f"{prefix}-providers-{reading.name}", f"Providers: {reading.title}",
            pl.DataFrame(rows, infer_schema_length=None),
            (
                Header("provider", "Provider"), Header("share", "Share", "of the equilibrium", 3),
                *(given if reading.given is not None else ()),
                *(Header(AGAINST + rival, rival, "", one.places, group="Payoff against")
                  for rival in among.members),
                *(Header(f"reply.{rival}", rival, OF_DRAWS, 1, PROVIDER_REPLY * (not at),
                         group="Best reply to")
                  for at, rival in enumerate(among.members)),
            ),
            f"If each provider chose among its own strategies: {members}.{left} "
            f"{reading.about}{several}",
        )  # fmt: skip
    for what, why in among.absent.items():
        yield Text(f"{capital(what)} is missing", f"{capital(why)}.")


def _next(one: Analysis, plan: NextCells | str, prefix: str) -> ReportTable | Text:
    """Where to play next: cells and how many matches of each."""
    if isinstance(plan, str):
        return Text("Where to play next", f"No cells can be proposed: {plan}.")
    total = int(plan.cells["add_matches"].sum())
    shared = (
        " Cells share deals here, so new deals are to be shared too: the same ones for all cells "
        "that get some, those included that tie with these on every deal." if plan.paired else ""
    )  # fmt: skip
    sample = [Header("sample", "Configuration")] if len(one.game.samples) > 1 else []
    return ReportTable(
        f"{prefix}-next", "Where to play next",
        plan.cells.with_columns(100 * pl.col("variance")),
        (
            Header("row", "Strategy"), Header("column", "Against"), *sample,
            Header("add_matches", "Matches", "to add", 0),
            Header("add_deals", "Deals", "to add", 0), Header("deals", "Deals", "so far", 0),
            Header("variance", "Of the variance", "%", 1, VARIANCE),
            Header("even_matches", "Matches", "if spread evenly", 0),
        ),
        f"{counted(total, 'match')} more make the regrets most certain if they are played so: the "
        "standard error of all regrets (the root of the variances summed over strategies) is "
        f"{fixed(plan.error, 2)} now, and would be {fixed(plan.planned, 2)} so, or "
        f"{fixed(plan.even, 2)} if they were spread evenly, on the same number of deals in all "
        f"cells.{shared} An even design needs {counted(round(plan.even_matches), 'match')} for as "
        "much.",
    )  # fmt: skip
