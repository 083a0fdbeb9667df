"""Tests of all weaknesses of a player, with Holm's correction for multiple tests."""

from collections.abc import Mapping, Sequence

import polars as pl

from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.weaknesses.messages import FATIGUE, message_trials
from cheaptalk.profiles.weaknesses.outcomes import FailedMatch, earnings_trials, ending_trials
from cheaptalk.profiles.weaknesses.presentation import presentation_trials
from cheaptalk.profiles.weaknesses.rates import rate_trials
from cheaptalk.profiles.weaknesses.weakness import Examination, Trial, Weakness

LEVEL = 0.05
"""The largest probability of a finding for a player without weaknesses."""


def examine(
    seats: pl.DataFrame, player: str, battery: Battery, failed: Sequence[FailedMatch] = ()
) -> Examination:
    """Test all weaknesses of a player.

    Args:
        seats: see :func:`~cheaptalk.profiles.seats.seats`.
        failed: the player's failed matches, which ``seats`` excludes.
    """
    rows = seats.filter(player=player)
    trials = [
        *message_trials(rows, battery),
        *presentation_trials(rows, battery),
        *rate_trials(rows, battery),
        *earnings_trials(seats, rows, battery),
        *ending_trials(rows, failed, battery),
    ]
    judged = _holm(trials)
    # fatigue comes first, because it explains other findings
    findings = sorted(
        (weakness for weakness in judged if weakness.found),
        key=lambda finding: (finding.key != FATIGUE, -(finding.effect.value or 0)),
    )
    return Examination([*findings, *(weakness for weakness in judged if not weakness.found)])


def _holm(trials: Sequence[Trial]) -> list[Weakness]:
    """Apply Holm's procedure, dropping significant conditions from the controls of other tests."""
    open_trials = {trial.outcome.key: trial for trial in trials if trial.outcome.tested}
    rejected: dict[str, float] = {}
    ps = {key: trial.p(frozenset()) for key, trial in open_trials.items()}
    while len(rejected) < len(open_trials):
        remaining = {key: p for key, p in ps.items() if key not in rejected}
        best = min(remaining, key=lambda key: remaining[key])
        if remaining[best] > LEVEL / len(remaining):
            break
        rejected[best] = remaining[best]
        dropped = frozenset(rejected)
        for key in remaining:
            if key != best and best in open_trials[key].controls:
                ps[key] = open_trials[key].p(dropped)
    explained = _explained(open_trials, frozenset(rejected))
    ps |= explained
    rejected = {key: p for key, p in rejected.items() if key not in explained}
    return [
        trial.outcome._replace(p=ps.get(trial.outcome.key), found=trial.outcome.key in rejected)
        for trial in trials
    ]


def _explained(open_trials: Mapping[str, Trial], rejected: frozenset[str]) -> dict[str, float]:
    """Return the p-values of findings that others explain, such as "messages of any kind"."""
    level = LEVEL / (len(open_trials) - len(rejected) + 1)
    explaining = {key: open_trials[key].controls & rejected for key in sorted(rejected)}
    ps = {key: open_trials[key].p(others) for key, others in explaining.items() if others}
    return {key: p for key, p in ps.items() if p > level}
