"""Items for judges: moves, seats, matches or survey answers, as readable text."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cheaptalk.judges.rubrics import Rubric
from cheaptalk.records import Line, MatchRecord, text_of, transcript
from cheaptalk.rules import ReplayMismatch
from cheaptalk.styles.writing import escaped
from cheaptalk.text import visible


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
    if rubric.item == "seat":
        return [_seat(lines, seat) for seat in dict.fromkeys(seat for _, seat in spoken)]
    return [Item("match", 0, "", _quoted(lines), "the whole match")] if spoken else []


def answer_item(name: str, seat: str, question: str, text: str) -> Item:
    """Return a free-text survey answer, with its question, as an item to judge."""
    seen = f"A person is asked:\n{quote(question)}\n\nThe person answers:\n{quote(escaped(text))}"
    return Item(name, 0, seat, seen, "the person's answer")


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
