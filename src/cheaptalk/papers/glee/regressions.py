"""Regressions of a family's metrics, each with both kinds of intervals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from cheaptalk.equilibrium.solvers.payoffs import Floats
from cheaptalk.papers.glee.families import METRICS, ROLES, FamilyMatches, families, people
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import CLUSTERS, COUNT, ERROR, HIGH, LOW, Header, Lacking
from cheaptalk.rules import counted
from cheaptalk.statistics import Regression, StatisticsError, regressions
from cheaptalk.statistics.regression import Errors
from cheaptalk.text import capital, plain

MARKET, PAIR = "market", "pair"
"""Factors that are made of several columns: the market's parameters, and both players."""
SAME = "same player"
"""The column that tells matches of a player against itself."""
PLAYERS = tuple(ROLES.values())
POINTS = 100.0
"""The paper counts in hundredths of a metric; so do we."""
CLUSTER = ("configuration",)
KINDS = ("classical", "clustered")
ERRORS: tuple[Errors, ...] = ("classical", "cluster")
METHODS = (
    "A point is 0.01 of the metric. Intervals cover 95 %: classical ones take matches as "
    "independent, as the paper does; clustered ones (CR1, Student's t) allow for matches of one "
    "configuration to be alike."
)


class Fit(NamedTuple):
    """One regression with classical and with cluster-robust intervals."""

    classical: Regression
    clustered: Regression

    def effects(self, factor: str) -> pl.DataFrame:
        """What each level of a factor adds to its reference, in points.

        Returns:
            ``level``, ``reference`` (whether it is one), ``p`` (clustered), and for each kind of
            interval the effect under its name, with the columns that tables know.
        """
        both = [one.frame.filter(factor=factor) for one in self]
        return pl.concat(
            [
                both[1].select("level", "reference", "p"),
                *(_named(kind, one, pl.col("n"), fit.clusters)
                  for kind, one, fit in zip(KINDS, both, self, strict=True)),
            ],
            how="horizontal",
        )  # fmt: skip

    def sums(self, weights: Floats, counts: Sequence[int]) -> pl.DataFrame:
        """Weighted sums of coefficients in points, as :meth:`effects` has them.

        Args:
            weights: shape (sums, columns of the design).
            counts: matches behind each.
        """
        return pl.concat(
            [
                _named(kind, fit.estimates(weights), pl.Series(counts), fit.clusters)
                for kind, fit in zip(KINDS, self, strict=True)
            ],
            how="horizontal",
        )


def _named(
    kind: str, found: pl.DataFrame, counts: pl.Expr | pl.Series, clusters: int | None
) -> pl.DataFrame:
    parts = {"estimate": "", "low": LOW, "high": HIGH, "error": ERROR}
    return found.select(
        *((pl.col(name) * POINTS).alias(f"{kind}{end}") for name, end in parts.items()),
        counts.alias(f"{kind}{COUNT}"),
        pl.lit(clusters, dtype=pl.Int64).alias(f"{kind}{CLUSTERS}"),
    )


@dataclass(frozen=True, eq=False)
class Fits:
    """The regressions of a family's metrics on the same factors.

    Attributes:
        played: the family.
        found: by metric; those are left out that its matches do not determine.
        why: what is wrong with these.
    """

    played: FamilyMatches
    found: Mapping[str, Fit]
    why: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What readers of any number of them must know."""
        said: dict[str, list[str]] = {}
        for name, one in self.found.items():
            for note in one.clustered.notes:
                said.setdefault(note, []).append(METRICS[name])
        game = capital(self.played.game)
        told = [f"{game}, {' and '.join(names)}: {note}." for note, names in said.items()]
        strange = ", ".join(map(plain, self.played.uncontrolled))
        varied = [f"{game}: {strange} varied and is not controlled for."] if strange else []
        return (*map(sentence, self.why), *told, *varied)

    def beside(self, factor: str, metrics: Mapping[str, str]) -> pl.DataFrame:
        """The effects of a factor on several metrics, a row a level.

        Args:
            metrics: which, and what their columns are called; clustered intervals stand under the
                name with ``clustered`` behind it.

        Returns:
            ``level``, ``reference`` (of the first metric), then the columns of each metric that
            was found.
        """
        whole = pl.DataFrame(schema={"level": pl.String, "reference": pl.Boolean})
        for metric, name in metrics.items():
            if metric in self.found:
                effects = self.found[metric].effects(factor).drop("p")
                if effects.is_empty():
                    continue  # one level only where the metric has a value
                named = effects.rename({one: under(name, one) for one in effects.columns})
                whole = whole.join(named, on="level", how="full", coalesce=True, suffix=" new",
                                   maintain_order="right_left")  # fmt: skip
                both = pl.coalesce("reference", "reference new").alias("reference")
                whole = whole.with_columns(both).drop("reference new")
        return whole


def under(name: str, column: str) -> str:
    """What a column of effects is called among those of several metrics.

    >>> under("gain", "classical.low"), under("gain", "clustered.n"), under("gain", "level")
    ('gain.low', 'gain clustered.n', 'level')
    """
    kind, point, part = column.partition(".")
    if kind not in KINDS:
        return column
    return (name if kind == KINDS[0] else f"{name} {kind}") + point + part


def columns(names: Mapping[str, str], frame: pl.DataFrame) -> tuple[Header, ...]:
    """The columns of effects, each with classical and with clustered intervals.

    Args:
        names: titles by the names that :meth:`Fits.beside` was told.
    """
    return tuple(
        Header(under(name, kind), f"{capital(title)}, {kind}", "points", 1)
        for name, title in names.items() if name in frame.columns for kind in KINDS
    )  # fmt: skip


def fits(played: FamilyMatches, factors: Sequence[str]) -> Fits:
    """Regress all metrics of a family on factors; those without two levels are left out.

    Args:
        factors: names of terms or roles, MARKET or PAIR.

    Raises:
        Lacking: there is no metric whose effects the matches tell apart.
    """
    try:
        return Fits(played, _fitted(played, list(METRICS), factors), ())
    except Lacking:
        found: dict[str, Fit] = {}
        why: list[str] = []
    for outcome in METRICS:
        try:
            found |= _fitted(played, [outcome], factors)
        except Lacking as error:
            why.append(str(error))
    if not found:
        raise Lacking("; ".join(dict.fromkeys(why)))
    return Fits(played, found, tuple(dict.fromkeys(why)))


def _fitted(
    played: FamilyMatches, outcomes: Sequence[str], factors: Sequence[str]
) -> dict[str, Fit]:
    """The regressions of some metrics, all over the matches that have any of them.

    Raises:
        Lacking: one has no value, or the matches cannot tell its effects apart.
    """
    frame = played.frame.filter(~pl.all_horizontal(pl.col(outcomes).is_null()))
    joined = {MARKET: played.market, PAIR: PLAYERS}
    made = {name: joined.get(name, (name,)) for name in factors}
    used = {name: of for name, of in made.items() if of and frame.select(of).n_unique() > 1}
    width = 1 + sum(frame.select(of).n_unique() - 1 for of in used.values())
    for outcome in outcomes:
        known = frame.height - frame[outcome].null_count()
        if not known:
            raise Lacking(f"no match of {played.game} has a value of {outcome}")
        if known <= width:
            few = f"{counted(known, 'match')} cannot tell {counted(width, 'effect')} apart"
            raise Lacking(f"{played.game}: {few}; play more")
    reference = {name: _present(frame, of, played.references) for name, of in used.items()}
    try:
        found = regressions(frame, outcomes, list(used), reference=reference, composites=used,
                            errors=ERRORS, cluster=CLUSTER)  # fmt: skip
    except StatisticsError as error:
        raise Lacking(f"{played.game}: {error}") from None
    return {outcome: Fit(*(found[outcome, kind] for kind in ERRORS)) for outcome in outcomes}


def _present(
    frame: pl.DataFrame, columns: Sequence[str], references: Mapping[str, str]
) -> tuple[str, ...] | str:
    """The reference levels if they occur together, else what occurs most often."""
    wanted = tuple(references[column] for column in columns)
    rows = frame.select(pl.col(columns).cast(pl.String))
    if wanted not in set(rows.unique().iter_rows()):
        wanted = rows.group_by(columns).len().sort("len", *columns).row(-1)[:-1]
    return wanted if len(columns) > 1 else wanted[0]


def sentence(text: str) -> str:
    """A text that begins small and ends open, as a sentence.

    >>> sentence("bargaining: δ_A varies")
    'Bargaining: δ_A varies.'
    """
    return f"{text[:1].upper()}{text[1:]}."


def left_out(made: Sequence[Fits]) -> tuple[str, ...]:
    """Why families are missing of which no regression can be made."""
    return tuple(sentence(why) for one in made if not one.found for why in one.why)


def additive(evidence: Evidence) -> list[Fits]:
    """Every family on its market, its other parameters and both players (GLEE appendix F.1)."""
    return _each(families(evidence), lambda one: (MARKET, *one.others, *PLAYERS))


def apart(evidence: Evidence) -> list[Fits]:
    """Every family on each of its parameters and both players."""
    return _each(families(evidence), lambda one: (*one.levels, *PLAYERS))


def paired(evidence: Evidence) -> list[Fits]:
    """Every family on its market, its other parameters and who met whom (GLEE footnote 20).

    Matches with people are left out, since these are no choice and met one model only.
    """
    humans = evidence.once(people)
    without = [one.without(humans) for one in families(evidence)]
    kept = [one for one in without if one is not None]
    if not kept:
        raise Lacking("people sat in every match; let models or strategies play each other")
    return _each(kept, lambda one: (MARKET, *one.others, PAIR))


def _each(
    made: Sequence[FamilyMatches], factors: Callable[[FamilyMatches], Sequence[str]]
) -> list[Fits]:
    """The regressions of every family; of one that none can be made of, why.

    Raises:
        Lacking: none can be made of any.
    """
    found = []
    for one in made:
        try:
            found.append(fits(one, factors(one)))
        except Lacking as error:
            found.append(Fits(one, {}, (str(error),)))
    if not any(one.found for one in found):
        raise Lacking("; ".join(why for one in found for why in one.why))
    return found
