"""The section on one game in a page on empirical games: its equilibrium and uncertainty."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import polars as pl

from cheaptalk.equilibrium.analysis.analysis import Analysis, called, mixed, regret_text
from cheaptalk.equilibrium.analysis.providers import Providers
from cheaptalk.equilibrium.empirical.bootstrap import Spread
from cheaptalk.equilibrium.empirical.empirical_games import Empirical
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
    counts,
    finite,
    texts,
)
from cheaptalk.rules import counted, game_title
from cheaptalk.text import capital, fixed

SHOWN = 20
"""The maximum number of equilibria on the page."""
SURE = 0.95
OF_DRAWS = "% of draws"
AGAINST = "against_"
"""The prefix of payoff columns before the rival's label."""
SHARE = (
    "The probability of the strategy in the maximum-entropy symmetric Nash equilibrium (Li and "
    "Wellman 2024). If several equilibria have the same entropy, as all pure ones do, the one with "
    "the highest payoff is selected."
)
PAYOFF = (
    "The mean payoff of the strategy against a player who draws a strategy from the equilibrium."
)
REGRET = (
    "The payoff of the equilibrium x against itself minus that of strategy i against x, u(x, x) - "
    "u(i, x): at least 0, and 0 for strategies in the mixture."
)
REPLY = (
    "The share of draws in which the strategy is the only best response to a rival, averaged over "
    "all rivals, including itself. Ties do not count."
)
ORDER = (
    "Twice the smaller share of draws in which the lead is not positive, or not negative, with one "
    "draw added. It measures how easily other instances would reverse the order, not the size of "
    "the lead. The corrected value accounts for the number of rows (Holm 1979)."
)
EXISTS = (
    "The share of draws that have an equilibrium with the same strategies, and the share in which "
    "such an equilibrium is selected."
)
GIVEN = (
    "The value that the provider's offers give away, averaged over each match's offers and by its "
    "own valuation, against the equilibrium among providers. Matches in which it makes no offer "
    "are ignored (item bargaining, appendix K)."
)
PROVIDER_REPLY = (
    "The share of draws in which the row provider is a best response to the column provider. "
    "Equally good providers share a draw, so each column sums to 100 (item bargaining, table 14)."
)
VARIANCE = (
    "The contribution of the cell to the variance of all regrets, as a share of the sum over "
    "cells, to first order and for a fixed support. Matches are proposed where each reduces it "
    "most (Neyman's allocation; Cochran 1977, section 5.5). If cells share instances, designs with "
    "the same new instances in several cells are also considered, and common effects of instances "
    "are taken into account."
)


def spread_out(key: str, spread: Spread, *, mean: bool = True) -> dict[str, float | None]:
    """Return an estimate over draws, or their mean, as table columns with the 95 % interval."""
    value = number(spread) if mean or spread.estimate is None else spread.estimate
    if spread.estimate is None and spread.mean is None:
        return {key: None, key + LOW: None, key + HIGH: None, key + ERROR: None}
    low = None if spread.low is None else min(spread.low, value)
    high = None if spread.high is None else max(spread.high, value)
    return {key: finite(value), key + LOW: low, key + HIGH: high, key + ERROR: spread.error}


def analysis_parts(
    analysis: Analysis, tones: Mapping[str, int], conduct: Sequence[Chart] = ()
) -> Iterator[Shown]:
    """Yield the contents of the page on a game, including charts of play (``conduct``)."""
    prefix = anchor(analysis.name)
    yield answer(analysis)
    yield Charts(
        f"{prefix}-choice",
        "Equilibrium",
        [figures.mixture_bars(analysis), figures.regret_ranking(analysis)],
        " ".join(filter(None, (_played_text(analysis), HOW_DRAWN if analysis.draws else ""))),
    )
    yield strategies(analysis, prefix)
    if analysis.gaps:
        yield _order(analysis, prefix)
    yield best_responses(analysis, tones, prefix)
    caption = "The payoff of the row strategy against the column strategy."
    yield Charts(f"{prefix}-payoffs", "Payoffs", [figures.payoff_map(analysis)], caption, wide=True)
    yield _payoffs(analysis, prefix)
    yield _equilibria(analysis, prefix)
    yield from _ratings(analysis, prefix)
    yield from readings(analysis, prefix)
    if analysis.providers:
        yield from providers(analysis, analysis.providers, prefix)
    if conduct:
        view = analysis.selected.view if analysis.selected else None
        about = view.about_figures if view else ""
        yield Charts(f"{prefix}-conduct", "Play", [*conduct], f"{CONDUCT} {about}".strip())
    if analysis.next_cells is not None:
        yield _next(analysis, analysis.next_cells, prefix)


HOW_DRAWN = "Dots are means over bootstrap draws; whiskers contain 95 % of the draws."
CONDUCT = (
    "Demands are means of the offers made in a round, with 95 % intervals clustered by instance. "
    "Matches that end early drop out, so a mean can rise although no player increases its demand."
)


def answer(analysis: Analysis) -> Answer:
    """Return a sentence with the equilibrium of the mean payoffs and its uncertainty."""
    shares = analysis.against("mixture")
    order = sorted(range(len(analysis.labels)), key=lambda index: -(shares[index].estimate or 0.0))
    top_strategy = order[0]
    low = None if analysis.uncertain else shares[top_strategy].low
    shares_text = [
        f"{called(analysis.labels[index])} {_percent(shares[index], with_interval=low is not None)}"
        for index in order
        if (shares[index].estimate or 0.0) >= 0.005
    ][:4]
    choice = f"users choose {', '.join(shares_text)}"
    if len(shares_text) == 1 and (shares[top_strategy].estimate or 0.0) >= 0.995:
        choice = f"everyone chooses {called(analysis.labels[top_strategy])}"
    caution = "".join(f" {sentence}." for sentence in analysis.cautions)
    if low is not None and low <= 0:
        conclusion = f"The choice at equilibrium is still uncertain: {', '.join(shares_text)}"
        if max(analysis.tied.values(), default=0.0) < 1:
            conclusion += "; more matches may help (cheaptalk metagame --propose lists them)"
        return Answer(
            f"{conclusion}. Shares refer to the equilibrium of the mean payoffs, with 95 % of "
            f"the draws.{caution}",
            f"still uncertain: {', '.join(shares_text)}",
        )
    means = low is None or analysis.game.few_instances
    intro = "At the equilibrium of the mean payoffs, " if means else "At equilibrium "
    return Answer(f"{intro}{choice}.{caution}{_other_equilibria(analysis)}", ", ".join(shares_text))


def _other_equilibria(analysis: Analysis) -> str:
    components = analysis.solution.components
    if len(components) == 1 and components[0].isolated and analysis.solution.complete:
        return ""
    rule = "the one with maximum entropy"
    if analysis.tied_entropy > 1:
        rule = "of those with maximum entropy, the one with the highest payoff"
    return f" The mean payoffs have {analysis.count_in_words}; {rule} is selected."


def _percent(spread: Spread, *, with_interval: bool) -> str:
    value = spread.estimate or 0.0
    text = f"{100 * value:.0f} %"
    if not with_interval or spread.low is None or spread.high is None:
        return text
    low, high = min(spread.low, value), max(spread.high, value)
    return text if low == high else f"{text} ({100 * low:.0f} to {100 * high:.0f})"


def _played_text(analysis: Analysis) -> str:
    if analysis.selected is None:
        return ""
    names = analysis.selected.configurations
    alike = f", the configurations {', '.join(names)} with equal weights" if len(names) > 1 else ""
    text = (
        f"{game_title(analysis.selected.game_spec)}{alike}: "
        f"{counted(len(analysis.labels), 'strategy')}, {counted(analysis.matches, 'match')}, "
        f"{instances_text(analysis.game)} per cell."
    )
    if analysis.game.one_sided:
        pairs = counted(len(analysis.game.one_sided), "pair")
        text += f" In {pairs}, the players never swapped seats; their payoffs count for both seats."
    return f"{text} Settings: {analysis.selected.settings}. {analysis.selected.seats_note}".strip()


def instances_text(game: Empirical) -> str:
    """Return the range of the number of instances per cell, such as "10 to 20 instances"."""
    few, many = game.min_instances, game.max_instances
    return f"{few:,} to {counted(many, 'instance')}" if many > few else counted(few, "instance")


def strategies(analysis: Analysis, prefix: str) -> ReportTable:
    """Return the table of strategies at equilibrium: share, regret and payoff."""
    shares, regrets = analysis.against("mixture"), analysis.against("regret")
    rows = [
        {"strategy": analysis.labels[index], "reply": 100 * analysis.answering[index]}
        | spread_out("share", shares[index])
        | spread_out("payoff", analysis.equilibrium_payoffs[index])
        | spread_out("regret", regrets[index])
        for index in analysis.ranking
    ]
    notes = [f"{warning}." for warning in analysis.warnings]
    means = "Means over draws, with 95 % of the draws."
    if analysis.no_draws_reason:
        notes.insert(0, f"There are no intervals: {analysis.no_draws_reason}.")
        means = "At the equilibrium of the mean payoffs."
    columns = [
        Header("strategy", "Strategy"),
        Header("share", "Share", "of the equilibrium", 3, SHARE),
        Header("regret", "Regret", figures.unit_of(analysis), analysis.payoff_decimals, REGRET),
        Header("payoff", "Payoff", "against the equilibrium", analysis.payoff_decimals, PAYOFF),
        Header("reply", "Best response", "% of draws, over rivals", 1, REPLY),
    ]
    return ReportTable.of(f"{prefix}-strategies", "Strategies", rows, columns, means, tuple(notes))


def _order(analysis: Analysis, prefix: str) -> ReportTable:
    rows = [
        {"ahead": gap.ahead, "behind": gap.behind, "p": gap.p, "corrected": gap.corrected}
        | spread_out("lead", gap.lead)
        for gap in analysis.gaps
    ]
    columns = [
        *texts(ahead="Ahead", behind="Behind"),
        Header("lead", "Lead", figures.unit_of(analysis), analysis.payoff_decimals),
        Header("p", "p", "two-sided", 3, ORDER),
        Header("corrected", "p corrected", "Holm's rule", 3),
    ]
    caption = "The difference in regret between each strategy and the next one, by draw."
    return ReportTable.of(f"{prefix}-order", "Uncertainty of the order", rows, columns, caption)


def best_responses(analysis: Analysis, tones: Mapping[str, int], prefix: str) -> Drawing:
    """Return the best-response graph with its caption."""
    shares, replies = [*map(number, analysis.against("mixture"))], analysis.responses
    colors = [tones[label] for label in analysis.labels]
    graph = best_response_graph(analysis.labels, replies.payoffs, replies.unique, shares, colors)
    often = ": dotted up to 33 % of draws, dashed up to 66 %, solid above" * bool(analysis.draws)
    tied = "; ".join(
        f"{label} in {100 * share:.1f} % of draws" for label, share in analysis.tied.items()
    )
    ties = f" Ties are not shown: several responses are best against {tied}." if tied else ""
    return Drawing(
        f"{prefix}-best-responses",
        "Best-response graph",
        graph.svg(),
        f"An arrow points from a strategy to its best response{often}. Stronger arrows mean higher "
        f"payoffs; fuller nodes mean larger shares at equilibrium.{ties}",
    )


def _payoffs(analysis: Analysis, prefix: str) -> ReportTable:
    matches, instances = analysis.game.counts(), analysis.game.instances()
    rows = []
    for i, label in enumerate(analysis.labels):
        row: dict[str, Any] = {"strategy": label}
        for j, rival in enumerate(analysis.labels):
            row |= spread_out(AGAINST + rival, analysis.payoffs[i][j], mean=False)
            row |= {
                f"{AGAINST}{rival}{COUNT}": int(matches[i, j]) or None,
                f"{AGAINST}{rival}{CLUSTERS}": int(instances[i, j]) or None,
                f"{AGAINST}{rival}{WANTED}": None,
            }
        rows.append(row)

    def cell(row: Mapping[str, Any], key: str) -> Lead | None:
        return figures.lead(analysis, row["strategy"], key.removeprefix(AGAINST))

    columns = texts(strategy="Strategy")
    columns += [Header(AGAINST + rival, f"against {rival}", "", 2) for rival in analysis.labels]
    caption = (
        "Means of all matches over both seats, with 95 % of the draws. Numbers link to the "
        "matches with the row strategy in the first seat."
    )
    name, title, units = f"{prefix}-payoffs", "Payoffs by opponent", ("match", "instance")
    return ReportTable.of(name, title, rows, columns, caption, cells=cell, counts=units)


def _equilibria(analysis: Analysis, prefix: str) -> ReportTable:
    payoffs, rows = analysis.game.payoffs(), []
    for component, recurrence in zip(
        analysis.solution.components[:SHOWN], analysis.recurring, strict=False
    ):
        point = component.point
        rows.append(
            {
                "mixture": mixed(analysis.labels, point.support, point.mixture),
                "payoff": point.payoff,
                "regret": regret_text(point.regret, payoffs),
                "entropy": point.entropy,
                "exists": 100 * recurrence.exists if recurrence else None,
                "taken": 100 * recurrence.chosen if recurrence else None,
                "extent": "a single point"
                if component.isolated
                else "a continuum; this is its maximum-entropy point",
            }
        )
    exists, taken = (
        Header("exists", "Exists", OF_DRAWS, 1, EXISTS),
        Header("taken", "Selected", OF_DRAWS, 1),
    )
    sentences = (analysis.count_in_words, analysis.choice_in_words, analysis.reach_in_words)
    dominated = [analysis.dominated_in_words] if analysis.dominated else []
    columns = [
        Header("mixture", "Mixture"),
        Header("payoff", "Payoff", "", analysis.payoff_decimals),
        *(() if analysis.uncertain else (exists, taken)),
        Header("entropy", "Entropy", "nats", 3),
        Header("regret", "Regret", about="The distance from an exact equilibrium."),
        Header("extent", "Extent"),
    ]
    caption = " ".join([f"{sentence}." for sentence in sentences if sentence] + dominated)
    name, title = f"{prefix}-equilibria", "Equilibria of the mean payoffs"
    return ReportTable.of(name, title, rows, columns, caption)


def _ratings(analysis: Analysis, prefix: str) -> Iterator[ReportTable | Text]:
    ranked = analysis.rankings
    regrets = analysis.against("regret")
    rows: list[dict[str, Any]] = [
        {"strategy": analysis.labels[index]}
        | spread_out("regret", regrets[index])
        | {rating.kind.name: rating.values[index] for rating in ranked.ratings}
        | {f"{rating.kind.name}.bold": index in rating.top for rating in ranked.ratings}
        for index in analysis.ranking
    ]
    absent = tuple(f"{name} is missing: {why}." for name, why in ranked.absent.items())
    columns = [
        Header("strategy", "Strategy"),
        Header("regret", "Regret", figures.unit_of(analysis), analysis.payoff_decimals),
    ]
    columns += [
        Header(kind.name, kind.name, kind.about, kind.decimals, kind.meaning)
        for kind in (rating.kind for rating in ranked.ratings)
    ]
    caption = (
        "Computed from all matches, without intervals. These ratings ignore the equilibrium, so "
        "the best-rated strategy need not be in it."
    )
    yield ReportTable.of(f"{prefix}-ratings", "Other ratings", rows, columns, caption, absent)
    if ranked.ratings and ranked.pairs:
        turned = [
            {
                "rating": rating.kind.name,
                "turned": len(rating.disagreements),
                "first": ", ".join(analysis.labels[index] for index in rating.top),
                "among": ", ".join(f"{up} before {down}" for up, down in rating.disagreements[:3])
                or "none",
            }
            for rating in ranked.ratings
        ]
        columns = [
            *texts(rating="Rating", first="Top strategy"),
            Header("turned", "Reversed pairs", f"of {ranked.pairs}", 0),
            *texts(among="Examples"),
        ]
        name, title = f"{prefix}-disagreements", "Where ratings disagree with regret"
        yield ReportTable.of(name, title, turned, columns)


def readings(analysis: Analysis, prefix: str) -> Iterator[ReportTable]:
    """Yield tables of metrics at the equilibrium, and of each strategy against the equilibrium."""
    for reading in analysis.readings:
        titles = [column.title for column in reading.columns]
        rows: list[dict[str, Any]] = [{"strategy": "the equilibrium itself"}]
        rows += [{"strategy": analysis.labels[index]} for index in analysis.ranking]
        for title in titles:
            against = analysis.against(title)
            rows[0] |= spread_out(title, analysis.at_equilibrium(title))
            for row, index in zip(rows[1:], analysis.ranking, strict=True):
                row |= spread_out(title, against[index])
        columns = texts(strategy="Against the equilibrium")
        columns += [Header(title, title, "", 2) for title in titles]
        name = f"{prefix}-{anchor(reading.title).lower()}"
        yield ReportTable.of(name, reading.title, rows, columns, reading.about)


def providers(analysis: Analysis, among: Providers, prefix: str) -> Iterator[ReportTable | Text]:
    """Yield the tables of the game between model providers, for both versions of that game."""
    members = "; ".join(f"{name} has {', '.join(labels)}" for name, labels in among.members.items())
    own_strategies = f"Each provider chooses among its own strategies: {members}. "
    if among.left_out:
        left_out = ", ".join(among.left_out)
        own_strategies += f"Strategies without a provider are omitted: {left_out}. "
    for reading in among.readings:
        rows = []
        for index, provider in enumerate(among.members):
            row: dict[str, Any] = {"provider": provider}
            row |= spread_out("share", reading.shares[index])
            if reading.value_given is not None:
                row |= spread_out("given", reading.value_given[index])
            for rival, spread, share in zip(
                among.members, reading.payoffs[index], reading.responses[index], strict=True
            ):
                row |= spread_out(AGAINST + rival, spread) | {f"reply_{rival}": 100 * share}
            rows.append(row)
        columns = [*texts(provider="Provider"), Header("share", "Share", "of the equilibrium", 3)]
        if reading.value_given is not None:
            columns.append(Header("given", "Value given", "at equilibrium", 1, GIVEN))
        decimals = analysis.payoff_decimals
        columns += [
            Header(AGAINST + rival, rival, "", decimals, group="Payoff against")
            for rival in among.members
        ]
        columns += [
            Header(f"reply_{rival}", rival, OF_DRAWS, 1, about, "Best response to")
            for rival, about in zip_longest(among.members, [PROVIDER_REPLY], fillvalue="")
        ]
        several = (
            f" A pair has several such equilibria in up to {100 * reading.several:.1f} % of draws; "
            "the first one is used."
        ) * bool(reading.several)
        caption = f"{own_strategies}{reading.about}{several}"
        name, title = f"{prefix}-providers-{reading.name}", f"Providers: {reading.title}"
        yield ReportTable.of(name, title, rows, columns, caption)
    for missing, why in among.absent.items():
        yield Text(f"{capital(missing)} is missing", f"{capital(why)}.")


def _next(analysis: Analysis, plan: NextCells | str, prefix: str) -> ReportTable | Text:
    if isinstance(plan, str):
        return Text("Where to play next", f"No pairs can be proposed: {plan}.")
    total = int(plan.cells["add_matches"].sum())
    shared = " Because cells share instances, play the same new instances in all of these cells."
    sample = texts(sample="Configuration") if len(analysis.game.samples) > 1 else []
    columns = [
        *texts(row="Strategy", column="Against"),
        *sample,
        *counts("to add", add_matches="Matches", add_instances="Instances"),
        *counts("so far", instances="Instances"),
        Header("variance", "Share of variance", "%", 1, VARIANCE),
        *counts("if spread evenly", even_matches="Matches"),
    ]
    caption = (
        f"This design with {counted(total, 'match')} reduces the standard error of all regrets "
        "(the root of the sum of variances over strategies) from "
        f"{fixed(plan.error, 2)} to {fixed(plan.planned, 2)}. An even design with equal numbers of "
        f"instances in all cells would reach {fixed(plan.even, 2)}, and would need "
        f"{counted(round(plan.even_matches), 'match')} for the same error.{shared * plan.paired}"
    )
    frame = plan.cells.with_columns(100 * pl.col("variance"))
    return ReportTable(f"{prefix}-next", "Where to play next", frame, columns, caption)
