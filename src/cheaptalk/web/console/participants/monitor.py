"""The current states of a running study's participants, for the console's Participants tab."""

from typing import Literal, NamedTuple, TypeAlias

from cheaptalk.studies.people.path import Page, Play
from cheaptalk.web.participants.experiment import Experiment
from cheaptalk.web.participants.people import Participant
from cheaptalk.web.rooms.rooms import Stage

State: TypeAlias = Literal["answering", "waiting", "playing", "paused", "ended"]
"""The states in which participants can be."""


class Activity(NamedTuple):
    """A participant's current state.

    Attributes:
        state: the participant's state.
        since: start of the state in seconds since 1970; None if it is unknown.
        step: number of the current step, from 1; None between steps.
        steps: number of the study's steps.
        partners: codes of the others at the same table.
        treatment: name of the current game's treatment, or "".
        hidden: whether the page is not visible, for example behind another window.
    """

    state: State
    since: float | None
    step: int | None
    steps: int
    partners: tuple[str, ...] = ()
    treatment: str = ""
    hidden: bool = False


def activity_of(experiment: Experiment, person: Participant) -> Activity:
    """Return a participant's current state."""
    names = [step.called for step in experiment.protocol.steps]
    stop = person.journey.stop
    step = names.index(stop.name) + 1 if stop.name in names else None
    play = person.plays.get(stop.game or 0, {}) if isinstance(stop, Play) else {}
    room = person.visitor.room
    partners: tuple[str, ...] = ()
    if isinstance(stop, Play) and room is not None and not room.over:
        others = filter(None, room.visitors.values())
        partners = tuple(other.name for other in others if other.name != person.code)
    playing = isinstance(stop, Play) and room is not None and room.stage is Stage.PLAYING
    state, since = _state(person, playing=playing)
    treatment = play.get("treatment") or ""
    hidden = person.hidden_since is not None and person.ending is None
    return Activity(state, since, step, len(names), partners, treatment, hidden)


def _state(person: Participant, *, playing: bool) -> tuple[State, float | None]:
    if person.ending is not None:
        return "ended", None
    if person.pause is not None:
        return "paused", person.pause.sent
    if playing:
        return "playing", None
    if isinstance(person.journey.stop, Page):
        return "answering", person.shown_at
    return "waiting", person.waits_since or None
