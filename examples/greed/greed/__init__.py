"""A prompt style, a metric and a rubric for greed, as a plug-in for the game bargaining."""

from pathlib import Path

import cheaptalk as ct

FOLDER = Path(__file__).parent
STEPWISE = ct.rules.StyleFile("stepwise.jinja", folder=FOLDER)
RUBRICS = {"greed": FOLDER / "greed.yaml"}


def unevenness(result: ct.Result) -> float | None:
    """Return the distance from an equal division, in [0, 1]; None without an agreement."""
    if result.outcome.alice_gain is None:
        return None
    return float(abs(2 * result.outcome.alice_gain / result.game.money - 1))


METRICS = (ct.Metric("unevenness", unevenness, unit="0 is even", bounds=ct.rules.SHARE),)


def greedy(result: ct.Result) -> dict[tuple[int, str], str]:
    """Return whether each proposal asks for more than half, as the correct verdict of a judge."""
    proposals = [given for given in result.given() if hasattr(given.action, "alice_gain")]
    return {
        (given.request, given.actor): "greedy"
        if getattr(given.action, f"{given.actor}_gain") > result.game.money / 2
        else "modest"
        for given in proposals
    }
