"""Language models in self-play on Deal or No Deal: what changes from iteration to iteration."""

from cheaptalk.papers.self_play.consistency import inconsistency, judges
from cheaptalk.papers.self_play.language import diversity, lengths
from cheaptalk.papers.self_play.scores import (
    agreements,
    before_and_after,
    competition,
    faults,
    rises,
    scores,
)
from cheaptalk.papers.self_play.stages import MEASURES, SHARES
from cheaptalk.reports.recipes.parts import Part, Recipe
from cheaptalk.reports.recipes.played import PLAYED

RECIPE: Recipe = Recipe(
    "self-play",
    "self-play on Deal or No Deal",
    "Efficacy of Language Model Self-Play in Non-Zero-Sum Games (Liao, Tomlin and Klein 2024)",
    (
        PLAYED,
        Part("Scores", "Figure 2, left", scores),
        Part("Inconsistent messages", "Figure 2, right", inconsistency),
        Part("Agreements", "Table 2, by iteration", agreements),
        Part("Before and after", "Table 2", before_and_after),
        Part("Scores and iterations", "section 5", rises),
        Part("Errors and aborts", "Figure 9", faults),
        Part("Length", "Figure 7, left", lengths),
        Part("Vocabulary and entropy", "Figures 7, right, and 10", diversity),
        Part("Strict competition", "Figures 5 and 6", competition),
        Part("Judges", "footnote 1", judges),
    ),
    measures=(*MEASURES, *SHARES),
)
