"""Studies: written, planned, estimated, run, awaited, looked after."""

import asyncio
from pathlib import Path
from threading import Event

import cheaptalk as ct

STUDY = ct.Study(
    name="mine",
    description="Two ways to write an entry.",
    seed=7,
    games=[
        ct.studies.GameGrid(game="bargaining", grid={"horizon": [2, 4]}),
        {"game": "negotiation", "fixed": {"horizon": 2}},
    ],
    players={
        "fair": "linear",
        "firm": {"strategy": "boulware", "power": 2.5},
        "tiny": {"model": "script/legal"},
    },
    pairing=[["fair", "firm"], {"firm": 1, "tiny": 1}],
    swap=True,
    instances=2,
    repeats=1,
    budget={"calls": 100},
    unanswered={"illegal": "drop"},
)


def seatings(strategies: list[str]) -> ct.Study:
    pairs: list[list[str]] = [[one, other] for one in strategies for other in strategies]
    players: dict[str, str] = {one: one for one in strategies}
    return ct.Study(name="all", games=[{"game": "bargaining"}], players=players, pairing=pairs)


def planned(store: ct.Store | None = None) -> ct.studies.Forecast:
    plan = ct.studies.lay_out(STUDY, store)
    first: ct.studies.PlannedMatch = plan.matches[0]
    who: list[str] = [one.label for one in first.seating]
    print(len(plan.matches), first.id, who, plan.counts().most_common(1), plan.unseated)
    return ct.studies.forecast(plan, store, ct.models.load_prices(), batch=False)


def joined() -> ct.Study:
    return ct.studies.with_players(STUDY, {"more": "linear"}, ["glee"])


def played(path: Path) -> int:
    stop = Event()

    def tell(progress: ct.Progress) -> None:
        left: float | None = progress.seconds_left
        if progress.failed > 10 or (left is not None and left > 1e6):
            stop.set()

    cap = ct.studies.Cap(calls=50, dollars=1.5)
    with ct.Store.open(path, create=True) as store:
        plan = ct.studies.part(ct.studies.lay_out(STUDY, store), store, games=["bargaining"])
        checked = ct.studies.check(plan, store, cap=cap)
        progress = ct.run(checked, store, workers=1, progress=tell, cache=None, stop=stop)
        again = ct.run(ct.studies.stored_study(store, "mine"), store)
    return progress.done + again.before


async def awaited(path: Path) -> ct.Progress:
    running = asyncio.create_task(ct.run_async(STUDY, path, concurrency=8))
    return await running


async def hosted(path: Path) -> ct.records.Status | None:
    (match, *_) = ct.plan(STUDY).matches
    async with ct.open_host(STUDY, path) as host:
        end = await host.play(match)
    return end.status if isinstance(end, ct.records.Ended) else None


def looked_after(path: Path) -> float | None:
    state: ct.studies.RunState = ct.studies.watch(path, "mine")
    ct.studies.control_run(path, "mine", "set", concurrency=8, limits={"openai/gpt-4o": None})
    ct.studies.control_run(path, "mine", "stop")
    with ct.Store.open(path) as store:
        waiting: list[ct.records.BatchSummary] = ct.records.waiting_batches(store, "mine")
    print(waiting, [limiter.model for limiter in state.limiters])
    return state.eta


def known(path: Path) -> list[str]:
    one = ct.studies.study_status(path, STUDY)
    print(one.planned, one.cost.dollars_known, one.summary.halted)
    return [each.name for each in ct.studies.statuses(path)]


def presets() -> list[str]:
    found: ct.Study | None = ct.preset("quickstart")
    print(found and found.description, ct.studies.preset_text("quickstart"))
    return ct.studies.preset_names()
