from .judges import JudgeSection, agreement_lines, judge_sections
from .metagame.analysis import Analysis
from .metagame.making import analyse, analyse_payoffs
from .metagame.page import Played, metagame_report
from .metagame.seats import PAYOFF, SeatsAnalysis
from .metagame.seats_making import analyse_bimatrix, analyse_seats
from .metagame.seats_page import analyses_by_seat, seats_report
from .metagame.seats_telling import told_seats
from .metagame.spreads import Spread
from .metagame.telling import told
from .metagame.texts import plus_minus
from .recipes.comparing import compare, comparison
from .recipes.exporting import latex, write_tables
from .recipes.findings import RECIPES, Findings, findings, recipe_of
from .recipes.glee.weights import reweighted
from .recipes.page import write_findings
from .recipes.parts import Charts, Table
from .recipes.standing import leaderboard
from .report import report
from .talk import Exchange, exchanges, talk

__all__ = [
    "PAYOFF",
    "RECIPES",
    "Analysis",
    "Charts",
    "Exchange",
    "Findings",
    "JudgeSection",
    "Played",
    "SeatsAnalysis",
    "Spread",
    "Table",
    "agreement_lines",
    "analyse",
    "analyse_bimatrix",
    "analyse_payoffs",
    "analyse_seats",
    "analyses_by_seat",
    "compare",
    "comparison",
    "exchanges",
    "findings",
    "judge_sections",
    "latex",
    "leaderboard",
    "metagame_report",
    "plus_minus",
    "recipe_of",
    "report",
    "reweighted",
    "seats_report",
    "talk",
    "told",
    "told_seats",
    "write_findings",
    "write_tables",
]
