"""The checks of people's attention (appendix E.3): who failed them, and how long people took."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from cheaptalk.frames.people import plays, responses
from cheaptalk.papers.glee.families import FAMILIES as GAMES
from cheaptalk.papers.glee.paper_tables import PAPER
from cheaptalk.papers.printed import as_printed
from cheaptalk.records.people.queries import CODE_WORD, QUIZ, step_kind
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Answer, Lacking, Shown
from cheaptalk.reports.recipes.tables import Header, ReportTable, finite
from cheaptalk.rules import counted
from cheaptalk.text import capital, fixed


def attention(evidence: Evidence) -> Iterator[Shown]:
    """How many people failed the two checks of attention: the code word that the instructions ask
    for, and the question on the game that follows it. Who failed one of them is not paid, and the
    game that a quiz follows is erased, in the paper and in a study that says so.

    Shares are of those who answered the check. Seconds are from when a step was shown to the
    answer, the median over people.
    """
    answered = evidence.once(checked)
    rows = [
        _row("Code word", answered.filter(kind=CODE_WORD)),
        *(_row(f"Quiz, {game}", answered.filter(kind=QUIZ, game=game)) for game in GAMES),
        _row("Quiz", answered.filter(kind=QUIZ)),
        _row("Both", answered),
    ]
    table = pl.DataFrame(rows, infer_schema_length=None).filter(pl.col("answered") > 0)
    both = table.row(-1, named=True)
    yield Answer(
        f"{both['failed']:,} of {counted(both['answered'], 'participant')} "
        f"({fixed(both['failing'], 1)} %) failed a check, and {both['kept']:,} were kept."
    )
    yield as_printed(evidence, PAPER, ReportTable(
        "attention-checks", "Checks of attention", table,
        (
            Header("check", "Check"), Header("answered", "Answered", "people", 0),
            Header("failed", "Failed", "people", 0), Header("failing", "Failed", "%", 1),
            Header("kept", "Passed", "people", 0), Header("seconds", "Time", "seconds", 0),
        ),
    ))  # fmt: skip
    times = _times(evidence)
    if times.height:
        yield ReportTable(
            "people-times", "How long it took", times,
            (
                Header("step", "Step"), Header("people", "People", "", 0),
                Header("quarter", "A quarter took at most", "seconds", 0),
                Header("median", "Half took at most", "seconds", 0),
                Header("three_quarters", "Three quarters took at most", "seconds", 0),
            ),
        )  # fmt: skip


def checked(evidence: Evidence) -> pl.DataFrame:
    """The checks that people answered, one row a person, kind and game: ``participant``, ``kind``,
    ``game`` (that a quiz follows), ``failed`` and ``seconds``.

    Raises:
        Lacking: nobody answered one.
    """
    told = responses(evidence.store, evidence.study).unique(
        ["participant", "number"], keep="first", maintain_order=True
    )
    kinds = {step: step_kind(step) for step in told["step"].unique()}
    found = (
        told.with_columns(
            kind=pl.col("step").replace_strict(kinds, return_dtype=pl.String),
            seconds=pl.col("answered") - pl.col("shown"),
        )
        .filter(pl.col("kind").is_in([CODE_WORD, QUIZ]), pl.col("right").is_not_null())
        .rename({"game": "after"})
    )
    if found.is_empty():
        raise Lacking("nobody was asked for a code word, and nobody answered a quiz")
    games = plays(evidence.store, evidence.study).select("participant", "game", after="number")
    return (
        found.join(
            games, on=["participant", "after"], how="left", maintain_order="left", validate="m:1"
        )
        .group_by("participant", "kind", "game", maintain_order=True)
        .agg((~pl.col("right").any()).alias("failed"), pl.col("seconds").sum())
    )


def _row(check: str, answered: pl.DataFrame) -> dict[str, Any]:
    """A row of the table: people who answered, and who failed any."""
    each = answered.group_by("participant", maintain_order=True).agg(
        pl.col("failed").any(), pl.col("seconds").sum()
    )
    failed = int(each["failed"].sum())
    median = each["seconds"].median()
    return {
        "check": check, "answered": each.height, "failed": failed,
        "failing": 100 * failed / each.height if each.height else None,
        "kept": each.height - failed,
        "seconds": finite(median) if isinstance(median, float) else None,
    }  # fmt: skip


def _times(evidence: Evidence) -> pl.DataFrame:
    """How long people took at each step, and for a game of each family; in the order of the path.

    A game that goes on, or was never played, has no time.
    """
    took = pl.col("answered") - pl.col("shown")
    steps = (
        responses(evidence.store, evidence.study)
        .unique(["participant", "number"], keep="first", maintain_order=True)
        .select("participant", "step", "number", took=took)
    )
    over = plays(evidence.store, evidence.study).filter(
        pl.col("state").is_in(["finished", "erased"])
    )
    games = over.select(
        "participant",
        pl.format("game of {}", "game").alias("step"),
        pl.lit(None, pl.Int64).alias("number"),
        took=pl.col("ended") - pl.col("assigned"),
    )
    quantiles = {"quarter": 0.25, "median": 0.5, "three_quarters": 0.75}
    return (
        pl.concat([steps, games])
        .drop_nulls("took")
        .group_by("step", maintain_order=True)
        .agg(
            pl.col("participant").n_unique().alias("people"), pl.col("number").min(),
            *(pl.col("took").quantile(at, "linear").alias(name) for name, at in quantiles.items()),
        )
        .sort("number", nulls_last=True, maintain_order=True)
        .with_columns(pl.col("step").map_elements(capital, pl.String))
    )  # fmt: skip
