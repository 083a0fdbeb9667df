"""Results by the factors of players: main effects and interactions."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import polars as pl

from cheaptalk.frames.matches import with_factors
from cheaptalk.records.exports.tables import factor_column, factor_names
from cheaptalk.reports.charts.chart import Chart
from cheaptalk.reports.charts.kinds import HIGH, LOW, dots
from cheaptalk.reports.recipes.margins import rare_outcomes
from cheaptalk.reports.recipes.parts import Answer, Charts
from cheaptalk.reports.recipes.study_differences import paired_difference
from cheaptalk.reports.recipes.tables import CLUSTERS, COUNT, ERROR, Header, ReportTable, texts
from cheaptalk.reports.study.scores import GameScores
from cheaptalk.rules import counted
from cheaptalk.statistics import STRATA, holm, mean_intervals
from cheaptalk.statistics.intervals import INSTANCES
from cheaptalk.studies.factors import crossed_label
from cheaptalk.text import capital, decimals, fixed

ORDER = 2
"""Maximum order of interactions."""
ALPHA = 0.05
EFFECT, VALUE, BASE, OPPONENTS = "effect", "value", "base", "opponents"
CAPTION = (
    "Dots are differences from the first level of the factor, which is at 0; whiskers are 95 % "
    "intervals."
)
METHOD = (
    "An effect is the mean difference between two levels in matches on the same instance, against "
    "the same opponents, and with the same levels of all other factors. An interaction is the "
    "difference between two such differences. 95 % intervals are clustered by instance within "
    "configurations; each bound is the wider of Student's and Hall's. If the difference is "
    "the same on every instance, p is that of a sign test. The corrected p allows for all rows of "
    "the table (Holm)."
)


def factor_results(
    game: GameScores, factors: Mapping[str, Mapping[str, str]]
) -> Iterator[Answer | Charts | ReportTable]:
    """Yield the effects of players' factors, and interactions up to :data:`ORDER`, by role."""
    rows = [row for role in game.roles for row in _role_rows(game, role, factors)]
    if not rows:
        return
    tested = [row for row in rows if row["p"] is not None]
    for row, corrected in zip(tested, holm([row["p"] for row in tested]), strict=True):
        row["p_holm"] = float(corrected)
    yield _answer(rows)
    panels = [_panel(game, role, rows) for role in dict.fromkeys(row["role"] for row in rows)]
    yield Charts(f"{game.name}-factor-effects", "Effects of player factors", panels, CAPTION)
    columns = [
        *texts(role_title="Role", name="Effect of", over="Compared with"),
        Header(EFFECT, "Difference", "in the unit of the gain", "decimals"),
        Header("p", "p", "two-sided", 3),
        Header("p_holm", "p, corrected", "", 3),
    ]
    name, units = f"{game.name}-factors", ("pair", "instance")
    yield ReportTable.of(name, "Table of effects", rows, columns, METHOD, counts=units)


def _panel(game: GameScores, role: str, rows: Sequence[Mapping[str, Any]]) -> Chart:
    selected = [row for row in rows if row["role"] == role and row[EFFECT] is not None]
    names = [f"{row['name']} over {row['over']}" for row in selected]
    texts = [f"{fixed(row[EFFECT], row['decimals'])}{_evidence(row)}" for row in selected]
    score = game.gain(role)
    return dots(score.title, score.unit, names, selected, EFFECT, texts)


def _role_rows(
    game: GameScores, role: str, factors: Mapping[str, Mapping[str, str]]
) -> Iterator[dict[str, Any]]:
    cells = _cell_means(game, role, factors)
    names = {factor_column(role, factor): factor for factor in factor_names(factors)}
    levels = {
        name: _levels(cells, name, factor, factors)
        for name, factor in names.items()
        if name in cells.columns
    }
    varied = [name for name in levels if len(levels[name]) > 1]
    for size in range(1, min(ORDER, len(varied)) + 1):
        for chosen in combinations(varied, size):
            for others in product(*(levels[name][1:] for name in chosen)):
                pairs = cells
                for name, level in zip(chosen, others, strict=True):
                    pairs = _difference(pairs, name, levels[name][0], level)
                yield _contrast(
                    role,
                    pairs,
                    {
                        names[name]: (level, levels[name][0])
                        for name, level in zip(chosen, others, strict=True)
                    },
                )


def _cell_means(
    game: GameScores, role: str, factors: Mapping[str, Mapping[str, str]]
) -> pl.DataFrame:
    """Return the mean gain by instance, opponents, factor levels and the crossed entry (``base``).

    Matches with copies of itself have opponents of their own, so they match no other player's.
    """
    frame = with_factors(game.seated(role, scored=True), [role], factors)
    column, key = f"player_{role}", game.gain(role).key
    names = [factor_column(role, factor) for factor in factor_names(factors)]
    names = [name for name in names if name in frame.columns]
    if not names:
        return frame.clear()
    seats = [f"player_{seat}" for seat in game.seats if f"player_{seat}" in game.scored.columns]
    if game.shared(role):
        # a row is a player in a match, without columns for the seats
        seated = game.scored.select("match_id", seated=pl.concat_list(seats))
        frame = frame.join(seated, "match_id", validate="m:1", maintain_order="left").with_columns(
            pl.struct(own=column, seated="seated")
            .map_elements(_opponents, pl.String)
            .alias(OPPONENTS)
        )
    else:
        rivals = [pl.col(seat).fill_null("") for seat in seats if seat != column]
        frame = frame.with_columns(pl.concat_str(rivals, separator="\n").alias(OPPONENTS))
    bases = {label: crossed_label(label, levels) for label, levels in factors.items()}
    frame = frame.with_columns(pl.col(column).replace_strict(bases, default="").alias(BASE))
    return (
        frame.drop_nulls(key)
        .filter(pl.any_horizontal(pl.col(names).is_not_null()))
        .group_by(*INSTANCES, OPPONENTS, BASE, *names, maintain_order=True)
        .agg(pl.col(key).cast(pl.Float64).mean().alias(VALUE))
        .sort(*INSTANCES, OPPONENTS, BASE, *names)
    )


def _opponents(row: Mapping[str, Any]) -> str:
    seated = [label for label in row["seated"] if label]
    seated.remove(row["own"])
    return "\n".join(sorted(seated))


def _levels(
    cells: pl.DataFrame, name: str, factor: str, factors: Mapping[str, Mapping[str, str]]
) -> list[str]:
    played = set(cells[name].drop_nulls())
    listed = dict.fromkeys(levels[factor] for levels in factors.values() if factor in levels)
    return [level for level in listed if level in played]


def _difference(cells: pl.DataFrame, name: str, reference: str, level: str) -> pl.DataFrame:
    """Return the differences between two levels of a factor, with all other columns equal."""
    keys = [column for column in cells.columns if column not in (name, VALUE)]
    low = cells.filter(pl.col(name) == reference).drop(name).rename({VALUE: "reference"})
    high = cells.filter(pl.col(name) == level).drop(name)
    pairs = high.join(
        low, on=keys, how="inner", nulls_equal=True, validate="1:1", maintain_order="left"
    )
    return pairs.with_columns(pl.col(VALUE) - pl.col("reference")).drop("reference").sort(keys)


def _contrast(
    role: str, pairs: pl.DataFrame, levels: Mapping[str, tuple[str, str]]
) -> dict[str, Any]:
    """Return a row of the table: the mean of paired differences with its clustered interval."""
    labels = {
        "role": role,
        "role_title": capital(role),
        "order": len(levels),
        "name": " x ".join(f"{name} {level}" for name, (level, _) in levels.items()),
        "over": " x ".join(reference for _, reference in levels.values()),
    }
    if pairs.is_empty():
        unknown = dict.fromkeys(
            (EFFECT, EFFECT + LOW, EFFECT + HIGH, EFFECT + ERROR, "p", "p_holm")
        )
        zeros = dict.fromkeys(("decimals", EFFECT + COUNT, EFFECT + CLUSTERS), 0)
        return {**labels, **unknown, "constant": False, **zeros}
    (mean_effect,) = mean_intervals(pairs, [VALUE], strata=STRATA).iter_rows(named=True)
    effect = paired_difference(pairs, mean_effect)
    low, high = effect.limits
    return {
        **labels,
        "decimals": decimals([effect.difference]),
        EFFECT: effect.difference,
        EFFECT + LOW: low,
        EFFECT + HIGH: high,
        EFFECT + ERROR: effect.error,
        EFFECT + COUNT: effect.n,
        EFFECT + CLUSTERS: effect.clusters,
        "constant": effect.constant_p is not None,
        "p": effect.p,
        "p_holm": None,
    }


def _answer(rows: Sequence[Mapping[str, Any]]) -> Answer:
    certain = sorted(
        (row for row in rows if row["p_holm"] is not None and row["p_holm"] < ALPHA),
        key=lambda row: (row["order"], row["p"]),
    )
    sentences = [_sentence(row) for row in certain]
    if certain:
        few = rare_outcomes(min(row[EFFECT + CLUSTERS] for row in certain))
        sentences += [few.strip()] * bool(few)
    else:
        sentences = ["No player factor has a significant effect."]
    sentences += [
        f"{capital(row['name'])} and {row['over']} are not comparable as {row['role_title']}: no "
        "two such players met the same opponents on the same instance with equal other levels."
        for row in rows
        if row[EFFECT] is None and row["order"] == 1
    ]
    number = counted(len(certain), "significant effect") if certain else "no significant effect"
    short = f"{number} of factors"
    return Answer(" ".join(sentences), short)


def _sentence(row: Mapping[str, Any]) -> str:
    name, role, change = row["name"], row["role_title"], f"The interaction of {row['name']} changed"
    if row["order"] == 1 and row[EFFECT] > 0:
        change = f"{capital(name)} raised"
    elif row["order"] == 1:
        low, high = row[EFFECT + LOW], row[EFFECT + HIGH]
        ends = {EFFECT + LOW: -high, EFFECT + HIGH: -low} if low is not None else {}
        row = {**row, EFFECT: -row[EFFECT], **ends}
        change = f"{capital(name)} lowered"
    size, pairs = fixed(row[EFFECT], row["decimals"]), counted(row[EFFECT + COUNT], "pair")
    by = f"{change} the gain as {role} by {size} compared with {row['over']}"
    if row["constant"]:
        return f"{by} in these {pairs} (constant within each configuration; others can differ)."
    return f"{by}{_evidence(row)}."


def _evidence(row: Mapping[str, Any]) -> str:
    low, high, digits = row[EFFECT + LOW], row[EFFECT + HIGH], row["decimals"]
    pairs = counted(row[EFFECT + COUNT], "pair")
    if low is None or high is None:
        reason = "the same within each configuration" if row["constant"] else "inconclusive"
        return f" ({reason}, {pairs})"
    return f" (95 % interval {fixed(low, digits)} to {fixed(high, digits)}, {pairs})"
