"""Effects on metrics: of the market (Table 2), of players (Table 3) and of every parameter."""

from collections.abc import Iterator, Sequence
from itertools import product

import polars as pl

from cheaptalk.papers.glee.charts import dots
from cheaptalk.papers.glee.families import (
    GAINS,
    METRICS,
    REFERENCE,
    ROLES,
    FamilyMatches,
    Term,
    families,
    kinds,
    level,
)
from cheaptalk.papers.glee.paper_tables import gain_table, market_table, reference_table
from cheaptalk.papers.glee.regressions import (
    KINDS,
    MARKET,
    METHODS,
    Fits,
    additive,
    apart,
    columns,
    left_out,
    under,
)
from cheaptalk.reports.charts.chart import Chart, Lead
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Charts, Lacking
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.statistics.design_matrix import level_texts
from cheaptalk.text import capital

SHOWN = ("efficiency", "fairness")


def market_effects(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """What information, words and horizon do to efficiency and fairness, all else equal.

    In each family complete information (CI), messages (MA, or MT for what is sent) and the
    horizon (T, or MY for myopic buyers) are joined into one factor, the market, so that its levels
    hold all their interactions. An ordinary least squares regression has it beside all other
    parameters and both players, each as a factor (GLEE, section 3 and appendix F.1):

        metric = constant + market + other parameters + Alice's player + Bob's player + error.

    What stands in the table is how much a market adds to the metric over the reference market,
    which has 0 by definition.
    """
    made = evidence.once(additive)
    found = [one for one in made if not _beside(one).is_empty()]
    lost = [note for one in made if one not in found for note in one.lacks]
    if not found:
        raise Lacking(
            " ".join(lost)
            or "no family was played under two markets; vary complete_information, "
            "messages, signal, myopic or horizon"
        )
    tables = [_table(one, tuple(dict.fromkeys((*left_out(made), *lost)))) for one in found]
    panels = [_market_panel(one, table) for one, table in zip(found, tables, strict=True)]
    caption = "Dots are effects over the reference market, whiskers clustered intervals."
    yield Charts("market-effects", "Effect of the market", panels, caption)
    for one, table in zip(found, tables, strict=True):
        yield table
        yield market_table(evidence, one.played, table.frame, _reference_market(one))


def _table(one: Fits, others: tuple[str, ...]) -> ReportTable:
    played = one.played
    frame = _market_rows(one)
    terms = [term for term in played.terms if term.name in played.market]
    about = "; ".join(f"{term.name}: {term.title}" for term in terms)
    return ReportTable(
        f"market-{played.game}",
        f"{capital(played.game)}: effect of the market",
        frame.drop("reference"),
        (Header("market", "Market", about=f"{about}. The reference is {_reference_market(one)}."),
         *columns({name: METRICS[name] for name in SHOWN}, frame)),
        METHODS,
        (*_unplayed(one), *one.notes, *others),
        leads=lambda row: played.lead(*(pl.col(name) == row[name] for name in played.market)),
    )  # fmt: skip


def _reference_market(one: Fits) -> str:
    """The market that others are compared with."""
    return str(_market_rows(one).filter("reference")["market"].item())


def _beside(one: Fits) -> pl.DataFrame:
    """The effects of markets by level; no rows where there is one market."""
    return one.beside(MARKET, {name: name for name in SHOWN})


def _market_rows(one: Fits) -> pl.DataFrame:
    """Markets with their levels and effects, the most efficient on top."""
    market = one.played.market
    texts = one.played.frame.select(market).unique(maintain_order=True)
    texts = texts.with_columns(level_texts(texts, market).alias("level")).select(
        pl.concat_str([pl.concat_str(pl.lit(f"{name} "), pl.col(name)) for name in market],
                      separator=", ").alias("market"),
        pl.col(market).cast(pl.String), "level",
    )  # fmt: skip
    effects = _beside(one)
    first = next(name for name in SHOWN if name in effects.columns)
    both = texts.join(effects, on="level", validate="1:1", maintain_order="left").drop("level")
    return both.sort(first, "market", descending=[True, False])


def _unplayed(one: Fits) -> list[str]:
    """The markets that the study could have had and has not."""
    market = list(one.played.market)
    met = set(one.played.frame.select(pl.col(market).cast(pl.String)).unique().iter_rows())
    missing = [each for each in product(*map(one.played.levels.__getitem__, market))
               if each not in met]  # fmt: skip
    told = "; ".join(", ".join(map("=".join, zip(market, one_, strict=True))) for one_ in missing)
    return [f"Never played: {told}."] if missing else []


def _market_panel(one: Fits, table: ReportTable) -> Chart:
    named = pl.concat_str(one.played.market, separator=", ").alias("name")
    here = [name for name in SHOWN if name in table.frame.columns]
    shown = {f"{name} clustered": capital(METRICS[name]) for name in here}
    leads = [table.leads(row) for row in table.rows]
    axis = ", ".join(one.played.market)
    frame = table.frame.with_columns(named)
    return dots(capital(one.played.game), frame, "name", shown, axis=axis, leads=leads)


def self_gains(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """What players gain in each role, all else equal; people count as one player.

    The regression is that of the market's effects, of Alice's gain on Alice's player and of Bob's
    gain on Bob's player (GLEE, section 3): how much a player adds to its own gain over the
    reference player in the same seat, against the same opponents, in the same configurations.
    """
    found = evidence.once(additive)
    sides = [(one, role) for one in found for role in ROLES if _compared(one, role)]
    if not sides:
        lost = " ".join(note for one in found for note in one.lacks)
        raise Lacking(
            lost or "no role was played by two players; seat another one, or import GLEE's games"
        )
    frame = _joined(sides, evidence.once(kinds))
    panels = [_gain_panel(one, frame) for one in found if any(of is one for of, _ in sides)]
    caption = "Dots are effects on a player's own gain, whiskers clustered intervals."
    yield Charts("self-gain-figures", "Gain over the reference player", panels, caption)
    named = {_name(one, role): (capital(one.played.game), ROLES[role]) for one, role in sides}
    titles = {key: f"{family}: {role}" for key, (family, role) in named.items()}
    played = {who: one.played.game for one, role in reversed(sides)
              for who in one.played.frame[ROLES[role]].unique()}  # fmt: skip
    yield ReportTable(
        "self-gain", "Self-gain by player, role and family", frame,
        (Header("player", "Player"), Header("kind", "Kind"), *columns(titles, frame)),
        f"{METHODS} {_references(sides)}",
        tuple(dict.fromkeys(note for one in found for note in one.notes)),
        leads=lambda row: Lead(played[row["player"]], {"player": row["player"]}),
    )  # fmt: skip
    yield from gain_table(evidence, frame, named)


def _compared(one: Fits, role: str) -> bool:
    """Whether a role's gain could be regressed on who played it."""
    return GAINS[role] in one.found and one.found[GAINS[role]].tells(ROLES[role])


def _name(one: Fits, role: str) -> str:
    return f"{one.played.game} {role}"


def _joined(sides: Sequence[tuple[Fits, str]], kinds: dict[str, str]) -> pl.DataFrame:
    """A row a player, those who gain most in the first column on top."""
    whole = pl.DataFrame({"player": []}, schema={"player": pl.String})
    for one, role in sides:
        effects = one.beside(ROLES[role], {GAINS[role]: _name(one, role)}).drop("reference")
        whole = whole.join(
            effects.rename({"level": "player"}),
            on="player",
            how="full",
            coalesce=True,
            validate="1:1",
            maintain_order="left",
        )
    named = whole.with_columns(pl.col("player").replace_strict(kinds, default="").alias("kind"))
    return named.sort(_name(*sides[0]), "player", descending=[True, False], nulls_last=True)


def _references(sides: Sequence[tuple[Fits, str]]) -> str:
    """Who the others are compared with."""
    chosen = {_name(one, role): one.played.references[ROLES[role]] for one, role in sides}
    names = set(chosen.values())
    if len(names) == 1:
        return f"Effects are over {names.pop()}."
    parts = ", ".join(f"{who} in {name}" for name, who in chosen.items())
    return f"Nobody played every role, so effects are over different players: {parts}."


def _gain_panel(one: Fits, frame: pl.DataFrame) -> Chart:
    here = [role for role in ROLES if _compared(one, role)]
    shown = {f"{_name(one, role)} clustered": ROLES[role] for role in here}
    rows = frame.filter(pl.any_horizontal(pl.col(key).is_not_null() for key in shown))
    leads = [Lead(one.played.game, {"player": who}) for who in rows["player"]]
    return dots(capital(one.played.game), rows, "player", shown, leads=leads)


def references(evidence: Evidence) -> Iterator[ReportTable]:
    """The levels that others are compared with, those of the paper where the study has them.

    A parameter that has one level here has no effect to estimate; one without the paper's reference
    level is compared with the level of most matches. Players are compared with the paper's, else
    with who played most roles of most families. In tables of the market, the reference is the
    market of these levels if it was played, else the one with most matches.
    """
    made = evidence.once(families)
    frame = pl.DataFrame([row for one in made for row in _rows(one)])
    yield ReportTable(
        "references", "Reference levels", frame,
        (Header("family", "Family"), Header("parameter", "Parameter"), Header("title", "Meaning"),
         Header("paper", "Reference of the paper"), Header("reference", "Reference here"),
         Header("levels", "Levels", "with matches"), Header("market", "Part of the market")),
        notes=tuple(note for one in made for note in one.notes),
    )  # fmt: skip
    yield reference_table(made)


def _rows(played: FamilyMatches) -> Iterator[dict[str, str]]:
    family = capital(played.game)
    for term in played.terms:
        yield {
            "family": family, "parameter": term.name, "title": term.title,
            "paper": level(term.default),
            "reference": played.references.get(term.name, "one level only"),
            "levels": _levels(played, term), "market": "yes" if term.market else "no",
        }  # fmt: skip
    for title in ROLES.values():
        players = played.frame[title].n_unique()
        yield {
            "family": family, "parameter": title, "title": f"who plays {title}",
            "paper": REFERENCE, "reference": played.references[title],
            "levels": f"{players} players", "market": "no",
        }  # fmt: skip


def _levels(played: FamilyMatches, term: Term) -> str:
    if term.name not in played.levels:
        return f"{played.constant[term.name]} ({played.frame.height:,})"
    counts = dict(
        played.frame.group_by(pl.col(term.name).cast(pl.String), maintain_order=True)
        .len()
        .iter_rows()
    )
    return "; ".join(f"{name} ({counts[name]:,})" for name in played.levels[term.name])


def impact(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """What every level of every parameter does to every metric, all else equal.

    A regression for each family and metric has every parameter and both players as a factor of its
    own (GLEE, appendix D.1 shows this as its parameter impact viewer). Sort the table, or filter it
    by words, such as "persuasion fairness p". Charts show reference levels, too, whose effect is 0.
    """
    made = evidence.once(apart)
    found = [one for one in made if one.found]
    rows = [_impacts(one, metric) for one in found for metric in one.found]
    whole = pl.concat([row for row in rows if not row.is_empty()] or [pl.DataFrame()])
    if whole.is_empty():
        raise Lacking("no parameter has two levels and nobody played two roles; vary some")
    played = {capital(one.played.game): one.played for one in found}
    panels = [_impact_panel(one, metric, whole) for one in found for metric in one.found]
    yield Charts(
        "impact-figures", "Effect of each level", [panel for panel in panels if not panel.empty],
        "Dots are effects over the reference level, in points; whiskers are clustered intervals.",
    )  # fmt: skip
    frame = whole.filter(~pl.col("reference")).drop("reference")
    yield ReportTable(
        "impact", "Effect of every level", frame,
        (Header("name", "Level"), Header("over", "Over"), Header("family", "Family"),
         Header("metric", "Metric"), *columns({"effect": "Effect"}, frame),
         Header("p", "p", "two-sided, clustered", 3), Header("parameter", "Parameter")),
        METHODS, (*(note for one in found for note in one.notes), *left_out(made)),
        leads=lambda row: played[row["family"]].lead(pl.col(row["parameter"]) == row["level"]),
    )  # fmt: skip


def _impacts(one: Fits, metric: str) -> pl.DataFrame:
    """The effects of all levels of all factors on a metric, of references too, which have 0."""
    made = []
    for factor in one.found[metric].classical.design.factors:
        effects = one.found[metric].effects(factor.name).drop_nulls(KINDS)
        if effects["reference"].all():
            continue
        made.append(
            effects.rename({name: under("effect", name) for name in effects.columns}).select(
                pl.lit(capital(one.played.game)).alias("family"),
                pl.lit(capital(METRICS[metric])).alias("metric"),
                pl.lit(factor.name).alias("parameter"),
                pl.concat_str(pl.lit(f"{factor.name} "), "level").alias("name"),
                pl.lit(factor.reference).alias("over"),
                pl.all(),
            )
        )
    return pl.concat(made) if made else pl.DataFrame()


def _impact_panel(one: Fits, metric: str, frame: pl.DataFrame) -> Chart:
    """The effects of parameters on a metric; those of players stand in figures of their own."""
    family = capital(one.played.game)
    rows = frame.filter(
        family=family, metric=capital(METRICS[metric])
    ).filter(pl.col("parameter").is_in(list(one.played.levels))).with_columns(
        pl.col("name") + pl.when("reference").then(pl.lit(" (reference)")).otherwise(pl.lit(""))
    )  # fmt: skip
    leads = [one.played.lead(pl.col(row["parameter"]) == row["level"]) for row in rows.to_dicts()]
    series = {"effect clustered": "Effect"}
    return dots(f"{family}: {METRICS[metric]}", rows, "name", series, leads=leads)


def encoding(evidence: Evidence) -> Iterator[ReportTable]:
    """The columns of a regression: one for each level of each factor, 1 where a match has it.

    The market's levels are combinations of its parameters, so that it holds all their interactions
    (GLEE, figure 20). Reference levels are part of the constant and have no effect of their own.
    Shown is one match, of bargaining where that was played.
    """
    one = next(one for one in evidence.once(additive) if one.found)
    design = next(iter(one.found.values())).classical.design
    match = one.played.frame.head(1)
    rows = [
        {"parameter": factor.name, "level": level, "value": int(level == own),
         "reference": "yes" if level == factor.reference else "no"}
        for factor in design.factors
        for own in level_texts(match, factor.columns)
        for level in factor.levels
    ]  # fmt: skip
    if not rows:
        raise Lacking("no parameter has two levels and nobody played two roles; vary some")
    yield ReportTable(
        "figure-20", f"{capital(one.played.game)}: how a match is encoded", pl.DataFrame(rows),
        (Header("parameter", "Parameter"), Header("level", "Level"),
         Header("value", "In this match", "", 0), Header("reference", "Reference")),
        f"The match is {match['match'].item()}.", printed="Figure 20",
    )  # fmt: skip
