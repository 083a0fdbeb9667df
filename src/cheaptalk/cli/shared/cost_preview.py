"""What commands say beforehand of what a study is going to cost."""

from __future__ import annotations

from typing import NamedTuple

import cheaptalk as ct
from cheaptalk.cli.shared.lookup import opened
from cheaptalk.cli.shared.printing import err


class Outlook(NamedTuple):
    """What a study has taken and is going to take.

    Attributes:
        stored: whether there is a store yet.
        settled: matches that are not played again.
        spent: on the study so far.
        takes: what is left of it; None where it was not to be estimated.
        doubts: where that does not go with its budget, a sentence each.
    """

    stored: bool
    settled: int
    spent: ct.records.Cost
    takes: ct.studies.Estimate | None
    doubts: list[str]


def outlook(
    planned: ct.studies.Plan,
    where: str,
    prices: ct.models.Prices,
    *,
    batch: bool = False,
    concurrency: int | None = None,
    wanted: bool = True,
) -> Outlook:
    """What a plan has taken and is going to take, as far as the store tells.

    Args:
        batch: whether calls go out in providers' batches.
        concurrency: matches with models played at once; None for the usual number.
        wanted: whether what is left is to be estimated.
    """
    specs = (one.spec for one in planned.players().values())
    models = {one.model for one in specs if isinstance(one, ct.players.ModelSeat)}
    with opened(where) as store:
        known = store.statuses(match.id for match in planned.matches) if store else {}
        spent = ct.records.study_cost(store, planned.study.name) if store else ct.records.Cost()
        answered = ct.records.answered(store) if store and wanted else {}
        found = wanted and store and ct.studies.experiences(store, planned.study.name, models)
    settled = {id_ for id_, status in known.items() if status in ct.studies.SETTLED}
    begun = {id_: seats for id_, seats in answered.items() if id_ in known.keys() - settled}
    if not wanted:
        return Outlook(store is not None, len(settled), spent, None, [])
    with err.status(f"{planned.study.name}: estimating"):
        takes = ct.studies.estimate(
            planned, prices, settled, begun, seen=found or ct.studies.Experiences(), batch=batch,
            concurrency=concurrency,
        )  # fmt: skip
    doubts = list(ct.studies.doubts(takes, planned.study.budget, spent))
    return Outlook(store is not None, len(settled), spent, takes, doubts)


def costs(model: str, prices: ct.models.Prices) -> bool:
    """Whether a model costs something and the price is known."""
    price = prices.of(model)
    return price is not None and not price.free
