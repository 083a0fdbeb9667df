"""Recipe for the meta-game of item bargaining: equilibria, and the behaviour of strategies."""

from cheaptalk.papers.metagame import behaviour, welfare
from cheaptalk.papers.metagame.landscape import landscape, providers
from cheaptalk.papers.printed import OPTIONS
from cheaptalk.reports.recipes.parts import PaperStudy, Recipe, RecipePart
from cheaptalk.reports.recipes.study_overview import PLAYED

RECIPE: Recipe = Recipe(
    "metagame",
    "the meta-game of bargaining agents",
    "Measuring Competition and Cooperation in LLM Bargaining: An Empirical Meta-Game Analysis "
    "(Smithline et al. 2025)",
    (
        PLAYED,
        RecipePart("Strategic landscape", "Figures 1 and 4 to 21, Tables 1 to 5 and 15", landscape),
        RecipePart("Walking away", "section 5", welfare.walks),
        RecipePart("Providers", "Figure 2, Tables 13 and 14", providers),
        RecipePart("Behaviour", "section 6.3", behaviour.manner),
        RecipePart("Low acceptances", "Table 12", behaviour.low_acceptances),
        RecipePart("False holdings", "section 6.4", behaviour.false_holdings),
        RecipePart("Mistakes in self-play", "Figure 3", behaviour.self_play),
        RecipePart("Opposition of interests", "Figures 22 and 23", behaviour.opposition),
    ),
    options=OPTIONS,
    games=("item_bargaining",),
    studies=(
        PaperStudy("item-bargaining", ("item-bargaining",), rehearsed=2700),
        PaperStudy("item-bargaining-walk"),
        PaperStudy(
            "item-bargaining-heuristics",
            ("item-bargaining-circles",),
            (("name", "item-bargaining-circles"), ("pairing", "self")),
            rehearsed=198,
        ),
    ),
)
