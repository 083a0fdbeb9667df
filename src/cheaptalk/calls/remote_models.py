"""Model calls from the machines of a cluster, with budgets and ledger on the main machine."""

import asyncio
import os
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cheaptalk.cluster import Cluster, MachineLost
from cheaptalk.models import Failure, ModelCall, Reply
from cheaptalk.models.clients import AllModels
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.providers import PROVIDERS, Provider
from cheaptalk.models.structured_output import RouteSupport
from cheaptalk.players import ModelSeat
from cheaptalk.players.seats import NO_SOURCES
from cheaptalk.rules import CheaptalkError, Game

GRACE = 60.0
"""Seconds after a call's timeout before its machine is considered lost."""
PAUSE = 1.0
"""Polling interval in seconds for a lost machine."""


class Asker:
    """A client that sends calls to models from one machine of the cluster.

    The variables with the providers' keys and URLs, and the providers, override those of the
    machine.
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
        self._models = AllModels(RouteSupport(earlier))

    async def missing_models(self, players: Iterable[tuple[ModelSeat, Game]]) -> str | None:
        """Return why this machine can't reach a player's model; None if it can reach all models."""
        reasons = (player.missing(game, NO_SOURCES) for player, game in players)
        return next((reason for reason in reasons if reason is not None), None)

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        return await self._models.call(call, number, deadline)


class RemoteModels:
    """A client that distributes calls over the machines of a cluster in turn.

    The actor of a lost machine gets no calls until it responds again, possibly on another machine.
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
        players: Sequence[tuple[ModelSeat, Game]],
        earlier: Sequence[tuple[str, Reply]] = (),
    ) -> "RemoteModels":
        """Create a client; raise a CheaptalkError if a machine cannot reach a player's model."""
        names = [ModelName.parse(player.model) for player, _ in players]
        providers = {name.provider: name.entry for name in names if name.provider in PROVIDERS}
        needed = {key for name in names for key in (name.entry.key, *name.entry.variables)}
        variables = {key: os.environ[key] for key in needed if key in os.environ}
        askers = cluster.actors(Asker, variables, earlier, providers)
        for asker in askers:
            reason = await cluster.answer(asker.missing_models.remote(players))
            if reason is not None:
                raise CheaptalkError(f"on a machine of the cluster: {reason}")
        return cls(cluster, askers)

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Send a call from one of the machines; the reply is a failure if the machine is lost."""
        queued = ModelName.parse(call.model).protocol == "in process"  # for an unknown time
        try:
            async with asyncio.timeout(None if queued else deadline + GRACE):
                while not self._there:
                    self._back.clear()
                    await self._back.wait()
                asker = self._there[0]
                self._there.rotate()
                pending = asker.call.remote(call, number, deadline)
                return await self._cluster.answer(pending)
        except MachineLost as error:
            self._lose(asker)
            detail = str(error)
        except TimeoutError:
            detail = "a machine of the cluster did not respond"
        return Reply(failure=Failure.PROVIDER_ERROR, detail=detail, retry=True)

    def _lose(self, asker: Any) -> None:
        if asker in self._there:
            self._there.remove(asker)
            task = asyncio.create_task(self._return(asker))
            self._returning.add(task)
            task.add_done_callback(self._returning.discard)

    async def _return(self, asker: Any) -> None:
        """Wait until the client on a lost machine responds again, possibly on another machine."""
        while True:
            try:
                await self._cluster.answer(asker.missing_models.remote([]))
            except MachineLost:
                await asyncio.sleep(PAUSE)
            else:
                self._there.append(asker)
                self._back.set()
                return
