"""The size and estimated cost of a study."""

import asyncio
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import sha256
from typing import NamedTuple

from cheaptalk.players import ModelSeat
from cheaptalk.players.person import PersonSeat
from cheaptalk.rules import counted
from cheaptalk.studies.estimates.estimate import Estimate, estimate
from cheaptalk.studies.plans.plan import Plan
from cheaptalk.studies.plans.seating import SeatedPlayer
from cheaptalk.studies.study import Study

MAX_ESTIMATED_MATCHES = 200_000
"""Larger studies are not estimated here, because all users would have to wait."""
MAX_CACHED = 64
"""Number of cached estimates."""
COST_IRRELEVANT = {"name", "description", "budget"}
"""Keys of a study that do not affect its cost."""


class GameSize(NamedTuple):
    """Number of configurations, seatings and matches of one game in a study."""

    game: str
    configurations: int
    seatings: int
    matches: int


class Size(NamedTuple):
    """The size of a study by game, its players by kind, and notes on the design."""

    games: list[GameSize]
    matches: int
    people: list[str]
    models: list[str]
    scripts: list[str]
    crossings: list[str]
    absences: list[str]

    @property
    def configurations(self) -> int:
        return sum(game.configurations for game in self.games)

    @property
    def seatings(self) -> int:
        return sum(game.seatings for game in self.games)

    @property
    def kinds(self) -> dict[str, int]:
        """The numbers of players by kind; kinds without players are missing."""
        kinds = {"person": self.people, "model": self.models, "script": self.scripts}
        return {kind: len(labels) for kind, labels in kinds.items() if labels}


def size_of(planned: Plan) -> Size:
    """Return the size of a plan. If matches are sampled, count all seatings that may be drawn."""
    matches: dict[str, int] = {}
    seatings: dict[str, set[tuple[str, ...]]] = {}
    counted_seatings: set[tuple[str, int]] = set()
    players: dict[str, SeatedPlayer] = {}
    for block in planned.matches.blocks:
        game = block.configuration.game.name
        matches[game] = matches.get(game, 0) + len(block)
        if (game, id(block.seatings)) not in counted_seatings:
            counted_seatings.add((game, id(block.seatings)))
            rows = {tuple(player.label for player in row) for row in block.seatings}
            seatings.setdefault(game, set()).update(rows)
            players |= {player.label: player for row in block.seatings for player in row}
    sizes = planned.configurations()
    games = [GameSize(game, sizes[game], len(seatings[game]), matches[game]) for game in matches]
    people = [label for label, player in players.items() if isinstance(player.spec, PersonSeat)]
    models = [label for label, player in players.items() if isinstance(player.spec, ModelSeat)]
    scripts = [label for label in players if label not in people and label not in models]
    lines = planned.crossings, planned.absences
    return Size(games, len(planned.matches), people, models, scripts, *lines)


class CostEstimator:
    """Estimator of study costs that works in a background thread and caches its results.

    Studies with the same cost, for example under two names, are estimated once.
    """

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1, "estimate")
        self._estimates: OrderedDict[str, Future[Estimate]] = OrderedDict()

    def start(self, planned: Plan) -> "Future[Estimate]":
        """Start estimating a plan's model usage by playing its matches with scripted players."""
        key = cost_digest(planned.study)
        if key not in self._estimates:
            self._estimates[key] = self._worker.submit(estimate, planned)
        self._estimates.move_to_end(key)
        while len(self._estimates) > MAX_CACHED:
            self._estimates.popitem(last=False)[1].cancel()
        return self._estimates[key]

    async def wait_for(self, planned: Plan, seconds: float) -> Estimate | None:
        """Return a plan's estimated model usage, or None if it takes longer than ``seconds``.

        Raises:
            CheaptalkError: the usage cannot be estimated.
        """
        pending = self.start(planned)
        ended, _ = await asyncio.wait([asyncio.wrap_future(pending)], timeout=seconds)
        return pending.result() if ended and not pending.cancelled() else None


def cost_digest(study: Study) -> str:
    """Return a digest of everything that a study's cost depends on."""
    return sha256(study.model_dump_json(exclude=COST_IRRELEVANT).encode()).hexdigest()


def no_estimate_reason(size: Size) -> str | None:
    """Return a sentence on why a study's cost is not estimated; None if it is estimated."""
    if not size.models:
        return "No language models play, so there are no model costs."
    if size.matches > MAX_ESTIMATED_MATCHES:
        limit = counted(MAX_ESTIMATED_MATCHES, "match")
        return f"No estimate here for more than {limit}. Use cheaptalk plan instead."
    return None
