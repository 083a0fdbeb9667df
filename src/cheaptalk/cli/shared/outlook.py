"""What commands say beforehand of what a study is going to cost."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import cheaptalk as ct
from cheaptalk.cli.shared.lookup import opened
from cheaptalk.cli.shared.printing import err


class Outlook(NamedTuple):
    """What a study has taken and is going to take.

    Attributes:
        settled: matches that are not played again.
        spent: on the study so far.
        takes: what is left of it.
        doubts: where that does not go with its budget, a sentence each.
    """

    settled: int
    spent: ct.records.Cost
    takes: ct.studies.Estimate
    doubts: list[str]


def outlook(laid: ct.studies.Plan, path: Path, prices: ct.models.Prices) -> Outlook:
    """What a plan has taken and is going to take, as far as the store tells."""
    with opened(path) as store:
        known = store.statuses(match.id for match in laid.matches) if store else {}
        spent = ct.records.study_cost(store, laid.study.name) if store else ct.records.Cost()
        answered = ct.records.answered(store) if store else {}
    settled = {id_ for id_, status in known.items() if status in ct.studies.SETTLED}
    begun = {id_: seats for id_, seats in answered.items() if id_ in known.keys() - settled}
    with err.status(f"{laid.study.name}: estimating"):
        takes = ct.studies.estimate(laid, prices, settled, begun)
    doubts = list(ct.studies.doubts(takes, laid.study.budget, spent))
    return Outlook(len(settled), spent, takes, doubts)


def costs(model: str, prices: ct.models.Prices) -> bool:
    """Whether a model costs something and the price is known."""
    price = prices.of(model)
    return price is not None and not price.free
