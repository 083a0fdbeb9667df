"""What a run adds on request to the path of its calls: a cache, and providers' batches."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AsyncExitStack, contextmanager
from importlib import import_module
from pathlib import Path

from cheaptalk.calls.batches import Batches, Batching, Carrier
from cheaptalk.calls.cache import CacheStation
from cheaptalk.calls.desk import Desk
from cheaptalk.calls.purse import Halted
from cheaptalk.models.batch.server import PROVIDERS
from cheaptalk.models.prices import Prices
from cheaptalk.models.routes import Known
from cheaptalk.players import ModelSeat, PersonSeat
from cheaptalk.records import MatchRecord, Store
from cheaptalk.records.cache import Cache
from cheaptalk.records.ledger.batches import open_batches, refused_in_batches
from cheaptalk.studies.plans.plan import Plan, PlannedMatch, lay_out
from cheaptalk.studies.study import StudyError, parse_study


@contextmanager
def opened(cache: Path | None) -> Iterator[CacheStation | None]:
    """The cache in a file, made where there is none; None for no cache.

    Raises:
        CacheError: the file is something else, or cannot be used.
    """
    if cache is None:
        yield None
        return
    with Cache(cache) as kept:
        yield CacheStation(kept)


def check_batching(laid: Plan, store: Store | None, batching: Batching | None) -> None:
    """Refuse a plan that cannot be played in batches, or not without, before anything is written.

    Raises:
        StudyError: a person is at the table, a model's provider has no batch endpoint, a
            model's answers are to be streamed, or calls are in a batch and would be bought twice.
    """
    if batching is None:
        if store is not None:
            check_collected(store, laid.study.name, laid.matches)
        return
    for player in laid.players().values():
        match player.spec:
            case PersonSeat():
                raise StudyError(
                    f"players.{player.label}: nobody can be asked to wait for a provider's batch; "
                    "play with people without --batch"
                )
            case ModelSeat(model=model) if model.partition("/")[0] not in PROVIDERS:
                raise StudyError(
                    f"players.{player.label}: there are no batches for {model}, only for models of "
                    f"{' and '.join(PROVIDERS)}; play without --batch"
                )
            case ModelSeat(stream=True):
                raise StudyError(
                    f"players.{player.label}: a batch brings whole answers; leave stream out, or "
                    "play without --batch"
                )


def check_collected(store: Store, study: str, matches: Iterable[PlannedMatch]) -> None:
    """Refuse to make calls one by one while some of these matches' are in a batch.

    Raises:
        StudyError: some are; they would be bought twice.
    """
    waiting = with_providers(store, matches)
    if waiting:
        raise StudyError(
            f"{waiting:,} of its calls are in a provider's batch; collect them with: "
            f"cheaptalk resume {study} --batch"
        )


def with_providers(store: Store, matches: Iterable[PlannedMatch]) -> int:
    """How many calls are in batches that are not collected yet and hold calls of these matches."""
    return sum(len(one.calls) for one in open_batches(store, [match.id for match in matches]))


async def join_batches(
    stack: AsyncExitStack,
    desk: Desk,
    batching: Batching,
    prices: Prices,
    tell: Callable[[str], None],
    matches: Iterable[PlannedMatch],
) -> None:
    """Have a desk's calls go out in batches, once those of earlier runs are collected.

    The desk halts where some of these have not ended and are not to be waited for.
    """
    connect = import_module("cheaptalk.models.clients")  # slow, and seldom needed
    routes = Known()
    for model, reply in refused_in_batches(desk.store):
        routes.note(model, reply.route, reply)
    carrier = Carrier(desk.ledger, batching, connect.open_batches, prices, routes, tell)
    desk.batches = Batches(desk.ledger, desk.pace, carrier, routes)
    stack.push_async_callback(desk.batches.close)
    try:
        await desk.batches.recover(open_batches(desk.store, [match.id for match in matches]))
    except Halted as halt:
        desk.halt(str(halt))


def seed_of(store: Store, record: MatchRecord) -> str:
    """The seed of a match that was begun and has not ended, from the plan of its study.

    Raises:
        StudyError: no study in the store plans the match any more.
    """
    for summary in store.studies():
        if "players" not in summary.spec:
            continue
        laid = lay_out(parse_study(summary.spec, summary.name), store)
        for match in laid.matches:
            if match.id == record.id:
                return match.seed
    raise StudyError(f"match {record.id} is in no plan of a study in {store.path}")
