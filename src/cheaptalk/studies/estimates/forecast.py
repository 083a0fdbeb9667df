"""Forecasts of a study: its cost so far and the estimated remaining cost."""

from collections.abc import Sequence
from typing import NamedTuple

from cheaptalk.models.prices import Prices, load_prices
from cheaptalk.players import ModelSeat
from cheaptalk.records import Cost, Store
from cheaptalk.records.ledger.spending import answered, study_cost
from cheaptalk.records.record import SETTLED
from cheaptalk.studies.estimates.estimate import Estimate, doubts, estimate
from cheaptalk.studies.estimates.usage_history import NONE, usage_histories
from cheaptalk.studies.plans.plan import Plan


class Forecast(NamedTuple):
    """The cost so far and the estimated remaining cost of a study.

    Attributes:
        settled: number of ended matches.
        takes: the estimate of the remaining matches; None if not requested.
        doubts: conflicts with the budget, one sentence each.
    """

    settled: int
    spent: Cost
    takes: Estimate | None
    doubts: Sequence[str]


def forecast(
    planned: Plan,
    store: Store | None,
    prices: Prices | None = None,
    *,
    batch: bool = False,
    concurrency: int | None = None,
    estimated: bool = True,
) -> Forecast:
    """Return the cost so far and the estimated remaining cost of a plan.

    The estimate uses the recorded usage of the study's models in the store.

    Args:
        prices: model prices; by default those of :func:`~cheaptalk.models.prices.load_prices`.
        batch: whether calls are sent in providers' batches, at batch prices.
        concurrency: number of concurrent matches; None for the default.
        estimated: whether to estimate the remaining matches, which requires rehearsals.
    """
    name = planned.study.name
    statuses = store.statuses(match.id for match in planned.matches) if store else {}
    settled = {id_ for id_, status in statuses.items() if status in SETTLED}
    spent = study_cost(store, name) if store else Cost()
    if not estimated:
        return Forecast(len(settled), spent, None, ())
    specs = (player.spec for player in planned.players().values())
    models = {spec.model for spec in specs if isinstance(spec, ModelSeat)}
    costs = answered(store) if store else {}
    remaining = estimate(
        planned,
        prices or load_prices(),
        settled,
        {id_: by_actor for id_, by_actor in costs.items() if id_ in statuses.keys() - settled},
        history=usage_histories(store, name, models) if store else NONE,
        batch=batch,
        concurrency=concurrency,
    )
    return Forecast(
        len(settled), spent, remaining, list(doubts(remaining, planned.study.budget, spent))
    )
