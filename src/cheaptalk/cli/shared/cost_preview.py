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
        takes: what is left of it.
        doubts: where that does not go with its budget, a sentence each.
    """

    stored: bool
    settled: int
    spent: ct.records.Cost
    takes: ct.studies.Estimate
    doubts: list[str]


def outlook(planned: ct.studies.Plan, where: str, prices: ct.models.Prices) -> Outlook:
    """What a plan has taken and is going to take, as far as the store tells."""
    with opened(where) as store:
        known = store.statuses(match.id for match in planned.matches) if store else {}
        spent = ct.records.study_cost(store, planned.study.name) if store else ct.records.Cost()
        answered = ct.records.answered(store) if store else {}
    settled = {id_ for id_, status in known.items() if status in ct.studies.SETTLED}
    begun = {id_: seats for id_, seats in answered.items() if id_ in known.keys() - settled}
    with err.status(f"{planned.study.name}: estimating"):
        takes = ct.studies.estimate(planned, prices, settled, begun)
    doubts = list(ct.studies.doubts(takes, planned.study.budget, spent))
    return Outlook(store is not None, len(settled), spent, takes, doubts)


def costs(model: str, prices: ct.models.Prices) -> bool:
    """Whether a model costs something and the price is known."""
    price = prices.of(model)
    return price is not None and not price.free
