"""Recipe for GAMA-Bench: leaderboard, robustness, and play by round."""

from cheaptalk.papers.gama.human_baseline import NUMBERS, people, told
from cheaptalk.papers.gama.leaderboard import leaderboard, runs_apart
from cheaptalk.papers.gama.mixed_populations import against, mixed
from cheaptalk.papers.gama.robustness import others, settings, strategies, temperatures, versions
from cheaptalk.papers.gama.rounds import rounds, single_runs
from cheaptalk.papers.gama.scores import GAMES
from cheaptalk.papers.gama.turns import BALLOTS, ENDS, battles, pirates
from cheaptalk.papers.printed import OPTIONS
from cheaptalk.reports.recipes.parts import PaperStudy, Recipe, RecipePart
from cheaptalk.reports.recipes.study_overview import PLAYED

RECIPE: Recipe = Recipe(
    "gama",
    "eight games of GAMA-Bench",
    "Competing Large Language Models in Multi-Agent Gaming Environments (Huang et al. 2025)",
    (
        PLAYED,
        RecipePart("Leaderboard", "Table 1", leaderboard),
        RecipePart("Scores by run", "Tables 4, 10, 14 and 18, Figure 3", runs_apart),
        RecipePart("Temperatures", "Tables 5, 11, 15 and 19, Figure 4", temperatures),
        RecipePart("Prompt versions", "Tables 6, 12, 16 and 20, Figure 5", versions),
        RecipePart("Reasoning strategies", "Table 7, Figure 6", strategies),
        RecipePart("Other player settings", "", others),
        RecipePart("Game settings", "Tables 8, 13, 17 and 21, Figure 7", settings),
        RecipePart("Choices by round", "Figures 1 and 8 to 10", rounds),
        RecipePart("One run per player", "Figures 1 and 10", single_runs),
        RecipePart("Battles", "Figure 2", battles),
        RecipePart("Pirates", "Table 2", pirates),
        RecipePart("Choices in mixed groups", "Figure 11", against),
        RecipePart("Information about other players", "Appendix G", told),
        RecipePart("Comparison with people", "Section 4.3", people),
        RecipePart("Payoffs in mixed groups", "", mixed),
    ),
    metrics=("score", *NUMBERS, *ENDS, *BALLOTS),
    options=OPTIONS,
    games=tuple(GAMES),
    studies=(
        PaperStudy("gama", ("gama",), rehearsed=120),
        PaperStudy("gama", ("gama-treatments",), (("name", "gama-treatments"),), rehearsed=128),
        PaperStudy("gama-settings", ("gama:gpt-3.5-0125",)),
        PaperStudy("gama-appendix-g", rehearsed=8),
    ),
)
