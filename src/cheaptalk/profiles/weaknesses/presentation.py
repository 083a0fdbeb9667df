"""Presentation: whether names, wording, currency, scale or order change what a player does."""

from collections.abc import Iterator, Sequence
from statistics import mean

import polars as pl

from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.weaknesses import exchangeability as tests
from cheaptalk.profiles.weaknesses.weakness import (
    PLACES,
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
"""Ways of :attr:`.Battery.anew` whose names differ in gender or origin, and their titles."""
PRESENTED = {
    "words": "depends on the wording of the request", "currency": "depends on the currency",
    "scale": "depends on the scale of the amounts", "order": "depends on the order of the options",
}  # fmt: skip
QUESTION = ("part", "number", "place", "other")
SITUATION = (*QUESTION, "offer")
"""What matches have in common whose first demands are comparable."""


def presentation_trials(own: pl.DataFrame, battery: Battery) -> Iterator[Trial]:
    """Yield a test of the gender and origin of names, and of each other presentation."""
    anew = own.filter(pl.col("way").is_not_null()).with_columns(
        pl.col("asked").fill_null(0.0), pl.col("earned").fill_null(0.0),
        offer=pl.col("offered").fill_null(-1.0).round(PLACES),
    )  # fmt: skip
    named = [name for name, part in battery.anew.items() if "foreign_male" in part.ways]
    if named:
        for factor in FACTORS:
            yield _names_trial(anew.filter(pl.col("part").is_in(named), "reads"), factor)
    ways = {name: way for key, part in battery.anew.items() if key not in named
            for name, way in part.ways.items()}  # fmt: skip
    for name, way in ways.items():
        # the other player sees another order, too, and may play differently, so that only what
        # the player first asks for counts, and only after the same offer
        values = ["asked"] if way.cases is not None else ["asked", "earned"]
        rows = anew.filter(~pl.col("part").is_in(named))
        yield _way_trial(rows, name, way.beside or "", values)


def _names_trial(rows: pl.DataFrame, factor: str) -> Trial:
    low, high, low_title, high_title = FACTORS[factor]
    cells = {value: _by_way(rows, value) for value in ("asked", "earned")}
    differences = {value: _differences(one, low, high) for value, one in cells.items()}
    means = {
        (value, group): mean_of(rows.filter(pl.col("way").is_in(group))[value])
        for value in cells for group in (low, high)
    }  # fmt: skip
    largest = max(differences, key=lambda one: abs(differences[one].value or 0))
    of = {"asked": "first demand", "earned": "earnings"}[largest]
    sentence = (
        f"with {high_title} it earned {fixed(means['earned', high], PLACES)} and first asked for "
        f"{fixed(means['asked', high], PLACES)}, with {low_title} "
        f"{fixed(means['earned', low], PLACES)} and {fixed(means['asked', low], PLACES)}; "
        f"difference of the {of} {between(differences[largest], signed=True)}"
    )
    # the variant is that with which the player does worse
    variant, group = min(
        (low_title, low), (high_title, high),
        key=lambda one: [means[value, one[1]] for value in ("earned", "asked")],
    )  # fmt: skip
    hit = rows.filter(pl.col("way").is_in(group)).sort("earned", maintain_order=True).head(1)
    outcome = Weakness(
        f"names.{factor}", f"depends on the {factor} of names", rows.height, "matches", sentence,
        unsigned(differences[largest]), match=hit["match"][0] if hit.height else None,
        variant=variant,
    )  # fmt: skip

    def p(_: frozenset[str]) -> float:
        return min(1.0, 2 * min(tests.contrast(one, low, high) for one in cells.values()))

    return Trial(outcome, p)


def _by_way(rows: pl.DataFrame, value: str) -> list[dict[str, float]]:
    """The values of each instance by way."""
    cells = rows.group_by(*QUESTION, "deal", maintain_order=True).agg("way", value)
    return [dict(zip(one["way"], one[value], strict=True)) for one in cells.iter_rows(named=True)]


def _differences(
    cells: list[dict[str, float]], low: Sequence[str], high: Sequence[str]
) -> Estimate:
    """The mean difference between two groups of ways, over the instances that have all of them."""
    return estimate_of([
        mean(cell[way] for way in high) - mean(cell[way] for way in low)
        for cell in cells if all(way in cell for way in (*low, *high))
    ])  # fmt: skip


def _way_trial(rows: pl.DataFrame, way: str, base: str, values: Sequence[str]) -> Trial:
    inside = rows.filter(pl.col("part").is_in(rows.filter(way=way)["part"].unique().to_list()))
    # a style is only played with text, and only matches with its base are comparable
    strata = {
        key: group for key, group in inside.group_by(*SITUATION, maintain_order=True)
        if group.filter(way=way).height and group.filter(way=base).height
    }  # fmt: skip
    pairs = pl.concat([*strata.values()]) if strata else inside.clear()
    texts = pairs.filter(way=way)
    mine, plain = mean_of(texts["asked"]), mean_of(pairs.filter(way=base)["asked"])
    apart, again = _distances(pairs, way, base), _distances(pairs, base, base)
    excess = estimate_of([one - mean_of(again) for one in apart])
    sentence = (
        f"it first asked for {fixed(mine, PLACES)} there and {fixed(plain, PLACES)} otherwise; its "
        f"first demands are {fixed(mean_of(apart), PLACES)} apart on average, and those of "
        f"identical repeats {fixed(mean_of(again), PLACES)}, a distance beyond repeats of "
        f"{between(excess, signed=True)}"
    )
    outcome = Weakness(
        f"steady.{way}", PRESENTED.get(way, f"depends on {way}"), texts.height, "matches", sentence,
        excess,
        match=texts["match"][0] if texts.height else None, variant=way,
    )  # fmt: skip

    def p(_: frozenset[str]) -> float:
        samples = [
            (
                group.filter(way=way).select(values).rows(),
                group.filter(way=base).select(values).rows(),
            )
            for group in strata.values()
        ]
        return tests.farther_apart(samples)

    return Trial(outcome, p)


def _distances(rows: pl.DataFrame, way: str, base: str) -> pl.Series:
    """For each match of a way, the mean distance of its first demand from those of other matches
    of the base."""
    own = rows.filter(way=way).select(*SITUATION, "match", "asked")
    others = rows.filter(way=base).select(*SITUATION, again="match", base="asked")
    pairs = own.join(
        others, SITUATION, nulls_equal=True, validate="m:m", maintain_order="left_right"
    ).filter(pl.col("match") != pl.col("again"))
    distances = pairs.with_columns(apart=(pl.col("asked") - pl.col("base")).abs())
    return distances.group_by("match", maintain_order=True).agg(pl.col("apart").mean())["apart"]
