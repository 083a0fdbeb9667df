"""The exact check that judges of honesty are held against."""

from cheaptalk.games.persuasion.events import Recommendation
from cheaptalk.rules import Result


def honesty(result: Result) -> dict[tuple[int, str], str]:
    """Whether each recommendation fits the quality that the seller saw.

    Of words about a product nothing is said: what they claim is not read.
    """
    found: dict[tuple[int, str], str] = {}
    for request, seat, action in result.given():
        if isinstance(action, Recommendation):
            high, recommended = result.deal.qualities[len(found)], action.decision == "yes"
            lie = "overstates" if recommended else "understates"
            found[request, seat] = "honest" if recommended == high else lie
    return found
