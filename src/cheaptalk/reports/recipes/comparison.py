"""The recipe that compares two studies, on the same instances if both played them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import polars as pl

from cheaptalk.frames.reader import places_in
from cheaptalk.frames.unscored import unscored, unscored_text
from cheaptalk.records import Store, line_up
from cheaptalk.records.store.lookup import StoreLike, StudyLike, name_of, reads
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.charts.kinds import HIGH, LOW, dots
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.findings import Findings, findings
from cheaptalk.reports.recipes.margins import rare_outcomes
from cheaptalk.reports.recipes.parts import Answer, Charts, NoData, Recipe, RecipePart
from cheaptalk.reports.recipes.study_differences import (
    LEVEL,
    WHO,
    difference,
    gaps,
    unchanged_pairs,
    without_shared,
)
from cheaptalk.reports.recipes.study_overview import PLAYED
from cheaptalk.reports.recipes.tables import (
    ERROR,
    WANTED,
    Estimate,
    Header,
    ReportTable,
    estimated,
    texts,
)
from cheaptalk.reports.study.scores import GameScores
from cheaptalk.rules import CheaptalkError, counted, game_title, get_game, suggest
from cheaptalk.statistics import holm
from cheaptalk.text import capital, fixed, plain


@reads
def compare(
    store: StoreLike,
    study: StudyLike,
    other: StudyLike,
    *,
    other_store: StoreLike | None = None,
    renamed: Mapping[str, str] | None = None,
    as_published: bool = False,
) -> Findings:
    """Compare the results of two studies, which may be in different stores.

    Args:
        study: name of the first study.
        other: name of the second study; differences are second minus first.
        other_store: store of the second study, if different.
        renamed: labels of the first study, by the labels of the second study that replace them.
        as_published: compute metrics as the published systems' code does.

    Raises:
        StoreError: there is no such study.
        CheaptalkError: a label in ``renamed`` is in neither study, a game is not installed, or a
            metric failed.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    with Store.opened(other_store or store) as opened:
        second = Evidence(opened, name_of(other), as_published)
        for new, old in (renamed or {}).items():
            for label, evidence in ((new, second), (old, Evidence(store, study))):
                if label not in evidence.labels:
                    suggestion = suggest(label, evidence.labels)
                    raise CheaptalkError(f"no player {suggestion} in {evidence.study}")
        recipe = comparison(second, renamed, list(Evidence(store, study).seats))
        recipe = replace(recipe, heading=f"“{second.study}” compared with “{study}”")
        return findings(store, study, recipe, as_published=as_published)


FLOATS = ("before", "after", *(f"difference{end}" for end in ("", LOW, HIGH, ERROR)), "p")
SCHEMA = {**dict.fromkeys(FLOATS, pl.Float64()), f"difference{WANTED}": pl.Int64()}
"""Columns in which every row can be null."""


def comparison(
    other: Evidence, renamed: Mapping[str, str] | None = None, games: Sequence[str] = ()
) -> Recipe:
    """Return a recipe that compares the study to which it is applied with another study.

    Args:
        other: the other study.
        renamed: labels of the first study, by the labels of ``other`` that replace them, such as a
            model by its next version.
        games: the games of the first study, so that those missing from ``other`` are reported.

    Raises:
        CheaptalkError: two labels of ``other`` replace the same label, so that matches have no
            unique counterpart.
    """
    names = dict(renamed or {})
    for old in names.values():
        labels = sorted(new for new, counterpart in names.items() if counterpart == old)
        if len(labels) > 1:
            raise CheaptalkError(
                f"{' and '.join(labels)} can't both replace {old}: name one of them, and "
                "compare the other one separately"
            )
    all_games = tuple(dict.fromkeys([*other.frames, *games]))
    changes = _Comparison(other, names, all_games).changes
    parts = (RecipePart(game_title(game), "", partial(changes, game)) for game in all_games)
    about = f"The study “{other.study}” compared with the study of this page."
    title, heading = f"a comparison with {other.study}", f"{other.study} compared"
    players = tuple(other.labels)
    return Recipe("compare", title, about, (PLAYED, *parts), heading=heading, players=players)


@dataclass(frozen=True, eq=False)
class _Comparison:
    """A comparison with a second study, with the players to rename and the games to cover."""

    other: Evidence
    renamed: Mapping[str, str]
    games: tuple[str, ...]

    def changes(self, game: str, evidence: Evidence) -> Iterator[Answer | ReportTable | Charts]:
        """The other study's scores minus this study's scores, by player, with 95 % intervals.

        The comparison covers players in the same seats of the same configurations in both studies.
        It excludes and counts stored matches that belong to both studies. If both studies drew
        their instances with the same seed, matches on the same instance are paired, and the
        difference is the mean over pairs, clustered by instance within configurations. Otherwise,
        the difference is the mean of the differences between the means of each configuration and
        pairing in both studies, equally weighted, clustered by instance across pairings, with the
        degrees of freedom of Welch and Satterthwaite. Configurations with a single instance are
        collapsed into one stratum, whose variance is that of their differences.

        p is from a two-sided t test of no difference. The corrected p allows for all scores of all
        games of the comparison (Holm 1979). A difference that is the same in all instances of each
        configuration has no interval; its p is from a permutation test (0.031 for six paired
        instances). A difference is inconclusive, without an interval or p, if its standard error is
        unknown or has fewer than two degrees of freedom. A score that all seats of a match share is
        one difference for all of its players.

        Only finished matches are compared. The answer counts the other matches that both studies
        planned, because the causes of failures can also change the outcomes of the remaining
        matches.
        """
        for study in (evidence, self.other):
            if study.scored(game).is_empty():
                raise NoData(_unfinished(game, study))
        tested = evidence.once(self.tested)
        frame = tested.filter(game=game).drop("game")
        before, after, shared = self._matches(game, evidence)
        if frame.is_empty() and shared:
            raise NoData(
                f"the studies share only {counted(shared, 'stored match')}, so nothing can differ"
            )
        if frame.is_empty():
            raise NoData(
                "the same players played no configuration in both studies; if a player has two "
                "labels, pass both as aliases of one name"
            )
        paired = bool(frame["paired"].all())
        frames = evidence.frames[game], self._relabelled(self.other.frames[game])
        unfinished, gaps_differ = gaps((evidence, self.other), without_shared(*frames)[:2], paired)
        payoffs = (name for name in before.columns if name.startswith("payoff_"))
        scores = [*get_game(game).metrics, *payoffs]
        unchanged = unchanged_pairs(before, after, scores) if paired else None
        studies = evidence.study, self.other.study
        answer = _changed(frame, len(tested), *studies, unchanged, gaps_differ)
        yield answer._replace(text=answer.text + unfinished + _shared_text(shared))
        yield _charts(game, frame, self.other)
        yield _table(game, frame, evidence, self.other, _same_instances(evidence, self.other))

    def tested(self, evidence: Evidence) -> pl.DataFrame:
        """Return the comparisons of all games, with p-values corrected for multiple testing."""
        rows = [row for game in self.games for row in self._rows(game, evidence)]
        if not rows:
            return pl.DataFrame(schema={"game": pl.String})
        frame = pl.DataFrame(rows, schema_overrides=SCHEMA, infer_schema_length=None)
        corrected = pl.Series(holm(frame["p"].fill_null(1.0).to_numpy()))
        has_p = pl.col("p").is_not_null()
        return frame.with_columns(pl.when(has_p).then(corrected).alias("p.corrected"))

    def _rows(self, game: str, evidence: Evidence) -> Iterator[dict[str, object]]:
        if evidence.scored(game).is_empty() or self.other.scored(game).is_empty():
            return
        before, after, _ = self._matches(game, evidence)
        if before.is_empty() or after.is_empty():
            return
        first, second = (
            GameScores(game, side, study.seats[game])
            for side, study in ((before, evidence), (after, self.other))
        )
        paired = _same_instances(evidence, self.other)
        rows = [row for role in first.roles for row in _rows(first, second, role, paired)]
        yield from _merged(rows)

    def _matches(self, game: str, evidence: Evidence) -> tuple[pl.DataFrame, pl.DataFrame, int]:
        """Return each study's own scored matches, and the number of matches that both share."""
        return without_shared(evidence.scored(game), self._relabelled(self.other.scored(game)))

    def _relabelled(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return matches of the second study, with players labelled as in the first."""
        replaced = {old: f"{old} of {self.other.study}" for old in self.renamed.values()}
        return _renamed(frame, replaced | dict(self.renamed))


def _unfinished(game: str, study: Evidence) -> str:
    sentence = f"no match of {plain(game)} in {study.study} has finished"
    frame = study.frames.get(game)
    ends = "" if frame is None else unscored_text(unscored(frame), frame.height)
    return f"{sentence}: {ends}" if ends else sentence


def _shared_text(shared: int) -> str:
    if not shared:
        return ""
    verb, auxiliary = ("belongs", "is") if shared == 1 else ("belong", "are")
    return f" {counted(shared, 'match')} {verb} to both studies and {auxiliary} excluded."


def _renamed(frame: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    """Return a frame in which some players are renamed, both in seats and in pairings."""
    if not names:
        return frame
    players = [f"player_{seat}" for seat in places_in(frame)]
    frame = frame.with_columns(pl.col(players).replace(dict(names)))
    lined = frame.select(players).unique()
    pairings = [line_up([label for label in row if label is not None]) for row in lined.iter_rows()]
    lined = lined.with_columns(pl.Series("pairing", pairings))
    return frame.drop("pairing").join(
        lined, on=players, nulls_equal=True, maintain_order="left", validate="m:1"
    )


def _same_instances(first: Evidence, other: Evidence) -> bool:
    """Return whether instances with the same number are the same in both studies."""
    specs = [study.store.study(study.study, counted=False).spec for study in (first, other)]
    seeds = [None if spec.get("imported") else spec.get("seed", 0) for spec in specs]
    return seeds[0] is not None and seeds[0] == seeds[1]


def _rows(
    before: GameScores, after: GameScores, role: str, paired: bool
) -> Iterator[dict[str, Any]]:
    """Yield rows that compare a role's players by each score; of payoffs, only by the gain."""
    if role not in after.roles:
        return
    gain = before.gain(role).key
    scores = {
        score.key: score
        for score in before.scores
        if score.role in (None, role) and (not score.is_payoff or score.key == gain)
    }
    sides = [side.seated(role).rename({f"player_{role}": WHO}) for side in (before, after)]
    for who in sorted(set(sides[0][WHO]) & set(sides[1][WHO])):
        first, second = (side.filter(pl.col(WHO) == who) for side in sides)
        matches = frozenset(first["match_id"]), frozenset(second["match_id"])
        for key, score in scores.items():
            mean_change = difference(first, second, key, paired, score.bounds)
            if mean_change is not None:
                yield {
                    "game": before.name,
                    WHO: who,
                    "role": capital(role),
                    "score": score.title,
                    "unit": score.unit,
                    "before": mean_change.before,
                    "after": mean_change.after,
                    **estimated("difference", mean_change.estimate),
                    "paired": mean_change.paired,
                    "gain": key == gain,
                    "p": mean_change.p,
                    "decimals": before.decimals.get(key, 2),
                    "seat_role": role,
                    "seated": who,
                    "matches": None if score.role else matches,
                }


def _merged(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge rows that show the same score of the same matches for different seats."""
    groups: dict[object, list[dict[str, Any]]] = {}
    for row in rows:
        matches = row.pop("matches")
        key = (row["score"], *(matches or (row[WHO], row["role"])))
        groups.setdefault(key, []).append(row)
    return [
        group[0]
        | {name: " / ".join(dict.fromkeys(row[name] for row in group)) for name in (WHO, "role")}
        for group in groups.values()
    ]


def _changed(
    frame: pl.DataFrame,
    tests: int,
    before: str,
    after: str,
    unchanged: int | None,
    gaps_differ: bool,
) -> Answer:
    """Return a sentence that states the significant changes in players' gains.

    p-values are corrected for ``tests`` differences over all games; ``unchanged`` is the number of
    pairs if all have the same outcome.
    """
    since, tested = f"From “{before}” to “{after}”", counted(tests, "difference")
    if unchanged:
        pairs = "the only pair" if unchanged == 1 else f"all {unchanged:,} pairs"
        if gaps_differ:
            text = f"the outcome is the same in {pairs} of finished matches"
            return Answer(f"{since}, {text}.", f"{text}; others did not finish")
        sentence = f"{since}, nothing changed: the outcome is the same in {pairs} of matches."
        return Answer(sentence, "nothing changed")
    changed = frame.filter(pl.col("p.corrected") < 1 - LEVEL)
    if changed.is_empty():
        nothing = "no significant change"
        few = _untested(frame)
        return Answer(f"{since}, {nothing} in {tested}{few}.", nothing)
    moved = [_moved(row) for row in changed.filter("gain").rows(named=True)]
    if not moved:
        moved = ["no gain changed significantly"]
    elif not changed.filter("gain", pl.col("difference") > 0).height:
        moved.append("no gain rose significantly")
    if others := changed.filter(~pl.col("gain"))["score"].n_unique():
        moved.append(f"{counted(others, 'other score')} also changed")
    intervals = "95 % intervals; " * bool(changed.filter("gain")["difference.low"].count())
    rule = f" ({intervals}Holm's rule for {tested})"
    few = rare_outcomes(int(changed["difference.clusters"].to_numpy().min()))
    return Answer(
        f"{since}, {'; '.join(moved)}{rule}.{few}", f"{counted(len(changed), 'score')} changed"
    )


def _untested(frame: pl.DataFrame) -> str:
    untested = frame.filter(pl.col("p").is_null()).height
    if not untested:
        return ""
    which = "all" if untested == len(frame) else f"{untested}"
    verb = "rests" if untested == 1 < len(frame) else "rest"
    return f"; {which} of them {verb} on too few instances for a test"


def _moved(row: Mapping[str, Any]) -> str:
    mean_change, low, high = row["difference"], row["difference.low"], row["difference.high"]
    size = Estimate(mean_change, low, high)
    if mean_change < 0:
        size = Estimate(-mean_change, high and -high, low and -low)
    verb, decimals = "fell" if mean_change < 0 else "rose", row["decimals"]
    if low is None:
        instances = counted(row["difference.clusters"], "instance")
        within = f" on these {instances} (constant within each configuration; others can differ)"
    else:
        within = size.within(decimals, "")
    by = f"{fixed(abs(mean_change), decimals)}{within}"
    role = "" if row["role"] in row["score"] else f" as {row['role']}"
    return f"the {row['score']} of {row[WHO]}{role} {verb} by {by}"


def _table(
    game: str, frame: pl.DataFrame, evidence: Evidence, other: Evidence, paired: bool
) -> ReportTable:
    unit, how = (
        ("pairs", "Pairs of matches on the same instance.")
        if paired
        else ("cells", "Configurations and pairings that are in both studies.")
    )
    columns = (
        *texts(who="Player", role="Role", score="Score"),
        Header("before", evidence.study, "mean", "decimals"),
        Header("after", other.study, "mean", "decimals"),
        Header("difference", "Difference", "95 % interval", "decimals"),
        Header("difference.n", "Compared", unit, 0, how),
        Header("p", "p", "two-sided", 3),
        Header("p.corrected", "p corrected", "Holm's rule", 3),
    )
    title = f"{game_title(game)}: change from {evidence.study} to {other.study}"
    return ReportTable(f"compare-{game}", title, frame, columns, leads=partial(_lead, game))


def _charts(game: str, frame: pl.DataFrame, other: Evidence) -> Charts:
    panels = []
    ordered = frame.sort("gain", descending=True, maintain_order=True)
    for (score,), part in ordered.group_by("score", maintain_order=True):
        rows = part.to_dicts()
        names = [f"{row[WHO]} as {row['role']}" for row in rows]
        texts, leads = list(map(_hover_text, rows)), [_lead(game, row) for row in rows]
        unit = ", ".join(filter(None, ("difference", rows[0]["unit"])))
        panels.append(dots(str(score), unit, names, rows, "difference", texts, leads))
    caption = f"Positive differences: {other.study} is higher. Whiskers are 95 % intervals."
    return Charts(f"compare-{game}-figures", "Differences", panels, caption)


def _lead(game: str, row: Mapping[str, Any]) -> Lead:
    return Lead(game, {f"player_{row['seat_role']}": row["seated"], "status": "finished"})


def _hover_text(row: Mapping[str, Any]) -> str:
    decimals, low, high = row["decimals"], row["difference.low"], row["difference.high"]
    within = "" if low is None else f", {fixed(low, decimals)} to {fixed(high, decimals)}"
    count = counted(row["difference.n"], "comparison")
    return f"{fixed(row['difference'], decimals)}{within}, {count}"
