"""Key figures on the status of a launched study."""

from typing import NamedTuple

from cheaptalk.records.descriptions import ended_text
from cheaptalk.records.people.payouts import balance_of
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.participants.experiment import Experiment


class Turnout(NamedTuple):
    """Participant counts and unpaid amounts of a study.

    Attributes:
        came, on_way: number of admitted and of active participants.
        completed: number of participants who have completed the study at least once.
        places: maximum of ``completed``, or None.
        owed: unpaid amounts in cents that are in no payout.
        currency: code of the currency.
    """

    came: int
    on_way: int
    completed: int
    places: int | None
    owed: int
    currency: str

    @classmethod
    def from_experiment(cls, experiment: Experiment) -> "Turnout":
        endings = [person.ending for person in experiment.people.values()]
        completed = sum(
            "complete" in person.journey.endings for person in experiment.people.values()
        )
        balance = balance_of(experiment.room_manager.store, experiment.study_id)
        protocol = experiment.protocol
        return cls(
            len(endings), endings.count(None), completed,
            protocol.recruitment.places, balance.owed, protocol.pay.currency,
        )  # fmt: skip


class StudyStatus(NamedTuple):
    """Stage and key figures of a launched study.

    Attributes:
        stage: one or two words, such as ``open`` for participants, ``running`` or ``done``.
        why: reason why the study stopped, failed or cannot be opened, or "".
        matches: number of ended matches.
        how_far: text on the number of planned and ended matches.
        calls: number of calls to models.
        dollars: cost of the calls, as far as prices are known.
        people: participants; None for studies without participants.
    """

    stage: str
    why: str
    matches: int
    how_far: str
    calls: int
    dollars: float
    people: Turnout | None


async def study_status(laboratory: Laboratory, name: str) -> StudyStatus | None:
    """Return the status of a study; None if the study was not launched.

    Raises:
        CheaptalkError: the store cannot be read.
    """
    if laboratory.launched(name) is None:
        return None
    if name in laboratory.broken:
        why = laboratory.broken[name]
        return StudyStatus("cannot be opened", why, 0, ended_text(0, None), 0, 0, None)
    opened = laboratory.open.get(name)
    if opened is None:
        status = await laboratory.runs.status(name)
        stage, why, people = status.stage.value, status.why, None
        account = status.account
        if account is not None:
            how_far, dollars = account.how_far, account.dollars or 0
            return StudyStatus(stage, why, account.done, how_far, account.calls, dollars, people)
        counts = status.overview
    else:
        experiment = opened.supervisor.experiment
        stage = "full" if experiment.quotas.full else experiment.state
        why, people = "", Turnout.from_experiment(experiment)
        counts = await laboratory.runs.overviews.get(name)
    if counts is None:
        return StudyStatus(stage, why, 0, ended_text(0, None), 0, 0, people)
    how_far, cost = counts.how_far(counts.planned), counts.cost
    return StudyStatus(stage, why, counts.done, how_far, cost.calls, cost.dollars or 0, people)
