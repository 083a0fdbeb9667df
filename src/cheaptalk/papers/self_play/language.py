"""Language by iteration: length, diversity and inconsistency of dialogues."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

import polars as pl

from cheaptalk.frames.language import NGRAMS, VOCABULARY, corpus_metrics, entropy_name
from cheaptalk.judges import Agreement, Share, verdict_frame
from cheaptalk.papers.printed import Columns
from cheaptalk.papers.self_play import stages
from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import PARTS
from cheaptalk.reports.recipes.parts import NoData, Shown
from cheaptalk.reports.recipes.tables import COUNT, Header, ReportTable
from cheaptalk.reports.study.judges import JudgeSection, judge_sections
from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.rules.bounds import COUNT as COUNTED
from cheaptalk.statistics import INSTANCES
from cheaptalk.statistics.columns import with_matching
from cheaptalk.statistics.participants import ANY_PEOPLE
from cheaptalk.text import uncapitalized

TOKENS = "Tokens of all turns with their prefixes by GPT-2's tokeniser, as in the paper."
PIECES = (
    "Words, numbers and symbols of all turns, as GPT-2's tokeniser splits them before applying its "
    "vocabulary: a lower bound of the tokens counted by the paper. For exact counts, use "
    "the recipe option merges=FILE (--recipe-option in commands) with GPT-2's merges.txt."
)
LENGTHS = ("gpt2", "length", "total_words", "tokens")
KINDS = {1: "words", 2: "pairs", 3: "triples"}


def lengths(evidence: Evidence) -> Iterator[Shown]:
    """Report the mean length of self-play dialogues.

    The paper counts the GPT-2 tokens of both players' turns, including prefixes such as
    ``[message]``. GPT-2's tokeniser splits texts into words, numbers and symbols ("pieces"), and
    pieces into tokens of a vocabulary that isn't part of this package. The table shows tokens with
    ``--recipe-option merges=FILE``, and otherwise pieces, a lower bound of the tokens. 95 %
    confidence intervals are clustered by instance and participant.
    """
    sides = evidence.once(stages.Sides)
    file = evidence.options.get(MERGES)
    merges = None if file is None else read_merges(Path(file))
    tokens = list(token_counts(evidence.once(dialogues), merges).items())
    schema = {"match_id": pl.String, "gpt2": pl.Float64}
    counts = pl.DataFrame(tokens, schema, orient="row")
    copies = with_matching(sides.copies, counts, "match_id")
    missing: dict[str, Columns] = {name: () for name in LENGTHS if copies[name].is_null().all()}
    names = [name for name in LENGTHS if name not in missing]
    frame = stages.cells(sides, copies, names, dict.fromkeys(names, COUNTED))
    unit, about = ("pieces", PIECES) if merges is None else ("tokens", TOKENS)
    facts = {"unit": unit, "about": about}
    shown = stages.table(
        evidence, "lengths", frame, columns=missing, facts=facts, leads=stages.leads(sides.copies)
    )
    for column in shown.columns:
        if column.key in names:
            number = stages.ShownNumber(column.key, f"{uncapitalized(column.title)} {column.unit}")
            title = f"{column.title} {column.unit}"
            yield sides.figure(f"{column.key}-figure", title, frame, number)
    yield shown


CORPUS_PARTS = {part: end for part, end in PARTS.items() if part not in ("wanted", "freedom")}
"""The statistics of metrics that combine all dialogues, with the suffixes of columns."""


def diversity(evidence: Evidence) -> Iterator[Shown]:
    """Report the diversity of language in self-play dialogues.

    The vocabulary is the number of distinct words, in lower case and without punctuation. The
    entropy of n-grams is - sum of p log2 p (in bits) over all sequences of n words within a
    message, with p the relative frequency. Low entropy means repetitive language. Vocabulary and
    entropy increase with the number of matches, so compare only players with equal numbers of
    matches.

    95 % confidence intervals come from the jackknife over instances (Efron and Tibshirani 1993,
    chapter 11).
    """
    sides = evidence.once(stages.Sides)
    frame = stages.ordered(sides, _measured(evidence, sides))
    entropies = [
        Header(entropy_name(n), f"Entropy, n = {n}", "bits", 2, f"n-grams of {counted(n, 'word')}.")
        for n in NGRAMS
    ]
    words = stages.ShownNumber(VOCABULARY, "distinct words", 0, "word")
    yield sides.figure("vocabulary-figure", "Vocabulary", frame, words)
    bits = stages.ShownNumber("entropy", "entropy, bits", 2, "n-gram", zero=False)
    series = _side_by_side(sides, frame)
    yield sides.figure("entropy-figure", "Entropy of n-grams", series, bits)
    yield stages.table(
        evidence,
        "diversity",
        frame,
        columns={"entropies": entropies},
        notes=_uneven(frame),
        leads=stages.leads(sides.copies),
    )


def _measured(evidence: Evidence, sides: stages.Sides) -> pl.DataFrame:
    cell = [*stages.CELL, "partner"]
    copies = sides.copies.select("match_id", *INSTANCES, *cell)
    turns = evidence.once(dialogues)
    words = [
        (match, text.removeprefix(MESSAGE_PREFIX))
        for match in copies["match_id"]
        for text in turns[match]
        if text.startswith(MESSAGE_PREFIX) and text != MESSAGE_PREFIX
    ]
    messages = pl.DataFrame(words, {"match_id": pl.String, "message": pl.String}, orient="row")
    corpus = messages.join(copies, on="match_id", maintain_order="left", validate="m:1")
    if corpus.is_empty():
        raise NoData("the self-play dialogues contain no messages")
    values = corpus_metrics(corpus, cell)
    wide = copies.group_by(cell, maintain_order=True).agg(pl.len().alias("matches"))
    for metric in (VOCABULARY, *map(entropy_name, NGRAMS)):
        rows = values.filter(metric=metric).rename({"value": "mean"})
        names = {part: metric + ending for part, ending in CORPUS_PARTS.items()}
        wide = with_matching(wide, rows.select(*cell, *names).rename(names), cell)
    return wide


def _side_by_side(sides: stages.Sides, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the entropies of words, word pairs and triples as series, by iteration or player."""
    rows = frame.drop_nulls("iteration") if sides.staged else frame
    several = rows["lineage"].n_unique() > 1 and sides.staged
    return pl.concat(
        rows.select(
            "objective",
            "player",
            "iteration",
            series=pl.format("{}, {}", "lineage", pl.lit(kind)) if several else pl.lit(kind),
            **{f"entropy{end}": pl.col(f"{entropy_name(n)}{end}") for end in CORPUS_PARTS.values()},
        )
        for n, kind in KINDS.items()
    )


def _uneven(frame: pl.DataFrame) -> list[str]:
    counts = frame.group_by("objective", maintain_order=True).agg(
        pl.col("matches").min().alias("minimum"), pl.col("matches").max().alias("maximum")
    )
    return [
        f"With the {row['objective']} objective, some players have "
        f"{counted(row['minimum'], 'match')} and others up to {row['maximum']:,}, so that their "
        "diversity is not comparable."
        for row in counts.iter_rows(named=True)
        if row["minimum"] < row["maximum"]
    ]


RUBRIC = "hallucination"
EXACT = "exact check"
SHARES = ("alike", "same", "precision", "recall")
"""The shares of judges' verdicts that agree with a reference; see :class:`.Agreement`."""


def inconsistency(evidence: Evidence) -> Iterator[Shown]:
    """Report the share of inconsistent messages and proposals in self-play.

    A judge with the rubric ``hallucination`` examines each move for impossible counts, false claims
    about the player's own values, and claims that violate an agreement (the paper's Figure 8). The
    exact check finds only errors that match patterns, so its shares are lower bounds. Moves without
    a valid verdict are excluded. 95 % confidence intervals are clustered by instance and
    participant. The share of
    the exact check is a ratio of sums, with an interval by linearisation (Cochran 1977, section
    6.3).
    """
    sides = evidence.once(stages.Sides)
    verdicts = pl.concat([_exact(sides.copies), *_judged(evidence, sides.copies)])
    frame = stages.cells(sides, verdicts, ["found"], {"found": stages.PERCENT}, by="source")
    counts = verdicts.group_by(*stages.CELL, "source", maintain_order=True).agg(
        pl.col("moves").sum().cast(pl.Int64)
    )
    frame = with_matching(frame, counts, [*stages.CELL, "source"]).with_columns(
        pl.col("moves").alias("found" + COUNT)
    )
    number = stages.ShownNumber("found", "inconsistent, % of moves", unit="move")
    title = "Inconsistent messages and proposals"
    yield sides.figure("inconsistency-figure", title, frame, number)
    same = sides.copies.with_columns(source=pl.lit(EXACT))
    to_matches = stages.leads(same, by="source")
    yield stages.table(
        evidence, "inconsistency", frame, leads=lambda row: to_matches({**row, "source": EXACT})
    )


def _exact(copies: pl.DataFrame) -> pl.DataFrame:
    """Return linearised contributions of matches to the share of inconsistent moves."""
    moves = pl.col("length")
    faulty = pl.col("inconsistency") * moves
    rate = faulty.sum() / moves.sum()
    value = 100 * (rate + (faulty - rate * moves) / moves.mean())
    return copies.drop_nulls("inconsistency").select(
        *stages.CELL,
        *INSTANCES,
        ANY_PEOPLE,
        source=pl.lit(EXACT),
        found=value.over(stages.CELL),
        moves=moves,
    )


def _judged(evidence: Evidence, copies: pl.DataFrame) -> Iterator[pl.DataFrame]:
    sections = evidence.once(_sections)
    verdicts = verdict_frame(evidence.store, evidence.study) if sections else pl.DataFrame()
    for section in sections:
        if "person" in section.model:
            continue  # people label a sample to validate judges
        rows = verdicts.filter(pl.col("judge") == section.digest).drop_nulls("score")
        judged = rows.select("match_id", "score").join(
            copies, on="match_id", maintain_order="left", validate="m:1"
        )
        found, source = pl.col("score") * 100, pl.lit(section.name)
        yield judged.select(
            *stages.CELL, *INSTANCES, ANY_PEOPLE, source=source, found=found, moves=pl.lit(1.0)
        )


def _sections(evidence: Evidence) -> list[JudgeSection]:
    sections = judge_sections(evidence.store, evidence.study)
    return [section for section in sections if section.rubric.name == RUBRIC]


def judges(evidence: Evidence) -> Iterator[ReportTable]:
    """Report the agreement of judges with the exact check, with manual labels, and with each other.

    Only moves with both verdicts count; the exact check has no verdict on messages that it cannot
    parse. Cohen's kappa is 1 for full agreement and 0 for agreement by chance. 95 % confidence
    intervals are bootstrapped over instances, and undefined with fewer than ten instances or
    without differences between instances.
    """
    evidence.once(stages.Sides)
    sections = evidence.once(_sections)
    pairs = [(section, agreement) for section in sections for agreement in section.agreements]
    if not any(agreement.items for _, agreement in pairs):
        study = next(iter(evidence.sources))
        by_hand = f"cheaptalk judge label {study} --rubric {RUBRIC} --sheet labels.csv"
        raise NoData(
            "the exact check has no verdicts on the judged moves, and no other judge has judged "
            f"them; label a sample with {by_hand}"
            if sections
            else f"no judge has used the rubric {RUBRIC} in this study; run cheaptalk judge run "
            f"{study} --rubric {RUBRIC} --model MODEL, and label a sample with {by_hand}"
        )
    rows = [_row(*pair) for pair in pairs if pair[1].items]
    yield stages.table(evidence, "judges", pl.DataFrame(rows, infer_schema_length=None))
    verdicts = [line for pair in pairs for line in _verdicts(*pair)]
    yield stages.table(evidence, "verdicts", pl.DataFrame(verdicts))


def _row(section: JudgeSection, agreement: Agreement) -> dict[str, Any]:
    shares: dict[str, Share] = {key: getattr(agreement, key) for key in SHARES}
    numbers = {key: (share.interval, 100) for key, share in shares.items()}
    row: dict[str, Any] = {"judge": section.name, "reference": section.names[agreement.reference]}
    for key, (interval, times) in (numbers | {"kappa": (agreement.kappa, 1)}).items():
        ends = {"": interval.value, LOW: interval.low, HIGH: interval.high}
        for end, value in ends.items():
            row[key + end] = None if value is None else float(value * times)
    row |= {key + COUNT: share.whole for key, share in shares.items()}
    return row | {"items": agreement.items, "matches": agreement.matches}


def _verdicts(section: JudgeSection, agreement: Agreement) -> Iterator[dict[str, Any]]:
    judges = {"judge": section.name, "reference": section.names[agreement.reference]}
    for referred, counts in zip(agreement.labels, agreement.table, strict=True):
        for verdict, items in zip(agreement.labels, counts, strict=True):
            if items:
                yield judges | {"said": verdict, "referred": referred, "items": items}


MERGES = "merges"
"""The option for the path of GPT-2's merges.txt."""
MESSAGE_PREFIX, PROPOSAL = "[message] ", "[propose] ({} books, {} hats, {} balls)"
ITEMS = ("books", "hats", "balls")
PIECE = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
"""The pieces of GPT-2's tokeniser (Radford et al. 2019, section 2.2): words, numbers and symbols,
each with a preceding space."""
PRINTABLE = (*range(33, 127), *range(161, 173), *range(174, 256))
"""Bytes that merges.txt represents by the same code points; other bytes follow after 255."""
LETTERS = {byte: chr(byte) for byte in PRINTABLE} | {
    byte: chr(256 + index)
    for index, byte in enumerate(byte for byte in range(256) if byte not in PRINTABLE)
}


def dialogues(evidence: Evidence) -> dict[str, list[str]]:
    """Return the turns of each scored match, in the format of the paper's models."""
    return {
        record.id: [
            turn_text(answer["action"])
            for answer in record.body.get("answers", ())
            if answer["action"]
        ]
        for record in evidence.records(sorted(evidence.frames))
    }


def turn_text(action: Mapping[str, Any]) -> str:
    """Return a turn in the format of the paper's models."""
    if action.get("books") is None:
        return MESSAGE_PREFIX + (action.get("message") or "")
    return PROPOSAL.format(*(action[item] for item in ITEMS))


def read_merges(file: Path) -> dict[tuple[str, str], int]:
    """Return the rank of each pair of word parts; pairs with lower ranks are joined first."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CheaptalkError(f"cannot read {file}: {error}") from error
    rules = [line.split(" ") for line in lines if line and not line.startswith("#version")]
    if not rules or any(len(rule) != 2 for rule in rules):
        raise CheaptalkError(f"{file} is not GPT-2's merges.txt: expected two parts per line")
    return {(left, right): rank for rank, (left, right) in enumerate(rules)}


def part_count(piece: str, merges: Mapping[tuple[str, str], int]) -> int:
    """Return the number of tokens of a piece of text."""
    parts = [LETTERS[byte] for byte in piece.encode()]
    while len(parts) > 1:
        first = min(pairwise(parts), key=lambda pair: merges.get(pair, inf))
        if first not in merges:
            break
        joined: list[str] = []
        for part in parts:
            if joined and (joined[-1], part) == first:
                joined[-1] += part
            else:
                joined.append(part)
        parts = joined
    return len(parts)


def token_counts(
    dialogues: Mapping[str, Iterable[str]], merges: Mapping[tuple[str, str], int] | None
) -> dict[str, int]:
    """Count the tokens of each dialogue; without ``merges``, count words, numbers and symbols."""
    pieces_by_match = {
        match: Counter(piece for text in texts for piece in PIECE.findall(text))
        for match, texts in dialogues.items()
    }
    if merges is None:
        return {match: pieces.total() for match, pieces in pieces_by_match.items()}
    sizes = {piece: part_count(piece, merges) for piece in set().union(*pieces_by_match.values())}
    return {
        match: sum(count * sizes[piece] for piece, count in pieces.items())
        for match, pieces in pieces_by_match.items()
    }
