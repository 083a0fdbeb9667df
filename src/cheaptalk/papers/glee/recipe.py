"""GLEE's tables and figures: markets, players, pairs and parameters."""

from cheaptalk.papers.glee.anchoring import ANCHORING
from cheaptalk.papers.glee.choice import CHOICES
from cheaptalk.papers.glee.effects import IMPACT, MARKET_EFFECTS, REFERENCES, SELF_GAINS
from cheaptalk.papers.glee.families import CHOSEN
from cheaptalk.papers.glee.outcomes import DEFINITIONS, DISTRIBUTIONS, OUTCOMES
from cheaptalk.papers.glee.pairs import PAIR_MAPS, SAME_PLAYER
from cheaptalk.papers.glee.predictions import PREDICTIONS, SPLITS
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
