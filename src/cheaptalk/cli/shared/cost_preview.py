"""Whether what a command is about to do costs something."""

from __future__ import annotations

import cheaptalk as ct


def costs(model: str, prices: ct.models.Prices) -> bool:
    """Whether a model costs something and the price is known."""
    price = prices.of(model)
    return price is not None and not price.free
