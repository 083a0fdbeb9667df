"""Effects of the market (Table 2), of players (Table 3) and of every parameter on metrics."""

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
    table,
)
from cheaptalk.papers.glee.paper_tables import gain_table, market_table, reference_table
from cheaptalk.papers.glee.regressions import (
    KINDS,
    MARKET,
    Fits,
    additive,
    apart,
    columns,
    left_out,
    under,
)
from cheaptalk.reports.charts.chart import Chart, Lead
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Charts, NoData, Shown
from cheaptalk.reports.recipes.tables import ReportTable
from cheaptalk.statistics.design_matrix import level_texts
from cheaptalk.text import capital

SHOWN = ("efficiency", "fairness")


def market_effects(evidence: Evidence) -> Iterator[Shown]:
    """Report the effects of information, messages and horizon on efficiency and fairness.

    In each family, complete information (CI), messages (MA, or MT for their type) and the horizon
    (T, or MY for myopic buyers) form one factor, the market, with all interactions. The ordinary
    least squares regression has the market, all other parameters and both players as factors (GLEE,
    section 3 and appendix F.1):

        metric = constant + market + other parameters + Alice's player + Bob's player + error.

    The table shows the effect of each market relative to the reference market.
    """
    all_fits = evidence.once(additive)
    fitted = [fits for fits in all_fits if not _beside(fits).is_empty()]
    problems = [note for fits in all_fits if fits not in fitted for note in fits.lacks]
    if not fitted:
        raise NoData(
            " ".join(problems)
            or "no family was played with two markets; vary complete_information, "
            "messages, signal, myopic or horizon"
        )
    notes = tuple(dict.fromkeys((*left_out(all_fits), *problems)))
    tables = [_table(evidence, fits, notes) for fits in fitted]
    panels = [_market_panel(fits, shown) for fits, shown in zip(fitted, tables, strict=True)]
    caption = "Dots are effects relative to the reference market; whiskers are clustered intervals."
    yield Charts("market-effects", "Effect of the market", panels, caption)
    for fits, shown in zip(fitted, tables, strict=True):
        yield shown
        yield market_table(evidence, fits.played, shown.numbers, _reference_market(fits))


def _table(evidence: Evidence, fits: Fits, notes: tuple[str, ...]) -> ReportTable:
    played = fits.played
    frame = _market_rows(fits)
    terms = [term for term in played.terms if term.name in played.market]
    return table(
        evidence,
        "market",
        frame.drop("reference"),
        name=f"market-{played.game}",
        columns={"effects": columns({name: METRICS[name] for name in SHOWN}, frame)},
        facts={
            "family": capital(played.game),
            "about": "; ".join(f"{term.name}: {term.title}" for term in terms),
            "reference": _reference_market(fits),
        },
        notes=(*_unplayed(fits), *fits.notes, *notes),
        leads=lambda row: played.lead(*(pl.col(name) == row[name] for name in played.market)),
    )


def _reference_market(fits: Fits) -> str:
    return str(_market_rows(fits).filter("reference")["market"].item())


def _beside(fits: Fits) -> pl.DataFrame:
    """The effects of each market on the metrics; empty if there is only one market."""
    return fits.beside(MARKET, {name: name for name in SHOWN})


def _market_rows(fits: Fits) -> pl.DataFrame:
    market = fits.played.market
    texts = fits.played.frame.select(market).unique(maintain_order=True)
    named = [pl.concat_str(pl.lit(f"{name} "), pl.col(name)) for name in market]
    texts = texts.with_columns(level_texts(texts, market).alias("level")).select(
        pl.concat_str(named, separator=", ").alias("market"),
        pl.col(market).cast(pl.String),
        "level",
    )
    effects = _beside(fits)
    first = next(name for name in SHOWN if name in effects.columns)
    rows = texts.join(effects, on="level", validate="1:1", maintain_order="left").drop("level")
    return rows.sort(first, "market", descending=[True, False])


def _unplayed(fits: Fits) -> list[str]:
    market = list(fits.played.market)
    present = set(fits.played.frame.select(pl.col(market).cast(pl.String)).unique().iter_rows())
    missing = [
        levels
        for levels in product(*map(fits.played.levels.__getitem__, market))
        if levels not in present
    ]
    texts = [", ".join(map("=".join, zip(market, levels, strict=True))) for levels in missing]
    return [f"Never played: {'; '.join(texts)}."] if missing else []


def _market_panel(fits: Fits, effects: ReportTable) -> Chart:
    named = pl.concat_str(fits.played.market, separator=", ").alias("name")
    names = [name for name in SHOWN if name in effects.numbers.columns]
    shown = {f"{name} clustered": capital(METRICS[name]) for name in names}
    leads = [effects.leads(row) for row in effects.rows]
    axis = ", ".join(fits.played.market)
    frame = effects.numbers.with_columns(named)
    return dots(capital(fits.played.game), frame, "name", shown, axis=axis, leads=leads)


def self_gains(evidence: Evidence) -> Iterator[Shown]:
    """Report players' gains in each role, all else equal; people with one label are one player.

    The regressions are those of the market's effects, with Alice's or Bob's gain as the outcome
    (GLEE, section 3). The effect of a player is the difference in gain from the reference player in
    the same role, against the same opponents and in the same configurations.
    """
    fitted = evidence.once(additive)
    sides = [(fits, role) for fits in fitted for role in ROLES if _compared(fits, role)]
    if not sides:
        problems = " ".join(note for fits in fitted for note in fits.lacks)
        raise NoData(
            problems or "no role was played by two players; add a player, or import GLEE's games"
        )
    frame = _joined(sides, evidence.once(kinds))
    panels = []
    for fits in fitted:
        roles = {f"{_name(*side)} clustered": ROLES[side[1]] for side in sides if side[0] is fits}
        if roles:
            rows = frame.filter(pl.any_horizontal(pl.col(*roles).is_not_null()))
            leads = [Lead(fits.played.game, {"player": label}) for label in rows["player"]]
            panels.append(dots(capital(fits.played.game), rows, "player", roles, leads=leads))
    caption = "Dots are effects on a player's own gain; whiskers are clustered intervals."
    yield Charts("self-gain-figures", "Gain relative to the reference player", panels, caption)
    named = {_name(fits, role): (capital(fits.played.game), ROLES[role]) for fits, role in sides}
    titles = {key: f"{family}: {role}" for key, (family, role) in named.items()}
    games = {
        label: fits.played.game
        for fits, role in reversed(sides)
        for label in fits.played.frame[ROLES[role]].unique()
    }
    yield table(
        evidence,
        "self-gain",
        frame,
        columns={"effects": columns(titles, frame)},
        facts={"references": _references(sides)},
        notes=dict.fromkeys(note for fits in fitted for note in fits.notes),
        leads=lambda row: Lead(games[row["player"]], {"player": row["player"]}),
    )
    yield from gain_table(evidence, frame, named)


def _compared(fits: Fits, role: str) -> bool:
    return GAINS[role] in fits.found and fits.found[GAINS[role]].tells(ROLES[role])


def _name(fits: Fits, role: str) -> str:
    return f"{fits.played.game} {role}"


def _joined(sides: Sequence[tuple[Fits, str]], kinds: dict[str, str]) -> pl.DataFrame:
    """One row per player, by decreasing gain in the first column."""
    joined = pl.DataFrame({"player": []}, schema={"player": pl.String})
    for fits, role in sides:
        effects = fits.beside(ROLES[role], {GAINS[role]: _name(fits, role)}).drop("reference")
        named = effects.rename({"level": "player"})
        joined = joined.join(
            named, on="player", how="full", coalesce=True, validate="1:1", maintain_order="left"
        )
    named = joined.with_columns(pl.col("player").replace_strict(kinds, default="").alias("kind"))
    return named.sort(_name(*sides[0]), "player", descending=[True, False], nulls_last=True)


def _references(sides: Sequence[tuple[Fits, str]]) -> str:
    references = {_name(fits, role): fits.played.references[ROLES[role]] for fits, role in sides}
    names = set(references.values())
    if len(names) == 1:
        return f"Effects are relative to {names.pop()}."
    parts = ", ".join(f"{label} in {name}" for name, label in references.items())
    return f"No player played every role, so that reference players differ: {parts}."


def references(evidence: Evidence) -> Iterator[ReportTable]:
    """Report the reference levels of parameters and players.

    The reference is the paper's level if it was played, or else the level with most matches. The
    reference player is the paper's, or else the player with most roles in all families. The
    reference market consists of the parameters' reference levels if it was played, or else it is
    the market with most matches. A parameter with only one level has no effect.
    """
    played = evidence.once(families)
    frame = pl.DataFrame([row for family in played for row in _rows(family)])
    notes = (note for family in played for note in family.notes)
    yield table(evidence, "references", frame, notes=notes)
    yield reference_table(evidence, played)


def _rows(played: FamilyMatches) -> Iterator[dict[str, str]]:
    family = capital(played.game)
    for term in played.terms:
        yield {
            "family": family,
            "parameter": term.name,
            "title": term.title,
            "paper": level(term.default),
            "reference": played.references.get(term.name, "one level only"),
            "levels": _levels(played, term),
            "market": "yes" if term.market else "no",
        }
    for title in ROLES.values():
        yield {
            "family": family,
            "parameter": title,
            "title": f"player in the role of {title}",
            "paper": REFERENCE,
            "reference": played.references[title],
            "levels": f"{played.frame[title].n_unique()} players",
            "market": "no",
        }


def _levels(played: FamilyMatches, term: Term) -> str:
    if term.name not in played.levels:
        return f"{played.constant[term.name]} ({played.frame.height:,})"
    groups = played.frame.group_by(pl.col(term.name).cast(pl.String), maintain_order=True)
    counts = dict(groups.len().iter_rows())
    return "; ".join(f"{name} ({counts[name]:,})" for name in played.levels[term.name])


def impact(evidence: Evidence) -> Iterator[Shown]:
    """Report the effect of every level of every parameter on every metric, all else equal.

    The regression of each family and metric has every parameter and both players as separate
    factors, like the parameter impact viewer of GLEE (appendix D.1). You can sort the table, or
    filter it by words such as "persuasion fairness p". Charts also show reference levels, which
    have an effect of 0.
    """
    all_fits = evidence.once(apart)
    fitted = [fits for fits in all_fits if fits.found]
    rows = [_impacts(fits, metric) for fits in fitted for metric in fits.found]
    effects = pl.concat([row for row in rows if not row.is_empty()] or [pl.DataFrame()])
    if effects.is_empty():
        raise NoData("no parameter varies, and no role has two players; vary one of them")
    played = {capital(fits.played.game): fits.played for fits in fitted}
    panels = [_impact_panel(fits, metric, effects) for fits in fitted for metric in fits.found]
    yield Charts(
        "impact-figures",
        "Effect of each level",
        [panel for panel in panels if not panel.empty],
        "Dots are effects relative to the reference level, in points; whiskers are clustered "
        "intervals.",
    )
    frame = effects.filter(~pl.col("reference")).drop("reference")
    yield table(
        evidence,
        "impact",
        frame,
        columns={"effects": columns({"effect": "Effect"}, frame)},
        notes=(*(note for fits in fitted for note in fits.notes), *left_out(all_fits)),
        leads=lambda row: played[row["family"]].lead(pl.col(row["parameter"]) == row["level"]),
    )


def _impacts(fits: Fits, metric: str) -> pl.DataFrame:
    frames = []
    for factor in fits.found[metric].classical.design.factors:
        effects = fits.found[metric].effects(factor.name).drop_nulls(KINDS)
        if effects["reference"].all():
            continue
        named = effects.rename({name: under("effect", name) for name in effects.columns})
        frames.append(
            named.select(
                pl.lit(capital(fits.played.game)).alias("family"),
                pl.lit(capital(METRICS[metric])).alias("metric"),
                pl.lit(factor.name).alias("parameter"),
                pl.concat_str(pl.lit(f"{factor.name} "), "level").alias("name"),
                pl.lit(factor.reference).alias("over"),
                pl.all(),
            )
        )
    return pl.concat(frames) if frames else pl.DataFrame()


def _impact_panel(fits: Fits, metric: str, frame: pl.DataFrame) -> Chart:
    family = capital(fits.played.game)
    rows = (
        frame.filter(family=family, metric=capital(METRICS[metric]))
        .filter(pl.col("parameter").is_in(list(fits.played.levels)))
        .with_columns(
            pl.col("name") + pl.when("reference").then(pl.lit(" (reference)")).otherwise(pl.lit(""))
        )
    )
    leads = [fits.played.lead(pl.col(row["parameter"]) == row["level"]) for row in rows.to_dicts()]
    series = {"effect clustered": "Effect"}
    return dots(f"{family}: {METRICS[metric]}", rows, "name", series, leads=leads)


def encoding(evidence: Evidence) -> Iterator[ReportTable]:
    """Report how the regression encodes a sample match: 1 for its levels, and 0 for all others.

    The levels of the market are combinations of parameters, which includes all interactions (GLEE,
    Figure 20). Reference levels are part of the constant. The match is one of bargaining if
    bargaining was played.
    """
    fits = next(each for each in evidence.once(additive) if each.found)
    design = next(iter(fits.found.values())).classical.design
    match = fits.played.frame.sort("match_id").head(1)
    rows = [
        {
            "parameter": factor.name,
            "level": level,
            "value": int(level == own),
            "reference": "yes" if level == factor.reference else "no",
        }
        for factor in design.factors
        for own in level_texts(match, factor.columns)
        for level in factor.levels
    ]
    if not rows:
        raise NoData("no parameter varies, and no role has two players; vary one of them")
    facts = {"family": capital(fits.played.game), "match": match["match_id"].item()}
    yield table(evidence, "figure-20", pl.DataFrame(rows), facts=facts)
