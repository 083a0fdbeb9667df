"""GAMA-Bench: the leaderboard of eight games, its robustness, and play round by round."""

from cheaptalk.reports.recipes.gama.against import AGAINST
from cheaptalk.reports.recipes.gama.leaderboard import BY_RUN, LEADERBOARD
from cheaptalk.reports.recipes.gama.mixed import MIXED
from cheaptalk.reports.recipes.gama.people import NUMBERS, PEOPLE, TOLD_PART
from cheaptalk.reports.recipes.gama.rounds import ROUNDS
from cheaptalk.reports.recipes.gama.settings import SETTINGS
from cheaptalk.reports.recipes.gama.treatments import OTHERS, STRATEGIES, TEMPERATURES, VERSIONS
from cheaptalk.reports.recipes.gama.turns import BALLOTS, BATTLES, ENDS, VOYAGES
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
