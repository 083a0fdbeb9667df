"""What a report says of one game: its design, its scores and its answers, ready to be printed."""

import inspect
from collections.abc import Mapping
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.frames.bounds import with_bounds, with_mean_bounds
from cheaptalk.frames.matches import KINDS, SCORED
from cheaptalk.frames.reader import decoded
from cheaptalk.players import Kind
from cheaptalk.records import FEW, Status
from cheaptalk.reports.score_lines import (
    Score,
    ScoreLine,
    by_player,
    lines_of,
    places_by_role,
    seats,
    with_own_forfeits,
    with_roles,
)
from cheaptalk.rules import Game, GameBox, field_meanings, game_box
from cheaptalk.statistics.intervals import BoundsColumns
from cheaptalk.text import capital, decimals, few_text

COUNTED = (Status.FINISHED.value, Status.FORFEITED.value, Status.FAILED.value)
POOLED = "\n\nHere: the mean over the places of the role, or over those that the player fills."


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
    """

    def __init__(self, name: str, frame: pl.DataFrame, places: Mapping[str, str]) -> None:
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

    @property
    def faulty(self) -> bool:
        """Whether some answer was not valid at the first try."""
        return self.answers["ok"] < self.answers["all"]

    @cached_property
    def pairings(self) -> list[ScoreLine]:
        """Every seating with its scores, in alphabetical order."""
        return lines_of(self.frame, self.places, list(self.roles), self.pairing_scores)

    @cached_property
    def players(self) -> dict[str, list[ScoreLine]]:
        """By role, everyone who played it, over all others; who gained most stands first."""
        return {role: self._ranked(role) for role in self.roles}

    def _ranked(self, role: str) -> list[ScoreLine]:
        payoff = f"payoff.{role}"
        gains = [score.key for score in self.scores if score.role == role]
        gain = payoff if self.shared(role) else gains[0]
        seated = by_player(self.frame, role, self.roles[role])
        if self.shared(role):
            seated, _ = with_mean_bounds(seated, self.name, role, seats(role))
        return sorted(
            lines_of(with_own_forfeits(seated, role), [role], [role], self.scores),
            key=lambda line: -line.estimates[gain].mean if gain in line.estimates else float("inf"),
        )

    @property
    def unscored(self) -> list[str]:
        """The players without a scored match."""
        lines = [line for lines in self.players.values() for line in lines]
        scored = {label for line in lines if line.estimates for label in line.players.values()}
        return sorted({label for line in lines for label in line.players.values()} - scored)

    @cached_property
    def parameters(self) -> list[Parameter]:
        """The parameters in the order of the rules."""
        found = []
        for column in (name for name in self.frame.columns if name.startswith("game.")):
            name = column.removeprefix("game.")
            counted = self.frame.group_by(column).len().sort(column).iter_rows()
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
        """How many decimals the numbers of each score are printed with."""
        lines = [*self.pairings, *(line for lines in self.players.values() for line in lines)]
        found = {score.key: [line.estimates.get(score.key) for line in lines]
                 for score in self.explained}  # fmt: skip
        return {key: decimals([one.mean for one in ones if one]) for key, ones in found.items()}

    @property
    def caution(self) -> str:
        """What the mark of too few deals means; empty where it does not stand."""
        lines = [*self.pairings, *(line for lines in self.players.values() for line in lines)]
        wanted = [one.wanted or 0 for line in lines for one in line.estimates.values()]
        return few_text(max(wanted)) if any(wanted) else ""

    @property
    def explained(self) -> list[Score]:
        """All scores, each once."""
        return list({score.key: score for score in [*self.scores, *self.pairing_scores]}.values())

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
