"""What is said by iteration: how much, how varied, and how much of it is inconsistent."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from cheaptalk.frames.language import NGRAMS, VOCABULARY, corpus_measures, entropy_name
from cheaptalk.judges import Agreement, Share, verdict_frame
from cheaptalk.papers.self_play.charts import ShownNumber, panels
from cheaptalk.papers.self_play.stages import (
    CELL,
    HEAD,
    PERCENT,
    Sides,
    cells,
    leads,
    ordered,
)
from cheaptalk.papers.self_play.tokens import MERGES, Dialogues, dialogue_tokens
from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import PARTS
from cheaptalk.reports.recipes.parts import Charts, Lacking
from cheaptalk.reports.recipes.tables import COUNT, Header, ReportTable
from cheaptalk.reports.study.judges import JudgeSection, judge_sections
from cheaptalk.rules import counted
from cheaptalk.rules.bounds import COUNT as COUNTED
from cheaptalk.statistics import DEALS

LENGTHS = (
    Header("gpt2", "GPT-2 tokens", "a match", 1, "Tokens of all turns by GPT-2's tokeniser, with "
           "the prefix of each, as the paper counts them."),
    Header("length", "Turns", "a match", 1, "Messages and proposals."),
    Header("words", "Words", "a match", 1, "Words and numbers in all messages."),
    Header("tokens", "Tokens written", "a match", 0, "Tokens that models wrote, as their providers "
           "counted them, reasoning and corrected answers included."),
)  # fmt: skip
PIECES = Header(
    "gpt2", "GPT-2 pieces", "a match", 1, "Words, numbers and signs of all turns as GPT-2's "
    "tokeniser cuts them before it looks at its vocabulary: the tokens that the paper counts are "
    "no fewer. With GPT-2's merges.txt, --set merges=FILE, they are counted.",
)  # fmt: skip
KINDS = {1: "words", 2: "pairs", 3: "runs of three"}


def lengths(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """How long the dialogues of self-play are, on average over all its matches.

    The paper counts tokens of GPT-2 in all that both players write, prefixes such as ``[message]``
    included. Its tokeniser cuts texts into words, numbers and signs, and these into tokens of its
    vocabulary, which is no part of this package: without ``--set merges=FILE`` the table has these
    pieces, which are no more than the tokens. Intervals are 95 % intervals clustered by deal.
    """
    sides = evidence.once(Sides)
    tokens = dialogue_tokens(evidence)
    copies = sides.copies.join(
        tokens, on="match", how="left", maintain_order="left", validate="1:1"
    )
    whole = LENGTHS if MERGES in evidence.options else (PIECES, *LENGTHS[1:])
    columns = [one for one in whole if copies[one.key].is_not_null().any()]
    names = [one.key for one in columns]
    frame = cells(sides, copies, names, dict.fromkeys(names, COUNTED))
    for one in columns:
        number = ShownNumber(one.key, f"{one.title.lower()} {one.unit}")
        shown = panels(frame, number, staged=sides.staged)
        yield Charts(f"{one.key}-figure", f"{one.title} {one.unit}", shown)
    yield ReportTable(
        "lengths", "Length of dialogues", frame,
        (*HEAD, *columns, Header("length.n", "Matches", "", 0)), leads=leads(sides.copies),
    )  # fmt: skip


KNOWN = {part: end for part, end in PARTS.items() if part not in ("wanted", "freedom")}
"""What is known of measures of all dialogues together."""


def diversity(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """How varied the language of all dialogues of self-play is, taken together.

    The vocabulary is the number of different words in them, in small letters and without
    punctuation. The entropy of n-grams is - sum of p log2 p over all runs of n words within a
    message, in bits, with p the share of each: little entropy means that much is said in the same
    words. Both grow with the number of matches, so compare what rests on as many.

    95 % intervals are made by leaving out one deal at a time (the jackknife of Efron and Tibshirani
    1993, chapter 11).
    """
    sides = evidence.once(Sides)
    frame = ordered(sides, _measured(evidence, sides))
    entropies = [
        Header(entropy_name(n), f"Entropy, n = {n}", "bits", 2, f"Of runs of {counted(n, 'word')}.")
        for n in NGRAMS
    ]
    number = ShownNumber(VOCABULARY, "different words", 0, "word")
    shown = panels(frame, number, staged=sides.staged)
    yield Charts("vocabulary-figure", "Vocabulary", shown)
    number = ShownNumber("entropy", "entropy, bits", 2, "n-gram", zero=False)
    shown = panels(_side_by_side(sides, frame), number, staged=sides.staged)
    yield Charts("entropy-figure", "Entropy of n-grams", shown)
    yield ReportTable(
        "diversity", "Diversity of language", frame,
        (*HEAD, Header(VOCABULARY, "Vocabulary", "different words", 0), *entropies,
         Header(VOCABULARY + COUNT, "Words", "in all", 0), Header("matches", "Matches", "", 0)),
        notes=tuple(_uneven(frame)), leads=leads(sides.copies),
    )  # fmt: skip


def _measured(evidence: Evidence, sides: Sides) -> pl.DataFrame:
    """One row a player and objective, with the columns of each measure."""
    cell = [*CELL, "partner"]
    copies = sides.copies.select("match", *DEALS, *cell)
    dialogues = evidence.observed(Dialogues)
    words = [(match, text) for match in copies["match"] for text in dialogues.messages(match)]
    messages = pl.DataFrame(words, {"match": pl.String, "message": pl.String}, orient="row")
    said = messages.join(copies, on="match", maintain_order="left", validate="m:1")
    if said.is_empty():
        raise Lacking("nobody said a word in self-play")
    found = corpus_measures(said, cell)
    wide = copies.group_by(cell, maintain_order=True).agg(pl.len().alias("matches"))
    for measure in (VOCABULARY, *map(entropy_name, NGRAMS)):
        own = found.filter(measure=measure).rename({"value": "mean"})
        names = {part: measure + ending for part, ending in KNOWN.items()}
        own = own.select(*cell, *names).rename(names)
        wide = wide.join(
            own, on=cell, how="left", nulls_equal=True, maintain_order="left", validate="1:1"
        )
    return wide


def _side_by_side(sides: Sides, frame: pl.DataFrame) -> pl.DataFrame:
    """The entropies one below the other, each as a line of its own; of iterations, if any."""
    kept = frame.drop_nulls("iteration") if sides.staged else frame
    several = kept["lineage"].n_unique() > 1 and sides.staged
    return pl.concat(
        kept.select(
            "objective", "player", "iteration",
            series=pl.format("{}, {}", "lineage", pl.lit(kind)) if several else pl.lit(kind),
            **{f"entropy{end}": pl.col(f"{entropy_name(n)}{end}") for end in KNOWN.values()},
        )
        for n, kind in KINDS.items()
    )  # fmt: skip


def _uneven(frame: pl.DataFrame) -> list[str]:
    """A warning for each objective of which players have different numbers of matches."""
    found = frame.group_by("objective", maintain_order=True).agg(
        pl.col("matches").min().alias("least"), pl.col("matches").max().alias("most")
    )
    return [
        f"Under the {row['objective']} objective some players have "
        f"{counted(row['least'], 'match')} and others up to {row['most']:,}: their language does "
        "not compare."
        for row in found.iter_rows(named=True) if row["least"] < row["most"]
    ]  # fmt: skip


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
    frame = cells(sides, found, ["found"], {"found": PERCENT}, by="source")
    counts = found.group_by(*CELL, "source", maintain_order=True).agg(
        pl.col("moves").sum().cast(pl.Int64)
    )
    frame = frame.join(
        counts, on=[*CELL, "source"], how="left", nulls_equal=True, maintain_order="left",
        validate="1:1",
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
        yield own.select("match", "score").join(
            copies, on="match", maintain_order="left", validate="m:1"
        ).select(
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
    told = [line for section in sections for one in section.agreements
            for line in _verdicts(section, one)]  # fmt: skip
    yield ReportTable(
        "verdicts", "Who says what", pl.DataFrame(told),
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
        ends = {"": interval.value, LOW: interval.low, HIGH: interval.high}
        found |= {key + end: at if at is None else float(at * times) for end, at in ends.items()}
    found |= {key + COUNT: share.whole for key, share in shares.items()}
    return found | {"items": one.items, "matches": one.matches}


def _verdicts(section: JudgeSection, one: Agreement) -> Iterator[dict[str, Any]]:
    """How often which verdicts met."""
    judges = {"judge": section.name, "reference": section.names[one.reference]}
    for theirs, counts in zip(one.labels, one.table, strict=True):
        for ours, items in zip(one.labels, counts, strict=True):
            if items:
                yield judges | {"said": ours, "referred": theirs, "items": items}
