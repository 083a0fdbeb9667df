"""Tables 1 and 3 to 5 in the paper's form: its names of populations and games, in its order."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from cheaptalk.papers.chips.games import Games
from cheaptalk.papers.printed import as_printed, chosen
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.tables import ERROR, Header, ReportTable

PAPER = "chips"
POPULATIONS = {
    "human": "Human", "gpt-4o": "GPT-4o", "gpt-4o-refined": "GPT-4o refined", "gemini": "Gemini",
    "gemini-refined": "Gemini refined", "bayesian": "Bayesian agent",
}  # fmt: skip
"""What the paper calls players, in its order, by what its roster and preset call them."""
BETWEEN = " / "
"""What stands between the players of a table at which several sit."""
POPULATION = Header("population", "Population")


def shown(evidence: Evidence, populations: Sequence[str]) -> list[str]:
    """The populations of which all players are to stand in these tables, the paper's first."""
    wanted = set(chosen(evidence, evidence.labels))
    known = list(POPULATIONS)
    kept = [one for one in populations if set(one.split(BETWEEN)) <= wanted]
    return sorted(kept, key=lambda one: known.index(one) if one in known else len(known))


def name(population: str) -> str:
    """What the paper calls a population.

    >>> name("bayesian"), name("mine")
    ('Bayesian agent', 'mine')
    """
    return POPULATIONS.get(population, population)


def game(variant: str) -> str:
    """What the paper calls a game.

    >>> game("3 colours"), game("3 colours, rounds 5")
    ('3-chip', '3-chip, rounds 5')
    """
    return variant.replace(" colours", "-chip")


def final_surplus(evidence: Evidence, found: Games, wide: pl.DataFrame) -> Iterator[ReportTable]:
    """Table 3: a row a population, a column a game.

    Args:
        evidence: says who stands in it.
        found: whose variants are the columns.
        wide: one row a population, a column a variant, with its standard error.
    """
    populations = shown(evidence, found.populations)
    if not populations:
        return
    frame = _in_order(wide, populations)
    yield as_printed(evidence, PAPER, ReportTable(
        "table-3", "Final surplus over its bound", frame,
        (POPULATION, *(Header(one.name, game(one.name), "", 2) for one in found.variants)),
        "Means, with standard errors in parentheses.", printed="Table 3",
    ))  # fmt: skip


def _in_order(
    frame: pl.DataFrame, populations: Sequence[str], key: str = "population"
) -> pl.DataFrame:
    """The rows of some populations, in this order and by the paper's names."""
    kept = frame.filter(pl.col(key).is_in(populations))
    order = kept[key].replace_strict(populations, range(len(populations)))
    return kept.sort(order, maintain_order=True).with_columns(
        pl.col(key).replace_strict(list(populations), list(map(name, populations)))
    )


def differences(evidence: Evidence, found: Games, pairs: pl.DataFrame) -> Iterator[ReportTable]:
    """Table 4: p of every two populations, with an arrow up where the column's gains more.

    Args:
        evidence: says who stands in it.
        found: whose populations these are.
        pairs: one row a variant and two populations: ``difference`` is the second's less the
            first's, and ``p`` is of no difference.
    """
    populations = shown(evidence, found.populations)
    if len(populations) < 2:
        return
    both: dict[tuple[str, str, str], tuple[float, float]] = {}
    for variant, one, other, gap, p in pairs.select(
        "variant", "first", "second", "difference", "p"
    ).iter_rows():
        both[variant, one, other], both[variant, other, one] = (gap, p), (-gap, p)
    rows = []
    for variant in pairs["variant"].unique(maintain_order=True):
        for at, one in enumerate(populations[:-1]):
            row: dict[str, Any] = {"variant": game(variant), "population": name(one)}
            for other in populations[1:]:
                after = other in populations[at + 1 :]
                gap, p = both.get((variant, one, other), (None, None)) if after else (None, None)
                row[name(other)], row[f"{name(other)} way"] = p, _arrow(gap)
            rows.append(row)
    columns = (
        column for other in map(name, populations[1:])
        for column in (Header(other, f"p, {other}", "", 3), Header(f"{other} way", "↑↓"))
    )  # fmt: skip
    yield as_printed(evidence, PAPER, ReportTable(
        "table-4", "Differences in final surplus",
        pl.DataFrame(rows, infer_schema_length=None),
        (Header("variant", "Game"), POPULATION, *columns),
        "p of permutation tests, two-sided and not corrected; an arrow up where the population of "
        "the column has the larger share of the bound.", printed="Table 4",
    ))  # fmt: skip


def _arrow(gap: float | None) -> str | None:
    if gap is None:
        return None
    return "↑" if gap > 0 else "↓" if gap < 0 else "="


def proposals(evidence: Evidence, found: Games, moments: pl.DataFrame) -> Iterator[ReportTable]:
    """Table 5: gains and ratios of proposals by game, player and whether they were accepted.

    Args:
        evidence: says who stands in it.
        found: whose players these are.
        moments: one row a variant, player and ``outcome``, with means, ``gain_sd`` and so on.
    """
    players = shown(evidence, found.players)
    if not players:
        return
    kept = _in_order(moments, players, "player")
    games = {one.name: game(one.name) for one in found.variants}
    frame = kept.sort(*found.order("variant"), maintain_order=True).select(
        pl.col("variant").replace_strict(games), "player",
        pl.col("outcome").str.to_titlecase(),
        *(expression for key in ("gain", "ratio") for expression in (
            pl.col(key), pl.col(f"{key}_sd").alias(f"{key}{ERROR}"), pl.col(f"{key}_median"),
        )),
    )  # fmt: skip
    columns = (
        Header("variant", "Game"), Header("player", "Player"), Header("outcome", "Acceptance"),
        Header("gain", "Surplus, mean (s.d.)", "", 3),
        Header("ratio", "Ratio, mean (s.d.)", "", 3),
        Header("gain_median", "Surplus", "", 3, group="Median"),
        Header("ratio_median", "Ratio", "", 3, group="Median"),
    )  # fmt: skip
    yield as_printed(evidence, PAPER, ReportTable(
        "table-5", "Proposals", frame, columns,
        "Surplus is what a proposal would bring its proposer, in dollars; the ratio is of chips "
        "given to chips wanted.", printed="Table 5",
    ))  # fmt: skip


def survey(evidence: Evidence, answers: pl.DataFrame) -> ReportTable:
    """Table 1: a row a game, a column a scale.

    Args:
        evidence: may ask for the printed values.
        answers: one row a variant and ``measure``, with its ``mean`` and ``error``, in the order of
            variants; ``title`` is what the scale is called.
    """
    scales = dict(answers.select("measure", "title").iter_rows())
    rows: dict[str, dict[str, Any]] = {}
    for row in answers.iter_rows(named=True):
        own = rows.setdefault(row["variant"], {"variant": game(row["variant"])})
        own |= {row["measure"]: row["mean"], f"{row['measure']}{ERROR}": row["error"]}
    return as_printed(evidence, PAPER, ReportTable(
        "table-1", "Answers on scales", pl.DataFrame(list(rows.values()), infer_schema_length=None),
        (Header("variant", "Game variation"),
         *(Header(scale, called, "", 2) for scale, called in scales.items())),
        "Means, with standard errors in parentheses.", printed="Table 1",
    ))  # fmt: skip
