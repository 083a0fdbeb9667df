"""What the market does to efficiency and fairness: Table 2."""

from collections.abc import Iterator
from itertools import product

import polars as pl

from cheaptalk.reports.figures import Panel
from cheaptalk.reports.pages import capital
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.glee.drawing import Series, dots
from cheaptalk.reports.recipes.glee.families import METRICS
from cheaptalk.reports.recipes.glee.fits import (
    MARKET,
    METHODS,
    Fits,
    additive,
    columns,
    left_out,
    sentence,
)
from cheaptalk.reports.recipes.parts import Charts, Column, Lacking, Part, Table
from cheaptalk.statistics.designs import level_texts

SHOWN = ("efficiency", "fairness")


def market_effects(evidence: Evidence) -> Iterator[Table | Charts]:
    """What information, words and horizon do to efficiency and fairness, all else equal.

    In each family complete information (CI), messages (MA, or MT for what is sent) and the
    horizon (T, or MY for myopic buyers) are joined into one factor, the market, so that its levels
    hold all their interactions. An ordinary least squares regression has it beside all other
    parameters and both players, each as a factor (GLEE, section 3 and appendix F.1):

        metric = constant + market + other parameters + Alice's player + Bob's player + error.

    What stands in the table is how much a market adds to the metric over the reference market,
    which has 0 by definition.
    """
    made = evidence.once(additive)
    found = [one for one in made if not _beside(one).is_empty()]
    if not found:
        raise Lacking(
            "no family was played under two markets; vary complete_information, messages, signal, "
            "myopic or horizon"
        )
    lost = tuple(sentence(why) for one in made if one not in found for why in one.why)
    tables = [_table(one, tuple(dict.fromkeys((*left_out(made), *lost)))) for one in found]
    panels = [_panel(one, table) for one, table in zip(found, tables, strict=True)]
    caption = "Dots are effects over the reference market, whiskers clustered intervals."
    yield Charts("market-effects", "Effect of the market", panels, caption)
    yield from tables


def _table(one: Fits, others: tuple[str, ...]) -> Table:
    played = one.played
    frame = _effects(one)
    terms = [term for term in played.family.terms if term.name in played.market]
    about = "; ".join(f"{term.name}: {term.title}" for term in terms)
    reference = frame.filter("reference")["market"].item()
    return Table(
        f"market-{played.game}",
        f"{capital(played.game)}: effect of the market",
        frame.drop("reference"),
        (Column("market", "Market", about=f"{about}. The reference is {reference}."),
         *columns({name: METRICS[name] for name in SHOWN}, frame)),
        METHODS,
        (*_unplayed(one), *one.notes, *others),
        leads=lambda row: played.lead(*(pl.col(name) == row[name] for name in played.market)),
    )  # fmt: skip


def _beside(one: Fits) -> pl.DataFrame:
    """The effects of markets by level; no rows where there is one market."""
    return one.beside(MARKET, {name: name for name in SHOWN})


def _effects(one: Fits) -> pl.DataFrame:
    """Markets with their levels and effects, the most efficient on top."""
    market = one.played.market
    texts = one.played.frame.select(market).unique()
    texts = texts.with_columns(level_texts(texts, market).alias("level")).select(
        pl.concat_str([pl.concat_str(pl.lit(f"{name} "), pl.col(name)) for name in market],
                      separator=", ").alias("market"),
        pl.col(market).cast(pl.String), "level",
    )  # fmt: skip
    effects = _beside(one)
    first = next(name for name in SHOWN if name in effects.columns)
    both = texts.join(effects, on="level").drop("level")
    return both.sort(first, "market", descending=[True, False])


def _unplayed(one: Fits) -> list[str]:
    """The markets that the study could have had and has not."""
    market = list(one.played.market)
    met = set(one.played.frame.select(pl.col(market).cast(pl.String)).unique().iter_rows())
    missing = [each for each in product(*map(one.played.levels.__getitem__, market))
               if each not in met]  # fmt: skip
    told = "; ".join(", ".join(map("=".join, zip(market, one_, strict=True))) for one_ in missing)
    return [f"Never played: {told}."] if missing else []


def _panel(one: Fits, table: Table) -> Panel:
    named = pl.concat_str(one.played.market, separator=", ").alias("name")
    shown = [Series(capital(METRICS[name]), f"{name} clustered") for name in SHOWN
             if name in table.frame.columns]  # fmt: skip
    leads = [table.leads(row) for row in table.rows]
    axis = ", ".join(one.played.market)
    frame = table.frame.with_columns(named)
    return dots(capital(one.played.game), frame, "name", shown, axis=axis, leads=leads)


MARKET_EFFECTS = Part("Effect of the market", "Table 2", market_effects)
