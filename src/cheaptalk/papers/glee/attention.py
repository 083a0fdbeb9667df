"""Attention checks of participants (appendix E.3): failures and response times."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from cheaptalk.frames.people import read_plays, read_responses
from cheaptalk.papers.glee.families import FAMILIES as GAMES
from cheaptalk.papers.glee.families import table
from cheaptalk.records.people.queries import CODE_WORD, QUIZ, step_kind
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Answer, NoData, Shown
from cheaptalk.reports.recipes.tables import finite
from cheaptalk.rules import counted
from cheaptalk.text import capital, fixed


def attention(evidence: Evidence) -> Iterator[Shown]:
    """Report how many participants failed each of the two attention checks.
    The checks are the code word in the instructions and the quiz after the game. In the paper,
    participants who failed a check weren't paid, and the game before a failed quiz was erased.

    Shares are relative to participants who answered the check. Times are medians over participants,
    from the display of a step to the answer.
    """
    answered = evidence.once(checked)
    rows = [
        _row("Code word", answered.filter(kind=CODE_WORD)),
        *(_row(f"Quiz, {game}", answered.filter(kind=QUIZ, game=game)) for game in GAMES),
        _row("Quiz", answered.filter(kind=QUIZ)),
        _row("Both", answered),
    ]
    checks = pl.DataFrame(rows, infer_schema_length=None).filter(pl.col("answered") > 0)
    both = checks.row(-1, named=True)
    yield Answer(
        f"{both['failed']:,} of {counted(both['answered'], 'participant')} "
        f"({fixed(both['failing'], 1)} %) failed a check, and {both['kept']:,} passed."
    )
    yield table(evidence, "attention-checks", checks)
    times = _times(evidence)
    if times.height:
        yield table(evidence, "people-times", times)


def checked(evidence: Evidence) -> pl.DataFrame:
    """Return the answered checks; raise NoData if there are none.

    Columns: ``participant``, ``kind``, ``game`` (before a quiz), ``failed`` and ``seconds``.
    """
    answers = evidence.once(_first_answers)
    kinds = {step: step_kind(step) for step in answers["step"].unique()}
    checks = (
        answers.with_columns(
            kind=pl.col("step").replace_strict(kinds, return_dtype=pl.String),
            seconds=_seconds("shown_at", "answered_at"),
        )
        .filter(pl.col("kind").is_in([CODE_WORD, QUIZ]), pl.col("correct").is_not_null())
        .rename({"game_number": "after"})
    )
    if checks.is_empty():
        raise NoData("no participant has answered a code word or quiz step")
    games = read_plays(evidence.store, evidence.study).select("participant", "game", after="number")
    return (
        checks.join(
            games, on=["participant", "after"], how="left", maintain_order="left", validate="m:1"
        )
        .group_by("participant", "kind", "game", maintain_order=True)
        .agg((~pl.col("correct").any()).alias("failed"), pl.col("seconds").sum())
    )


def _seconds(start: str, end: str) -> pl.Expr:
    return (pl.col(end) - pl.col(start)).dt.total_microseconds() / 1e6


def _first_answers(evidence: Evidence) -> pl.DataFrame:
    answers = read_responses(evidence.store, evidence.study)
    return answers.unique(["participant", "number"], keep="first", maintain_order=True)


def _row(check: str, answered: pl.DataFrame) -> dict[str, Any]:
    by_person = answered.group_by("participant", maintain_order=True).agg(
        pl.col("failed").any(), pl.col("seconds").sum()
    )
    failed = int(by_person["failed"].sum())
    median = by_person["seconds"].median()
    return {
        "check": check,
        "answered": by_person.height,
        "failed": failed,
        "failing": 100 * failed / by_person.height if by_person.height else None,
        "kept": by_person.height - failed,
        "seconds": finite(median) if isinstance(median, float) else None,
    }


def _times(evidence: Evidence) -> pl.DataFrame:
    took = _seconds("shown_at", "answered_at")
    steps = evidence.once(_first_answers).select("participant", "step", "number", took=took)
    over = pl.col("state").is_in(["finished", "erased"])
    games = read_plays(evidence.store, evidence.study).filter(over)
    taken = games.select(
        "participant",
        step=pl.format("game of {}", "game"),
        number=pl.lit(None, pl.Int64),
        took=_seconds("assigned_at", "ended_at"),
    )
    quantiles = {"quarter": 0.25, "median": 0.5, "three_quarters": 0.75}
    by_step = pl.concat([steps, taken]).drop_nulls("took").group_by("step", maintain_order=True)
    took = pl.col("took")
    counts = by_step.agg(
        pl.col("participant").n_unique().alias("people"),
        pl.col("number").min(),
        *(took.quantile(level, "linear").alias(name) for name, level in quantiles.items()),
    )
    ordered = counts.sort("number", nulls_last=True, maintain_order=True)
    return ordered.with_columns(pl.col("step").map_elements(capital, pl.String))
