"""The table of what judges said: a row a judgement."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cheaptalk.records.exporting.columns import INTEGER, NUMBER, TEXT, Column
from cheaptalk.records.exporting.rows import (
    KINDS,
    MATCHED,
    PLACES,
    MatchRow,
)
from cheaptalk.records.judgements import Judgement


class JudgementRow(NamedTuple):
    """What a row of judgements is read from."""

    match: MatchRow
    judgement: Judgement
    spec: Mapping[str, Any]

    @property
    def game(self) -> str:
        return self.match.game

    @property
    def place(self) -> str | None:
        """The place of who is judged; none where a match is."""
        return self.match.at.get(self.judgement.item.rpartition("/")[2])

    def said(self, key: str) -> Any:
        """A part of the verdict."""
        return (self.judgement.verdict or {}).get(key)

    @property
    def request(self) -> int | None:
        """The number of the judged answer; none where more than an answer is judged."""
        request, slash, _ = self.judgement.item.partition("/")
        return int(request) if slash else None


def _told(name: str, type_: str, range_: str, meaning: str) -> Column:
    return Column(name, type_, range_, meaning, lambda row: row.said(name))


JUDGEMENT = [
    *MATCHED,
    Column("judge", TEXT, "", "Stands for the judge: its rubric, and its model with all settings.",
           lambda row: row.judgement.judge),
    Column("rubric", TEXT, "", "What the judge was asked, by name.",
           lambda row: row.spec["rubric"]["name"]),
    Column("judge_model", TEXT, "", "The model that judged.",
           lambda row: row.spec["model"]["model"]),
    Column("item", TEXT, "", "What was judged: a question's number and a seat, a seat, or match.",
           lambda row: row.judgement.item),
    Column("request", INTEGER, ">= 0", "The number of the question whose answer was judged.",
           lambda row: row.request),
    Column("place", TEXT, "", PLACES, lambda row: row.place),
    Column("player", TEXT, "", "What the study calls the player who was judged.",
           lambda row: row.place and row.match.record.label(row.place)),
    Column("kind", TEXT, KINDS, "What became of the question to the judge.",
           lambda row: row.judgement.kind.value),
    _told("category", TEXT, "", "The verdict, of a rubric with categories."),
    _told("score", INTEGER, "", "The verdict, of a rubric with a scale."),
    _told("quote", TEXT, "", "The words that decide it, as the judge gives them."),
    _told("reason", TEXT, "", "The judge's reason."),
    Column("calls", INTEGER, ">= 0", "How many calls the verdict took.",
           lambda row: len(row.judgement.calls)),
    Column("input_tokens", INTEGER, "tokens", "What those calls sent, as the provider counts.",
           lambda row: row.judgement.cost.usage.input_tokens),
    Column("output_tokens", INTEGER, "tokens", "What came back, as the provider counts.",
           lambda row: row.judgement.cost.usage.output_tokens),
    Column("made", NUMBER, "seconds since 1970", "When the verdict was stored.",
           lambda row: row.judgement.made),
]  # fmt: skip
