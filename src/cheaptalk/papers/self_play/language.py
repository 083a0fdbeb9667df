"""How much is said by iteration, in how many words, and how predictably."""

from collections.abc import Iterator

import polars as pl

from cheaptalk.frames.language import NGRAMS, VOCABULARY, corpus_measures, entropy_name
from cheaptalk.papers.self_play.charts import ShownNumber, panels
from cheaptalk.papers.self_play.stages import CELL, GAME, HEAD, Sides, cells, leads, ordered
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import PARTS
from cheaptalk.reports.recipes.parts import COUNT, Charts, Header, Lacking, ReportTable
from cheaptalk.rules import counted
from cheaptalk.statistics import DEALS

LENGTHS = (
    Header("length", "Turns", "a match", 1, "Messages and proposals."),
    Header("words", "Words", "a match", 1, "Words and numbers in all messages."),
    Header("tokens", "Tokens", "a match", 0, "Tokens that models wrote, as their providers counted "
           "them, reasoning and corrected answers included. The paper counts the tokens of the "
           "dialogue by GPT-2's tokeniser."),
)  # fmt: skip
KINDS = {1: "words", 2: "pairs", 3: "runs of three"}


def lengths(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """How long the dialogues of self-play are, on average over all its matches.

    Intervals are 95 % intervals clustered by deal.
    """
    sides = evidence.once(Sides)
    columns = [one for one in LENGTHS if sides.copies[one.key].is_not_null().any()]
    frame = cells(sides, sides.copies, [one.key for one in columns])
    for one in columns:
        number = ShownNumber(one.key, f"{one.title.lower()} {one.unit}")
        shown = panels(frame, number, staged=sides.staged)
        yield Charts(f"{one.key}-figure", f"{one.title} {one.unit}", shown)
    yield ReportTable(
        "lengths", "Length of dialogues", frame,
        (*HEAD, *columns, Header("length.n", "Matches", "", 0)), leads=leads(sides.copies),
    )  # fmt: skip


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
    said = _messages(evidence, copies["match"]).join(copies, on="match", maintain_order="left")
    if said.is_empty():
        raise Lacking("nobody said a word in self-play")
    found = corpus_measures(said, cell)
    wide = copies.group_by(cell, maintain_order=True).agg(pl.len().alias("matches"))
    for measure in (VOCABULARY, *map(entropy_name, NGRAMS)):
        own = found.filter(measure=measure).rename({"value": "mean"})
        names = {part: measure + ending for part, ending in PARTS.items()}
        own = own.select(*cell, *names).rename(names)
        wide = wide.join(own, on=cell, how="left", nulls_equal=True, maintain_order="left")
    return wide


def _side_by_side(sides: Sides, frame: pl.DataFrame) -> pl.DataFrame:
    """The entropies one below the other, each as a line of its own; of iterations, if any."""
    kept = frame.drop_nulls("iteration") if sides.staged else frame
    several = kept["lineage"].n_unique() > 1 and sides.staged
    return pl.concat(
        kept.select(
            "objective", "player", "iteration",
            series=pl.format("{}, {}", "lineage", pl.lit(kind)) if several else pl.lit(kind),
            **{f"entropy{end}": pl.col(f"{entropy_name(n)}{end}") for end in PARTS.values()},
        )
        for n, kind in KINDS.items()
    )  # fmt: skip


def _messages(evidence: Evidence, matches: pl.Series) -> pl.DataFrame:
    """All messages in some matches, in the order in which they were said."""
    wanted = set(matches)
    said = [
        (record.id, answer.action["message"])
        for record in evidence.records([GAME]) if record.id in wanted
        for answer in record.answers if answer.action and answer.action.get("message")
    ]  # fmt: skip
    return pl.DataFrame(said, {"match": pl.String, "message": pl.String}, orient="row")


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
