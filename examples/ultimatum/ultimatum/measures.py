"""What is read off finished matches."""

import cheaptalk as ct


def generosity(result: ct.Result) -> float:
    """The share of the sum that was offered, accepted or not, in [0, 1]."""
    return float(result.outcome.amount / result.outcome.pie)


MEASURES = (ct.Measure("generosity", generosity, unit="share of the sum", bounds=ct.SHARE),)
