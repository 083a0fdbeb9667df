"""Regressions of a family's metrics, and how far they predict (Table 9)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.equilibrium.solvers.payoffs import Floats
from cheaptalk.papers.glee.families import METRICS, ROLES, FamilyMatches, families, people
from cheaptalk.papers.glee.paper_tables import prediction_table
from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Lacking
from cheaptalk.reports.recipes.tables import CLUSTERS, COUNT, ERROR, Header, ReportTable
from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.statistics import Regression, StatisticsError, prediction_baselines, regressions
from cheaptalk.statistics.design_matrix import level_texts, told_apart
from cheaptalk.statistics.regression import Errors
from cheaptalk.text import capital

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
    "independent, as the paper does; clustered ones (Student's t; CR1, or CR2 where fewer than 20 "
    "configurations have a level) allow for matches of one configuration to be alike."
)


class Fit(NamedTuple):
    """One regression with classical and with cluster-robust intervals."""

    classical: Regression
    clustered: Regression

    def tells(self, factor: str) -> bool:
        """Whether the matches determine an effect of a factor."""
        own = pl.col("factor") == factor
        return self.classical.frame.filter(own & ~pl.col("reference"))["estimate"].count() > 0

    def effects(self, factor: str) -> pl.DataFrame:
        """What each level of a factor adds to its reference, in points.

        Returns:
            ``level``, ``reference`` (whether it is one), ``p`` (clustered), and for each kind of
            interval the effect under its name, with the columns that tables know.
        """
        both = [one.frame.filter(factor=factor) for one in self]
        return both[1].select("level", "reference", "p").hstack(self._named(both, pl.col("n")))

    def sums(self, weights: Floats, counts: Sequence[int]) -> pl.DataFrame:
        """Weighted sums of coefficients in points, as :meth:`effects` has them.

        Args:
            weights: shape (sums, columns of the design).
            counts: matches behind each.
        """
        return self._named([fit.estimates(weights) for fit in self], pl.Series(counts))

    def _named(self, both: Sequence[pl.DataFrame], counts: pl.Expr | pl.Series) -> pl.DataFrame:
        """Estimates of both kinds in points, under the names that tables know."""
        parts = {"estimate": "", "low": LOW, "high": HIGH, "error": ERROR}
        return pl.concat(
            [
                found.select(
                    *((pl.col(name) * POINTS).alias(f"{kind}{end}") for name, end in parts.items()),
                    counts.alias(f"{kind}{COUNT}"),
                    pl.lit(fit.clusters, dtype=pl.Int64).alias(f"{kind}{CLUSTERS}"),
                )
                for kind, found, fit in zip(KINDS, both, self, strict=True)
            ],
            how="horizontal",
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
        told = self._told(lambda fit: fit.clustered.notes)
        return (*map(sentence, self.why), *told, *self.played.notes)

    @property
    def lacks(self) -> tuple[str, ...]:
        """Which regressions and effects are missing, and why."""
        confounded = self._told(lambda fit: map(told_apart, fit.clustered.design.confounded))
        return (*map(sentence, self.why), *confounded)

    def _told(self, notes: Callable[[Fit], Iterable[str]]) -> Iterator[str]:
        """Notes of regressions, each once, with the metrics that they are of."""
        said: dict[str, list[str]] = {}
        for name, one in self.found.items():
            for note in notes(one):
                said.setdefault(note, []).append(METRICS[name])
        for note, names in said.items():
            yield f"{capital(self.played.game)}, {' and '.join(names)}: {note}."

    def beside(self, factor: str, metrics: Mapping[str, str]) -> pl.DataFrame:
        """The effects of a factor on several metrics, a row a level.

        Args:
            metrics: which, and what their columns are called; clustered intervals stand under the
                name with ``clustered`` behind it.

        Returns:
            ``level``, ``reference`` (of the first metric), then the columns of each metric that
            was found; null where its matches cannot tell an effect from others.
        """
        whole = pl.DataFrame(schema={"level": pl.String, "reference": pl.Boolean})
        for metric, name in metrics.items():
            if metric in self.found:
                if not self.found[metric].tells(factor):
                    continue  # one level only where the metric has a value, or confounded
                effects = self.found[metric].effects(factor).drop("p")
                named = effects.rename({one: under(name, one) for one in effects.columns})
                whole = whole.join(named, on="level", how="full", coalesce=True, suffix=" new",
                                   maintain_order="right_left", validate="1:1")  # fmt: skip
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

    Effects that cannot be told from one another are null, and notes name them.

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
                            errors=ERRORS, cluster=CLUSTER, partial=True)  # fmt: skip
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
        wanted = (
            rows.group_by(columns, maintain_order=True).len().sort("len", *columns).row(-1)[:-1]
        )
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
    return _each(evidence.once(families), lambda one: (MARKET, *one.others, *PLAYERS))


def apart(evidence: Evidence) -> list[Fits]:
    """Every family on each of its parameters and both players."""
    return _each(evidence.once(families), lambda one: (*one.levels, *PLAYERS))


def paired(evidence: Evidence) -> list[Fits]:
    """Every family on its market, its other parameters and who met whom (GLEE footnote 20).

    Matches with people are left out, since these are no choice and met one model only.
    """
    humans = evidence.once(people)
    without = [one.without(humans) for one in evidence.once(families)]
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


SPLITS = "splits"
LEARNERS = {"linear": "Linear regression", "xgboost": "XGBoost", "catboost": "CatBoost"}


def predictions(evidence: Evidence) -> Iterator[ReportTable]:
    """How far predictions of matches that were held out miss, and whether boosted trees miss less.

    For each split a fifth of the matches is held out at random; each learner is fitted to the rest
    with its own default settings, on the market, all other parameters and both players, one column
    a level. The number is the root mean squared error on what was held out, in the metric's unit,
    its mean over the splits, and in brackets their standard deviation (GLEE, appendix F.3).
    """
    rows, notes = [], []
    found = evidence.once(families)
    told = evidence.options.get(SPLITS)
    if told is None:
        raise Lacking("boosted trees take minutes and are fitted when asked for: --set splits=100")
    if not told.isdecimal() or int(told) < 1:
        raise CheaptalkError(f"splits is a whole number from 1, not {told}")
    splits = int(told)
    for played in found:
        for metric in METRICS:
            try:
                rows.append(_misses(played, metric, range(evidence.seed, evidence.seed + splits)))
            except StatisticsError as error:
                notes.append(f"{capital(played.game)}, {METRICS[metric]}: {error}.")
    if not rows:
        raise Lacking(" ".join(notes))
    frame = pl.DataFrame(rows, infer_schema_length=None)
    over = f"Over {counted(splits, 'random split')}"
    yield ReportTable(
        "predictions", "Root mean squared error out of sample", frame,
        (Header("family", "Family"), Header("metric", "Metric"),
         *(Header(key, title, "RMSE", 3) for key, title in LEARNERS.items())),
        f"{over}; in brackets the standard deviation over them.", tuple(notes),
    )  # fmt: skip
    said = f"{over}; behind ± stands the standard deviation over them."
    yield prediction_table(evidence, frame, LEARNERS, said)


def _misses(played: FamilyMatches, metric: str, seeds: range) -> dict[str, Any]:
    """How far each learner misses one metric.

    Raises:
        Lacking: a learner is not installed.
        StatisticsError: the metric does not vary, or matches are too few.
    """
    factors = [MARKET] * bool(played.market) + [*played.others, *PLAYERS]
    frame = played.frame
    if played.market:
        frame = frame.with_columns(level_texts(frame, played.market).alias(MARKET))
    try:
        found = prediction_baselines(
            frame, metric, factors, learners=list(LEARNERS), seeds=list(seeds)
        )
    except StatisticsError:
        raise
    except CheaptalkError as error:
        raise Lacking(str(error)) from None
    row: dict[str, Any] = {"family": capital(played.game), "metric": capital(METRICS[metric])}
    for one in found.frame.filter(metric="rmse").iter_rows(named=True):
        key = one["learner"]
        row |= {key: one["mean"], f"{key}{ERROR}": one["spread"], f"{key}{COUNT}": one["splits"]}
    return row
