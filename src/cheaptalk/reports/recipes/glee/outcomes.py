"""What came of the games: the four metrics of each family, by who met whom."""

from collections.abc import Iterator, Mapping

import polars as pl

from cheaptalk.reports.pages import capital
from cheaptalk.reports.recipes.cells import means
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.glee.families import METRICS, ROLES
from cheaptalk.reports.recipes.glee.laying import Played, families
from cheaptalk.reports.recipes.glee.people import kinds
from cheaptalk.reports.recipes.glee.weights import INTERVALS, bounds_of
from cheaptalk.reports.recipes.parts import Column, Lacking, Lead, Part, Table
from cheaptalk.rules import Result, game_box
from cheaptalk.statistics import STRATA

EVERYBODY = "everybody"


def outcomes(evidence: Evidence) -> Iterator[Table]:
    """The means of all metrics, over all matches and by what kinds of players met.

    Efficiency, fairness and both gains are those of section 2 of the paper: shares of the money in
    bargaining, multiples of M in negotiation, shares of rounds and prices a round in persuasion.
    Persuasion without a good product has no efficiency, without a bad one no fairness.
    """
    labels = evidence.once(kinds)
    frame = pl.concat([_means(one, labels) for one in families(evidence)])
    yield Table(
        "outcomes", "Metrics by family", frame,
        (Column("family", "Family"),
         *(Column(role, f"{title} is") for role, title in ROLES.items()),
         *(Column(key, capital(title), "", 3) for key, title in METRICS.items())),
        INTERVALS,
        leads=lambda row: Lead(row["family"].lower(), {"status": "finished"}),
    )  # fmt: skip


def _means(played: Played, labels: Mapping[str, str]) -> pl.DataFrame:
    """The means of a family's metrics: over all matches, then by kinds of players."""
    frame = played.frame.with_columns(
        pl.lit(capital(played.game)).alias("family"),
        *(pl.col(f"player.{role}").replace_strict(labels).alias(role) for role in ROLES),
    ).sort(*ROLES)
    by = ["family", *ROLES]
    whole = frame.with_columns(pl.lit(EVERYBODY).alias(role) for role in ROLES)
    parts = [whole] if frame.select(*ROLES).n_unique() == 1 else [whole, frame]
    bounds = bounds_of(played.game)
    return pl.concat(means(one, list(METRICS), by, bounds=bounds, strata=STRATA) for one in parts)


def definitions(evidence: Evidence) -> Iterator[Table]:
    """Bob's gain in persuasion by the paper's definition and by that of its released code.

    By the paper Bob gets v - 1 prices for every good product that he buys, and loses 1 for every
    bad one. The released code charges him for every bad one that he refuses instead, and nothing
    for those that he buys (our documentation lists where paper and code differ). Means are over
    rounds, in prices. All other tables have the paper's, or with ``--as-published`` the code's.
    """
    made = [one.frame for one in families(evidence) if one.game == "persuasion"]
    if not made:
        raise Lacking("no match of persuasion has finished; run the preset glee")
    labels = evidence.once(kinds)
    both = _both(evidence, made[0]).with_columns(
        pl.col(f"player.{role}").replace_strict(labels).alias(role) for role in ROLES
    )
    found = means(both.sort(*ROLES), ["paper", "code", "difference"], [*ROLES], strata=STRATA)
    yield Table(
        "bob-gain", "Bob's gain in persuasion, by both definitions", found,
        (*(Column(role, f"{title} is") for role, title in ROLES.items()),
         Column("paper", "By the paper", "prices a round", 3),
         Column("code", "By the released code", "prices a round", 3),
         Column("difference", "Code less paper", "prices a round", 3)),
        INTERVALS,
        leads=lambda _: Lead("persuasion", {"status": "finished"}),
    )  # fmt: skip


def _both(evidence: Evidence, frame: pl.DataFrame) -> pl.DataFrame:
    """Matches of persuasion with Bob's gain by ``paper`` and ``code``, and their difference."""
    other = game_box("persuasion").measures["bob_gain"].variant(not evidence.as_published)
    ids, values = [], []
    for record in evidence.store.records(evidence.study, games=["persuasion"]):
        if record.outcome is not None:
            outcome = record.rules.outcome_type.model_validate(record.outcome)
            ids.append(record.id)
            values.append(other(Result(record.rules, None, outcome)))
    mine, theirs = ("code", "paper") if evidence.as_published else ("paper", "code")
    computed = pl.DataFrame({"match": ids, theirs: values}, schema_overrides={theirs: pl.Float64})
    known = frame.rename({"bob_gain": mine})
    return known.join(computed, on="match", maintain_order="left").with_columns(
        difference=pl.col("code") - pl.col("paper")
    )


OUTCOMES = Part("What came of the games", "section 2", outcomes)
DEFINITIONS = Part("Bob's gain in persuasion", "section 2.3", definitions)
