"""One game of a study: its design, and the scores and answers of players and pairings as frames."""

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.frames.bounds import beyond, with_bounds, with_mean_bounds
from cheaptalk.frames.matches import KINDS, scored
from cheaptalk.frames.reader import in_order, parameters_in
from cheaptalk.frames.unscored import own_end, without_scored
from cheaptalk.players import Kind
from cheaptalk.records import FEW, Status, line_up, viewer_query
from cheaptalk.records.encoding import standard_json
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.study import comparability
from cheaptalk.rules import Game, GameSpec, Metric, field_meanings, get_game
from cheaptalk.statistics import STRATA
from cheaptalk.statistics.columns import with_matching
from cheaptalk.statistics.limits import Bounds, BoundsColumns
from cheaptalk.text import capital, decimals, plain

ANSWERS, VALID, FAULTS = "answers", "valid", "faults"
"""Columns: answers, the percentage that was valid at the first try, and the others as text."""
POOLED = "\n\nHere: the mean over the seats of the role, or over those that the player fills."


@dataclass(frozen=True)
class Score:
    """A score of matches: a metric of the game, or a role's payoff.

    ``published`` defines the published variant if it differs; bounds can be columns with those of
    each match.
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
        return self.key.startswith("payoff_")


class Parameter(NamedTuple):
    """A parameter of the game with its values and the number of matches with each value."""

    name: str
    meaning: str
    values: list[tuple[Any, int]]

    @property
    def varies(self) -> bool:
        return len(self.values) > 1


class GameScores:
    """The scores, answers and parameters of one game of a study.

    Scores of pairings include payoffs by seat if there are few seats. ``gains`` scores players only
    by the gain of each role, which is fast.
    """

    def __init__(
        self, name: str, frame: pl.DataFrame, seats: Mapping[str, str], *, gains: bool = False
    ) -> None:
        self.name = name
        self.game_spec: GameSpec = get_game(name)
        self.rules: type[Game] = self.game_spec.rules
        self.seats = list(seats)
        self.roles = comparability.seats_by_role(seats, self.rules.roles)
        frame, self.bounds = with_bounds(comparability.with_roles(frame, self.roles), name)
        self._means: dict[str, BoundsColumns] = {}
        for role in filter(self.shared, self.roles):
            frame, self._means[role] = with_mean_bounds(
                frame, name, role, comparability.seat_count(role)
            )
        self.frame = frame
        self.scored = scored(frame)
        metrics = [
            Score(
                metric.name,
                _title(metric),
                inspect.getdoc(metric.of) or "",
                metric.unit,
                metric.role,
                inspect.getdoc(metric.published) if metric.published else None,
                self.bounds[metric.name],
            )
            for metric in self.game_spec.metrics.values()
        ]
        pooled = [self._payoff(role, role, POOLED * self.shared(role)) for role in self.roles]
        seated = [self._payoff(seat, role) for role in self.roles for seat in self.roles[role]]
        by_pairing = seated if len(self.seats) <= FEW else pooled
        # payoffs go first if no metric distinguishes the players of a role
        self.scores, self.pairing_scores = (
            [*payoffs, *metrics] if self.shares else [*metrics, *payoffs]
            for payoffs in (pooled, by_pairing)
        )
        if gains:
            gain_scores = [self.gain(role) for role in self.roles]
            self.scores = [score for score in self.scores if score in gain_scores]
            self.pairing_scores = []

    def _payoff(self, name: str, role: str, more: str = "") -> Score:
        meaning = inspect.getdoc(self.rules.payoffs) or ""
        title = f"Payoff {capital(name)}"
        unit = self.rules.payoff_units()[role] or "in the unit of the game"
        bounds = self.bounds.get(f"payoff_{role}", (-inf, inf))
        if name == role and self.shared(role):
            bounds = self._means[role]
        return Score(f"payoff_{name}", title, f"{meaning}{more}", unit, role, bounds=bounds)

    def shared(self, role: str) -> bool:
        return len(self.roles[role]) > 1

    @property
    def shares(self) -> bool:
        """Return whether a player can fill several seats of a role."""
        return any(map(self.shared, self.roles))

    def gain(self, role: str) -> Score:
        """Return the score that compares a role's players: a metric or, if shared, a payoff."""
        scores = [score for score in self.scores if score.role == role]
        payoffs = [score for score in scores if score.is_payoff and self.shared(role)]
        return (payoffs or scores)[0]

    @cached_property
    def counts(self) -> dict[str, int]:
        return dict(self.frame.group_by("status", maintain_order=True).len().iter_rows())

    @property
    def statuses(self) -> list[Status]:
        """Return the statuses to show: finished, and every other status that occurred."""
        others = (Status.FORFEITED, Status.FAILED, Status.LIVE)
        return [Status.FINISHED, *(value for value in others if self.counts.get(value.value))]

    @cached_property
    def kinds(self) -> list[str]:
        """Return the kinds of answers to show: valid, repaired, and all others that occurred."""
        kinds = [Kind.OK.value, Kind.REPAIRED.value]
        columns = [[f"answers_{role}_{kind}" for role in self.roles] for kind in KINDS]
        for kind, names in zip(KINDS, columns, strict=True):
            if kind not in kinds and self.frame.select((pl.sum_horizontal(names) > 0).any()).item():
                kinds.append(kind)
        return kinds

    @cached_property
    def pairings(self) -> pl.DataFrame:
        """Return one row per pairing of players, with the means of its scores."""
        return self.lines(self.frame, self.seats, [*self.roles], self.pairing_scores)

    @cached_property
    def players(self) -> dict[str, pl.DataFrame]:
        """Return the players of each role with scores over all rivals, the largest gain first."""
        return {role: self._ranked(role) for role in self.roles}

    def seated(self, role: str, *, scored: bool = False) -> pl.DataFrame:
        """Return one row per match and player of a role, with the bounds of the player's scores."""
        frame = comparability.by_player(
            self.scored if scored else self.frame, role, self.roles[role]
        )
        if self.shared(role):
            frame, _ = with_mean_bounds(frame, self.name, role, comparability.seat_count(role))
        return frame

    def _ranked(self, role: str) -> pl.DataFrame:
        frame = self.lines(
            comparability.with_own_forfeits(self.seated(role), role), [role], [role], self.scores
        )
        gain = self.gain(role).key
        return frame.sort(gain, descending=True, nulls_last=True, maintain_order=True)

    def lines(
        self,
        frame: pl.DataFrame,
        names: Sequence[str],
        roles: Sequence[str],
        scores: Sequence[Score],
    ) -> pl.DataFrame:
        """Return a row for each combination of players in these seats, or in a role.

        Columns are ``player_SEAT``, counts by status, answers by kind (of matches of any status),
        the percentage valid at the first try, and the mean scores (see :func:`.means`).
        """
        by = [f"player_{name}" for name in names]
        counts = [(pl.col("status") == status.value).sum().alias(status.value) for status in Status]
        kinds = [
            pl.sum_horizontal([f"answers_{role}_{kind}" for role in roles])
            .cast(pl.Int64)
            .sum()
            .alias(f"answers_{kind}")
            for kind in KINDS
        ]
        counted = frame.group_by(by, maintain_order=True).agg(*counts, *kinds)
        answers = pl.sum_horizontal(f"answers_{kind}" for kind in KINDS)
        valid = 100 * pl.col(f"answers_{Kind.OK.value}") / pl.col(ANSWERS)
        counted = counted.with_columns(answers.alias(ANSWERS)).with_columns(
            pl.when(pl.col(ANSWERS) > 0).then(valid).alias(VALID),
            pl.struct(ANSWERS, *(f"answers_{kind}" for kind in KINDS))
            .map_elements(_faults_text, return_dtype=pl.String)
            .alias(FAULTS),
        )
        bounds = {score.key: score.bounds for score in scores}
        mean_scores = means(scored(frame), [*bounds], by, strata=STRATA, bounds=bounds)
        return with_matching(counted, mean_scores, by).sort(by)

    @cached_property
    def unscored(self) -> dict[str, str]:
        """Return the players without a scored match, with the statuses of their matches."""
        rows = [
            self.seated(role).select(
                "match_id", pl.col(f"player_{role}").alias("player"), own_end(role)
            )
            for role in self.roles
        ]
        return without_scored(pl.concat(rows))

    @cached_property
    def parameters(self) -> list[Parameter]:
        """Return the parameters of all matches, except empty mappings."""
        configurations, meanings = parameters_in(self.frame), field_meanings(self.rules)
        matches = dict(self.frame.group_by("configuration", maintain_order=True).len().iter_rows())
        parameters = []
        for name in dict.fromkeys(name for values in configurations.values() for name in values):
            counts: dict[str, int] = {}
            for digest, values in configurations.items():
                text = standard_json(values.get(name))
                counts[text] = counts.get(text, 0) + matches[digest]
            decoded = [(json.loads(text), count) for text, count in counts.items()]
            if decoded != [({}, self.frame.height)]:
                decoded.sort(key=lambda pair: in_order(pair[0]))
                parameters.append(Parameter(name, meanings.get(name, ""), decoded))
        return parameters

    @cached_property
    def instances(self) -> int:
        """Return the number of different instances with a scored match."""
        return self.scored.select("configuration", "instance").unique().height

    @cached_property
    def configurations(self) -> int:
        return self.frame["configuration"].n_unique()

    @cached_property
    def other_rules(self) -> int:
        """Return the number of finished matches that used another version of the rules."""
        return self.scored.filter(pl.col("rules_version") != self.rules.version).height

    @cached_property
    def decimals(self) -> dict[str, int]:
        """Return the decimals of each score; a seat's payoff has as many as its role's payoff."""
        by_score = {
            score.key: decimals(
                [
                    value
                    for frame in self.players.values()
                    if score.key in frame.columns
                    for value in frame[score.key].drop_nulls()
                ]
            )
            for score in self.scores
        }
        seated = {
            score.key: by_score[f"payoff_{score.role}"]
            for score in self.pairing_scores
            if score.is_payoff
        }
        return by_score | seated

    @cached_property
    def beyond(self) -> list[str]:
        """Return sentences on scores beyond the game's bounds, with their matches."""
        seated = {
            f"payoff_{seat}": self.bounds[f"payoff_{role}"]
            for role, seats in self.roles.items()
            if f"payoff_{role}" in self.bounds
            for seat in seats
        }
        metrics = {name: self.bounds[name] for name in self.game_spec.metrics}
        return list(beyond(self.scored, metrics | seated))

    @property
    def doc(self) -> tuple[str, str]:
        """Return the rules' docstring, split into its first line and all other text."""
        first, _, details = (inspect.getdoc(self.rules) or "").partition("\n")
        return first, details.strip()

    @property
    def notes(self) -> list[str]:
        """Return the docstrings of the metrics' modules, which explain symbols and sources."""
        modules = [inspect.getmodule(metric.of) for metric in self.game_spec.metrics.values()]
        return list(dict.fromkeys(inspect.getdoc(module) or "" for module in modules if module))

    @cached_property
    def answers(self) -> dict[str, int]:
        """Return the numbers of all answers and of answers that were valid on the first attempt."""
        sums = [
            frame.select(ANSWERS, f"answers_{Kind.OK.value}").sum().row(0)
            for frame in self.players.values()
        ]
        total, valid = map(sum, zip(*sums, strict=True))
        return {"all": total, "ok": valid}


def _title(metric: Metric) -> str:
    """Return the heading of a metric, such as ``Self gain Alice`` for ``self_gain_alice``."""
    stem, role = metric.name.removesuffix(f"_{metric.role}"), metric.role or ""
    return capital(metric.name) if stem == metric.name else f"{capital(stem)} {capital(role)}"


def query(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the viewer's query for the matches that a row of results covers."""
    names = [key.removeprefix("player_") for key in row if key.startswith("player_")]
    seated = {name: row[f"player_{name}"] for name in names if row[f"player_{name}"] is not None}
    return viewer_query(seated, next((name for name in names if name not in seated), None))


def ended(players: Mapping[str, str], status: str) -> dict[str, str]:
    """Return the viewer's query for players' matches with a status."""
    forfeits = {}
    if status == Status.FORFEITED.value and len(players) == 1:
        forfeits = {key.replace("player_", "forfeit_"): label for key, label in players.items()}
    return {**players, "status": status, **forfeits}


def seated_text(row: Mapping[str, Any]) -> str:
    """Return the players of a table's row as one line of text."""
    return line_up([label for key, label in row.items() if key.startswith("player_") and label])


def _faults_text(row: Mapping[str, int]) -> str:
    faults = {kind: row[f"answers_{kind}"] for kind in KINDS if kind != Kind.OK.value}
    return ", ".join(
        f"{plain(kind)} {100 * count / row[ANSWERS]:.1f}" for kind, count in faults.items() if count
    )
