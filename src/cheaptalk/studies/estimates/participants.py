"""A preview of a study's participants: their number, steps and payments."""

from typing import NamedTuple

from cheaptalk.players.person import PersonSeat
from cheaptalk.rules import counted
from cheaptalk.studies.people.pay import visit_cents
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.plans.plan import Plan, PlanLike, plan_of


class ParticipantPreview(NamedTuple):
    """What a study plans for its participants.

    Attributes:
        source: the recruitment source.
        places: maximum number of completions; None for as many as the matches require.
        steps: names of the steps, in order.
        cost: a sentence on the cost of paying the participants.
        shortage: a warning if the plan has too few seats for all participants, else empty.
        without_deadline: labels of human players without a deadline, who may thus block others.
    """

    source: str
    places: int | None
    steps: list[str]
    cost: str
    shortage: str
    without_deadline: list[str]


def preview_participants(planned: PlanLike) -> ParticipantPreview | None:
    """Return a preview of a study's participants; None if the study recruits no participants."""
    planned = plan_of(planned)
    protocol = planned.study.people
    if protocol is None:
        return None
    seats = {label: entry.form for label, entry in planned.study.players.items()}
    return ParticipantPreview(
        protocol.recruitment.source,
        protocol.recruitment.places,
        [step.called for step in protocol.path],
        participant_cost(protocol),
        _seat_shortage(planned, protocol),
        [
            label
            for label, seat in seats.items()
            if isinstance(seat, PersonSeat) and seat.deadline is None
        ],
    )


def participant_cost(protocol: Protocol) -> str:
    """Return a sentence that states the cost of paying the participants.

    >>> participant_cost(Protocol(path=["games"], pay={"base": 2}, recruitment={"places": 50}))
    'Paying participants costs 100.00 USD for 50 places.'
    """
    slots, currency = protocol.recruitment.places, protocol.pay.currency
    minimum, maximum = visit_cents(protocol)
    visits = slots or 1
    amounts = [
        f"{cents * visits / 100:,.2f}"
        for cents in dict.fromkeys((minimum, maximum))
        if cents is not None
    ]
    recipients = f"for {counted(slots, 'place')}" if slots else "for each completed visit"
    total = f"{' to '.join(amounts)} {currency} {recipients}"
    games = protocol.games.count
    open_ended = ""
    if maximum is None:
        played = f", with {counted(1 if protocol.games.can_stop else games, 'game')} each"
        open_ended = (
            f"{played if games > 1 else ''}, plus bonuses"
            f"{f' for up to {games} games' if games > 1 else ''} without a maximum. "
            "Set pay.max to limit them"
        )
    return f"Paying participants costs {total}{open_ended}."


def _seat_shortage(planned: Plan, protocol: Protocol) -> str:
    if protocol.recruitment.places is None:
        return ""
    slots, max_games = protocol.recruitment.places, protocol.games.count
    people_per_row: dict[int, float] = {}
    seats = 0.0
    for block in planned.matches.blocks:
        rows = block.seatings
        if id(rows) not in people_per_row:
            people = sum(isinstance(player.spec, PersonSeat) for row in rows for player in row)
            people_per_row[id(rows)] = people / len(rows)
        seats += len(block) * people_per_row[id(rows)]
    if seats >= slots * max_games:
        return ""
    games_text = f" of up to {max_games} games" if max_games > 1 else ""
    return (
        f"{counted(slots, 'place')}{games_text} may need {slots * max_games:,} seats, but the "
        f"plan has {seats:,.0f}. Add instances, or the last participants cannot be matched."
    )
