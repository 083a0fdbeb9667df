from .judge_summaries import JudgeSection, agreement_lines, judge_sections
from .metagame.data import analysis_json, seats_json
from .metagame.page import Played, analyses_by_seat, metagame_report, seats_report
from .recipes.comparison import compare, comparison
from .recipes.exports import latex, write_tables
from .recipes.figures import write_figures
from .recipes.findings import Findings, findings, recipe_of, write_findings
from .recipes.leaderboard import leaderboard
from .recipes.parts import RECIPES, Charts, Header, Lacking, Recipe, RecipePart, ReportTable
from .score_lines import ScoreEstimate
from .study_page import report
from .transcripts import Exchange, exchanges, talk

__all__ = [
    "RECIPES",
    "Charts",
    "Exchange",
    "Findings",
    "Header",
    "JudgeSection",
    "Lacking",
    "Played",
    "Recipe",
    "RecipePart",
    "ReportTable",
    "ScoreEstimate",
    "agreement_lines",
    "analyses_by_seat",
    "analysis_json",
    "compare",
    "comparison",
    "exchanges",
    "findings",
    "judge_sections",
    "latex",
    "leaderboard",
    "metagame_report",
    "recipe_of",
    "report",
    "seats_json",
    "seats_report",
    "talk",
    "write_figures",
    "write_findings",
    "write_tables",
]
