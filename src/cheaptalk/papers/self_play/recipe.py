"""Recipe for language model self-play on Deal or No Deal, by iteration."""

from cheaptalk.papers.printed import OPTIONS
from cheaptalk.papers.self_play import language, scores
from cheaptalk.papers.self_play.people import people_and_pay
from cheaptalk.papers.self_play.stages import METRICS, SHARES
from cheaptalk.reports.recipes.parts import PaperStudy, Recipe, RecipePart
from cheaptalk.reports.recipes.study_overview import PLAYED

RECIPE: Recipe = Recipe(
    "self-play",
    "self-play on Deal or No Deal",
    "Efficacy of Language Model Self-Play in Non-Zero-Sum Games (Liao, Tomlin and Klein 2024)",
    (
        PLAYED,
        RecipePart("Scores", "Figure 2, left", scores.scores),
        RecipePart("Inconsistent messages", "Figure 2, right", language.inconsistency),
        RecipePart("Agreements", "Table 2, by iteration", scores.agreements),
        RecipePart("Before and after", "Table 2", scores.before_and_after),
        RecipePart("Correlation of score and iteration", "section 5", scores.rises),
        RecipePart("Errors and aborts", "Figure 9", scores.faults),
        RecipePart("Length", "Figure 7, left", language.lengths),
        RecipePart("Vocabulary and entropy", "Figures 7, right, and 10", language.diversity),
        RecipePart("Strict competition", "Figures 5 and 6", scores.competition),
        RecipePart("Cross-play", "", scores.cross_play),
        RecipePart("Judges", "footnote 1", language.judges),
        RecipePart("Participants and pay", "appendix C, Figure 4", people_and_pay),
    ),
    metrics=(*METRICS, *SHARES),
    options=OPTIONS | {language.MERGES: "the path of GPT-2's merges.txt, for exact token counts"},
    games=("deal_or_no_deal",),
    studies=(
        PaperStudy("self-play", rehearsed=207),
        PaperStudy("deal-or-no-deal", ("self-play",), rehearsed=294),
        PaperStudy("deal-or-no-deal-human"),
    ),
)
