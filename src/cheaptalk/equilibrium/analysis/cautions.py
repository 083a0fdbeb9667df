"""Describe the limitations of an empirical game's result.

The CLI, the JSON output and the page share these cautions.
"""

from functools import cached_property

import polars as pl

from cheaptalk.equilibrium.analysis.selection import Selected
from cheaptalk.equilibrium.empirical.empirical_games import Empirical
from cheaptalk.frames.reader import places_in
from cheaptalk.frames.unscored import unscored, unscored_text
from cheaptalk.rules import counted
from cheaptalk.rules.display import Printed
from cheaptalk.statistics.ranks import ENOUGH_FREEDOM


class CautiousAnalysis(Printed):
    """An analysis of an empirical game that describes its own limitations."""

    game: Empirical
    no_draws_reason: str
    selected: Selected | None

    @property
    def draws(self) -> int:
        """Return the number of bootstrap draws, which may be 0."""
        raise NotImplementedError

    @property
    def uncertain(self) -> str:
        """Return why the bootstrap draws can't measure uncertainty, or "" if they can."""
        game = self.game
        if not self.draws:
            return self.no_draws_reason
        if game.constant:
            return "each pair had the same payoffs on all its instances, but others can differ"
        if game.freedom >= ENOUGH_FREEDOM:
            return ""
        needed = ENOUGH_FREEDOM + len(game.samples)
        played = counted(game.min_instances, "instance")
        return f"the pair with the fewest has {played}; at least {needed:,} are needed"

    @cached_property
    def unscored(self) -> tuple[dict[str, int], int]:
        """Return the number of unscored matches by status, and the number of all matches."""
        if self.selected is None:
            return {}, 0
        seats = zip(
            places_in(self.selected.frame), (self.game.rows, self.game.columns), strict=True
        )
        played = [pl.col(f"player_{seat}").is_in(labels) for seat, labels in seats]
        frame = self.selected.frame.filter(*played)
        return unscored(frame), frame.height

    @property
    def cautions(self) -> list[str]:
        """Return the limitations of the result, as sentences without a full stop."""
        counts, total = self.unscored
        uncertain = self.uncertain
        sentences = [f"The uncertainty cannot be estimated: {uncertain}"] if uncertain else []
        if not uncertain and self.game.few_instances:
            sentences.append(self.game.few_instances)
        if counts:
            sentences.append(
                f"{unscored_text(counts, total)}, and only finished matches count; if a strategy "
                "fails on bad instances, its payoff is overestimated"
            )
        return sentences
