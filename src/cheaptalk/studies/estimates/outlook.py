"""What a plan has taken and is going to take, as far as its store tells."""

from collections.abc import Sequence
from typing import NamedTuple

from cheaptalk.models.prices import Prices, load_prices
from cheaptalk.players import ModelSeat
from cheaptalk.records import Cost, Store
from cheaptalk.records.ledger.spending import answered, study_cost
from cheaptalk.records.record import SETTLED
from cheaptalk.studies.estimates.estimate import Estimate, doubts, estimate
from cheaptalk.studies.estimates.experience import NONE, experiences
from cheaptalk.studies.plans.plan import Plan


class Outlook(NamedTuple):
    """What a study has taken and is going to take.

    Attributes:
        settled: matches that are not played again.
        spent: on the study so far.
        takes: what is left of it; None where it was not to be estimated.
        doubts: where that does not go with its budget, a sentence each.
    """

    settled: int
    spent: Cost
    takes: Estimate | None
    doubts: Sequence[str]


def outlook(
    planned: Plan,
    store: Store | None,
    prices: Prices | None = None,
    *,
    batch: bool = False,
    concurrency: int | None = None,
    estimated: bool = True,
) -> Outlook:
    """What a plan has taken and is going to take.

    The estimate learns from what the study's models took in the store so far.

    Args:
        store: where its matches are kept; None where there is none yet.
        prices: what models cost; by default those of :func:`~cheaptalk.models.prices.load_prices`.
        batch: whether calls go out in providers' batches, at their prices.
        concurrency: matches with models played at once; None for the usual number.
        estimated: whether what is left is to be estimated, which rehearses matches.
    """
    name = planned.study.name
    known = store.statuses(match.id for match in planned.matches) if store else {}
    settled = {id_ for id_, status in known.items() if status in SETTLED}
    spent = study_cost(store, name) if store else Cost()
    if not estimated:
        return Outlook(len(settled), spent, None, ())
    specs = (one.spec for one in planned.players().values())
    models = {one.model for one in specs if isinstance(one, ModelSeat)}
    said = answered(store) if store else {}
    takes = estimate(
        planned, prices or load_prices(), settled,
        {id_: seats for id_, seats in said.items() if id_ in known.keys() - settled},
        seen=experiences(store, name, models) if store else NONE, batch=batch,
        concurrency=concurrency,
    )  # fmt: skip
    return Outlook(len(settled), spent, takes, list(doubts(takes, planned.study.budget, spent)))
