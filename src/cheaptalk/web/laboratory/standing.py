"""How a study that was launched stands, in a few numbers."""

from typing import NamedTuple

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
        calls: to models, bought.
        dollars: that these cost, as far as prices are known.
        people: who take part; None of a study without.
    """

    stage: str
    why: str
    matches: int
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
        return Standing("cannot be opened", laboratory.broken[name], 0, 0, 0, None)
    opened = laboratory.open.get(name)
    if opened is None:
        status = await laboratory.runs.status(name)
        stage, why, people = status.stage.value, status.why, None
        account = status.account
        if account is not None:
            return Standing(stage, why, account.done, account.calls, account.dollars or 0, people)
        seen = status.overview
    else:
        experiment = opened.supervisor.experiment
        stage = "full" if experiment.places.full else experiment.state
        why, people = "", Turnout.of(experiment)
        seen = await laboratory.runs.overviews.of(name)
    if seen is None:
        return Standing(stage, why, 0, 0, 0, people)
    return Standing(stage, why, seen.done, seen.cost.calls, seen.cost.dollars or 0, people)
