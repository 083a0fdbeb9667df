"""Tests of presentation: whether names, wording, currency, scale or order change behaviour."""

from collections.abc import Iterator, Sequence
from statistics import mean

import polars as pl

from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.weaknesses import exchangeability as tests
from cheaptalk.profiles.weaknesses.weakness import (
    DECIMALS,
    Trial,
    Weakness,
    between,
    estimate_of,
    mean_of,
    unsigned,
)
from cheaptalk.reports.recipes.tables import Estimate
from cheaptalk.text import fixed

FACTORS = {
    "gender": (("", "foreign"), ("male", "foreign_male"), "female names", "male names"),
    "origin": (("", "male"), ("foreign", "foreign_male"), "familiar names", "foreign names"),
}
"""Two groups of presentations by factor of the names, and descriptions of the groups."""
PRESENTED = {
    "words": "depends on the wording of the request", "currency": "depends on the currency",
    "scale": "depends on the scale of the amounts", "order": "depends on the order of the options",
}  # fmt: skip
QUESTION = ("part", "number", "seat", "other")
SITUATION = (*QUESTION, "offer")
"""Columns that are equal for matches with comparable first demands."""


def presentation_trials(rows_of_player: pl.DataFrame, battery: Battery) -> Iterator[Trial]:
    """Yield tests of the gender and origin of names, and of each other change of presentation."""
    anew = rows_of_player.filter(pl.col("way").is_not_null()).with_columns(
        pl.col("asked").fill_null(0.0), pl.col("earned").fill_null(0.0),
        offer=pl.col("offered").fill_null(-1.0).round(DECIMALS),
    )  # fmt: skip
    named = [name for name, part in battery.anew.items() if "foreign_male" in part.ways]
    if named:
        for factor in FACTORS:
            yield _names_trial(anew.filter(pl.col("part").is_in(named), "reads"), factor)
    ways = {name: way for key, part in battery.anew.items() if key not in named
            for name, way in part.ways.items()}  # fmt: skip
    for name, way in ways.items():
        # the opponent sees the other order, too, and may therefore play differently, so earnings
        # are not comparable
        values = ["asked"] if way.cases is not None else ["asked", "earned"]
        rows = anew.filter(~pl.col("part").is_in(named))
        yield _way_trial(rows, name, way.beside or "", values)


def _names_trial(rows: pl.DataFrame, factor: str) -> Trial:
    low, high, low_title, high_title = FACTORS[factor]
    cells = {value: _by_way(rows, value) for value in ("asked", "earned")}
    differences = {value: _differences(cell, low, high) for value, cell in cells.items()}
    means = {
        (value, group): mean_of(rows.filter(pl.col("way").is_in(group))[value])
        for value in cells for group in (low, high)
    }  # fmt: skip
    largest = max(differences, key=lambda difference: abs(differences[difference].value or 0))
    noun = {"asked": "first demand", "earned": "earnings"}[largest]
    sentence = (
        f"with {high_title}, it earned {fixed(means['earned', high], DECIMALS)} and first demanded "
        f"{fixed(means['asked', high], DECIMALS)}, with {low_title} "
        f"{fixed(means['earned', low], DECIMALS)} and {fixed(means['asked', low], DECIMALS)}; "
        f"difference of the {noun} {between(differences[largest], signed=True)}"
    )
    # the variant with which the player earns less
    variant, group = min(
        (low_title, low), (high_title, high),
        key=lambda pair: [means[value, pair[1]] for value in ("earned", "asked")],
    )  # fmt: skip
    hit = rows.filter(pl.col("way").is_in(group)).sort("earned", maintain_order=True).head(1)
    outcome = Weakness(
        f"names.{factor}", f"depends on the {factor} of names", rows.height, "matches", sentence,
        unsigned(differences[largest]), match=hit["match_id"][0] if hit.height else None,
        variant=variant,
    )  # fmt: skip

    def p(_: frozenset[str]) -> float:
        return min(1.0, 2 * min(tests.contrast(values, low, high) for values in cells.values()))

    return Trial(outcome, p)


def _by_way(rows: pl.DataFrame, value: str) -> list[dict[str, float]]:
    """Return, for each decision and instance, a metric's value by presentation."""
    cells = rows.group_by(*QUESTION, "instance", maintain_order=True).agg("way", value)
    return [dict(zip(row["way"], row[value], strict=True)) for row in cells.iter_rows(named=True)]


def _differences(
    cells: list[dict[str, float]], low: Sequence[str], high: Sequence[str]
) -> Estimate:
    """Estimate the difference between two groups of presentations on instances with both groups."""
    return estimate_of([
        mean(cell[way] for way in high) - mean(cell[way] for way in low)
        for cell in cells if all(way in cell for way in (*low, *high))
    ])  # fmt: skip


def _way_trial(rows: pl.DataFrame, way: str, base: str, values: Sequence[str]) -> Trial:
    inside = rows.filter(pl.col("part").is_in(rows.filter(way=way)["part"].unique().to_list()))
    # only players that read text play other styles, and only matches with a base are comparable
    strata = {
        key: group for key, group in inside.group_by(*SITUATION, maintain_order=True)
        if group.filter(way=way).height and group.filter(way=base).height
    }  # fmt: skip
    pairs = pl.concat([*strata.values()]) if strata else inside.clear()
    texts = pairs.filter(way=way)
    demand, plain = mean_of(texts["asked"]), mean_of(pairs.filter(way=base)["asked"])
    distances, repeat_distances = _distances(pairs, way, base), _distances(pairs, base, base)
    excess = estimate_of([distance - mean_of(repeat_distances) for distance in distances])
    sentence = (
        f"it first demanded {fixed(demand, DECIMALS)} there and {fixed(plain, DECIMALS)} "
        f"otherwise; its first demands are {fixed(mean_of(distances), DECIMALS)} apart on average, "
        f"and those of identical repeats {fixed(mean_of(repeat_distances), DECIMALS)}, an excess "
        f"of {between(excess, signed=True)}"
    )
    outcome = Weakness(
        f"steady.{way}", PRESENTED.get(way, f"depends on {way}"), texts.height, "matches", sentence,
        excess, match=texts["match_id"][0] if texts.height else None, variant=way,
    )  # fmt: skip

    def sample(group: pl.DataFrame, way: str) -> list[tuple[float, ...]]:
        return group.filter(way=way).select(values).rows()

    def p(_: frozenset[str]) -> float:
        samples = [(sample(group, way), sample(group, base)) for group in strata.values()]
        return tests.farther_apart(samples)

    return Trial(outcome, p)


def _distances(rows: pl.DataFrame, way: str, base: str) -> pl.Series:
    """Return the mean distance of each match's first demand from those in another presentation."""
    demands = rows.filter(way=way).select(*SITUATION, "match_id", "asked")
    others = rows.filter(way=base).select(*SITUATION, again="match_id", base="asked")
    pairs = demands.join(
        others, SITUATION, nulls_equal=True, validate="m:m", maintain_order="left_right"
    ).filter(pl.col("match_id") != pl.col("again"))
    distances = pairs.with_columns(apart=(pl.col("asked") - pl.col("base")).abs())
    return distances.group_by("match_id", maintain_order=True).agg(pl.col("apart").mean())["apart"]
