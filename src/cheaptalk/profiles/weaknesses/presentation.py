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
    "words": "depends on the wording of the request",
    "currency": "depends on the currency",
    "scale": "depends on the scale of the amounts",
    "order": "depends on the order of the options",
}
QUESTION = ("part", "number", "seat", "other")
SITUATION = (*QUESTION, "offer")
"""Columns that are equal for matches with comparable first demands."""


def presentation_trials(rows_of_player: pl.DataFrame, battery: Battery) -> Iterator[Trial]:
    """Yield tests of the gender and origin of names, and of each other change of presentation."""
    offer = pl.col("offered").fill_null(-1.0).round(DECIMALS)
    anew = rows_of_player.filter(pl.col("way").is_not_null()).with_columns(
        pl.col("asked", "earned").fill_null(0.0), offer=offer
    )
    named = [name for name, part in battery.anew.items() if "foreign_male" in part.ways]
    if named:
        for factor in FACTORS:
            yield _names_trial(anew.filter(pl.col("part").is_in(named), "reads"), factor)
    ways = {
        name: way
        for key, part in battery.anew.items()
        if key not in named
        for name, way in part.ways.items()
    }
    for name, way in ways.items():
        # the opponent sees the other order, too, and may therefore play differently, so earnings
        # are not comparable
        values = ["asked"] if way.cases is not None else ["asked", "earned"]
        rows = anew.filter(~pl.col("part").is_in(named))
        yield _way_trial(rows, name, way.beside or "", values)


def _names_trial(rows: pl.DataFrame, factor: str) -> Trial:
    low, high, low_title, high_title = FACTORS[factor]
    named = {low_title: low, high_title: high}
    cells = {value: _by_way(rows, value) for value in ("asked", "earned")}
    differences = {value: _differences(cell, low, high) for value, cell in cells.items()}
    groups = {title: rows.filter(pl.col("way").is_in(group)) for title, group in named.items()}
    means = {
        title: [mean_of(group[value]) for value in ("earned", "asked")]
        for title, group in groups.items()
    }
    largest = max(differences, key=lambda difference: abs(differences[difference].value or 0))
    noun = {"asked": "first demand", "earned": "earnings"}[largest]
    low_text, high_text = ([fixed(value, DECIMALS) for value in means[title]] for title in named)
    sentence = (
        f"with {high_title}, it earned {high_text[0]} and first demanded {high_text[1]}, with "
        f"{low_title} {low_text[0]} and {low_text[1]}; difference of the {noun} "
        f"{between(differences[largest], signed=True)}"
    )
    variant = min(means, key=lambda title: means[title])  # the player earns less with these names
    hit = groups[variant].sort("earned", maintain_order=True).head(1)
    title, effect = f"depends on the {factor} of names", unsigned(differences[largest])
    outcome = Weakness(f"names.{factor}", title, rows.height, "matches", sentence, effect)
    match = hit["match_id"][0] if hit.height else None

    def p(_: frozenset[str]) -> float:
        return min(1.0, 2 * min(tests.contrast(values, low, high) for values in cells.values()))

    return Trial(outcome._replace(match=match, variant=variant), p)


def _by_way(rows: pl.DataFrame, value: str) -> list[dict[str, float]]:
    """Return, for each decision and instance, a metric's value by presentation."""
    cells = rows.group_by(*QUESTION, "instance", maintain_order=True).agg("way", value)
    return [dict(zip(row["way"], row[value], strict=True)) for row in cells.iter_rows(named=True)]


def _differences(
    cells: list[dict[str, float]], low: Sequence[str], high: Sequence[str]
) -> Estimate:
    """Estimate the difference between two groups of presentations on instances with both groups."""
    paired = [cell for cell in cells if all(way in cell for way in (*low, *high))]
    means = ([mean(cell[way] for way in group) for cell in paired] for group in (high, low))
    return estimate_of([above - below for above, below in zip(*means, strict=True)])


def _way_trial(rows: pl.DataFrame, way: str, base: str, values: Sequence[str]) -> Trial:
    inside = rows.filter(pl.col("part").is_in(rows.filter(way=way)["part"].unique().to_list()))
    # only players that read text play other styles, and only matches with a base are comparable
    groups = [group for _, group in inside.group_by(*SITUATION, maintain_order=True)]
    strata = [group for group in groups if {way, base} <= {*group["way"]}]
    pairs = pl.concat([inside.clear(), *strata])
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
    title, match = PRESENTED.get(way, f"depends on {way}"), next(iter(texts["match_id"]), None)
    outcome = Weakness(f"steady.{way}", title, texts.height, "matches", sentence, excess)

    def sample(group: pl.DataFrame, way: str) -> list[tuple[float, ...]]:
        return group.filter(way=way).select(values).rows()

    def p(_: frozenset[str]) -> float:
        return tests.farther_apart([(sample(group, way), sample(group, base)) for group in strata])

    return Trial(outcome._replace(match=match, variant=way), p)


def _distances(rows: pl.DataFrame, way: str, base: str) -> pl.Series:
    """Return the mean distance of each match's first demand from those in another presentation."""
    demands = rows.filter(way=way).select(*SITUATION, "match_id", "asked")
    others = rows.filter(way=base).select(*SITUATION, again="match_id", base="asked")
    pairs = demands.join(
        others, SITUATION, nulls_equal=True, validate="m:m", maintain_order="left_right"
    ).filter(pl.col("match_id") != pl.col("again"))
    distances = pairs.with_columns(apart=(pl.col("asked") - pl.col("base")).abs())
    return distances.group_by("match_id", maintain_order=True).agg(pl.col("apart").mean())["apart"]
