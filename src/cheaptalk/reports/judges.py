"""What judges said of a study, summed up by judge and player, and how well they agree."""

from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from cheaptalk.measures import CHECK, Agreement, Rubric, Share, agreements, verdict_frame
from cheaptalk.players import Kind
from cheaptalk.records import Store
from cheaptalk.records.judgements import judges_of
from cheaptalk.reports.lines import Estimate
from cheaptalk.statistics import mean_intervals

EVERYONE = "all"


@dataclass(frozen=True)
class JudgedPlayer:
    """What a judge said of one player.

    Attributes:
        player: the label, or ``all``.
        items: what was judged.
        verdicts: how often each verdict was given.
        kinds: the judge's answers by kind, those without a valid verdict included.
        estimate: the share of finds, or the mean score; None without a valid verdict.
    """

    player: str
    items: int
    verdicts: dict[str, int]
    kinds: dict[str, int]
    estimate: Estimate | None

    @property
    def invalid(self) -> int:
        """Items of which the judge finally gave no valid verdict."""
        return self.items - sum(self.verdicts.values())

    @property
    def numbers(self) -> tuple[str, str]:
        """The estimate and its interval as text."""
        one = self.estimate
        if one is None:
            return "none", ""
        interval = "one deal" if one.low is None else f"{one.low:.3f} to {one.high:.3f}"
        return f"{one.mean:.3f}", interval


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
        names: what the references are called.
    """

    digest: str
    name: str
    rubric: Rubric
    model: dict[str, Any]
    players: list[JudgedPlayer]
    agreements: list[Agreement]
    names: dict[str, str]

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
                asdict(one) | {"estimate": one.estimate and one.estimate._asdict()}
                for one in self.players
            ],
            "agreements": [
                asdict(one) | {"items": one.items, "same": one.same.value,
                               "precision": one.precision.value, "recall": one.recall.value}
                for one in self.agreements
            ],
        }  # fmt: skip


def judge_sections(store: Store, study: str) -> list[JudgeSection]:
    """All judges of a study with their verdicts; intervals are clustered by deal, as for scores.

    Raises:
        StoreError: there is no such study.
    """
    frame = verdict_frame(store, study)
    judges = judges_of(store, study)
    names = {key: _name(key, judges) for key in judges}
    found = agreements(store, study) if judges else []
    sections = []
    for key, spec in judges.items():
        rubric = Rubric.model_validate(spec["rubric"])
        own = frame.filter(pl.col("judge") == key)
        labels = own["player"].drop_nulls().unique().sort().to_list()
        players = [_player(own.filter(pl.col("player") == one), one) for one in labels]
        players.append(_player(own, EVERYONE))
        between = [one for one in found if one.judge == key]
        sections.append(
            JudgeSection(key, names[key], rubric, spec["model"], players, between,
                         names | {CHECK: CHECK})
        )  # fmt: skip
    return sections


def _name(key: str, judges: dict[str, dict[str, Any]]) -> str:
    """Rubric and model, with the digest where that does not tell two judges apart."""
    called = {
        one: f"{of['rubric']['name']} by {of['model']['model']}" for one, of in judges.items()
    }
    alike = sum(name == called[key] for name in called.values()) > 1
    return f"{called[key]} ({key[:6]})" if alike else called[key]


def _player(frame: pl.DataFrame, player: str) -> JudgedPlayer:
    cells = mean_intervals(frame, ["score"]).rows(named=True)
    estimate = None
    if cells:
        cell = cells[0]
        estimate = Estimate(cell["mean"], cell["low"], cell["high"], cell["n"], cell["clusters"])
    kinds = dict(frame["kind"].value_counts().iter_rows())
    return JudgedPlayer(
        player, len(frame), dict(frame["verdict"].drop_nulls().value_counts(sort=True).iter_rows()),
        {kind.value: kinds[kind.value] for kind in Kind if kind.value in kinds}, estimate,
    )  # fmt: skip


def agreement_lines(one: Agreement) -> list[str]:
    """How well a judge agrees with a reference, in words."""
    kappa = "none" if one.kappa is None else f"{one.kappa:.3f}"
    interval = "" if one.low is None else f", 95 % interval {one.low:.3f} to {one.high:.3f}"
    lines = [
        f"Cohen's kappa {kappa}{interval}, over {one.matches:,} matches",
        f"the same verdict: {_share(one.same)}",
    ]
    if one.finds:
        lines.append(f"precision: {_share(one.precision)}; recall: {_share(one.recall)}")
    if one.silent:
        lines.append(f"of {one.silent:,} other items the reference says nothing")
    return lines


def _share(share: Share) -> str:
    if share.value is None:
        return f"not defined ({share.part:,} of {share.whole:,})"
    return f"{share.value:.3f} ({share.part:,} of {share.whole:,})"
