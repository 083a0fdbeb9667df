"""GLEE's tables with the paper's layout."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest

import polars as pl

from cheaptalk.papers.glee.families import METRICS, FamilyMatches, Term, families, table
from cheaptalk.papers.printed import selected_labels
from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.tables import BOLD, ERROR, Header, ReportTable
from cheaptalk.text import capital

PANELS = {"bargaining": "a", "negotiation": "b", "persuasion": "c"}
MARKS = {"yes": "✓", "text": "✓", "no": "-", "binary": "-"}
"""The paper's symbols for levels in Table 2."""
HEADS = {"MT": "MA"}
"""Names of parts of the market that differ in Table 2."""
EFFECTS = {"efficiency": "Eff.", "fairness": "Fair."}
HALF = ".half"
"""The suffix of columns with half the width of an interval, printed after ±."""


def market_table(
    evidence: Evidence, played: FamilyMatches, effects: pl.DataFrame, reference: str
) -> ReportTable:
    """Return a panel of Table 2: effects of each market in points, and the width of intervals."""
    terms = [term for term in played.terms if term.market]
    metrics = {key: title for key, title in EFFECTS.items() if key in effects.columns}
    halves = {
        key: effects.select((pl.col(key + HIGH) - pl.col(key + LOW)).max() / 2).item()
        for key in metrics
    }
    marked = []
    for term in terms:
        constant = played.constant.get(term.name)
        levels = pl.col(term.name) if constant is None else pl.lit(constant)
        marked.append(levels.cast(pl.String).replace(MARKS).alias(term.name))
    values = [key + end for key in metrics for end in ("", LOW, HIGH)]
    bold = (
        (pl.col(key) >= pl.col(key).max() - (halves[key] or 0)).alias(key + BOLD) for key in metrics
    )
    last = pl.DataFrame({terms[0].name: "Conf. Int. ±", **halves})
    heads = {term.name: HEADS.get(term.name, term.name) for term in terms}
    headers = [
        Header(key, title, "", 1, f"Effect on {key}, in points.", spread=False)
        for key, title in metrics.items()
    ]
    panel = PANELS[played.game]
    return table(
        evidence,
        "table-2",
        pl.concat([effects.select(*marked, *values, *bold), last], how="diagonal_relaxed"),
        name=f"table-2{panel}",
        columns={"terms": heads, "metrics": headers},
        facts={
            "panel": panel,
            "family": capital(played.game),
            "meanings": "; ".join(f"{heads[term.name]}: {term.title}" for term in terms),
            "reference": reference,
        },
    )


def gain_table(
    evidence: Evidence, gains: pl.DataFrame, sides: Mapping[str, tuple[str, str]]
) -> Iterator[ReportTable]:
    """Yield Table 3: the gain of each selected player by role and family.

    ``sides`` are family and role by column of the gain; the reference player has 0 without an
    interval.
    """
    selected = selected_labels(evidence, gains["player"].to_list())
    rows = gains.filter(pl.col("player").is_in(selected))
    if rows.is_empty():
        return
    halves = (
        ((pl.col(key + HIGH) - pl.col(key + LOW)) / 2)
        .fill_null(pl.when(pl.col(key) == 0).then(0.0))
        .alias(key + HALF)
        for key in sides
    )
    headers = []
    for key, (family, role) in sides.items():
        headers += [
            Header(key, role, "", 1, f"{role}'s gain, in points.", family, spread=False),
            Header(key + HALF, "±", "", 1, f"Half the interval of {role}'s gain.", family),
        ]
    values = [key + end for key in sides for end in ("", LOW, HIGH)]
    yield table(
        evidence, "table-3", rows.select("player", *values, *halves), columns={"sides": headers}
    )


COUNTS = ("games", "decisions", "messages", "words")
ORDER = ("bargaining", "persuasion", "negotiation")


def collected(evidence: Evidence) -> Iterator[ReportTable]:
    """Count the scored games, and their decisions, messages and words.

    Decisions are answers that accept or reject, buy or pass, and recommend or not, but not offers.
    Words are separated by white space.
    """
    counted = pl.concat(
        evidence.moves.filter(game=family).select(
            pl.lit(capital(family)).alias("family"),
            pl.col("match_id").n_unique().alias("games"),
            pl.col("decisions", "messages", "words").sum(),
        )
        for family in ORDER
        if family in {family.game for family in evidence.once(families)}
    )
    total = counted.select(pl.lit("Total").alias("family"), pl.col(*COUNTS).sum())
    yield table(evidence, "table-6", pl.concat([counted, total]))


TERMS = ("δ_A", "δ_B", "F_A", "F_B", "p", "v", "M", "T", "CI", "MA", "MT", "MY")
"""Parameters in the order of Table 8; other parameters are omitted unless they vary."""
PRINTED_TERMS = {"MT": "Messages type", "MY": "Buyer type"}
PRINTED_LEVELS = {
    "MY": {"yes": "Myopic", "no": "Long-living"},
    "MT": {"binary": "Binary", "text": "Textual"},
}
TRUTH = {"yes": "True", "no": "False"}


def reference_table(evidence: Evidence, played: Sequence[FamilyMatches]) -> ReportTable:
    """Return Table 8: the reference level of each parameter of each family."""
    sides = [[_default(family, term) for term in _in_order(family)] for family in played]
    keys = [
        Header(f"{family.game} {part}", capital(part), group=capital(family.game))
        for family in played
        for part in ("parameter", "default")
    ]
    rows = [list(chain(*line)) for line in zip_longest(*sides, fillvalue=("", ""))]
    frame = pl.DataFrame(rows, [header.key for header in keys], orient="row")
    return table(evidence, "table-8", frame, columns={"families": keys})


def _in_order(played: FamilyMatches) -> list[Term]:
    terms = [term for term in played.terms if term.name in (*TERMS, *played.levels)]
    return sorted(terms, key=lambda term: TERMS.index(term.name) if term.name in TERMS else 0)


def _default(played: FamilyMatches, term: Term) -> tuple[str, str]:
    value = played.references.get(term.name) or played.constant[term.name]
    name = PRINTED_LEVELS.get(term.name, TRUTH).get(value, value)
    return PRINTED_TERMS.get(term.name, term.name), name


GAINS_FIRST = {
    "self_gain_alice": "Alice Self Gain",
    "self_gain_bob": "Bob Self Gain",
    "efficiency": "Efficiency",
    "fairness": "Fairness",
}


def prediction_table(
    evidence: Evidence,
    errors: pl.DataFrame,
    learners: Mapping[str, str],
    facts: Mapping[str, object],
) -> ReportTable:
    """Return Table 9: the prediction error of each learner for each metric."""
    titles = {capital(METRICS[key]): title for key, title in GAINS_FIRST.items()}
    names = list(titles.values())
    position = pl.col("metric").replace_strict(names, range(len(names)), return_dtype=pl.Int64)
    halves = {key + ERROR: key + HALF for key in learners}
    rows = errors.with_columns(pl.col("metric").replace(titles)).rename(halves)
    headers = []
    for key, title in learners.items():
        about = "Standard deviation over splits."
        headers += [
            Header(key, "RMSE", "", 3, group=title),
            Header(key + HALF, "±", "", 3, about, title),
        ]
    return table(
        evidence,
        "table-9",
        rows.sort("family", position),  # families are in alphabetical order, as in the paper
        columns={"learners": headers},
        facts=facts,
    )
