"""How evenly people were spread over treatments and over what these vary."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import polars as pl
from scipy import stats

from cheaptalk.frames.people import plays
from cheaptalk.frames.reader import varying
from cheaptalk.records import Store
from cheaptalk.records.people.queries import settings_played
from cheaptalk.studies.lookup import reads_study
from cheaptalk.text import plain, readable

UNDER_WAY = ("assigned", "playing")
COUNTS: dict[str, Any] = dict.fromkeys(("assigned", "finished", "dropped"), pl.Int64)
"""People who were assigned there, those of them who finished a game there, and those who neither
did nor are under way."""
ASSIGNED = ("participant", "state", "treatment", "configuration")
TREATMENT: dict[str, Any] = {"treatment": pl.String, "game": pl.String}
TREATMENT_SETTINGS = pl.DataFrame(schema=TREATMENT | {"settings": pl.String})
LEVEL: dict[str, Any] = {"game": pl.String, "parameter": pl.String, "level": pl.String}
CROSSING: dict[str, Any] = LEVEL | {"other": pl.String, "other_level": pl.String}
TEST: dict[str, Any] = {
    "game": pl.String, "of": pl.String, "cells": pl.Int64, "people": pl.Int64,
    "largest": pl.Float64, "p": pl.Float64,
}  # fmt: skip


class Balance(NamedTuple):
    """How many people were assigned to what, finished there and dropped out.

    Who was assigned to one place several times counts once there. ``assigned``, ``finished`` and
    ``dropped`` count people; ``dropped`` neither finished a game there nor are under way.

    Attributes:
        treatments: one row a ``treatment`` and ``game``, with ``settings``: the values of what
            varies in it, null where they are not known.
        levels: one row a ``game``, varied ``parameter`` and ``level``, with the number of
            ``treatments`` that have it.
        crossings: the same of each two parameters, ``other`` and ``other_level`` being the second.
        tests: one row for the treatments (``of`` is ``treatment``; of all games), each parameter
            and each crossing: ``cells``, ``people``, ``largest`` (the largest difference between
            two cells, in people for each treatment) and ``p`` (chi-square, that assignment is even
            over treatments; null for a single cell).
    """

    treatments: pl.DataFrame
    levels: pl.DataFrame
    crossings: pl.DataFrame
    tests: pl.DataFrame


@reads_study
def balance(store: Store, study: str) -> Balance:
    """How evenly people were spread over treatments, and over what these vary.

    A level that twice as many treatments have is expected to have twice as many people. The test
    takes people as independent, which those who are assigned in groups are not: p is then too
    small. Parameters are those of the matches that were played; a treatment of which none was
    played, or that nobody was assigned to, is not known of.

    Raises:
        StoreError: there is no such study.
    """
    played = plays(store, study)
    settings = list(settings_played(store, study))
    by_match = {one.match: one.digest for one in settings}
    known: dict[str, set[str]] = {}
    for one in settings:
        known.setdefault(one.treatment, set()).add(one.digest)
    sole = {treatment: min(of) for treatment, of in known.items() if len(of) == 1}
    rows = played.with_columns(
        configuration=pl.coalesce(
            pl.col("match").replace_strict(by_match, default=None, return_dtype=pl.String),
            pl.col("treatment").replace_strict(sole, default=None, return_dtype=pl.String),
        )
    )
    treatments = _counts(rows, TREATMENT)
    tests = [("", "treatment", *_test(treatments["assigned"].to_list(), [1] * treatments.height))]
    varied = _varied(rows, {one.digest: one.parameters for one in settings})
    levels, crossings, settings_of = [], [], [TREATMENT_SETTINGS]
    for game, names, told in varied:
        settings_of.append(_settings(told, game, names))
        for name in names:
            alone = told.select(*ASSIGNED, game=pl.lit(game), parameter=pl.lit(name), level=name)
            levels.append(_counts(alone, LEVEL))
            tests.append((game, name, *_test_of(levels[-1])))
        for name, other in combinations(names, 2):
            both = told.select(
                *ASSIGNED, game=pl.lit(game), parameter=pl.lit(name), level=name,
                other=pl.lit(other), other_level=other,
            )  # fmt: skip
            crossings.append(_counts(both, CROSSING))
            tests.append((game, f"{name} x {other}", *_test_of(crossings[-1])))
    cells = {"treatments": pl.Int64}
    return Balance(
        treatments.drop("treatments").join(
            pl.concat(settings_of),
            on=[*TREATMENT],
            how="left",
            maintain_order="left",
            validate="1:1",
        ),
        pl.concat([pl.DataFrame(schema=LEVEL | cells | COUNTS), *levels]),
        pl.concat([pl.DataFrame(schema=CROSSING | cells | COUNTS), *crossings]),
        pl.DataFrame(tests if played.height else [], TEST, orient="row"),
    )


def _varied(
    rows: pl.DataFrame, parameters: dict[str, dict[str, Any]]
) -> Iterator[tuple[str, list[str], pl.DataFrame]]:
    """For each game that varies anything: its varied parameters, and rows with their levels."""
    told = rows.drop_nulls("configuration")
    for (game,), of_game in told.group_by("game", maintain_order=True):
        own = {digest: parameters[digest] for digest in of_game["configuration"].unique().sort()}
        names = varying(own)
        if names:
            levels = [
                {"configuration": digest} | {name: readable(one[name]) for name in names}
                for digest, one in own.items()
            ]
            yield (
                str(game),
                names,
                of_game.select(ASSIGNED).join(
                    pl.DataFrame(levels), on="configuration", maintain_order="left", validate="m:1"
                ),
            )


def _settings(told: pl.DataFrame, game: str, names: list[str]) -> pl.DataFrame:
    """Return the settings of each treatment of a game, as text; see :func:`_varied`."""
    each = [pl.format("{} {}", pl.lit(plain(name)), pl.col(name)) for name in names]
    first = told.unique("treatment", keep="first", maintain_order=True)
    return first.select(
        "treatment", pl.lit(game).alias("game"), settings=pl.concat_str(each, separator=", ")
    )


def _counts(rows: pl.DataFrame, key: dict[str, Any]) -> pl.DataFrame:
    """People by key: assigned, finished and dropped; and how many treatments there are of each."""
    finished, under_way = pl.col("state") == "finished", pl.col("state").is_in(UNDER_WAY)
    person = rows.group_by(*key, "participant", maintain_order=True).agg(
        finished=finished.any(), dropped=~(finished | under_way).any()
    )
    people = person.group_by(*key, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("assigned"),
        pl.col("finished", "dropped").sum().cast(pl.Int64),
    )
    there = rows.group_by(*key, maintain_order=True).agg(
        pl.struct("treatment", "configuration").n_unique().cast(pl.Int64).alias("treatments")
    )
    order = [one for name in key for one in (_as_number(name), pl.col(name))]
    return (
        there.join(people, on=list(key), validate="1:1", maintain_order="left")
        .sort(order)
        .select(*key, "treatments", *COUNTS)
    )


def _as_number(name: str) -> pl.Expr:
    """What sorts levels that are numbers, as people read them, by size."""
    return pl.col(name).str.replace_all(",", "").cast(pl.Float64, strict=False)


def _test_of(counts: pl.DataFrame) -> tuple[int, int, float, float | None]:
    return _test(counts["assigned"].to_list(), counts["treatments"].to_list())


def _test(
    assigned: Sequence[int], treatments: Sequence[int]
) -> tuple[int, int, float, float | None]:
    """Cells, people, the largest difference for each treatment, and p of an even spread."""
    people = sum(assigned)
    each = [count / size for count, size in zip(assigned, treatments, strict=True)]
    largest = max(each, default=0.0) - min(each, default=0.0)
    if len(assigned) < 2:
        return len(assigned), people, largest, None
    expected = [people * size / sum(treatments) for size in treatments]
    return len(assigned), people, largest, float(stats.chisquare(assigned, expected).pvalue)
