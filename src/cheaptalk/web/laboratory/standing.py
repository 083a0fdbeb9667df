"""How a study that was launched stands, in a few numbers."""

from typing import NamedTuple

from cheaptalk.records.endings import ended_text
from cheaptalk.records.people.payouts import balance_of
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.participants.experiment import Experiment


class Turnout(NamedTuple):
    """The people of a study.

    Attributes:
        came, on_way: how many.
        completed: how many have, at least once.
        places: how many may complete; None without a bound.
        owed: cents that they are owed and that are in no payout.
        currency: of these.
    """

    came: int
    on_way: int
    completed: int
    places: int | None
    owed: int
    currency: str

    @classmethod
    def of(cls, experiment: Experiment) -> "Turnout":
        """The people of an experiment."""
        endings = [one.ending for one in experiment.people.values()]
        completed = sum("complete" in one.journey.endings for one in experiment.people.values())
        owed = balance_of(experiment.house.store, experiment.study_id).owed
        protocol = experiment.protocol
        return cls(
            len(endings), endings.count(None), completed,
            protocol.recruitment.places, owed, protocol.pay.currency,
        )  # fmt: skip


class Standing(NamedTuple):
    """How a study stands.

    Attributes:
        stage: in a word or two, such as ``open`` to people, ``running`` or ``done``.
        why: it stopped, failed or cannot be opened; empty else.
        matches: that have ended.
        how_far: how many these are of those planned, and how they ended.
        calls: to models, bought.
        dollars: that these cost, as far as prices are known.
        people: who take part; None of a study without.
    """

    stage: str
    why: str
    matches: int
    how_far: str
    calls: int
    dollars: float
    people: Turnout | None


async def standing(laboratory: Laboratory, name: str) -> Standing | None:
    """How a study stands; None of one that was not launched.

    Raises:
        CheaptalkError: its store cannot be read.
    """
    if laboratory.launched(name) is None:
        return None
    if name in laboratory.broken:
        why = laboratory.broken[name]
        return Standing("cannot be opened", why, 0, ended_text(0, None), 0, 0, None)
    opened = laboratory.open.get(name)
    if opened is None:
        status = await laboratory.runs.status(name)
        stage, why, people = status.stage.value, status.why, None
        account = status.account
        if account is not None:
            how_far, dollars = account.how_far, account.dollars or 0
            return Standing(stage, why, account.done, how_far, account.calls, dollars, people)
        seen = status.overview
    else:
        experiment = opened.supervisor.experiment
        stage = "full" if experiment.places.full else experiment.state
        why, people = "", Turnout.of(experiment)
        seen = await laboratory.runs.overviews.of(name)
    if seen is None:
        return Standing(stage, why, 0, ended_text(0, None), 0, 0, people)
    how_far, cost = seen.how_far(seen.planned), seen.cost
    return Standing(stage, why, seen.done, how_far, cost.calls, cost.dollars or 0, people)
