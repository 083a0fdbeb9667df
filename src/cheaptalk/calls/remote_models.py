"""Calls to models from the machines of a cluster: money, turns and the ledger stay with the run."""

import asyncio
import os
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cheaptalk.cluster import Cluster, MachineLost
from cheaptalk.models import Failure, ModelCall, Reply
from cheaptalk.models.clients import open_models
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.providers import PROVIDERS, Provider
from cheaptalk.models.structured_output import Known
from cheaptalk.players import ModelSeat
from cheaptalk.players.seats import NO_SOURCES
from cheaptalk.rules import CheaptalkError, Game

GRACE = 60.0
"""Seconds beyond a call's deadline after which its machine is taken for lost."""
PAUSE = 1.0
"""Seconds between two looks whether who was lost is there again."""


class Asker:
    """What makes calls on one machine.

    Args:
        variables: of the environment: the keys of the models' providers, and parts of their URLs.
        earlier: replies that may have been refusals of a way of asking, with their models.
        providers: the models' providers by name, which apply here whatever this machine knows of
            them.
    """

    def __init__(
        self,
        variables: Mapping[str, str],
        earlier: Sequence[tuple[str, Reply]],
        providers: Mapping[str, Provider],
    ) -> None:
        os.environ.update(variables)
        for name, provider in providers.items():
            PROVIDERS.put(name, provider)
        self._models = open_models(Known(earlier))

    async def lacking(self, seats: Iterable[tuple[ModelSeat, Game]]) -> str | None:
        """Why one of these players cannot be reached from here; None where all can."""
        found = (seat.missing(game, NO_SOURCES) for seat, game in seats)
        return next((reason for reason in found if reason is not None), None)

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Make one call."""
        return await self._models.call(call, number, deadline)


class RemoteModels:
    """Makes calls from all machines of a cluster in turn.

    Whoever is on a machine that was lost is asked nothing until it answers from another one, so
    that of no call but those that were under way there nobody knows whether it was made.
    """

    def __init__(self, cluster: Cluster, askers: Iterable[Any]) -> None:
        self._cluster = cluster
        self._there = deque(askers)
        self._back = asyncio.Event()
        self._returning: set[asyncio.Task[None]] = set()

    @classmethod
    async def begun(
        cls,
        cluster: Cluster,
        seats: Sequence[tuple[ModelSeat, Game]],
        earlier: Sequence[tuple[str, Reply]] = (),
    ) -> "RemoteModels":
        """Those that can reach some players from everywhere.

        Args:
            seats: the players, with the games in which they sit.
            earlier: as :class:`Asker` takes it.

        Raises:
            CheaptalkError: a player cannot be reached from one of the machines.
        """
        names = [ModelName.parse(seat.model) for seat, _ in seats]
        providers = {name.provider: name.entry for name in names if name.provider in PROVIDERS}
        needed = {one for name in names for one in (name.entry.key, *name.entry.variables)}
        variables = {one: os.environ[one] for one in needed if one in os.environ}
        askers = cluster.actors(Asker, variables, earlier, providers)
        for asker in askers:
            reason = await cluster.answer(asker.lacking.remote(seats))
            if reason is not None:
                raise CheaptalkError(f"on a machine of the cluster: {reason}")
        return cls(cluster, askers)

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Make one call; one whose machine is lost meanwhile may have been made, or not."""
        queued = (
            ModelName.parse(call.model).protocol == "in process"
        )  # there is no telling how long
        try:
            async with asyncio.timeout(None if queued else deadline + GRACE):
                while not self._there:
                    self._back.clear()
                    await self._back.wait()
                asker = self._there[0]
                self._there.rotate()
                asked = asker.call.remote(call, number, deadline)
                return await self._cluster.answer(asked)
        except MachineLost as error:
            self._lose(asker)
            detail = str(error)
        except TimeoutError:
            detail = "nothing was heard of a machine of the cluster"
        return Reply(failure=Failure.PROVIDER_ERROR, detail=detail, retry=True)

    def _lose(self, asker: Any) -> None:
        if asker in self._there:
            self._there.remove(asker)
            task = asyncio.create_task(self._return(asker))
            self._returning.add(task)
            task.add_done_callback(self._returning.discard)

    async def _return(self, asker: Any) -> None:
        """Wait until an asker is there again, wherever that is."""
        while True:
            try:
                await self._cluster.answer(asker.lacking.remote([]))
            except MachineLost:
                await asyncio.sleep(PAUSE)
            else:
                self._there.append(asker)
                self._back.set()
                return
