"""Presentation: whether names, wording, currency, scale or order change what a player does."""

from collections.abc import Iterator

import polars as pl

from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.weaknesses import exchangeability as tests
from cheaptalk.profiles.weaknesses.weakness import PLACES, Trial, Weakness, mean_of
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


def presentation_trials(own: pl.DataFrame, battery: Battery) -> Iterator[Trial]:
    """Yield a test of the gender and origin of names, and of each other presentation."""
    anew = own.filter(pl.col("way").is_not_null()).with_columns(
        pl.col("asked").fill_null(0.0), pl.col("earned").fill_null(0.0)
    )
    named = [name for name, part in battery.anew.items() if "foreign_male" in part.ways]
    if named:
        for factor in FACTORS:
            yield _names_trial(anew.filter(pl.col("part").is_in(named), "reads"), factor)
    ways = {name: way.beside or "" for key, part in battery.anew.items() if key not in named
            for name, way in part.ways.items()}  # fmt: skip
    for way, base in ways.items():
        yield _way_trial(anew.filter(~pl.col("part").is_in(named)), way, base)


def _names_trial(rows: pl.DataFrame, factor: str) -> Trial:
    low, high, low_title, high_title = FACTORS[factor]
    by_value: dict[str, list[dict[str, float]]] = {}
    for value in ("asked", "earned"):
        cells = rows.group_by(*QUESTION, "deal", maintain_order=True).agg("way", value)
        by_value[value] = [
            dict(zip(cell["way"], cell[value], strict=True)) for cell in cells.iter_rows(named=True)
        ]
    means = {
        value: [mean_of(rows.filter(pl.col("way").is_in(group))[value]) for group in (low, high)]
        for value in by_value
    }
    earned = means["earned"]
    sentence = (
        f"with {high_title} it earned {fixed(earned[1], PLACES)} and first asked for "
        f"{fixed(means['asked'][1], PLACES)}, with {low_title} {fixed(earned[0], PLACES)} and "
        f"{fixed(means['asked'][0], PLACES)}"
    )
    effect = max((abs(a - b) for a, b in means.values()), default=0.0)
    # the variant is that with which the player does worse
    variant, group = min(
        (low_title, low), (high_title, high),
        key=lambda one: [means[value][one[1] is high] for value in ("earned", "asked")],
    )  # fmt: skip
    hit = rows.filter(pl.col("way").is_in(group)).sort("earned", maintain_order=True).head(1)
    outcome = Weakness(
        f"names.{factor}", f"depends on the {factor} of names", rows.height, "matches", sentence,
        effect, None, match=hit["match"][0] if hit.height else None, variant=variant,
    )  # fmt: skip

    def p(_: frozenset[str]) -> float:
        return min(1.0, 2 * min(tests.contrast(one, low, high) for one in by_value.values()))

    return Trial(outcome, p)


def _way_trial(rows: pl.DataFrame, way: str, base: str) -> Trial:
    inside = rows.filter(pl.col("part").is_in(rows.filter(way=way)["part"].unique().to_list()))
    # a style is only played with text, and only matches with its base are comparable
    texts = inside.filter(way=way)
    strata = {
        key: group for key, group in inside.group_by(*QUESTION, maintain_order=True)
        if group.filter(way=way).height and group.filter(way=base).height
    }  # fmt: skip
    mine, plain = mean_of(texts["asked"]), mean_of(inside.filter(way=base)["asked"])
    pairs = pl.concat([*strata.values()]) if strata else inside.clear()
    apart = _mean_distance(pairs, way, base)
    again = _mean_distance(pairs, base, base)
    sentence = (
        f"it first asked for {fixed(mine, PLACES)} there and {fixed(plain, PLACES)} otherwise, "
        f"{fixed(apart, PLACES)} apart on average (identical repeats: {fixed(again, PLACES)})"
    )
    outcome = Weakness(
        f"steady.{way}", PRESENTED.get(way, f"depends on {way}"), texts.height, "matches", sentence,
        max(0.0, apart - again), None, match=texts["match"][0] if texts.height else None,
        variant=way,
    )  # fmt: skip

    def p(_: frozenset[str]) -> float:
        samples = [
            (group.filter(way=way).select("asked", "earned").rows(),
             group.filter(way=base).select("asked", "earned").rows())
            for group in strata.values()
        ]  # fmt: skip
        return tests.farther_apart(samples)

    return Trial(outcome, p)


def _mean_distance(rows: pl.DataFrame, way: str, base: str) -> float:
    """The mean distance between the first demands of two ways, over pairs of different matches."""
    one = rows.filter(way=way).select(*QUESTION, "match", "asked")
    other = rows.filter(way=base).select(*QUESTION, again="match", base="asked")
    pairs = one.join(
        other, QUESTION, nulls_equal=True, validate="m:m", maintain_order="left_right"
    ).filter(pl.col("match") != pl.col("again"))
    return mean_of((pairs["asked"] - pairs["base"]).abs())
