"""GLEE's tables in the form in which the paper prints them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

import polars as pl

from cheaptalk.papers.glee.families import METRICS, FamilyMatches, Term, families
from cheaptalk.papers.printed import as_printed, chosen
from cheaptalk.records import MatchRecord
from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.study_overview import activity
from cheaptalk.reports.recipes.tables import BOLD, ERROR, Header, ReportTable
from cheaptalk.text import capital

PAPER = "glee"
"""The folder with the printed values."""
PANELS = {"bargaining": "a", "negotiation": "b", "persuasion": "c"}
MARKS = {"yes": "✓", "text": "✓", "no": "-", "binary": "-"}
"""How the paper marks levels in Table 2."""
HEADS = {"MT": "MA"}
"""What it calls parts of the market there, where elsewhere they have another name."""
EFFECTS = {"efficiency": "Eff.", "fairness": "Fair."}
HALF = ".half"
"""Behind a column's name, half the width of its interval, which the paper prints behind ±."""


def market_table(
    evidence: Evidence, played: FamilyMatches, effects: pl.DataFrame, reference: str
) -> ReportTable:
    """A panel of Table 2: markets with their effects, and how wide the intervals are.

    Args:
        evidence: what is asked for besides.
        played: the family.
        effects: a row a market, with its levels, and the effects of :data:`EFFECTS` that are known
            in points, each with the ends of its classical interval.
        reference: the market of which the effect is 0.
    """
    terms = [one for one in played.terms if one.market]
    known = {key: title for key, title in EFFECTS.items() if key in effects.columns}
    halves = {key: effects.select((pl.col(key + HIGH) - pl.col(key + LOW)).max() / 2).item()
              for key in known}  # fmt: skip
    rows = effects.select(
        *(_marked(played, one) for one in terms),
        *(key + end for key in known for end in ("", LOW, HIGH)),
        *((pl.col(key) >= pl.col(key).max() - (halves[key] or 0)).alias(key + BOLD)
          for key in known),
    )  # fmt: skip
    last = pl.DataFrame({terms[0].name: "Conf. Int. ±", **halves})
    panel = PANELS[played.game]
    heads = {one.name: HEADS.get(one.name, one.name) for one in terms}
    meanings = "; ".join(f"{heads[one.name]}: {one.title}" for one in terms)
    table = ReportTable(
        f"table-2{panel}", f"{capital(played.game)}: effect of the market on the game",
        pl.concat([rows, last], how="diagonal_relaxed"),
        (*(Header(key, head) for key, head in heads.items()),
         *(Header(key, title, "", 1, f"Effect on {key}, in points.", spread=False)
           for key, title in known.items())),
        f"{meanings}; a mark says yes, or words. Effects are in points over the market "
        f"{reference}. The last row is half the width of the widest of the classical 95 % "
        "intervals; bold is the highest effect, with those that are no more than that below it.",
        printed=f"Table 2 ({panel})",
    )  # fmt: skip
    return as_printed(evidence, PAPER, table)


def _marked(played: FamilyMatches, term: Term) -> pl.Expr:
    """The levels of a part of the market as the paper marks them."""
    constant = played.constant.get(term.name)
    levels = pl.col(term.name) if constant is None else pl.lit(constant)
    return levels.cast(pl.String).replace(MARKS).alias(term.name)


def gain_table(
    evidence: Evidence, gains: pl.DataFrame, sides: Mapping[str, tuple[str, str]]
) -> Iterator[ReportTable]:
    """Table 3: players by role and family, unless nobody who is asked for played.

    Args:
        evidence: what is asked for besides.
        gains: a row a ``player``, and what it gains in points with the ends of its classical
            interval; those of the reference player are 0, without an interval.
        sides: family and role by the column of the gain.
    """
    rows = gains.filter(pl.col("player").is_in(chosen(evidence, gains["player"].to_list())))
    if rows.is_empty():
        return
    halves = (
        ((pl.col(key + HIGH) - pl.col(key + LOW)) / 2)
        .fill_null(pl.when(pl.col(key) == 0).then(0.0)).alias(key + HALF)
        for key in sides
    )  # fmt: skip
    table = ReportTable(
        "table-3", "Effect of the player on its own gain",
        rows.select("player", *(key + end for key in sides for end in ("", LOW, HIGH)), *halves),
        (Header("player", "Model"), *_plus_minus(sides)),
        "In points; behind ± is half the width of a classical 95 % interval.",
        printed="Table 3",
    )  # fmt: skip
    yield as_printed(evidence, PAPER, table)


def _plus_minus(sides: Mapping[str, tuple[str, str]]) -> Iterator[Header]:
    for key, (family, role) in sides.items():
        yield Header(key, role, "", 1, f"{role}'s gain, in points.", family, spread=False)
        yield Header(key + HALF, "±", "", 1, f"Half the interval of {role}'s gain.", family)


COUNTS = {"games": "Games", "decisions": "Decisions", "messages": "Messages", "words": "Words"}
ORDER = ("bargaining", "persuasion", "negotiation")
"""The families in the order of Table 6."""


@dataclass(frozen=True)
class Decisions:
    """How many decisions were made in matches: to accept, to buy, or to recommend.

    Attributes:
        counts: by game.
    """

    counts: Counter[str] = field(default_factory=Counter)

    def add(self, record: MatchRecord) -> None:
        """Count a match."""
        answers = record.body.get("answers") or ()
        self.counts[record.game] += sum("decision" in (one["action"] or ()) for one in answers)

    def join(self, later: "Decisions") -> None:
        """Count what another one counted."""
        self.counts.update(later.counts)


def collected(evidence: Evidence) -> Iterator[ReportTable]:
    """How many games count, and how many decisions, messages and words there are in them.

    A decision is an answer that accepts or rejects, buys or passes, recommends or does not; an
    offer is none. Words are runs of characters between white space in messages.
    """
    played = {one.game for one in evidence.once(families)}
    decisions = evidence.observed(Decisions).counts
    tallies = evidence.once(activity).tallies
    rows = []
    for game in ORDER:
        if game in played:
            matches, _, messages, words = tallies[game, None]
            rows.append((capital(game), matches, decisions[game], messages, words))
    counted = pl.DataFrame(rows, ["family", *COUNTS], orient="row")
    total = counted.select(pl.lit("Total").alias("family"), pl.col(*COUNTS).sum())
    table = ReportTable(
        "table-6", "Games that were collected, by family", pl.concat([counted, total]),
        (Header("family", "Game Type"),
         *(Header(key, title, "", 0) for key, title in COUNTS.items())),
        printed="Table 6",
    )  # fmt: skip
    yield as_printed(evidence, PAPER, table)


TERMS = ("δ_A", "δ_B", "F_A", "F_B", "p", "v", "M", "T", "CI", "MA", "MT", "MY")
"""Parameters in the order of Table 8; what else does not vary does not stand there."""
PRINTED_TERMS = {"MT": "Messages type", "MY": "Buyer type"}
PRINTED_LEVELS = {
    "MY": {"yes": "Myopic", "no": "Long-living"},
    "MT": {"binary": "Binary", "text": "Textual"},
}
TRUTH = {"yes": "True", "no": "False"}


def reference_table(made: Sequence[FamilyMatches]) -> ReportTable:
    """Table 8: the level that others are compared with, of each parameter of each family."""
    sides = [[_default(one, term) for term in _in_order(one)] for one in made]
    rows = [
        {f"{one.game} {part}": text
         for one, (name, value) in zip(made, line, strict=True)
         for part, text in (("parameter", name), ("default", value))}
        for line in zip_longest(*sides, fillvalue=("", ""))
    ]  # fmt: skip
    columns = [
        Header(f"{one.game} {part}", capital(part), group=capital(one.game))
        for one in made for part in ("parameter", "default")
    ]  # fmt: skip
    return ReportTable(
        "table-8", "Default parameter values", pl.DataFrame(rows), tuple(columns),
        "The paper's own stand in the table of reference levels.", printed="Table 8",
    )  # fmt: skip


def _in_order(played: FamilyMatches) -> list[Term]:
    """The parameters that have a reference level, in the order of the paper."""
    known = [one for one in played.terms if one.name in (*TERMS, *played.levels)]
    return sorted(known, key=lambda one: TERMS.index(one.name) if one.name in TERMS else 0)


def _default(played: FamilyMatches, term: Term) -> tuple[str, str]:
    """A parameter and its reference level here, as the paper calls them."""
    value = played.references.get(term.name) or played.constant[term.name]
    called = PRINTED_LEVELS.get(term.name, TRUTH).get(value, value)
    return PRINTED_TERMS.get(term.name, term.name), called


GAINS_FIRST = {
    "alice_gain": "Alice Self Gain", "bob_gain": "Bob Self Gain", "efficiency": "Efficiency",
    "fairness": "Fairness",
}  # fmt: skip
"""The metrics in the order of Table 9."""


def prediction_table(
    evidence: Evidence, missed: pl.DataFrame, learners: Mapping[str, str], caption: str
) -> ReportTable:
    """Table 9: how far each learner misses each metric.

    Args:
        evidence: what is asked for besides.
        missed: a row a ``family`` and ``metric``, and for each learner its mean error with its
            standard deviation over splits.
        learners: what they are called.
        caption: of the table.
    """
    titles = {capital(METRICS[key]): title for key, title in GAINS_FIRST.items()}
    names = list(titles.values())
    rows = missed.with_columns(pl.col("metric").replace(titles)).rename(
        {key + ERROR: key + HALF for key in learners}
    ).sort(
        "family",  # alphabetical, as in the paper
        pl.col("metric").replace_strict(names, range(len(names)), return_dtype=pl.Int64),
    )  # fmt: skip
    columns = [
        header
        for key, title in learners.items()
        for header in (
            Header(key, "RMSE", "", 3, group=title),
            Header(key + HALF, "±", "", 3, "Standard deviation over splits.", title),
        )
    ]
    table = ReportTable(
        "table-9", "Root mean squared error out of sample, by model", rows,
        (Header("family", "Family"), Header("metric", "Metric"), *columns), caption,
        printed="Table 9",
    )  # fmt: skip
    return as_printed(evidence, PAPER, table)
