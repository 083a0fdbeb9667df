"""Studies: definition, plan, forecast, runs, and control."""

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


def all_pairs(strategies: list[str]) -> ct.Study:
    pairs: list[list[str]] = [[first, second] for first in strategies for second in strategies]
    players: dict[str, str] = {name: name for name in strategies}
    return ct.Study(name="all", games=[{"game": "bargaining"}], players=players, pairing=pairs)


def make_forecast(store: ct.Store | None = None) -> ct.studies.Forecast:
    plan = ct.studies.plan_in_store(STUDY, store)
    first: ct.studies.PlannedMatch = plan.matches[0]
    labels: list[str] = [seat.label for seat in first.seating]
    print(len(plan.matches), first.id, labels, plan.counts().most_common(1), plan.unseated)
    return ct.studies.forecast(plan, store, ct.models.load_prices(), batch=False)


def add_roster() -> ct.Study:
    return ct.studies.with_players(STUDY, {"more": "linear"}, ["glee"])


def run_study(path: Path) -> int:
    stop = Event()

    def tell(progress: ct.Progress) -> None:
        seconds: float | None = progress.seconds_left
        if progress.failed > 10 or (seconds is not None and seconds > 1e6):
            stop.set()

    cap = ct.studies.Cap(calls=50, dollars=1.5)
    with ct.Store.open(path, create=True) as store:
        plan = ct.studies.restrict_plan(
            ct.studies.plan_in_store(STUDY, store), store, games=["bargaining"]
        )
        checked = ct.studies.check(plan, store, cap=cap)
        progress = ct.run(checked, store, workers=1, progress=tell, cache=None, stop=stop)
        again = ct.run(ct.studies.stored_study(store, "mine"), store)
    return progress.done + again.before


async def await_run(path: Path) -> ct.Progress:
    running = asyncio.create_task(ct.run_async(STUDY, path, concurrency=8))
    return await running


async def host_match(path: Path) -> ct.records.Status | None:
    (match, *_) = ct.plan(STUDY).matches
    async with ct.open_host(STUDY, path) as host:
        end = await host.play(match)
    return end.status if isinstance(end, ct.records.MatchEnd) else None


def control_run(path: Path) -> float | None:
    state: ct.studies.RunState = ct.studies.run_state(path, "mine")
    ct.studies.control_run(path, "mine", "set", concurrency=8, limits={"openai/gpt-4o": None})
    ct.studies.control_run(path, "mine", "stop")
    with ct.Store.open(path) as store:
        waiting: list[ct.records.BatchSummary] = ct.records.waiting_batches(store, "mine")
    print(waiting, [limiter.model for limiter in state.limiters])
    return state.eta


def study_names(path: Path) -> list[str]:
    status = ct.studies.study_status(path, STUDY)
    print(status.planned, status.cost.dollars_known, status.halted)
    return [each.name for each in ct.studies.statuses(path)]


def preset_names() -> list[str]:
    study: ct.Study | None = ct.preset("quickstart")
    print(study and study.description, ct.studies.preset_text("quickstart"))
    return ct.studies.preset_names()
