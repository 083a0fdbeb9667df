from .curves import write_curves
from .metagame.data import analysis_json
from .metagame.page import Played, analyses_by_seat, metagame_report
from .recipes.comparison import compare, comparison
from .recipes.exports import latex, write_figures, write_tables
from .recipes.findings import Findings, check_options, findings, recipe_of, write_findings
from .recipes.leaderboard import leaderboard
from .recipes.parts import RECIPES, Answer, Charts, NoData, Recipe, RecipePart, Text
from .recipes.tables import Estimate, Header, ReportTable
from .study.judges import JudgeSection, agreement_lines, judge_sections, reliability_line
from .study.report import report, study_recipe
from .transcripts import Exchange, exchanges, match_transcript

__all__ = ["RECIPES", "Answer", "Charts", "Estimate", "Exchange", "Findings", "Header"]
__all__ += ["JudgeSection", "NoData", "Played", "Recipe", "RecipePart", "ReportTable", "Text"]
__all__ += ["agreement_lines", "analyses_by_seat", "analysis_json", "check_options", "compare"]
__all__ += [
    "comparison",
    "exchanges",
    "findings",
    "judge_sections",
    "latex",
    "leaderboard",
    "match_transcript",
]
__all__ += ["metagame_report", "recipe_of", "reliability_line", "report", "study_recipe"]
__all__ += ["write_curves", "write_figures", "write_findings", "write_tables"]
