"""Judges' verdicts in a study, by judge and player, and their agreement."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from cheaptalk.judges import (
    CHECK,
    Agreement,
    Interval,
    Reliability,
    Rubric,
    Share,
    agreements,
    reliabilities,
    verdict_frame,
)
from cheaptalk.judges.agreement import ENOUGH
from cheaptalk.players import Kind
from cheaptalk.records import Store
from cheaptalk.records.judgements import judges_of
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Answer, Shown
from cheaptalk.reports.recipes.tables import (
    ERROR,
    Estimate,
    Header,
    ReportTable,
    counts,
    estimated,
    texts,
)
from cheaptalk.rules import SHARE, counted
from cheaptalk.statistics import INSTANCES, mean_intervals
from cheaptalk.text import capital, fixed

UNITS = ("item", "instance")
SHARES = ("same", "alike", "precision", "recall")


@dataclass(frozen=True)
class JudgedPlayer:
    """A judge's verdicts on one player, or on ``all``.

    ``estimate`` is the share of finds, or the mean score; None without a valid verdict, and without
    an interval for fewer than ten instances. ``shares`` are those of a rubric's categories among
    valid verdicts; ``kinds`` include answers without one.
    """

    player: str
    items: int
    verdicts: dict[str, int]
    kinds: dict[str, int]
    estimate: Estimate | None
    shares: dict[str, Estimate]

    @property
    def invalid(self) -> int:
        return self.items - sum(self.verdicts.values())

    @property
    def instances(self) -> int:
        return 0 if self.estimate is None else self.estimate.clusters or 0

    @property
    def numbers(self) -> tuple[str, str]:
        """Return the estimate and its interval as text."""
        estimate = self.estimate
        if estimate is None or estimate.value is None:
            return "none", ""
        if estimate.ends is None:
            return f"{estimate.value:.3f}", "too few instances"
        return f"{estimate.value:.3f}", "{:.3f} to {:.3f}".format(*estimate.ends)


@dataclass(frozen=True)
class JudgeSection:
    """The results of a judge in a study.

    Attributes:
        digest: the digest of the judge.
        name: the rubric and the model of the judge.
        rubric: the judge's rubric.
        model: the model with its settings.
        players: the verdicts by player, then of all players together.
        agreements: the agreement with the exact check and with other judges.
        reliabilities: the reliability of all judges with the same rubric.
        names: the names of the references.
        followers: the names of later judges that are compared with this one.
    """

    digest: str
    name: str
    rubric: Rubric
    model: dict[str, Any]
    players: list[JudgedPlayer]
    agreements: list[Agreement]
    reliabilities: list[Reliability]
    names: dict[str, str]
    followers: list[str]

    @property
    def alone(self) -> str:
        """Return why a judge is not compared with other judges; empty if it is compared."""
        if self.agreements:
            return ""
        if self.followers:
            return f"compared with this judge below: {', '.join(self.followers)}"
        if not any(player.verdicts for player in self.players):
            return "no comparison with others: this judge gave no verdict"
        return (
            "no comparison with others: these games have no exact check for its rubric, and no "
            "other judge with a similar rubric gave a verdict on the same items"
        )

    @property
    def quantity(self) -> str:
        if self.rubric.scale is not None:
            return "mean score"
        return f"share of {', '.join(self.rubric.finds)}"

    def as_json(self) -> dict[str, Any]:
        return {
            "judge": self.digest,
            "name": self.name,
            "rubric": self.rubric.model_dump(mode="json", exclude_none=True),
            "model": self.model,
            "quantity": self.quantity,
            "players": [
                asdict(player)
                | {
                    "estimate": player.estimate and _mean_as_json(player.estimate),
                    "shares": {
                        label: _mean_as_json(share) for label, share in player.shares.items()
                    },
                }
                for player in self.players
            ],
            "agreements": [
                asdict(agreement)
                | {"items": agreement.items, "kappa": agreement.kappa._asdict()}
                | {name: _as_json(getattr(agreement, name)) for name in SHARES}
                for agreement in self.agreements
            ],
            "reliabilities": [
                asdict(reliability) | {"alpha": reliability.alpha._asdict()}
                for reliability in self.reliabilities
            ],
        }


@reads
def judge_sections(store: StoreLike, study: StudyLike) -> list[JudgeSection]:
    """Return all judges of a study with their verdicts; intervals are clustered by instance.

    Raises:
        StoreError: there is no such study.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    frame = verdict_frame(store, study)
    judges = judges_of(store, study)
    called = {
        key: f"{judge['rubric']['name']} by {judge['model']['model']}"
        for key, judge in judges.items()
    }
    name_counts = Counter(called.values())
    names = {  # with the digest if two judges have the same rubric and model
        key: name if name_counts[name] == 1 else f"{name} ({key[:6]})"
        for key, name in called.items()
    }
    known_agreements = agreements(store, study) if judges else []
    together = reliabilities(store, study) if judges else []
    sections = []
    for key, spec in judges.items():
        rubric = Rubric.model_validate(spec["rubric"])
        rows = frame.filter(pl.col("judge") == key)
        labels = rows["player"].drop_nulls().unique().sort().to_list()
        bounds = (rubric.scale.low, rubric.scale.high) if rubric.scale else SHARE
        kinds = [] if rubric.scale else rubric.labels
        players = [
            _player(rows.filter(pl.col("player") == label), label, bounds, kinds)
            for label in labels
        ]
        players.append(_player(rows, "all", bounds, kinds))
        between = [item for item in known_agreements if item.judge == key]
        followers = [names[item.judge] for item in known_agreements if item.reference == key]
        raters = [column for column in together if key in column.raters]
        results = (players, between, raters, names | {CHECK: CHECK}, followers)
        sections.append(JudgeSection(key, names[key], rubric, spec["model"], *results))
    return sections


def _player(
    frame: pl.DataFrame, player: str, bounds: tuple[float, float], labels: Sequence[str]
) -> JudgedPlayer:
    verdicts = frame.drop_nulls("verdict").select(
        *INSTANCES, *(pl.col("verdict").eq(label).alias(f"share.{label}") for label in labels)
    )
    shares = {label: _mean(verdicts, f"share.{label}", SHARE) for label in labels}
    kinds = dict(frame["kind"].value_counts().iter_rows())
    return JudgedPlayer(
        player,
        len(frame),
        dict(frame["verdict"].drop_nulls().value_counts(sort=True).iter_rows()),
        {kind.value: kinds[kind.value] for kind in Kind if kind.value in kinds},
        _mean(frame, "score", bounds),
        {label: share for label, share in shares.items() if share is not None},
    )


def _mean(frame: pl.DataFrame, value: str, bounds: tuple[float, float]) -> Estimate | None:
    """Return a mean, with an interval if there are at least ten instances; None without values."""
    intervals = mean_intervals(frame, [value], bounds={value: bounds})
    if intervals.is_empty():
        return None
    mean = Estimate.of_mean(intervals.row(0, named=True))
    return mean if (mean.clusters or 0) >= ENOUGH else mean._replace(low=None, high=None)


def judges_part(evidence: Evidence) -> Iterator[Shown]:
    """Verdicts of models on recorded messages. Players never see the verdicts.

    Intervals are clustered by instance, like those of scores, and require at least ten instances.
    """
    for judge in judge_sections(evidence.store, evidence.study):
        yield _overall(judge)
        labels = [] if judge.rubric.scale else judge.rubric.labels
        rows = [
            {"player": player.player, "items": player.items, "none": player.invalid}
            | {f"verdict.{label}": player.verdicts.get(label, 0) for label in labels}
            | _spread_out(player.estimate)
            for player in judge.players
        ]
        columns = [
            Header("player", "Player"),
            Header("score", "Share found" if labels else "Mean score", decimals=3),
            *counts("judged", items="Items"),
            *(Header(f"verdict.{label}", capital(label), "", 0) for label in labels),
            *counts(none="No verdict"),
        ]
        about, remarks = judge.rubric.question, tuple(_remarks(judge))
        name, title = f"judge-{judge.digest[:6]}", judge.name
        yield ReportTable(name, title, pl.DataFrame(rows), columns, about, remarks, counts=UNITS)
        if len(labels) > 2 and judge.players[-1].shares:
            yield _verdict_shares(judge)


def _verdict_shares(judge: JudgeSection) -> ReportTable:
    rows = [
        {"player": player.player, "verdict": capital(label)} | _spread_out(share)
        for player in judge.players
        for label, share in player.shares.items()
    ]
    columns = texts(player="Player", verdict="Verdict")
    columns.append(Header("score", "Share", "of the items with a verdict", 3))
    name, title = f"judge-{judge.digest[:6]}-verdicts", f"{judge.name}: each verdict"
    return ReportTable.of(name, title, rows, columns, counts=UNITS)


def _overall(judge: JudgeSection) -> Answer:
    overall = judge.players[-1].estimate or Estimate(None)
    verdict, within = "no verdict", ""
    if overall.value is not None and judge.rubric.scale is None:
        share = f"{fixed(100 * overall.value, 0)} % of the items"
        verdict = f"finds {' or '.join(judge.rubric.finds)} in {share}"
        within = overall.percent.within(0)
    elif overall.value is not None:
        verdict, within = f"{fixed(overall.value, 2)} on average", overall.within(2)
    text, short = f"{judge.name}: {verdict}{within}", f"the judge {verdict}"
    for agreement in judge.agreements[:1]:
        if agreement.items and agreement.kappa.value is not None:
            reference, ends = judge.names[agreement.reference], Estimate(*agreement.kappa[:3])
            kappa = f"Cohen's kappa {fixed(agreement.kappa.value, 2)}{ends.within(2, '')}"
            text += f"; its agreement with {reference} is {_worth(agreement.kappa)}, {kappa}"
            short += f"; agreement with {reference} {_worth(agreement.kappa)}"
    return Answer(f"{text}.", short)


def _worth(kappa: Interval) -> str:
    if kappa.low is None or kappa.high is None:
        return "undecided, with too few instances"
    if kappa.low > 0:
        return "better than chance"
    return "worse than chance" if kappa.high < 0 else "not significantly better than chance"


def _spread_out(estimate: Estimate | None) -> dict[str, float | None]:
    columns = estimated("score", estimate or Estimate(None))
    return {name: number for name, number in columns.items() if not name.endswith(ERROR)}


def _remarks(judge: JudgeSection) -> Iterator[str]:
    if any(player.estimate and player.estimate.low is None for player in judge.players):
        yield f"Too few instances for an interval: at least {ENOUGH} are needed."
    if judge.rubric.scale is None:
        yield f"Found: {', '.join(judge.rubric.finds)}."
    for reliability in judge.reliabilities:
        yield f"{reliability_line(reliability)}."
    for agreement in judge.agreements:
        yield (
            f"Against {judge.names[agreement.reference]}: {'; '.join(agreement_lines(agreement))}."
        )
    if judge.alone:
        yield f"{capital(judge.alone)}."


def reliability_line(reliability: Reliability) -> str:
    """Return a sentence on the agreement of all judges with a rubric."""
    ratings, items = reliability.ratings, counted(reliability.items, "item")
    alpha = _number(reliability.alpha, f"{counted(ratings, 'verdict')} on {items}")
    raters = counted(len(reliability.raters), "judge")
    return f"Krippendorff's alpha ({reliability.metric}) of {raters}: {alpha}"


def agreement_lines(agreement: Agreement) -> list[str]:
    """Return the agreement of a judge with a reference, as phrases."""
    if not agreement.items:
        items = counted(agreement.silent, "item")
        return [f"the reference has no verdict on the {items} of this judge"]
    items, matches = counted(agreement.items, "item"), counted(agreement.matches, "match")
    weighted = "quadratically weighted " if agreement.weighted else ""
    lines = [
        f"{weighted}Cohen's kappa {_number(agreement.kappa, f'{items} in {matches}')}",
        f"the same verdict: {_share(agreement.same)}",
    ]
    if agreement.finds:
        lines += [
            f"agreement on whether something was found: {_share(agreement.alike)}",
            f"precision: {_share(agreement.precision)}",
            f"recall: {_share(agreement.recall)}",
        ]
    if agreement.silent:
        lines.append(f"the reference has no verdict on {counted(agreement.silent, 'other item')}")
    return lines


def _share(share: Share) -> str:
    return _number(share.interval, f"{share.part:,} of {share.whole:,}")


def _number(interval: Interval, sample: str) -> str:
    if interval.value is None:
        return f"not defined ({sample})"
    limits = interval.missing
    if interval.low is not None and interval.high is not None:
        limits = f"95 % interval {interval.low:.3f} to {interval.high:.3f}"
    return f"{interval.value:.3f} ({sample}), {limits}"


def _mean_as_json(estimate: Estimate) -> dict[str, float | None]:
    names = ("low", "high", "n", "clusters", "wanted")
    return {"mean": estimate.value} | {name: getattr(estimate, name) for name in names}


def _as_json(share: Share) -> dict[str, Any]:
    return {"part": share.part, "whole": share.whole} | share.interval._asdict()
