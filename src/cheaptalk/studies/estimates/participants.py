"""A preview of a study's participants: their number, steps and payments."""

from cheaptalk.players.person import PersonSeat
from cheaptalk.rules import counted
from cheaptalk.studies.people.pay import visit_cents
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.plans.plan import Plan
from cheaptalk.studies.study import Study


def participant_lines(planned: Plan) -> list[str]:
    """Return lines of text on a study's participants; none if the study recruits no participants.

    The lines contain their maximum number, steps and cost, and what may block participants.
    """
    protocol = planned.study.people
    if protocol is None:
        return []
    places = protocol.recruitment.places
    limit = "as many as the matches require" if places is None else f"up to {places:,}"
    blocking = [
        f"players.{label}: without a deadline, other participants may wait forever"
        for label in without_deadline(planned.study)
    ]
    return [
        f"Participants: {limit} (source: {protocol.recruitment.source})",
        f"Steps: {', '.join(step.called for step in protocol.path)}",
        participant_cost(protocol),
        *filter(None, [seat_shortage(planned)]),
        *blocking,
    ]


def participant_cost(protocol: Protocol) -> str:
    """Return a sentence that states the cost of paying the participants.

    >>> participant_cost(Protocol(path=["games"], pay={"base": 2}, recruitment={"places": 50}))
    'Participants cost 100.00 USD for 50 places.'
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
    games = protocol.games.max
    open_ended = ""
    if maximum is None:
        played = f", with {counted(1 if protocol.games.can_stop else games, 'game')} each"
        open_ended = (
            f"{played if games > 1 else ''}, plus bonuses"
            f"{f' for up to {games} games' if games > 1 else ''} without a maximum. "
            "Set pay.max to limit them"
        )
    return f"Participants cost {total}{open_ended}."


def seat_shortage(planned: Plan) -> str:
    """Return a warning if a plan has too few seats for its participants, else an empty text."""
    protocol = planned.study.people
    if protocol is None or protocol.recruitment.places is None:
        return ""
    slots, max_games = protocol.recruitment.places, protocol.games.max
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


def without_deadline(study: Study) -> list[str]:
    """Return the labels of human players who have no deadline and may thus block others."""
    if study.people is None:
        return []
    seats = {label: entry.form for label, entry in study.players.items()}
    return [
        label for label, seat in seats.items()
        if isinstance(seat, PersonSeat) and seat.deadline is None
    ]  # fmt: skip
