"""Two studies side by side: what changed, on the same deals where both played them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import polars as pl
from scipy.special import stdtr, stdtrit

from cheaptalk.frames.reader import places_in
from cheaptalk.records import Store, line_up
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.charts.kinds import dots
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.findings import Findings, findings
from cheaptalk.reports.recipes.means import with_holm
from cheaptalk.reports.recipes.parts import Answer, Charts, Lacking, Recipe, RecipePart
from cheaptalk.reports.recipes.study_overview import PLAYED
from cheaptalk.reports.recipes.tables import Estimate, Header, ReportTable
from cheaptalk.reports.study.roles import by_player
from cheaptalk.reports.study.scores import GameScores
from cheaptalk.rules import CheaptalkError, counted, game_title, suggest
from cheaptalk.statistics import STRATA, mean_intervals
from cheaptalk.statistics.intervals import without_rounding
from cheaptalk.studies.lookup import Named, Place, name_of, reads_study
from cheaptalk.text import capital, fixed, plain

LEVEL = 0.95
WHO = "who"
CELL = (WHO, "configuration", "pairing")
"""Matches that are alike but for their deals and chance."""
PAIR = (*CELL, "deal", "repeat")
"""What pairs a match of one study with a match of the other."""


class Difference(NamedTuple):
    """How much more a player got in the second study; see :func:`comparison`.

    Attributes:
        before, after: means over the matches that are compared.
        difference: after less before, with its standard error and degrees of freedom. There is no
            error, interval or p where it never varied: how much it may is not known then.
        n: pairs of matches, or of configurations and pairings where there are none.
        clusters: the deals it rests on, of each configuration; those of the study that has fewer.
    """

    before: float
    after: float
    difference: float
    error: float | None
    freedom: float
    n: int
    clusters: int

    @property
    def p(self) -> float | None:
        """Of no difference, two-sided; None where no error can be told."""
        if not self.error:
            return None
        return float(2 * stdtr(self.freedom, -abs(self.difference) / self.error))

    @property
    def limits(self) -> tuple[float, float] | tuple[None, None]:
        """The interval of the difference."""
        if not self.error:
            return None, None
        width = float(stdtrit(self.freedom, (1 + LEVEL) / 2)) * self.error
        return self.difference - width, self.difference + width


@reads_study
def compare(
    store: Store,
    study: str,
    other: Named,
    *,
    other_store: Place | None = None,
    renamed: Mapping[str, str] | None = None,
    as_published: bool = False,
) -> Findings:
    """How a study's numbers differ from another's; see :func:`comparison`.

    Args:
        store: where the studies are recorded.
        study: the first one's name.
        other: the second; differences are it less the first.
        other_store: where it is, if elsewhere.
        renamed: labels of the first study by those labels of the second that stand for them.
        as_published: compute measures as the published systems' code does.

    Raises:
        StoreError: there is no such study.
        CheaptalkError: a label in ``renamed`` is in neither study, a game is not installed, or a
            measure failed.
    """
    with Store.opened(other_store or store) as opened:
        second = Evidence(opened, name_of(other), as_published)
        for new, old in (renamed or {}).items():
            for label, evidence in ((new, second), (old, Evidence(store, study))):
                if label not in evidence.labels:
                    known = suggest(label, evidence.labels)
                    raise CheaptalkError(f"no player {known} in {evidence.study}")
        recipe = comparison(second, renamed, list(Evidence(store, study).places))
        recipe = replace(recipe, heading=f"“{second.study}” compared with “{study}”")
        return findings(store, study, recipe, as_published=as_published)


def comparison(
    other: Evidence, renamed: Mapping[str, str] | None = None, games: Sequence[str] = ()
) -> Recipe:
    """A recipe that compares the study it is made of with another one.

    Args:
        other: the study that is compared with it.
        renamed: labels of the first study by those labels of ``other`` that stand for them, such
            as a model by its next version.
        games: those of the first study; what only it holds is then named as missing.

    Raises:
        CheaptalkError: two labels of ``other`` stand for the same one, so that a match has no
            single counterpart.
    """
    for old, labels in _by_counterpart(renamed or {}).items():
        if len(labels) > 1:
            raise CheaptalkError(
                f"{' and '.join(labels)} cannot both stand for {old}: name one of them, and "
                "compare the other one separately"
            )
    parts = (
        RecipePart(game_title(game), "", partial(_changes, other, game, renamed or {}))
        for game in dict.fromkeys([*other.frames, *games])
    )
    about = f"The study “{other.study}” beside the one that this page describes."
    title = f"a comparison with {other.study}"
    return Recipe(
        "compare",
        title,
        about,
        (PLAYED, *parts),
        heading=f"{other.study} compared",
        players=tuple(other.labels),
    )


def _by_counterpart(renamed: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the new labels that stand for each old one."""
    return {
        old: sorted(new for new, counterpart in renamed.items() if counterpart == old)
        for old in renamed.values()
    }


def _changes(
    other: Evidence, game: str, renamed: Mapping[str, str], evidence: Evidence
) -> Iterator[Answer | ReportTable | Charts]:
    """Each player's scores in the other study less those in this one, with 95 % intervals.

    Only what both studies hold is compared: the same players in the same places of the same
    configurations. Where both drew their deals with the same seed, matches on the same deal are
    paired, and the difference is the mean over pairs, clustered by deal within configurations.
    Elsewhere each configuration and pairing that both have weighs alike, and the difference is the
    mean of the differences of their means, clustered by deal across pairings, with the degrees of
    freedom of Welch and Satterthwaite.

    A difference that is the same in all pairs, or between scores that never vary, has no interval
    and no p: how much it may vary is not known. Where there is one, p is two-sided, of no
    difference, from Student's t; the corrected one allows for all p of the table (Holm 1979).
    """
    for one in (evidence, other):
        if one.scored(game).is_empty():
            raise Lacking(f"no match of {plain(game)} in {one.study} has finished")
    replaced = {old: f"{old} of {other.study}" for old in renamed.values()}
    sides = [
        GameScores(game, _renamed(one.scored(game), names), one.places[game])
        for one, names in ((evidence, {}), (other, replaced | dict(renamed)))
    ]
    paired = _same_deals(evidence, other)
    frame = pl.DataFrame(
        [row for role in sides[0].roles for row in _rows(sides[0], sides[1], role, paired)],
        infer_schema_length=None,
    )
    if frame.is_empty():
        raise Lacking(
            "the studies have no configuration in common that the same players played; name those "
            "that stand for each other with --as NEW=OLD"
        )
    frame = with_holm(frame, "p.corrected")
    yield _changed(frame, evidence.study, other.study)
    yield _charts(game, frame, other)
    yield _table(game, frame, evidence, other, paired)


def _renamed(frame: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    """A frame with some players called otherwise, in their places and pairings."""
    if not names:
        return frame
    players = [f"player.{place}" for place in places_in(frame)]
    frame = frame.with_columns(pl.col(players).replace(dict(names)))
    lined = frame.select(players).unique()
    pairings = [line_up([one for one in row if one is not None]) for row in lined.iter_rows()]
    lined = lined.with_columns(pl.Series("pairing", pairings))
    return frame.drop("pairing").join(
        lined, on=players, nulls_equal=True, maintain_order="left", validate="m:1"
    )


def _same_deals(one: Evidence, other: Evidence) -> bool:
    """Whether deals of the same number are the same in both studies."""
    specs = [each.store.study(each.study, counted=False).spec for each in (one, other)]
    seeds = [None if spec.get("imported") else spec.get("seed", 0) for spec in specs]
    return seeds[0] is not None and seeds[0] == seeds[1]


def _rows(
    before: GameScores, after: GameScores, role: str, paired: bool
) -> Iterator[dict[str, object]]:
    """The rows of one role: players in the order of labels, then scores in the game's order."""
    if role not in after.roles:
        return
    scores = {
        score.key: score
        for score in before.scores
        if score.role in (None, role)
        and (not score.key.startswith("payoff.") or before.shared(role))
    }
    sides = [
        by_player(side.frame, role, side.roles[role]).rename({f"player.{role}": WHO})
        for side in (before, after)
    ]
    for who in sorted(set(sides[0][WHO]) & set(sides[1][WHO])):
        mine = [side.filter(pl.col(WHO) == who) for side in sides]
        for key, score in scores.items():
            found = difference(mine[0], mine[1], key, paired)
            if found is not None:
                low, high = found.limits
                yield {
                    WHO: who, "role": capital(role), "score": score.title, "unit": score.unit,
                    "before": found.before, "after": found.after, "difference": found.difference,
                    "difference.low": low, "difference.high": high, "difference.n": found.n,
                    "difference.clusters": found.clusters,
                    "gain": key == before.gain(role).key, "p": found.p,
                    "decimals": before.decimals.get(key, 2), "place": role,
                }  # fmt: skip


def _changed(frame: pl.DataFrame, before: str, after: str) -> Answer:
    """Whose gains changed, beyond doubt or by the same throughout, and how many other scores."""
    sure, alike = pl.col("p.corrected") < 1 - LEVEL, pl.col("p").is_null()
    changed = frame.filter(sure | (alike & (pl.col("difference") != 0)))
    since, tests = f"From “{before}” to “{after}”", frame["p"].drop_nulls().len()
    tested = counted(tests, "difference")
    if changed.is_empty() and not tests:
        return Answer(f"{since}, nothing changed at all.", "nothing changed")
    if changed.is_empty():
        nothing = "nothing can be told to have changed"
        return Answer(f"{since}, {nothing}, of {tested}.", nothing)
    said = [_moved(row) for row in changed.filter("gain").rows(named=True)]
    if not said:
        said = ["no gain can be told to have changed"]
    elif not changed.filter("gain", pl.col("difference") > 0).height:
        said.append("no gain can be told to have risen")
    if others := changed.filter(~pl.col("gain")).height:
        said.append(f"{counted(others, 'other score')} changed, too")
    rule = f" (95 % intervals; Holm's rule for {tested})" if tests else ""
    return Answer(f"{since}, {'; '.join(said)}{rule}.", f"{counted(len(changed), 'score')} changed")


def _moved(row: Mapping[str, Any]) -> str:
    """Whose score rose or fell, and by how much."""
    by, low, high = row["difference"], row["difference.low"], row["difference.high"]
    found = Estimate(by, low, high)
    if by < 0:
        found = Estimate(-by, high and -high, low and -low)
    way, places = "fell" if by < 0 else "rose", row["decimals"]
    size = f"{fixed(abs(by), places)}{found.within(places, '') or ' throughout'}"
    return f"the {row['score']} of {row[WHO]} as {row['role']} {way} by {size}"


def _table(
    game: str, frame: pl.DataFrame, evidence: Evidence, other: Evidence, paired: bool
) -> ReportTable:
    unit, how = (
        ("pairs", "Pairs of matches on the same deal.") if paired
        else ("cells", "Configurations and pairings that both have.")
    )  # fmt: skip
    columns = (
        Header(WHO, "Player"),
        Header("role", "Role"),
        Header("score", "Score"),
        Header("before", evidence.study, "mean", "decimals"),
        Header("after", other.study, "mean", "decimals"),
        Header("difference", "Difference", "95 % interval", "decimals"),
        Header("difference.n", "Compared", unit, 0, how),
        Header("p", "p", "two-sided", 3),
        Header("p.corrected", "p corrected", "Holm's rule", 3),
    )
    title = f"{game_title(game)}: {other.study} less {evidence.study}"
    return ReportTable(
        f"compare-{game}", title, frame, columns, leads=partial(_lead, game),
    )  # fmt: skip


def _charts(game: str, frame: pl.DataFrame, other: Evidence) -> Charts:
    """A panel a score, gains first: differences of all players with their intervals."""
    panels = []
    ordered = frame.sort("gain", descending=True, maintain_order=True)
    for (score,), part in ordered.group_by("score", maintain_order=True):
        rows = part.to_dicts()
        names = [f"{row[WHO]} as {row['role']}" for row in rows]
        said, leads = map(_hover_text, rows), [_lead(game, row) for row in rows]
        unit = ", ".join(filter(None, ("difference", rows[0]["unit"])))
        panel = dots(str(score), unit, names, rows, "difference", [*said], leads)
        panels.append(panel)
    caption = f"To the right of the line {other.study} is higher. Whiskers are 95 % intervals."
    return Charts(f"compare-{game}-figures", "Differences", panels, caption)


def _lead(game: str, row: Mapping[str, Any]) -> Lead:
    return Lead(game, {f"player.{row['place']}": row[WHO], "status": "finished"})


def _hover_text(row: Mapping[str, Any]) -> str:
    """A difference as it is told where it stands."""
    places, low, high = row["decimals"], row["difference.low"], row["difference.high"]
    within = "" if low is None else f", {fixed(low, places)} to {fixed(high, places)}"
    behind = counted(row["difference.n"], "comparison")
    return f"{fixed(row['difference'], places)}{within}, {behind}"


def difference(
    before: pl.DataFrame, after: pl.DataFrame, key: str, paired: bool
) -> Difference | None:
    """How a player's score differs; None where nothing can be compared."""
    left, right = (one.drop_nulls(key) for one in (before, after))
    if paired:
        both = left.join(right.select(*PAIR, key), on=PAIR, suffix=".after", validate="1:1")
        if not both.is_empty():
            return _of_pairs(both, key)
    met = left.select(CELL).unique().join(right.select(CELL).unique(), on=CELL, validate="1:1")
    if met.is_empty():
        return None
    return _of_cells(
        left.join(met, on=CELL, validate="m:1"), right.join(met, on=CELL, validate="m:1"), key
    )


def _of_pairs(both: pl.DataFrame, key: str) -> Difference:
    changed = both.with_columns(difference=pl.col(f"{key}.after") - pl.col(key))
    found = mean_intervals(changed, [key, f"{key}.after", "difference"], strata=STRATA)
    means = dict(found.select("measure", "mean").iter_rows())
    columns = ("error", "freedom", "n", "clusters")
    behind = found.filter(measure="difference").select(columns).row(0)
    return Difference(means[key], means[f"{key}.after"], means["difference"], *behind)


def _of_cells(before: pl.DataFrame, after: pl.DataFrame, key: str) -> Difference:
    """The difference of two means over cells that both have and that weigh alike.

    A deal moves all cells that it was played in, so that each side is clustered by deal.
    """
    (first, own), (second, others) = (_deviations(one, key) for one in (before, after))
    strata, size = pl.concat([own, others]), before.select(CELL).n_unique()
    clusters = min(int(side["clusters"].sum()) for side in (own, others))
    if strata["error"].null_count():
        return Difference(first, second, second - first, None, 1.0, size, clusters)
    squares = strata["error"].to_numpy() ** 2
    total = float(squares.sum())
    fourths = float((squares**2 / strata["freedom"].to_numpy()).sum())
    freedom = total**2 / fourths if total else 1.0
    return Difference(first, second, second - first, total**0.5, freedom, size, clusters)


def _deviations(frame: pl.DataFrame, key: str) -> tuple[float, pl.DataFrame]:
    """The mean of the means of cells, and what each configuration adds to its error.

    A row's deviation from its cell's mean counts by what the row weighs in the whole.
    """
    value = pl.col(key).cast(pl.Float64)
    cells = frame.select(CELL).n_unique()
    weighed = frame.with_columns(
        off=without_rounding(value - value.mean().over(CELL), value.abs().max().over(CELL))
        * pl.len().over("configuration")
        / (pl.len().over(CELL) * cells)
    )
    mean = frame.group_by(CELL).agg(value.mean())[key].to_numpy().mean()
    return float(mean), mean_intervals(weighed, ["off"], STRATA, cluster=("deal",))
