"""Recipe for chip trading: surplus, proposals, regret and surveys."""

from cheaptalk.papers.chips.proposals import densities, table_5
from cheaptalk.papers.chips.regrets import figure_5, figures_4_and_10
from cheaptalk.papers.chips.surplus import table_3, table_4, trajectories
from cheaptalk.papers.chips.survey import ABOUT, OPTION, figure_9, figure_11, performance, table_1
from cheaptalk.papers.printed import OPTIONS
from cheaptalk.reports.recipes.parts import PaperStudy, Recipe, RecipePart
from cheaptalk.reports.recipes.people import participants
from cheaptalk.reports.recipes.study_overview import PLAYED

RECIPE: Recipe = Recipe(
    "chips",
    "chip trading",
    "Strategic Tradeoffs Between Humans and AI in Multi-Agent Bargaining (Qian et al. 2025)",
    (
        PLAYED,
        RecipePart("Participants", "section 5.1", participants),
        RecipePart("Surplus by turn", "Figure 2", trajectories),
        RecipePart("Final surplus", "Table 3", table_3),
        RecipePart("Differences between populations", "Table 4", table_4),
        RecipePart("Proposals", "Table 5", table_5),
        RecipePart("Distribution of proposals", "Figures 3, 12 to 14", densities),
        RecipePart("Regret", "Figure 5", figure_5),
        RecipePart("Counterfactual values in one game", "Figures 4 and 10", figures_4_and_10),
        RecipePart("Learning between games", "Figure 11", figure_11),
        RecipePart("Survey", "Table 1", table_1),
        RecipePart("Themes", "Figure 9", figure_9),
        RecipePart("Survey answers and performance", "Section 6.3", performance),
    ),
    metrics=("bound",),
    options={"match": "the ID of the game whose values are plotted", OPTION: ABOUT, **OPTIONS},
    games=("chip_trading",),
    studies=(
        PaperStudy("chip-trading", ("chip-trading", "chip-trading-small"), rehearsed=108),
        PaperStudy("chip-trading-human"),
    ),
)
