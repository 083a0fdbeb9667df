"""Balance of the assignment of participants to treatments and to varied parameters."""

from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from typing import Any, NamedTuple

import polars as pl
import scipy

from cheaptalk.frames.people import read_plays
from cheaptalk.frames.reader import varying
from cheaptalk.printing.printout import frames_html
from cheaptalk.records import Store
from cheaptalk.records.people.queries import settings_played
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.text import plain, readable

UNDER_WAY = ("assigned", "playing")
COUNTS: dict[str, Any] = dict.fromkeys(("assigned", "finished", "dropped"), pl.Int64)
"""Participants who were assigned, who finished a game, and who dropped out."""
ASSIGNED = ("participant", "state", "treatment", "configuration")
TREATMENT: dict[str, Any] = {"treatment": pl.String, "game": pl.String}
TREATMENT_SETTINGS = pl.DataFrame(schema=TREATMENT | {"settings": pl.String})
LEVEL: dict[str, Any] = {"game": pl.String, "parameter": pl.String, "level": pl.String}
CROSSING: dict[str, Any] = LEVEL | {"other": pl.String, "other_level": pl.String}
TEST: dict[str, Any] = {
    **dict.fromkeys(("game", "of"), pl.String),
    **dict.fromkeys(("cells", "people"), pl.Int64),
    **dict.fromkeys(("largest", "p"), pl.Float64),
}


class Balance(NamedTuple):
    """Counts of participants (assigned, finished, dropped out) by treatment and parameter.

    A participant who was assigned to the same cell several times is counted once. ``dropped``
    counts participants who neither finished a game there nor are still active.

    Attributes:
        treatments: one row per ``treatment`` and ``game``, with ``settings``: the values of the
            varied parameters, null if unknown.
        levels: one row per ``game``, varied ``parameter`` and ``level``, with the number of
            ``treatments`` that have the level.
        crossings: the same counts for each pair of parameters; ``other`` and ``other_level`` are
            the second parameter and its level.
        tests: one row for the treatments of all games (``of`` is ``treatment``), for each parameter
            and for each crossing: ``cells``, ``people``, ``largest`` (the largest difference
            between two cells, in participants per treatment) and ``p`` (chi-square test of even
            assignment over treatments; null for a single cell).
    """

    treatments: pl.DataFrame
    levels: pl.DataFrame
    crossings: pl.DataFrame
    tests: pl.DataFrame

    def _repr_html_(self) -> str:
        return frames_html(self._asdict())


@reads
def balance(store: StoreLike, study: StudyLike) -> Balance:
    """Count the participants by treatment and by level of each varied parameter.

    A level that twice as many treatments have is expected to have twice as many participants. The
    test assumes independent participants; if they are assigned in groups, p is too small.
    Parameters are those of the matches that were played. Treatments without matches or without
    participants are omitted.

    Raises:
        StoreError: there is no such study.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    played = read_plays(store, study)
    settings = list(settings_played(store, study))
    by_match = {setting.match_id: setting.digest for setting in settings}
    digests: dict[str, set[str]] = {}
    for setting in settings:
        digests.setdefault(setting.treatment, set()).add(setting.digest)
    sole = {treatment: min(keys) for treatment, keys in digests.items() if len(keys) == 1}
    rows = played.with_columns(
        configuration=pl.coalesce(
            pl.col("match_id").replace_strict(by_match, default=None, return_dtype=pl.String),
            pl.col("treatment").replace_strict(sole, default=None, return_dtype=pl.String),
        )
    )
    treatments = _counts(rows, TREATMENT)
    tests = [("", "treatment", *_test(treatments["assigned"].to_list(), [1] * treatments.height))]
    varied = _varied(rows, {setting.digest: setting.parameters for setting in settings})
    levels: list[pl.DataFrame] = []
    crossings: list[pl.DataFrame] = []
    settings_of = [TREATMENT_SETTINGS]
    for game, names, known_rows in varied:
        settings_of.append(_settings(known_rows, game, names))
        for varied_names in chain(combinations(names, 1), combinations(names, 2)):
            key, counts = (LEVEL, levels) if len(varied_names) == 1 else (CROSSING, crossings)
            level_columns = [
                column for name in varied_names for column in (pl.lit(name), pl.col(name))
            ]
            columns = dict(zip(key, [pl.lit(game), *level_columns], strict=True))
            cells = known_rows.select(*ASSIGNED, **columns)
            counts.append(_counts(cells, key))
            assigned, sizes = counts[-1]["assigned"].to_list(), counts[-1]["treatments"].to_list()
            tests.append((game, " x ".join(varied_names), *_test(assigned, sizes)))
    sized = {"treatments": pl.Int64} | COUNTS
    texts = pl.concat(settings_of)
    return Balance(
        treatments.drop("treatments").join(
            texts, on=[*TREATMENT], how="left", maintain_order="left", validate="1:1"
        ),
        pl.concat([pl.DataFrame(schema=LEVEL | sized), *levels]),
        pl.concat([pl.DataFrame(schema=CROSSING | sized), *crossings]),
        pl.DataFrame(tests if played.height else [], TEST, orient="row"),
    )


def _varied(
    rows: pl.DataFrame, parameters: dict[str, dict[str, Any]]
) -> Iterator[tuple[str, list[str], pl.DataFrame]]:
    """Yield each game with varied parameters: its name, these parameters, and rows of values."""
    known = rows.drop_nulls("configuration")
    for (game,), of_game in known.group_by("game", maintain_order=True):
        configurations = {key: parameters[key] for key in of_game["configuration"].unique().sort()}
        names = varying(configurations)
        if names:
            levels = [
                {"configuration": digest} | {name: readable(values[name]) for name in names}
                for digest, values in configurations.items()
            ]
            joined = of_game.select(ASSIGNED).join(
                pl.DataFrame(levels), on="configuration", maintain_order="left", validate="m:1"
            )
            yield str(game), names, joined


def _settings(rows: pl.DataFrame, game: str, names: list[str]) -> pl.DataFrame:
    """Return each treatment's settings in a game, as text."""
    texts = [pl.format("{} {}", pl.lit(plain(name)), pl.col(name)) for name in names]
    first = rows.unique("treatment", keep="first", maintain_order=True)
    return first.select(
        "treatment", pl.lit(game).alias("game"), settings=pl.concat_str(texts, separator=", ")
    )


def _counts(rows: pl.DataFrame, key: dict[str, Any]) -> pl.DataFrame:
    """Count treatments and participants (assigned, finished, dropped out) by key columns."""
    finished, under_way = pl.col("state") == "finished", pl.col("state").is_in(UNDER_WAY)
    person = rows.group_by(*key, "participant", maintain_order=True).agg(
        finished=finished.any(), dropped=~(finished | under_way).any()
    )
    people = person.group_by(*key, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("assigned"),
        pl.col("finished", "dropped").sum().cast(pl.Int64),
    )
    treatments = rows.group_by(*key, maintain_order=True).agg(
        pl.struct("treatment", "configuration").n_unique().cast(pl.Int64).alias("treatments")
    )
    order = [expression for name in key for expression in (_as_number(name), pl.col(name))]
    return (
        treatments.join(people, on=list(key), validate="1:1", maintain_order="left")
        .sort(order)
        .select(*key, "treatments", *COUNTS)
    )


def _as_number(name: str) -> pl.Expr:
    """Return an expression that converts levels to numbers, for sorting."""
    return pl.col(name).str.replace_all(",", "").cast(pl.Float64, strict=False)


def _test(
    assigned: Sequence[int], treatments: Sequence[int]
) -> tuple[int, int, float, float | None]:
    """Test the balance of an assignment; return groups, people, largest difference and p-value."""
    people = sum(assigned)
    ratios = [count / size for count, size in zip(assigned, treatments, strict=True)]
    largest = max(ratios, default=0.0) - min(ratios, default=0.0)
    if len(assigned) < 2:
        return len(assigned), people, largest, None
    expected = [people * size / sum(treatments) for size in treatments]
    return len(assigned), people, largest, float(scipy.stats.chisquare(assigned, expected).pvalue)
