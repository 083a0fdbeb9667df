"""GAMA-Bench: the leaderboard of eight games, its robustness, and play round by round."""

from cheaptalk.papers.gama.leaderboard import BY_RUN, LEADERBOARD
from cheaptalk.papers.gama.mixed_tables import AGAINST, MIXED
from cheaptalk.papers.gama.people import NUMBERS, PEOPLE, TOLD_PART
from cheaptalk.papers.gama.robustness import OTHERS, STRATEGIES, TEMPERATURES, VERSIONS
from cheaptalk.papers.gama.rounds import ROUNDS
from cheaptalk.papers.gama.settings import SETTINGS
from cheaptalk.papers.gama.turns import BALLOTS, BATTLES, ENDS, VOYAGES
from cheaptalk.reports.recipes.parts import Recipe
from cheaptalk.reports.recipes.played import PLAYED

RECIPE: Recipe = Recipe(
    "gama",
    "eight games of GAMA-Bench",
    "Competing Large Language Models in Multi-Agent Gaming Environments (Huang et al. 2025)",
    (
        PLAYED, LEADERBOARD, BY_RUN, TEMPERATURES, VERSIONS, STRATEGIES, OTHERS, SETTINGS, ROUNDS,
        BATTLES, VOYAGES, AGAINST, TOLD_PART, PEOPLE, MIXED,
    ),
    ("score", *NUMBERS, *ENDS, *BALLOTS),
)  # fmt: skip
