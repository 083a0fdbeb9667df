from .judges import JudgeSection, agreement_lines, judge_sections
from .report import report
from .talk import Exchange, exchanges, talk

__all__ = [
    "Exchange",
    "JudgeSection",
    "agreement_lines",
    "exchanges",
    "judge_sections",
    "report",
    "talk",
]
