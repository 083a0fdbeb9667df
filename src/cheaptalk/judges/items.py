"""Items for judges: moves, seats, matches or survey answers, as readable text."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import polars as pl

from cheaptalk.frames.people import read_plays, read_survey_answers
from cheaptalk.judges.rubrics import Rubric
from cheaptalk.players import Kind
from cheaptalk.records import Line, MatchRecord, Store, text_of, transcript
from cheaptalk.records.chat import lines_of
from cheaptalk.records.judgements import VERDICT_KINDS, answers_id
from cheaptalk.records.store.queries import read_records
from cheaptalk.rules import CheaptalkError, ReplayMismatch
from cheaptalk.styles.writing import escaped
from cheaptalk.text import capital, visible


class Item(NamedTuple):
    """An item to judge.

    Attributes:
        name: ``REQUEST/ACTOR`` for a move, an actor's name, ``match``, or a survey question's name.
        request: the number of the decision request of a move, else 0.
        actor: the actor, empty for a match, or the survey question's name.
        seen: the text that the judge reads.
        judged: a description of the part of the text to judge.
    """

    name: str
    request: int
    actor: str
    seen: str
    judged: str


def move_name(request: int, seat: str) -> str:
    """Return the name of a move as an item: ``REQUEST/ACTOR``."""
    return f"{request}/{seat}"


def items_of(record: MatchRecord, rubric: Rubric) -> list[Item]:
    """Return the items of a match for a rubric, in the order of play.

    The judge of a move or seat reads only the actor's observations. In Deal or No Deal, for
    example, the partner's values are hidden, as in Liao, Tomlin and Klein (2024, appendix E.1).
    Matches and seats without messages have no items.

    Raises:
        ReplayMismatch: the installed rules cannot replay the match.
    """
    lines = transcript(record)
    given = record.replay().given
    actions = {(move.request, move.actor): move.action for move in given if move.action}
    spoken = [move for move, action in actions.items() if getattr(action, "message", None)]
    if rubric.item == "move":
        judged = spoken
        if rubric.actions is not None:
            judged = [
                move for move, action in actions.items() if type(action).__name__ in rubric.actions
            ]
        return [_move(lines, *move) for move in judged]
    speakers = dict.fromkeys(
        [*(actor for _, actor in spoken), *(line.actor for line in lines_of(record.chat))]
    )
    if rubric.item == "seat":
        return [_seat(lines, actor) for actor in speakers]
    return [Item("match", 0, "", _quoted(lines), "the whole match")] if speakers else []


def answer_item(name: str, question: str, text: str) -> Item:
    """Return a free-text survey answer, with its question, as an item to judge."""
    seen = f"A person is asked:\n{quote(question)}\n\nThe person answers:\n{quote(escaped(text))}"
    return Item(name, 0, name, seen, "the person's answer")


def _move(lines: Iterable[Line], request: int, seat: str) -> Item:
    seen: list[Line] = []
    for line in lines:
        if line.actor == seat:
            seen.append(line)
            if line.request == request:
                name, judged = move_name(request, seat), f"the last answer of {line.name}"
                return Item(name, request, seat, _quoted(seen), judged)
    raise ReplayMismatch(f"request {request} of {seat} is not in the transcript")


def _seat(lines: Iterable[Line], seat: str) -> Item:
    seen = [line for line in lines if line.actor == seat]
    return Item(seat, 0, seat, _quoted(seen), f"the conduct of {seen[0].name}")


def _quoted(lines: Iterable[Line]) -> str:
    return "\n\n".join(part for line in lines for part in _parts(line))


def _parts(line: Line) -> Iterator[str]:
    yield f"{line.name} is {'told' if line.request is None else 'asked'}:\n{quote(line.text)}"
    if line.request is not None:
        if line.answer is None:
            yield f"{line.name} gives no valid answer."
        else:
            fields = {name: value for name, value in line.answer.items() if value is not None}
            yield f"{line.name} answers:\n{quote(escaped(text_of(fields)))}"


def quote(text: str) -> str:
    """Prefix each line with ``>`` and escape hidden characters, so that a text can't end the quote.

    >>> print(quote("one\\ntwo \\u202eowt"))
    > one
    > two \\u202eowt
    """
    return "\n".join(f"> {visible(line)}" for line in text.splitlines())


def people_for(store: Store, study: str, rubric: Rubric) -> list[str]:
    """Return the ids of participants with answers to judge by a rubric (see :func:`.answers_id`).

    Raises:
        CheaptalkError: no participant gave such an answer and played a game of the rubric.
    """
    answers = answers_of(store, study, rubric)
    if not answers:
        raise CheaptalkError(
            f"{study} has no free answers to judge with {rubric.name}: {_why(store, study, rubric)}"
        )
    return list(answers)


def _why(store: Store, study: str, rubric: Rubric) -> str:
    texts = [name for name in read_survey_answers(store, study).columns if name != "participant"]
    if not texts:
        return "no participant answered a survey"
    questions = f"the study's surveys ask {', '.join(texts)}"
    if rubric.answers is not None and not {*rubric.answers} & {*texts}:
        return f"the rubric is for answers to {', '.join(rubric.answers)}, but {questions}"
    if rubric.games is not None:
        return f"no participant of {', '.join(rubric.games)} wrote a free answer"
    return f"no participant wrote a free answer; {questions}"


def answers_of(store: Store, study: str, rubric: Rubric) -> dict[str, list[Item]]:
    """Return the survey answers to judge by a rubric, from participants who played its games."""
    responses = read_survey_answers(store, study)
    texts = [
        name
        for name, kind in responses.schema.items()
        if kind == pl.String
        and name != "participant"
        and (rubric.answers is None or name in rubric.answers)
    ]
    games = read_plays(store, study).select("participant", "game").iter_rows()
    eligible = {person for person, game in games if rubric.fits(game)}
    items_by_person: dict[str, list[Item]] = {}
    for row in responses.filter(pl.col("participant").is_in(list(eligible))).iter_rows(named=True):
        items = [
            answer_item(name, capital(name), row[name])
            for name in texts
            if row[name] is not None and row[name].strip()
        ]
        if items:
            items_by_person[answers_id(row["participant"])] = items
    return items_by_person


class Subject(NamedTuple):
    """A match, or a participant with survey answers.

    Attributes:
        id: the id of the match, or of the participant (see :func:`.answers_id`).
        items: creates the items to judge.
    """

    id: str
    items: Callable[[], list[Item]]

    def by_verdict(
        self, kinds: Mapping[tuple[str, str], Kind], *, again: bool
    ) -> tuple[list[Item], int, Counter[Kind]]:
        """Return the items to judge, and the numbers of valid and of invalid earlier verdicts.

        ``kinds`` are those of earlier verdicts, by subject and item. If ``again``, items with an
        invalid verdict are judged again.
        """
        pending, judged, invalid = [], 0, Counter[Kind]()
        for item in self.items():
            kind = kinds.get((self.id, item.name))
            if kind in VERDICT_KINDS:
                judged += 1
            elif kind is None or again:
                pending.append(item)
            else:
                invalid[kind] += 1
        return pending, judged, invalid


def subjects(
    store: Store, study: str, rubric: Rubric, ids: Sequence[str], batch: int = 200
) -> Iterator[Subject]:
    """Yield the matches or participants with the given ids, in the given order.

    Args:
        ids: ids of matches, or of participants if the rubric is for answers.
        batch: number of matches read together.
    """
    if rubric.item == "answer":
        items_by_person = answers_of(store, study, rubric)
        for id_ in ids:
            yield Subject(id_, partial(items_by_person.__getitem__, id_))
        return
    for record in read_records(store, study, ids, batch):
        yield Subject(record.id, partial(items_of, record, rubric))
