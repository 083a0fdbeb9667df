"""Notices to participants, and records of researchers' actions on them."""

import time
from collections.abc import Callable, Sequence

from cheaptalk.records.people import participants as rows
from cheaptalk.web.participants.experiment import Experiment
from cheaptalk.web.participants.people import Notice, Participant


def _no_deadline(_person: Participant) -> float | None:
    return None


async def note(
    experiment: Experiment,
    people: Sequence[Participant],
    kind: str,
    *,
    text: str = "",
    wanted: str | None = None,
    due: Callable[[Participant], float | None] = _no_deadline,
    done: bool = False,
) -> None:
    """Store a notice for each participant in one transaction, and renew their pages.

    Args:
        kind: one of :data:`.schema.NOTICE_KINDS`.
        due: returns a participant's deadline, in seconds since 1970, or None.
        done: whether the notice needs no answer.
    """
    now = time.time()
    answered = now if done else None
    dues = [due(person) for person in people]
    new = [
        {
            "participant_id": person.id,
            "kind": kind,
            "text": text,
            "wanted": wanted,
            "sent": now,
            "due": deadline,
            "answered": answered,
        }
        for person, deadline in zip(people, dues, strict=True)
    ]
    numbers = await experiment.write(rows.notify(new))
    for number, person, deadline in zip(numbers, people, dues, strict=True):
        notice = Notice(number, kind, text, wanted, deadline, answered, sent=now)
        person.notices.append(notice)
        person.visitor.notifier.notify()
