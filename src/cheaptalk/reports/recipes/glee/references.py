"""The parameters: their reference levels (Table 8), and what each level does to each metric."""

from collections.abc import Iterator

import polars as pl

from cheaptalk.reports.figures import Panel
from cheaptalk.reports.pages import capital, plain
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.glee.drawing import Series, dots
from cheaptalk.reports.recipes.glee.families import METRICS, REFERENCE, ROLES, Term, level
from cheaptalk.reports.recipes.glee.fits import METHODS, Fits, apart, columns, left_out, under
from cheaptalk.reports.recipes.glee.laying import Played, families
from cheaptalk.reports.recipes.parts import Charts, Column, Lacking, Part, Table


def references(evidence: Evidence) -> Iterator[Table]:
    """The levels that others are compared with, those of the paper where the study has them.

    A parameter that has one level here has no effect to estimate; one without the paper's reference
    level is compared with the level of most matches. Players are compared with the paper's, else
    with who played most roles of most families. In tables of the market, the reference is the
    market of these levels if it was played, else the one with most matches.
    """
    frame = pl.DataFrame([row for one in families(evidence) for row in _rows(one)])
    yield Table(
        "references", "Reference levels", frame,
        (Column("family", "Family"), Column("parameter", "Parameter"), Column("title", "Meaning"),
         Column("paper", "Reference of the paper"), Column("reference", "Reference here"),
         Column("levels", "Levels", "with matches"), Column("market", "Part of the market")),
        notes=tuple(f"{capital(one.game)}: {', '.join(map(plain, one.uncontrolled))} varied and "
                    "is not controlled for." for one in families(evidence) if one.uncontrolled),
    )  # fmt: skip


def _rows(played: Played) -> Iterator[dict[str, str]]:
    family = capital(played.game)
    for term in played.family.terms:
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


def _levels(played: Played, term: Term) -> str:
    if term.name not in played.levels:
        return f"{played.constant[term.name]} ({played.frame.height:,})"
    counts = dict(played.frame.group_by(pl.col(term.name).cast(pl.String)).len().iter_rows())
    return "; ".join(f"{name} ({counts[name]:,})" for name in played.levels[term.name])


def impact(evidence: Evidence) -> Iterator[Table | Charts]:
    """What every level of every parameter does to every metric, all else equal.

    A regression for each family and metric has every parameter and both players as a factor of its
    own (GLEE, appendix D.1 shows this as its parameter impact viewer). Sort the table, or filter it
    by words, such as "persuasion fairness p".
    """
    made = evidence.once(apart)
    found = [one for one in made if one.found]
    rows = [_effects(one, metric) for one in found for metric in one.found]
    frame = pl.concat([row for row in rows if not row.is_empty()] or [pl.DataFrame()])
    if frame.is_empty():
        raise Lacking("no parameter has two levels and nobody played two roles; vary some")
    played = {capital(one.played.game): one.played for one in found}
    panels = [_panel(one, metric, frame) for one in found for metric in one.found]
    yield Charts(
        "impact-figures", "Effect of each level", [panel for panel in panels if panel.data],
        "Dots are effects over the reference level, in points; whiskers are clustered intervals.",
    )  # fmt: skip
    yield Table(
        "impact", "Effect of every level", frame,
        (Column("name", "Level"), Column("over", "Over"), Column("family", "Family"),
         Column("metric", "Metric"), Column("parameter", "Parameter"),
         *columns({"effect": "Effect"}, frame), Column("p", "p", "two-sided, clustered", 3)),
        METHODS, (*(note for one in found for note in one.notes), *left_out(made)),
        leads=lambda row: played[row["family"]].lead(pl.col(row["parameter"]) == row["level"]),
    )  # fmt: skip


def _effects(one: Fits, metric: str) -> pl.DataFrame:
    """The effects of all levels of all factors on a metric, references left out."""
    made = []
    for factor in one.found[metric].classical.design.factors:
        effects = one.found[metric].effects(factor.name).filter(~pl.col("reference"))
        made.append(
            effects.rename({name: under("effect", name) for name in effects.columns}).select(
                pl.lit(capital(one.played.game)).alias("family"),
                pl.lit(capital(METRICS[metric])).alias("metric"),
                pl.lit(factor.name).alias("parameter"),
                pl.concat_str(pl.lit(f"{factor.name} "), "level").alias("name"),
                pl.lit(factor.reference).alias("over"),
                pl.exclude("reference"),
            )
        )
    return pl.concat(made) if made else pl.DataFrame()


def _panel(one: Fits, metric: str, frame: pl.DataFrame) -> Panel:
    """The effects of parameters on a metric; those of players stand in figures of their own."""
    family = capital(one.played.game)
    rows = frame.filter(
        family=family, metric=capital(METRICS[metric])
    ).filter(pl.col("parameter").is_in(list(one.played.levels)))  # fmt: skip
    leads = [one.played.lead(pl.col(row["parameter"]) == row["level"]) for row in rows.to_dicts()]
    series = [Series("Effect", "effect clustered")]
    return dots(f"{family}: {METRICS[metric]}", rows, "name", series, leads=leads)


REFERENCES = Part("Reference levels", "Table 8", references)
IMPACT = Part("Effect of every parameter", "appendix D.1, Figure 6", impact)
