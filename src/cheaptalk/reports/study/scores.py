"""One game of a study: its design, and the scores and answers of players and pairings as frames."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.frames.bounds import beyond, with_bounds, with_mean_bounds
from cheaptalk.frames.matches import KINDS, SCORED
from cheaptalk.frames.reader import decoded
from cheaptalk.frames.unscored import own_end, without_scored
from cheaptalk.players import Kind
from cheaptalk.records import FEW, Status, line_up, query_of
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.study.roles import (
    by_player,
    places_by_role,
    seats,
    with_own_forfeits,
    with_roles,
)
from cheaptalk.rules import Game, GameBox, field_meanings, game_box
from cheaptalk.statistics import STRATA
from cheaptalk.statistics.intervals import Bounds, BoundsColumns
from cheaptalk.text import capital, decimals, plain

ANSWERS, VALID, FAULTS = "answers", "valid", "faults"
"""Columns: answers, the percentage that was valid at the first try, and all others in words."""
POOLED = "\n\nHere: the mean over the places of the role, or over those that the player fills."


@dataclass(frozen=True)
class Score:
    """A number that matches come to: a measure of the game, or a role's payoff.

    Attributes:
        key: the column of the game's frame.
        title: what people read.
        meaning: what it is, its formula and its source.
        unit: what it is counted in.
        role: whose gain it is, if it is one role's.
        published: what the published variant is, where it differs.
        bounds: the least and the most that it can be, or the columns that tell it of each match.
    """

    key: str
    title: str
    meaning: str
    unit: str
    role: str | None = None
    published: str | None = None
    bounds: Bounds | BoundsColumns = (-inf, inf)

    @property
    def is_payoff(self) -> bool:
        return self.key.startswith("payoff.")


class Parameter(NamedTuple):
    """A parameter of the game with its values and how many matches were played at each."""

    name: str
    meaning: str
    values: list[tuple[Any, int]]

    @property
    def varies(self) -> bool:
        return len(self.values) > 1


class GameScores:
    """One game of a study, read off its frame.

    Attributes:
        places: its places over all configurations, in order.
        roles: the places of each role.
        scores: what players are scored by.
        pairing_scores: what pairings are scored by: payoffs place by place where these are few.

    Args:
        name: of the game.
        frame: its matches.
        places: those that it has, with their roles.
        gains: whether players are scored by what each role gains alone, which is quick.
    """

    def __init__(
        self, name: str, frame: pl.DataFrame, places: Mapping[str, str], *, gains: bool = False
    ) -> None:
        self.name = name
        self.box: GameBox = game_box(name)
        self.rules: type[Game] = self.box.rules
        self.places = list(places)
        self.roles = places_by_role(places, self.rules.roles)
        frame, self.bounds = with_bounds(with_roles(frame, self.roles), name)
        self._means: dict[str, BoundsColumns] = {}
        for role in filter(self.shared, self.roles):
            frame, self._means[role] = with_mean_bounds(frame, name, role, seats(role))
        self.frame = frame
        self.scored = frame.filter(SCORED)
        measures = [
            Score(
                measure.name, capital(measure.name), inspect.getdoc(measure.of) or "", measure.unit,
                measure.role,
                inspect.getdoc(measure.published) if measure.published else None,
                self.bounds[measure.name],
            )
            for measure in self.box.measures.values()
        ]  # fmt: skip
        pooled = [self._payoff(role, role, POOLED * self.shared(role)) for role in self.roles]
        seated = [self._payoff(at, role) for role, those in self.roles.items() for at in those]
        apart = seated if len(self.places) <= FEW else pooled
        # payoffs go first where no measure tells the players of a role apart
        self.scores, self.pairing_scores = (
            [*payoffs, *measures] if self.shares else [*measures, *payoffs]
            for payoffs in (pooled, apart)
        )  # fmt: skip
        if gains:
            own = [self.gain(role) for role in self.roles]
            self.scores = [score for score in self.scores if score in own]
            self.pairing_scores = []

    def _payoff(self, name: str, role: str, more: str = "") -> Score:
        meaning = inspect.getdoc(self.rules.payoffs) or ""
        title = f"Payoff {capital(name)}"
        unit = self.rules.payoff_units()[role] or "in the unit of the game"
        bounds = self.bounds.get(f"payoff.{role}", (-inf, inf))
        if name == role and self.shared(role):
            bounds = self._means[role]
        return Score(f"payoff.{name}", title, f"{meaning}{more}", unit, role, bounds=bounds)

    def shared(self, role: str) -> bool:
        """Whether several places have this role."""
        return len(self.roles[role]) > 1

    @property
    def shares(self) -> bool:
        """Whether a player can fill several places of a role."""
        return any(map(self.shared, self.roles))

    def gain(self, role: str) -> Score:
        """What the players of a role are told apart by: its measure if it has one, or its payoff.

        Where several places have the role, a measure is of the whole table, and payoffs tell
        players apart.
        """
        own = [score for score in self.scores if score.role == role]
        return next((one for one in own if one.is_payoff), own[0]) if self.shared(role) else own[0]

    @cached_property
    def counts(self) -> dict[str, int]:
        """Matches by status."""
        return dict(self.frame.group_by("status", maintain_order=True).len().iter_rows())

    @property
    def statuses(self) -> list[Status]:
        """The statuses that are counted beside scores: that of scored matches, and those met."""
        others = (Status.FORFEITED, Status.FAILED, Status.LIVE)
        return [Status.FINISHED, *(one for one in others if self.counts.get(one.value))]

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
    def pairings(self) -> pl.DataFrame:
        """Every seating with its scores, in alphabetical order; see :meth:`lines`."""
        return self.lines(self.frame, self.places, [*self.roles], self.pairing_scores)

    @cached_property
    def players(self) -> dict[str, pl.DataFrame]:
        """By role, everyone who played it, over all others; who gained most stands first."""
        return {role: self._ranked(role) for role in self.roles}

    def seated(self, role: str, *, scored: bool = False) -> pl.DataFrame:
        """One row a match and player of a role, with what the player can have got in it."""
        frame = by_player(self.scored if scored else self.frame, role, self.roles[role])
        if self.shared(role):
            frame, _ = with_mean_bounds(frame, self.name, role, seats(role))
        return frame

    def _ranked(self, role: str) -> pl.DataFrame:
        found = self.lines(with_own_forfeits(self.seated(role), role), [role], [role], self.scores)
        return found.sort(
            self.gain(role).key, descending=True, nulls_last=True, maintain_order=True
        )

    def lines(
        self, frame: pl.DataFrame, names: Sequence[str], roles: Sequence[str],
        scores: Sequence[Score],
    ) -> pl.DataFrame:  # fmt: skip
        """A row for each combination of players in these places, or in a role.

        Returns:
            Columns ``player.PLACE``, a count for each status, answers by kind (``kind.KIND``) of
            matches of any status and in all, the percentage that was valid at the first try, and
            for each score its mean with what goes with it; see :func:`.means`.
        """
        by = [f"player.{name}" for name in names]
        counts = [(pl.col("status") == one.value).sum().alias(one.value) for one in Status]
        kinds = [
            pl.sum_horizontal([f"kind.{role}.{kind}" for role in roles]).sum().alias(f"kind.{kind}")
            for kind in KINDS
        ]
        counted = frame.group_by(by, maintain_order=True).agg(*counts, *kinds)
        answers = pl.sum_horizontal(f"kind.{kind}" for kind in KINDS)
        valid = 100 * pl.col(f"kind.{Kind.OK.value}") / pl.col(ANSWERS)
        counted = counted.with_columns(answers.alias(ANSWERS)).with_columns(
            pl.when(pl.col(ANSWERS) > 0).then(valid).alias(VALID),
            pl.struct(ANSWERS, *(f"kind.{kind}" for kind in KINDS))
            .map_elements(_faults_text, return_dtype=pl.String)
            .alias(FAULTS),
        )
        bounds = {score.key: score.bounds for score in scores}
        found = means(frame.filter(SCORED), [*bounds], by, strata=STRATA, bounds=bounds)
        return counted.join(
            found, on=by, how="left", nulls_equal=True, validate="1:1", maintain_order="left"
        ).sort(by)

    @cached_property
    def unscored(self) -> dict[str, str]:
        """The players without a scored match, and what became of theirs, such as 20 refused."""
        rows = [
            self.seated(role).select("match", pl.col(f"player.{role}").alias("player"),
                                     own_end(role))
            for role in self.roles
        ]  # fmt: skip
        return without_scored(pl.concat(rows))

    @cached_property
    def parameters(self) -> list[Parameter]:
        """The parameters in the order of the rules."""
        found = []
        for column in (name for name in self.frame.columns if name.startswith("game.")):
            name = column.removeprefix("game.")
            counted = (
                self.frame.group_by(column, maintain_order=True).len().sort(column).iter_rows()
            )
            meaning = field_meanings(self.rules).get(name, "")
            values = [(decoded(value), count) for value, count in counted]
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
        """How many decimals the numbers of each score are printed with, a seat's as its role's."""
        found = {
            score.key: decimals(
                [value for frame in self.players.values() if score.key in frame.columns
                 for value in frame[score.key].drop_nulls()]
            )
            for score in self.scores
        }  # fmt: skip
        seated = {one.key: found[f"payoff.{one.role}"] for one in self.pairing_scores
                  if one.is_payoff}  # fmt: skip
        return found | seated

    @cached_property
    def beyond(self) -> list[str]:
        """Which scores left what the game says that they can be, and in which match."""
        seated = {f"payoff.{place}": self.bounds[f"payoff.{role}"]
                  for role, places in self.roles.items() if f"payoff.{role}" in self.bounds
                  for place in places}  # fmt: skip
        measures = {name: self.bounds[name] for name in self.box.measures}
        return list(beyond(self.scored, measures | seated))

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
        sums = [frame.select(ANSWERS, f"kind.{Kind.OK.value}").sum().row(0)
                for frame in self.players.values()]  # fmt: skip
        given, valid = map(sum, zip(*sums, strict=True))
        return {"all": given, "ok": valid}


def query(row: Mapping[str, Any]) -> dict[str, str]:
    """What picks the matches of a row of :meth:`GameScores.lines` out in the viewer."""
    names = [key.removeprefix("player.") for key in row if key.startswith("player.")]
    seated = {name: row[f"player.{name}"] for name in names if row[f"player.{name}"] is not None}
    return query_of(seated, next((name for name in names if name not in seated), None))


def ended(asked: Mapping[str, str], status: str) -> dict[str, str]:
    """What picks those of some matches out that have a status; of one player, its own forfeits."""
    forfeits = {}
    if status == Status.FORFEITED.value and len(asked) == 1:
        forfeits = {key.replace("player.", "forfeit."): label for key, label in asked.items()}
    return {**asked, "status": status, **forfeits}


def seated_text(row: Mapping[str, Any]) -> str:
    """The players of a row in one line."""
    return line_up([one for key, one in row.items() if key.startswith("player.") and one])


def _faults_text(row: Mapping[str, int]) -> str:
    """The answers that were not valid at the first try, as percentages of all."""
    faults = {kind: row[f"kind.{kind}"] for kind in KINDS if kind != Kind.OK.value}
    return ", ".join(
        f"{plain(kind)} {100 * count / row[ANSWERS]:.1f}" for kind, count in faults.items() if count
    )
