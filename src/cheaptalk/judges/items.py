"""What judges are shown: moves, seats, whole matches or answers, in the words that people read."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cheaptalk.judges.rubrics import Rubric
from cheaptalk.records import Line, MatchRecord, text_of, transcript
from cheaptalk.rules import ReplayMismatch
from cheaptalk.styles.quotes import disarmed
from cheaptalk.text import visible


class Item(NamedTuple):
    """One thing to be judged.

    Attributes:
        name: ``REQUEST/SEAT`` for a move, a seat's name, ``match``, or what a survey calls a
            question.
        request, seat: where it belongs; 0 and empty for a match, 0 and the name for an answer.
        seen: what the judge reads.
        judged: what of it is to be judged.
    """

    name: str
    request: int
    seat: str
    seen: str
    judged: str


def move_name(request: int, seat: str) -> str:
    """What a move is called among items."""
    return f"{request}/{seat}"


def items_of(record: MatchRecord, rubric: Rubric) -> list[Item]:
    """What a rubric has judged of a match, in the order of play.

    A judge of a move or a seat reads what that seat was told, and nothing else: in Deal or No Deal
    one player's values are masked, as in Liao, Tomlin and Klein (2024, appendix E.1). Matches and
    seats in which nobody said a word are left out.

    Raises:
        ReplayMismatch: the installed rules do not replay the match.
    """
    lines = transcript(record)
    actions = {(one.request, one.seat): one.action for one in record.replay().given if one.action}
    spoken = [where for where, action in actions.items() if getattr(action, "message", None)]
    if rubric.item == "move":
        wanted = spoken
        if rubric.actions is not None:
            wanted = [at for at, one in actions.items() if type(one).__name__ in rubric.actions]
        return [_move(lines, *where) for where in wanted]
    if rubric.item == "seat":
        return [_seat(lines, seat) for seat in dict.fromkeys(seat for _, seat in spoken)]
    return [Item("match", 0, "", _quoted(lines), "the whole match")] if spoken else []


def answer_item(name: str, seat: str, question: str, text: str) -> Item:
    """A free answer, with what was asked."""
    seen = f"A person is asked:\n{quote(question)}\n\nThe person answers:\n{quote(disarmed(text))}"
    return Item(name, 0, seat, seen, "the person's answer")


def _move(lines: Iterable[Line], request: int, seat: str) -> Item:
    seen: list[Line] = []
    for line in lines:
        if line.seat == seat:
            seen.append(line)
            if line.request == request:
                return Item(
                    move_name(request, seat), request, seat, _quoted(seen),
                    f"the last answer of {line.name}",
                )  # fmt: skip
    raise ReplayMismatch(f"request {request} of {seat} is not in the transcript")


def _seat(lines: Iterable[Line], seat: str) -> Item:
    seen = [line for line in lines if line.seat == seat]
    return Item(seat, 0, seat, _quoted(seen), f"the conduct of {seen[0].name}")


def _quoted(lines: Iterable[Line]) -> str:
    """A transcript in which every line of the record's own words stands behind a ``>``.

    No message can so end the quotation: its line breaks are quoted too, or escaped.
    """
    return "\n\n".join(part for line in lines for part in _parts(line))


def _parts(line: Line) -> Iterator[str]:
    yield f"{line.name} is {'told' if line.request is None else 'asked'}:\n{quote(line.text)}"
    if line.request is not None:
        if line.answer is None:
            yield f"{line.name} gives no valid answer."
        else:
            given = {name: value for name, value in line.answer.items() if value is not None}
            yield f"{line.name} answers:\n{quote(disarmed(text_of(given)))}"


def quote(text: str) -> str:
    """A text with a ``>`` before each of its lines, and hidden characters by their codes.

    >>> print(quote("one\\ntwo \\u202eowt"))
    > one
    > two \\u202eowt
    """
    return "\n".join(f"> {visible(line)}" for line in text.splitlines())
