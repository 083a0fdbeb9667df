"""Regressions of a family's metrics, and prediction errors (Table 9)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.equilibrium.solvers.payoffs import Floats
from cheaptalk.papers.glee.families import METRICS, ROLES, FamilyMatches, families, people, table
from cheaptalk.papers.glee.paper_tables import prediction_table
from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import NoData
from cheaptalk.reports.recipes.tables import CLUSTERS, COUNT, ERROR, Header, ReportTable
from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.statistics import Regression, StatisticsError, prediction_baselines, regressions
from cheaptalk.statistics.design_matrix import confounding_note, level_texts
from cheaptalk.statistics.regression import Errors
from cheaptalk.text import capital

MARKET, PAIR = "market", "pair"
"""Factors with several columns: the market's parameters, and both players."""
SAME = "same player"
"""The column for matches between copies of a player."""
PLAYERS = tuple(ROLES.values())
POINTS = 100.0
"""Points per unit of a metric, as in the paper."""
CLUSTER = ("configuration",)
KINDS = ("classical", "clustered")
ERRORS: tuple[Errors, ...] = ("classical", "cluster")


class Fit(NamedTuple):
    """A regression with classical and with cluster-robust intervals."""

    classical: Regression
    clustered: Regression

    def tells(self, factor: str) -> bool:
        """Return whether the matches identify at least one effect of a factor."""
        of_factor = pl.col("factor") == factor
        return self.classical.frame.filter(of_factor & ~pl.col("reference"))["estimate"].count() > 0

    def effects(self, factor: str) -> pl.DataFrame:
        """Return the effects of a factor's levels relative to the reference, in points.

        Columns: ``level``, ``reference`` (whether the level is the reference), ``p`` (clustered),
        and the effect as ``classical`` and ``clustered``, with interval, error and counts.
        """
        both = [fit.frame.filter(factor=factor) for fit in self]
        effects = both[1].select("level", "reference", "p").hstack(self._named(both, pl.col("n")))
        clusters = [f"{kind}{CLUSTERS}" for kind in KINDS]  # references have no intervals
        return effects.with_columns(
            pl.when(~pl.col("reference")).then(name).alias(name) for name in clusters
        )

    def sums(self, weights: Floats, counts: Sequence[int]) -> pl.DataFrame:
        """Return sums of coefficients, in points; ``weights`` has the shape (sums, columns)."""
        return self._named([fit.estimates(weights) for fit in self], pl.Series(counts))

    def _named(self, both: Sequence[pl.DataFrame], counts: pl.Expr | pl.Series) -> pl.DataFrame:
        parts = {"estimate": "", "low": LOW, "high": HIGH, "error": ERROR}
        frames = [
            estimates.select(
                *((pl.col(name) * POINTS).alias(f"{kind}{end}") for name, end in parts.items()),
                counts.alias(f"{kind}{COUNT}"),
                pl.lit(fit.clusters, dtype=pl.Int64).alias(f"{kind}{CLUSTERS}"),
            )
            for kind, estimates, fit in zip(KINDS, both, self, strict=True)
        ]
        return pl.concat(frames, how="horizontal")


@dataclass(frozen=True, eq=False)
class Fits:
    """The identified regressions of a family's metrics, and the reasons for missing metrics."""

    played: FamilyMatches
    found: Mapping[str, Fit]
    why: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on all regressions of the family."""
        notes = self._distinct(lambda fit: fit.clustered.notes)
        return (*map(sentence, self.why), *notes, *self.played.notes)

    @property
    def lacks(self) -> tuple[str, ...]:
        """Reasons for missing regressions and effects."""
        notes = self._distinct(lambda fit: map(confounding_note, fit.clustered.design.confounded))
        return (*map(sentence, self.why), *notes)

    def _distinct(self, notes: Callable[[Fit], Iterable[str]]) -> Iterator[str]:
        metrics: dict[str, list[str]] = {}
        for name, fit in self.found.items():
            for note in notes(fit):
                metrics.setdefault(note, []).append(METRICS[name])
        for note, names in metrics.items():
            yield f"{capital(self.played.game)}, {' and '.join(names)}: {note}."

    def beside(self, factor: str, metrics: Mapping[str, str]) -> pl.DataFrame:
        """Return the effects of a factor on several metrics, one row per level; null if unknown.

        ``metrics`` maps metrics to names of columns; see :func:`under`.
        """
        joined = pl.DataFrame(schema={"level": pl.String, "reference": pl.Boolean})
        for metric, name in metrics.items():
            if metric in self.found and self.found[metric].tells(factor):
                effects = self.found[metric].effects(factor).drop("p")
                named = effects.rename({key: under(name, key) for key in effects.columns})
                joined = joined.join(
                    named,
                    on="level",
                    how="full",
                    coalesce=True,
                    suffix=" new",
                    maintain_order="right_left",
                    validate="1:1",
                )
                reference = pl.coalesce("reference", "reference new").alias("reference")
                joined = joined.with_columns(reference).drop("reference new")
        return joined


def under(name: str, column: str) -> str:
    """Return the column of a metric's effect, such as "gain clustered.n" for "clustered.n"."""
    kind, point, part = column.partition(".")
    if kind not in KINDS:
        return column
    return (name if kind == KINDS[0] else f"{name} {kind}") + point + part


def columns(names: Mapping[str, str], frame: pl.DataFrame) -> tuple[Header, ...]:
    """Return the headers of the columns with effects, using the metrics' titles in ``names``."""
    return tuple(
        Header(under(name, kind), f"{capital(title)}, {kind}", "points", 1)
        for name, title in names.items()
        if name in frame.columns
        for kind in KINDS
    )


def fits(played: FamilyMatches, factors: Sequence[str]) -> Fits:
    """Regress all metrics of a family on factors, except factors with only one level.

    Factors are names of terms or roles, :data:`MARKET` or :data:`PAIR`. Confounded effects are
    null, with notes. Raises NoData if the matches cannot identify the effects on any metric.
    """
    try:
        return Fits(played, _fitted(played, list(METRICS), factors), ())
    except NoData:
        fitted: dict[str, Fit] = {}
        problems: list[str] = []
    for outcome in METRICS:
        try:
            fitted |= _fitted(played, [outcome], factors)
        except NoData as error:
            problems.append(str(error))
    if not fitted:
        raise NoData("; ".join(dict.fromkeys(problems)))
    return Fits(played, fitted, tuple(dict.fromkeys(problems)))


def _fitted(
    played: FamilyMatches, outcomes: Sequence[str], factors: Sequence[str]
) -> dict[str, Fit]:
    """Regress metrics; raise NoData if the matches cannot identify effects."""
    frame = played.frame.filter(~pl.all_horizontal(pl.col(outcomes).is_null()))
    joined = {MARKET: played.market, PAIR: PLAYERS}
    columns_by_factor = {name: joined.get(name, (name,)) for name in factors}
    used = {
        name: columns
        for name, columns in columns_by_factor.items()
        if columns and frame.select(columns).n_unique() > 1
    }
    width = 1 + sum(frame.select(columns).n_unique() - 1 for columns in used.values())
    for outcome in outcomes:
        observed = frame.height - frame[outcome].null_count()
        if not observed:
            raise NoData(f"no match of {played.game} has a value of {outcome}")
        if observed <= width:
            few = f"{counted(observed, 'match')} cannot identify {counted(width, 'effect')}"
            raise NoData(f"{played.game}: {few}; play more")
    reference = {
        name: _present(frame, columns, played.references) for name, columns in used.items()
    }
    try:
        results = regressions(
            frame,
            outcomes,
            list(used),
            reference=reference,
            composites=used,
            errors=ERRORS,
            cluster=CLUSTER,
            partial=True,
        )
    except StatisticsError as error:
        raise NoData(f"{played.game}: {error}") from None
    return {outcome: Fit(*(results[outcome, kind] for kind in ERRORS)) for outcome in outcomes}


def _present(
    frame: pl.DataFrame, columns: Sequence[str], references: Mapping[str, str]
) -> tuple[str, ...] | str:
    """The reference levels or, if no match has all of them, the most frequent levels."""
    reference = tuple(references[column] for column in columns)
    rows = frame.select(pl.col(columns).cast(pl.String))
    if reference not in set(rows.unique().iter_rows()):
        counts = rows.group_by(columns, maintain_order=True).len()
        reference = counts.sort("len", *columns).row(-1)[:-1]
    return reference if len(columns) > 1 else reference[0]


def sentence(text: str) -> str:
    """Return a text with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def left_out(all_fits: Sequence[Fits]) -> tuple[str, ...]:
    """Return the reasons why families have no regression."""
    return tuple(sentence(reason) for fit in all_fits if not fit.found for reason in fit.why)


def additive(evidence: Evidence) -> list[Fits]:
    """Fit a regression per family on market, parameters and both players (GLEE appendix F.1)."""
    return _each(evidence.once(families), lambda family: (MARKET, *family.others, *PLAYERS))


def apart(evidence: Evidence) -> list[Fits]:
    """Fit a regression per family, on its parameters and both players."""
    return _each(evidence.once(families), lambda family: (*family.levels, *PLAYERS))


def paired(evidence: Evidence) -> list[Fits]:
    """Fit a regression per family on market, other parameters and the pair (GLEE footnote 20).

    Matches with people are excluded, because people cannot be chosen and met only one model.
    """
    humans = evidence.once(people)
    without = [family.without(humans) for family in evidence.once(families)]
    usable = [family for family in without if family is not None]
    if not usable:
        raise NoData("every match has a person; play matches between models or strategies")
    return _each(usable, lambda family: (MARKET, *family.others, PAIR))


def _each(
    played: Sequence[FamilyMatches], factors: Callable[[FamilyMatches], Sequence[str]]
) -> list[Fits]:
    """The regressions of every family; raise NoData if no family has a regression."""
    results = []
    for family in played:
        try:
            results.append(fits(family, factors(family)))
        except NoData as error:
            results.append(Fits(family, {}, (str(error),)))
    if not any(result.found for result in results):
        raise NoData("; ".join(reason for result in results for reason in result.why))
    return results


SPLITS = "splits"
LEARNERS = {"linear": "Linear regression", "xgboost": "XGBoost", "catboost": "CatBoost"}


def predictions(evidence: Evidence) -> Iterator[ReportTable]:
    """Report out-of-sample prediction errors of linear regression and boosted trees.

    For each split, each learner is fitted with default settings to four fifths of the matches, on
    the market, all other parameters and both players, with one column per level. The table shows
    the root mean squared error on the held-out matches, in the metric's unit: the mean over splits,
    with the standard deviation in parentheses (GLEE, appendix F.3).
    """
    rows, notes = [], []
    played_families = evidence.once(families)
    option = evidence.options.get(SPLITS)
    if option is None:
        raise NoData(
            "boosted trees take minutes; enable them with the recipe option splits=100 "
            "(--recipe-option in commands)"
        )
    if not option.isdecimal() or int(option) < 1:
        raise CheaptalkError(f"option {SPLITS}: expected an integer >= 1, not {option}")
    splits = int(option)
    for played in played_families:
        for metric in METRICS:
            try:
                rows.append(_misses(played, metric, range(evidence.seed, evidence.seed + splits)))
            except StatisticsError as error:
                notes.append(f"{capital(played.game)}, {METRICS[metric]}: {error}.")
    if not rows:
        raise NoData(" ".join(notes))
    frame = pl.DataFrame(rows, infer_schema_length=None)
    facts = {"over": f"Over {counted(splits, 'random split')}"}
    learners = {"learners": LEARNERS}
    yield table(evidence, "predictions", frame, columns=learners, facts=facts, notes=notes)
    yield prediction_table(evidence, frame, LEARNERS, facts)


def _misses(played: FamilyMatches, metric: str, seeds: range) -> dict[str, Any]:
    """Each learner's prediction error; raise NoData if a learner is not installed."""
    factors = [MARKET] * bool(played.market) + [*played.others, *PLAYERS]
    frame = played.frame
    if played.market:
        frame = frame.with_columns(level_texts(frame, played.market).alias(MARKET))
    try:
        learners = list(LEARNERS)
        baselines = prediction_baselines(frame, metric, factors, learners=learners, seeds=seeds)
    except StatisticsError:
        raise
    except CheaptalkError as error:
        raise NoData(str(error)) from None
    row: dict[str, Any] = {"family": capital(played.game), "metric": capital(METRICS[metric])}
    for fit in baselines.frame.filter(metric="rmse").iter_rows(named=True):
        key = fit["learner"]
        row |= {key: fit["mean"], f"{key}{ERROR}": fit["spread"], f"{key}{COUNT}": fit["splits"]}
    return row
