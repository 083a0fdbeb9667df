"""What statistics refuse to compute."""

from cheaptalk.rules import CheaptalkError


class StatisticsError(CheaptalkError):
    """The data do not determine what was asked of them."""
