"""Metrics of finished matches."""

import cheaptalk as ct


def generosity(result: ct.Result) -> float:
    """Return the share of the sum that was offered, accepted or not, in [0, 1]."""
    return float(result.outcome.amount / result.outcome.pie)


METRICS = (ct.Metric("generosity", generosity, unit="share of the sum", bounds=ct.rules.SHARE),)
