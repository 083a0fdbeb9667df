"""Recipe for GLEE's tables and figures: markets, players, pairs and parameters."""

from cheaptalk.papers.glee.anchoring import anchoring
from cheaptalk.papers.glee.attention import attention
from cheaptalk.papers.glee.coverage import configurations
from cheaptalk.papers.glee.effects import encoding, impact, market_effects, references, self_gains
from cheaptalk.papers.glee.families import CHOSEN, COMPOSITE
from cheaptalk.papers.glee.outcomes import definitions, distributions, outcomes
from cheaptalk.papers.glee.pairs import choices, pair_maps, same_player
from cheaptalk.papers.glee.paper_tables import collected
from cheaptalk.papers.glee.regressions import SPLITS, predictions
from cheaptalk.papers.printed import OPTIONS
from cheaptalk.reports.recipes.parts import PaperStudy, Recipe, RecipePart
from cheaptalk.reports.recipes.study_overview import PLAYED

RECIPE: Recipe = Recipe(
    "glee",
    "markets, players and pairs of GLEE",
    "GLEE: A Unified Framework and Benchmark for Language-based Economic Environments "
    "(Shapira et al. 2024)",
    (
        PLAYED,
        RecipePart("Collected data", "Table 6, Figure 7", collected, design=True),
        RecipePart("Outcomes of the games", "section 2", outcomes),
        RecipePart("Effect of the market", "Table 2", market_effects),
        RecipePart("Players' gains", "Table 3", self_gains),
        RecipePart("Effects of pairs", "Figures 1 and 21 to 23", pair_maps),
        RecipePart("Copies of a player", "section 4, Q2", same_player),
        RecipePart("Choice of players", "footnote 13", choices),
        RecipePart("Anchoring", "section 4, Q3", anchoring),
        RecipePart("Effect of every parameter", "appendix D.1, Figure 6", impact),
        RecipePart("Reweighted configurations", "footnote 11", distributions),
        RecipePart("Bob's gain in persuasion", "section 2.3", definitions),
        RecipePart("Reference levels", "Table 8", references),
        RecipePart("Encoding of matches", "Figure 20", encoding),
        RecipePart("Predictions", "Table 9", predictions),
        RecipePart("Configurations played by people", "Table 7", configurations),
        RecipePart("Attention checks", "appendix E.3", attention),
    ),
    options=OPTIONS
    | {
        CHOSEN: "the reference player",
        COMPOSITE: "discounts: both players' discount factors as one parameter (footnote 18)",
        SPLITS: "the number of random splits for predictions (100 in the paper)",
    },
    games=("bargaining", "negotiation", "persuasion"),
    studies=(
        PaperStudy("glee", ("glee",), rehearsed=900),
        PaperStudy("glee-human"),
    ),
)
