"""Detection of models whose calls cost money."""

from __future__ import annotations

import cheaptalk as ct


def costs(model: str, prices: ct.models.Prices) -> bool:
    """Return whether a model has a known price above zero."""
    price = prices.of(model)
    return price is not None and not price.free
