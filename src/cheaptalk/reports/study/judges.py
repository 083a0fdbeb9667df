"""What judges said of a study, summed up by judge and player, and how well they agree."""

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
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Answer, Shown
from cheaptalk.reports.recipes.tables import Estimate, Header, ReportTable
from cheaptalk.rules import SHARE, counted
from cheaptalk.statistics import DEALS, mean_intervals
from cheaptalk.studies.lookup import reads_study
from cheaptalk.text import capital, fixed

SHARES = ("same", "alike", "precision", "recall")


@dataclass(frozen=True)
class JudgedPlayer:
    """What a judge said of one player.

    Attributes:
        player: the label, or ``all``.
        items: what was put to the judge.
        verdicts: how often each verdict was given.
        kinds: the judge's answers by kind, those without a valid verdict included.
        estimate: the share of finds, or the mean score; None without a valid verdict. It has no
            interval where it rests on fewer than ten deals, as agreement has none.
        shares: the share of the items with a valid verdict that have each verdict of a rubric with
            categories, with the same intervals.
    """

    player: str
    items: int
    verdicts: dict[str, int]
    kinds: dict[str, int]
    estimate: Estimate | None
    shares: dict[str, Estimate]

    @property
    def invalid(self) -> int:
        """Items of which the judge finally gave no valid verdict."""
        return self.items - sum(self.verdicts.values())

    @property
    def deals(self) -> int:
        """Deals on which there is an item with a valid verdict."""
        return 0 if self.estimate is None else self.estimate.clusters or 0

    @property
    def numbers(self) -> tuple[str, str]:
        """The estimate and its interval as text."""
        one = self.estimate
        if one is None or one.value is None:
            return "none", ""
        if one.low is None or one.high is None:
            return f"{one.value:.3f}", "too few deals"
        return f"{one.value:.3f}", f"{one.low:.3f} to {one.high:.3f}"


@dataclass(frozen=True)
class JudgeSection:
    """A judge in a study.

    Attributes:
        digest: of the judge.
        name: its rubric and model.
        rubric: what it was asked.
        model: the model with its settings.
        players: by player, then all together.
        agreements: with the exact check and with other judges.
        reliabilities: of all judges by the same rubric together.
        names: what the references are called.
        followers: the names of later judges that are held against this one.
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
        """Why no agreements are listed; empty where there are some."""
        if self.agreements:
            return ""
        if self.followers:
            return f"held against this judge, below: {', '.join(self.followers)}"
        if not any(one.verdicts for one in self.players):
            return "nothing to hold against others: this judge gave no verdict"
        return (
            "nothing to hold this judge against: no exact check of these games goes with its "
            "rubric, and no other judge of a like rubric gave a verdict on the same items"
        )

    @property
    def quantity(self) -> str:
        """What the estimates are."""
        if self.rubric.scale is not None:
            return "mean score"
        return f"share of {', '.join(self.rubric.finds)}"

    def as_json(self) -> dict[str, Any]:
        """The section as plain data."""
        return {
            "judge": self.digest,
            "name": self.name,
            "rubric": self.rubric.model_dump(mode="json", exclude_none=True),
            "model": self.model,
            "quantity": self.quantity,
            "players": [
                asdict(one) | {"estimate": one.estimate and _mean_as_json(one.estimate),
                               "shares": {label: _mean_as_json(share)
                                          for label, share in one.shares.items()}}
                for one in self.players
            ],
            "agreements": [
                asdict(one) | {"items": one.items, "kappa": one.kappa._asdict()}
                | {name: _as_json(getattr(one, name)) for name in SHARES}
                for one in self.agreements
            ],
            "reliabilities": [
                asdict(one) | {"alpha": one.alpha._asdict()} for one in self.reliabilities
            ],
        }  # fmt: skip


@reads_study
def judge_sections(store: Store, study: str) -> list[JudgeSection]:
    """All judges of a study with their verdicts; intervals are clustered by deal, as for scores.

    Raises:
        StoreError: there is no such study.
    """
    frame = verdict_frame(store, study)
    judges = judges_of(store, study)
    called = {
        key: f"{of['rubric']['name']} by {of['model']['model']}" for key, of in judges.items()
    }
    alike = Counter(called.values())
    names = {  # with the digest where rubric and model do not tell two judges apart
        key: name if alike[name] == 1 else f"{name} ({key[:6]})" for key, name in called.items()
    }
    found = agreements(store, study) if judges else []
    together = reliabilities(store, study) if judges else []
    sections = []
    for key, spec in judges.items():
        rubric = Rubric.model_validate(spec["rubric"])
        own = frame.filter(pl.col("judge") == key)
        labels = own["player"].drop_nulls().unique().sort().to_list()
        bounds = (rubric.scale.low, rubric.scale.high) if rubric.scale else SHARE
        kinds = [] if rubric.scale else rubric.labels
        players = [
            _player(own.filter(pl.col("player") == one), one, bounds, kinds) for one in labels
        ]
        players.append(_player(own, "all", bounds, kinds))
        between = [one for one in found if one.judge == key]
        followers = [names[one.judge] for one in found if one.reference == key]
        sections.append(
            JudgeSection(key, names[key], rubric, spec["model"], players, between,
                         [one for one in together if key in one.raters],
                         names | {CHECK: CHECK}, followers)
        )  # fmt: skip
    return sections


def _player(
    frame: pl.DataFrame, player: str, bounds: tuple[float, float], labels: Sequence[str]
) -> JudgedPlayer:
    given = frame.drop_nulls("verdict").select(
        *DEALS, *(pl.col("verdict").eq(label).alias(f"share.{label}") for label in labels)
    )
    shares = {label: _mean(given, f"share.{label}", SHARE) for label in labels}
    kinds = dict(frame["kind"].value_counts().iter_rows())
    return JudgedPlayer(
        player, len(frame), dict(frame["verdict"].drop_nulls().value_counts(sort=True).iter_rows()),
        {kind.value: kinds[kind.value] for kind in Kind if kind.value in kinds},
        _mean(frame, "score", bounds),
        {label: share for label, share in shares.items() if share is not None},
    )  # fmt: skip


def _mean(frame: pl.DataFrame, value: str, bounds: tuple[float, float]) -> Estimate | None:
    """A mean with its interval, which it lacks on fewer than ten deals; None without a value."""
    found = mean_intervals(frame, [value], bounds={value: bounds})
    if found.is_empty():
        return None
    columns = ("mean", "low", "high", "error", "n", "clusters", "wanted")
    mean = Estimate(*found.select(columns).row(0))
    return mean if (mean.clusters or 0) >= ENOUGH else mean._replace(low=None, high=None)


def judges_part(evidence: Evidence) -> Iterator[Shown]:
    """Models that judged what was recorded; players never see a verdict.

    Intervals are clustered by deal, as those of the scores are; there is none on fewer than ten
    deals.
    """
    for judge in judge_sections(evidence.store, evidence.study):
        yield _found(judge)
        labels = [] if judge.rubric.scale else judge.rubric.labels
        rows = [
            {"player": one.player, "items": one.items, "none": one.invalid}
            | {f"verdict.{label}": one.verdicts.get(label, 0) for label in labels}
            | _spread_out(one.estimate)
            for one in judge.players
        ]
        yield ReportTable(
            f"judge-{judge.digest[:6]}", judge.name, pl.DataFrame(rows),
            (
                Header("player", "Player"),
                Header("score", "Share found" if labels else "Mean score", places=3),
                Header("items", "Items", "put to the judge", 0),
                *(Header(f"verdict.{label}", capital(label), "", 0) for label in labels),
                Header("none", "No verdict", "", 0),
            ),
            judge.rubric.question, tuple(_remarks(judge)), counts=("item", "deal"),
        )  # fmt: skip
        if len(labels) > 2 and judge.players[-1].shares:
            yield _verdict_shares(judge)


def _verdict_shares(judge: JudgeSection) -> ReportTable:
    """The share of each verdict by player, with intervals."""
    rows = [
        {"player": player.player, "verdict": capital(label)} | _spread_out(share)
        for player in judge.players
        for label, share in player.shares.items()
    ]
    return ReportTable(
        f"judge-{judge.digest[:6]}-verdicts", f"{judge.name}: each verdict",
        pl.DataFrame(rows, infer_schema_length=None),
        (Header("player", "Player"), Header("verdict", "Verdict"),
         Header("score", "Share", "of the items with a verdict", 3)),
        counts=("item", "deal"),
    )  # fmt: skip


def _found(judge: JudgeSection) -> Answer:
    """What the judge said of all players together, and how far it agrees with others."""
    known = judge.players[-1].estimate or Estimate(None)
    said, within = "no verdict", ""
    if known.value is not None and judge.rubric.scale is None:
        share = f"{fixed(100 * known.value, 0)} % of the items"
        said = f"finds {' or '.join(judge.rubric.finds)} in {share}"
        within = known.percent.within(0)
    elif known.value is not None:
        said, within = f"{fixed(known.value, 2)} on average", known.within(2)
    text, short = f"{judge.name}: {said}{within}", f"the judge {said}"
    for one in judge.agreements[:1]:
        if one.items and one.kappa.value is not None:
            of, ends = judge.names[one.reference], Estimate(*one.kappa[:3])
            kappa = f"Cohen's kappa {fixed(one.kappa.value, 2)}{ends.within(2, '')}"
            text += f"; its agreement with {of} is {_worth(one.kappa)}, {kappa}"
            short += f"; agreement with {of} {_worth(one.kappa)}"
    return Answer(f"{text}.", short)


def _worth(kappa: Interval) -> str:
    """Whether a judge is better than chance, in words."""
    if kappa.low is None or kappa.high is None:
        return "on too few deals to tell"
    if kappa.low > 0:
        return "better than chance"
    return "worse than chance" if kappa.high < 0 else "no better than chance as far as can be told"


def _spread_out(one: Estimate | None) -> dict[str, float | None]:
    """An estimate as columns."""
    known = one or Estimate(None)
    return {
        "score": known.value, "score.low": known.low, "score.high": known.high,
        "score.n": known.n, "score.clusters": known.clusters, "score.wanted": known.wanted,
    }  # fmt: skip


def _remarks(judge: JudgeSection) -> Iterator[str]:
    """What was found, and how well the judge agrees with others."""
    if any(one.estimate and one.estimate.low is None for one in judge.players):
        yield f"Too few deals for an interval: it takes {ENOUGH}."
    if judge.rubric.scale is None:
        yield f"Found: {', '.join(judge.rubric.finds)}."
    for reliability in judge.reliabilities:
        yield f"{reliability_line(reliability)}."
    for one in judge.agreements:
        yield f"Against {judge.names[one.reference]}: {'; '.join(agreement_lines(one))}."
    if judge.alone:
        yield f"{capital(judge.alone)}."


def reliability_line(reliability: Reliability) -> str:
    """Return how well all judges by a rubric agree, in words."""
    ratings, items = reliability.ratings, counted(reliability.items, "item")
    alpha = _number(reliability.alpha, f"{counted(ratings, 'verdict')} on {items}")
    raters = counted(len(reliability.raters), "judge")
    return f"Krippendorff's alpha ({reliability.metric}) of {raters}: {alpha}"


def agreement_lines(one: Agreement) -> list[str]:
    """How well a judge agrees with a reference, in words."""
    if not one.items:
        return [f"it says nothing of the {counted(one.silent, 'item')} with a verdict"]
    items, matches = counted(one.items, "item"), counted(one.matches, "match")
    weighted = "quadratically weighted " if one.weighted else ""
    lines = [
        f"{weighted}Cohen's kappa {_number(one.kappa, f'{items} in {matches}')}",
        f"the same verdict: {_share(one.same)}",
    ]
    if one.finds:
        lines += [
            f"something found by both, or by neither: {_share(one.alike)}",
            f"precision: {_share(one.precision)}",
            f"recall: {_share(one.recall)}",
        ]
    if one.silent:
        lines.append(f"of {counted(one.silent, 'other item')} the reference says nothing")
    return lines


def _share(share: Share) -> str:
    return _number(share.interval, f"{share.part:,} of {share.whole:,}")


def _number(one: Interval, of: str) -> str:
    """A number with what it is of and its interval, or why it has none."""
    if one.value is None:
        return f"not defined ({of})"
    limits = one.missing
    if one.low is not None and one.high is not None:
        limits = f"95 % interval {one.low:.3f} to {one.high:.3f}"
    return f"{one.value:.3f} ({of}), {limits}"


def _mean_as_json(one: Estimate) -> dict[str, float | None]:
    return {"mean": one.value, "low": one.low, "high": one.high, "n": one.n,
            "clusters": one.clusters, "wanted": one.wanted}  # fmt: skip


def _as_json(share: Share) -> dict[str, Any]:
    return {"part": share.part, "whole": share.whole} | share.interval._asdict()
