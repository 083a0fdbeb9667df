"""What a report says of one game: its design, its scores and its answers, ready to be printed."""

import inspect
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.players import Kind
from cheaptalk.records import Status
from cheaptalk.reports.pages import capital
from cheaptalk.rules import Game, GameBox, field_meanings, game_box
from cheaptalk.statistics import STRATA, mean_intervals

KINDS = tuple(kind.value for kind in Kind)
COUNTED = (Status.FINISHED.value, Status.FORFEITED.value, Status.FAILED.value)
SCORED = pl.col("status") == Status.FINISHED.value


class Estimate(NamedTuple):
    """A mean over n matches in so many clusters; without limits where there is one cluster."""

    mean: float
    low: float | None
    high: float | None
    n: int
    clusters: int

    @property
    def half(self) -> float | None:
        """Half the interval's width."""
        return None if self.high is None else self.high - self.mean


@dataclass(frozen=True)
class Score:
    """A column of numbers: a measure of the game, or a role's payoff.

    Attributes:
        key: the column of the game's frame.
        title: what people read.
        meaning: what it is, its formula and its source.
        unit: what it is counted in.
        role: whose gain it is, if it is one role's.
        published: what the published variant is, where it differs.
    """

    key: str
    title: str
    meaning: str
    unit: str
    role: str | None = None
    published: str | None = None


@dataclass(frozen=True)
class Line:
    """A row of a table of scores: some matches that have players in common.

    Attributes:
        players: labels by role.
        counts: matches by status.
        kinds: answers by kind of the roles in ``players``, in matches of any status.
        estimates: means by score.
    """

    players: dict[str, str]
    counts: dict[str, int]
    kinds: dict[str, int]
    estimates: dict[str, Estimate]

    @property
    def query(self) -> dict[str, str]:
        """What picks these matches out in the viewer."""
        return {f"player.{role}": label for role, label in self.players.items()}

    @property
    def answers(self) -> int:
        return sum(self.kinds.values())


class Parameter(NamedTuple):
    """A parameter of the game with its values and how many matches were played at each."""

    name: str
    meaning: str
    values: list[tuple[Any, int]]

    @property
    def varies(self) -> bool:
        return len(self.values) > 1


class GameScores:
    """One game of a study, read off its frame."""

    def __init__(self, name: str, frame: pl.DataFrame) -> None:
        self.name = name
        self.frame = frame
        self.box: GameBox = game_box(name)
        self.rules: type[Game] = self.box.rules
        self.scored = frame.filter(SCORED)
        self.scores = [*self._measures(), *self._payoffs()]

    def _measures(self) -> list[Score]:
        return [
            Score(
                measure.name, capital(measure.name), inspect.getdoc(measure.of) or "", measure.unit,
                measure.role,
                inspect.getdoc(measure.published) if measure.published else None,
            )
            for measure in self.box.measures.values()
        ]  # fmt: skip

    def _payoffs(self) -> list[Score]:
        meaning = inspect.getdoc(self.rules.payoffs) or ""
        return [
            Score(f"payoff.{role}", f"Payoff {capital(role)}", meaning, "the game's own unit", role)
            for role in self.rules.roles
        ]

    @property
    def roles(self) -> tuple[str, ...]:
        return self.rules.roles

    @cached_property
    def counts(self) -> dict[str, int]:
        """Matches by status."""
        return dict(self.frame.group_by("status").len().iter_rows())

    @property
    def statuses(self) -> list[str]:
        """The statuses whose matches are counted beside scores; live ones if there are any."""
        return [*COUNTED, *([Status.LIVE.value] if Status.LIVE.value in self.counts else [])]

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds of answers that were given, and those that always are."""
        given = [Kind.OK.value, Kind.REPAIRED.value]
        columns = [[f"kind.{role}.{kind}" for role in self.roles] for kind in KINDS]
        for kind, names in zip(KINDS, columns, strict=True):
            if kind not in given and self.frame.select(pl.sum_horizontal(names)).sum().item():
                given.append(kind)
        return given

    @cached_property
    def pairings(self) -> list[Line]:
        """Every seating with its scores, in alphabetical order."""
        return self._lines(self.roles)

    @cached_property
    def players(self) -> dict[str, list[Line]]:
        """By role, everyone who played it, over all rivals; who gained most stands first."""
        return {role: self._ranked(role) for role in self.roles}

    def _ranked(self, role: str) -> list[Line]:
        gain = next(score.key for score in self.scores if score.role == role)
        return sorted(
            self._lines((role,)),
            key=lambda line: -line.estimates[gain].mean if gain in line.estimates else float("inf"),
        )

    def _lines(self, roles: Sequence[str]) -> list[Line]:
        by = [f"player.{role}" for role in roles]
        counts: dict[tuple[str, ...], dict[str, int]] = {}
        for *labels, status, number in self.frame.group_by(*by, "status").len().iter_rows():
            counts.setdefault(tuple(labels), {})[status] = number
        kinds = {
            labels: dict(zip(KINDS, numbers, strict=True))
            for labels, numbers in _keyed(self._kinds(roles, by), len(by))
        }
        estimates = self._estimates(by)
        return [
            Line(
                dict(zip(roles, labels, strict=True)), counts[labels], kinds[labels],
                estimates.get(labels, {}),
            )
            for labels in sorted(counts)
        ]  # fmt: skip

    def _kinds(self, roles: Sequence[str], by: list[str]) -> pl.DataFrame:
        sums = [
            pl.sum_horizontal([f"kind.{role}.{kind}" for role in roles]).sum().alias(kind)
            for kind in KINDS
        ]
        return self.frame.group_by(by).agg(sums)

    def _estimates(self, by: list[str]) -> dict[tuple[str, ...], dict[str, Estimate]]:
        keys = [score.key for score in self.scores]
        wanted = ("measure", "mean", "low", "high", "n", "clusters")
        found: dict[tuple[str, ...], dict[str, Estimate]] = {}
        cells = mean_intervals(self.scored, keys, by, strata=STRATA).select(*by, *wanted)
        for labels, (key, *numbers) in _keyed(cells, len(by)):
            found.setdefault(labels, {})[key] = Estimate(*numbers)
        return found

    @cached_property
    def parameters(self) -> list[Parameter]:
        """The parameters in the order of the rules."""
        found = []
        for column in (name for name in self.frame.columns if name.startswith("game.")):
            name = column.removeprefix("game.")
            counted = self.frame.group_by(column).len().sort(column).iter_rows()
            meaning = field_meanings(self.rules).get(name, "")
            values = [(_decoded(value), count) for value, count in counted]
            if values != [({}, self.frame.height)]:
                found.append(Parameter(name, meaning, values))
        return found

    @cached_property
    def deals(self) -> int:
        """How many different deals were scored."""
        return self.scored.select("configuration", "deal").unique().height

    @cached_property
    def configurations(self) -> int:
        return self.frame["configuration"].n_unique()

    @cached_property
    def other_rules(self) -> int:
        """Finished matches without measures, played under another version of the rules."""
        return self.scored.filter(pl.col("rules") != self.rules.version).height

    @cached_property
    def decimals(self) -> dict[str, int]:
        """How many decimals the numbers of each score are printed with."""
        lines = [*self.pairings, *(line for lines in self.players.values() for line in lines)]
        found = {score.key: [line.estimates.get(score.key) for line in lines]
                 for score in self.scores}  # fmt: skip
        return {key: decimals([one.mean for one in ones if one]) for key, ones in found.items()}

    @property
    def doc(self) -> tuple[str, str]:
        """What the game is, in a line, and the rest of what its rules' docstring says."""
        first, _, rest = (inspect.getdoc(self.rules) or "").partition("\n")
        return first, rest.strip()

    @property
    def notes(self) -> list[str]:
        """What the modules of its measures say of them all: symbols, sources."""
        modules = [inspect.getmodule(measure.of) for measure in self.box.measures.values()]
        return list(dict.fromkeys(inspect.getdoc(module) or "" for module in modules if module))

    @cached_property
    def answers(self) -> dict[str, int]:
        """How many answers were given in all, and how many at the first try."""
        lines = [line for lines in self.players.values() for line in lines]
        return {"all": sum(line.answers for line in lines),
                "ok": sum(line.kinds[Kind.OK.value] for line in lines)}  # fmt: skip


def _keyed(frame: pl.DataFrame, width: int) -> list[tuple[tuple[str, ...], tuple[Any, ...]]]:
    """The rows of a frame: their first columns, then the rest."""
    return [(row[:width], row[width:]) for row in frame.iter_rows()]


def _decoded(value: Any) -> Any:
    """A parameter's value, back from the JSON that stands in a frame for lists and the like."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:  # a text of its own
        return value


def decimals(values: Sequence[float]) -> int:
    """How many decimals suit numbers that are to be compared.

    >>> decimals([0.25, 0.5]), decimals([12.5]), decimals([10_000.0, 3.0])
    (3, 2, 0)
    """
    largest = max(map(abs, values), default=0.0)
    return 3 if largest < 10 else 2 if largest < 100 else 1 if largest < 1_000 else 0
