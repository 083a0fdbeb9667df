"""Inconsistent messages and proposals by iteration, and how far those who find them agree."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from cheaptalk.judges import Agreement, Interval, Share, verdict_frame
from cheaptalk.papers.self_play.charts import ShownNumber, panels
from cheaptalk.papers.self_play.stages import CELL, HEAD, Sides, cells, leads
from cheaptalk.reports.judge_summaries import JudgeSection, judge_sections
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import COUNT, HIGH, LOW, Charts, Header, Lacking, ReportTable
from cheaptalk.statistics import DEALS

RUBRIC = "hallucination"
EXACT = "exact check"
SHARES = {
    "alike": Header(
        "alike", "Agree", "% of moves", 1, "Both find something wrong, of whatever kind, or "
        "neither does: what the paper has of its judge and two authors, 92 %.",
    ),
    "same": Header("same", "Same verdict", "% of moves", 1, "Both give the same verdict."),
    "precision": Header(
        "precision", "Precision", "% of finds", 1,
        "Of the moves in which the judge finds something, those in which the reference does.",
    ),
    "recall": Header(
        "recall", "Recall", "% of its finds", 1,
        "Of the moves in which the reference finds something, those in which the judge does.",
    ),
}  # fmt: skip


def inconsistency(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """How many messages and proposals of self-play are at odds with the game or what was agreed on.

    A judge by the rubric ``hallucination`` finds impossible counts, false values of one's own and
    claims that break an agreement (the paper's figure 8), one move at a time. The exact check finds
    those of them that plain patterns leave no doubt of, so that its shares are lower bounds. Moves
    of which a judge gave no valid verdict are left out. 95 % intervals are clustered by deal; the
    exact check's, of a ratio of sums, by linearisation (Cochran 1977, section 6.3).
    """
    sides = evidence.once(Sides)
    found = pl.concat([_exact(sides.copies), *_judged(evidence, sides.copies)])
    frame = cells(sides, found, ["found"], ["found"], by="source")
    counts = found.group_by(*CELL, "source").agg(pl.col("moves").sum().cast(pl.Int64))
    frame = frame.join(
        counts, on=[*CELL, "source"], how="left", nulls_equal=True, maintain_order="left"
    ).with_columns(pl.col("moves").alias("found" + COUNT))  # fmt: skip
    number = ShownNumber("found", "inconsistent, % of moves", of="move")
    shown = panels(frame, number, staged=sides.staged)
    yield Charts("inconsistency-figure", "Inconsistent messages and proposals", shown)
    columns = (
        *HEAD, Header("source", "Found by"),
        Header("found", "Inconsistent", "% of moves", 1, "Messages and proposals with a fault."),
        Header("moves", "Moves", "messages and proposals", 0),
    )  # fmt: skip
    same = sides.copies.with_columns(source=pl.lit(EXACT))
    to_matches = leads(same, by="source")
    yield ReportTable(
        "inconsistency", "Inconsistent messages and proposals", frame, columns,
        leads=lambda row: to_matches({**row, "source": EXACT}),
    )  # fmt: skip


def _exact(copies: pl.DataFrame) -> pl.DataFrame:
    """What the exact check finds, a row a match: its mean is the share of all moves."""
    moves = pl.col("length")
    faulty = pl.col("inconsistency") * moves
    rate = faulty.sum() / moves.sum()
    value = 100 * (rate + (faulty - rate * moves) / moves.mean())
    return copies.drop_nulls("inconsistency").select(
        *CELL, *DEALS, source=pl.lit(EXACT), found=value.over(CELL), moves=moves
    )


def _judged(evidence: Evidence, copies: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """What each judge finds, a row a move."""
    sections = evidence.once(_sections)
    verdicts = verdict_frame(evidence.store, evidence.study) if sections else pl.DataFrame()
    for section in sections:
        if "person" in section.model:
            continue  # people label a sample, to hold judges against
        own = verdicts.filter(pl.col("judge") == section.digest).drop_nulls("score")
        yield own.select("match", "score").join(copies, on="match", maintain_order="left").select(
            *CELL, *DEALS, source=pl.lit(section.name), found=pl.col("score") * 100,
            moves=pl.lit(1.0),
        )  # fmt: skip


def _sections(evidence: Evidence) -> list[JudgeSection]:
    """The judges by the rubric."""
    sections = judge_sections(evidence.store, evidence.study)
    return [one for one in sections if one.rubric.name == RUBRIC]


def judges(evidence: Evidence) -> Iterator[ReportTable]:
    """How far a judge agrees with the exact check, with a sample labelled by hand, and with others.

    Only moves of which both say something count: the exact check is silent about what it cannot
    read. Cohen's kappa is 1 for full agreement and 0 for as much as chance would bring. The 95 %
    intervals are bootstrapped over deals; there is none with fewer than ten deals, nor where no two
    deals differ.
    """
    evidence.once(Sides)
    sections = evidence.once(_sections)
    rows = [_row(section, one) for section in sections for one in section.agreements if one.items]
    if not rows:
        raise Lacking(_what_lacks(sections, evidence.study))
    frame = pl.DataFrame(rows, infer_schema_length=None)
    columns = (
        Header("judge", "Judge"), Header("reference", "Against"), *SHARES.values(),
        Header("kappa", "Cohen's kappa", "", 2), Header("items", "Moves", "", 0),
        Header("matches", "Matches", "", 0),
    )  # fmt: skip
    yield ReportTable("judges", "Agreement of judges", frame, columns)
    told = [_verdicts(section, one) for section in sections for one in section.agreements]
    yield ReportTable(
        "verdicts", "Who says what", pl.concat(told),
        (Header("judge", "Judge"), Header("reference", "Against"),
         Header("said", "Judge says"), Header("referred", "The other says"),
         Header("items", "Moves", "", 0)),
    )  # fmt: skip


def _what_lacks(sections: list[JudgeSection], study: str) -> str:
    by_hand = f"cheaptalk label {study} --judge {RUBRIC} --sheet labels.csv"
    if not sections:
        return (
            f"nobody judged this study by the rubric {RUBRIC}; have a model do so with cheaptalk "
            f"judge {study} --judge {RUBRIC} --model MODEL, and label a sample with {by_hand}"
        )
    return (
        "the exact check is silent about all that was judged, and nobody else judged the same "
        f"moves; label a sample with {by_hand}"
    )


def _row(section: JudgeSection, one: Agreement) -> dict[str, Any]:
    shares: dict[str, Share] = {key: getattr(one, key) for key in SHARES}
    numbers = {key: (share.interval, 100) for key, share in shares.items()}
    found: dict[str, Any] = {"judge": section.name, "reference": section.names[one.reference]}
    for key, (interval, times) in (numbers | {"kappa": (one.kappa, 1)}).items():
        found |= _interval(key, interval, times)
    found |= {key + COUNT: share.whole for key, share in shares.items()}
    return found | {"items": one.items, "matches": one.matches}


def _interval(key: str, interval: Interval, times: int) -> dict[str, float | None]:
    ends = {"": interval.value, LOW: interval.low, HIGH: interval.high}
    return {key + end: None if at is None else float(at * times) for end, at in ends.items()}


def _verdicts(section: JudgeSection, one: Agreement) -> pl.DataFrame:
    """How often which verdicts met."""
    rows = [
        (section.name, section.names[one.reference], ours, theirs, one.table[row][column])
        for row, theirs in enumerate(one.labels) for column, ours in enumerate(one.labels)
        if one.table[row][column]
    ]  # fmt: skip
    schema = {"judge": pl.String, "reference": pl.String, "said": pl.String,
              "referred": pl.String, "items": pl.Int64}  # fmt: skip
    return pl.DataFrame(rows, schema, orient="row")
