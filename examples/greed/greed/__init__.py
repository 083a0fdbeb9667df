"""Words, a metric and a judge of greed for bargaining, a game of another package."""

from pathlib import Path

import cheaptalk as ct

FOLDER = Path(__file__).parent
STEPWISE = ct.StyleFile("stepwise.jinja", folder=FOLDER)
RUBRICS = {"greed": FOLDER / "greed.yaml"}


def unevenness(result: ct.Result) -> float | None:
    """How far the accepted division is from even, in [0, 1]; None without an agreement."""
    if result.outcome.alice_gain is None:
        return None
    return float(abs(2 * result.outcome.alice_gain / result.game.money - 1))


METRICS = (ct.Metric("unevenness", unevenness, unit="0 is even", bounds=ct.SHARE),)


def greedy(result: ct.Result) -> dict[tuple[int, str], str]:
    """Of each proposal, whether it asks for more than half: what a judge of greed should find."""
    proposals = [one for one in result.given() if hasattr(one.action, "alice_gain")]
    return {
        (one.request, one.actor): "greedy"
        if getattr(one.action, f"{one.actor}_gain") > result.game.money / 2
        else "modest"
        for one in proposals
    }
