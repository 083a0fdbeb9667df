from .judges import JudgeSection, agreement_lines, judge_sections
from .metagame.analysis import Analysis, Spread, analyse, analyse_payoffs
from .metagame.page import Played, metagame_report
from .metagame.telling import told
from .report import report
from .talk import Exchange, exchanges, talk

__all__ = [
    "Analysis",
    "Exchange",
    "JudgeSection",
    "Played",
    "Spread",
    "agreement_lines",
    "analyse",
    "analyse_payoffs",
    "exchanges",
    "judge_sections",
    "metagame_report",
    "report",
    "talk",
    "told",
]
