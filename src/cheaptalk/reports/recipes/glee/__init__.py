"""GLEE's tables and figures: markets, players, pairs and parameters."""

from cheaptalk.reports.recipes.glee.anchoring import ANCHORING
from cheaptalk.reports.recipes.glee.choice import CHOICES
from cheaptalk.reports.recipes.glee.laying import CHOSEN
from cheaptalk.reports.recipes.glee.market import MARKET_EFFECTS
from cheaptalk.reports.recipes.glee.outcomes import DEFINITIONS, OUTCOMES
from cheaptalk.reports.recipes.glee.pairs import PAIR_MAPS, SAME_PLAYER
from cheaptalk.reports.recipes.glee.players import SELF_GAINS
from cheaptalk.reports.recipes.glee.predictions import PREDICTIONS, SPLITS
from cheaptalk.reports.recipes.glee.references import IMPACT, REFERENCES
from cheaptalk.reports.recipes.glee.weights import DISTRIBUTIONS
from cheaptalk.reports.recipes.parts import Recipe
from cheaptalk.reports.recipes.played import PLAYED

PAPER = "GLEE: A Unified Framework and Benchmark for Language-based Economic Environments"

RECIPE: Recipe = Recipe(
    "glee",
    "markets, players and pairs of GLEE",
    PAPER,
    (
        PLAYED, OUTCOMES, MARKET_EFFECTS, SELF_GAINS, PAIR_MAPS, SAME_PLAYER, CHOICES, ANCHORING,
        IMPACT, DISTRIBUTIONS, DEFINITIONS, REFERENCES, PREDICTIONS,
    ),
    options={
        CHOSEN: "the player that others are compared with",
        SPLITS: "over how many random splits predictions are compared (the paper has 100)",
    },
)  # fmt: skip
