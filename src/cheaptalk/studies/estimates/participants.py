"""A preview of a study's participants: their number, steps and payments."""

from collections.abc import Sequence
from typing import NamedTuple

from cheaptalk.players.person import PersonSeat
from cheaptalk.rules import Game, counted
from cheaptalk.studies.people.page_texts.texts import missing_translations
from cheaptalk.studies.people.pay import visit_cents
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.people.recruiting import setting_checks
from cheaptalk.studies.plans.designs import StudyDesign, design_of
from cheaptalk.studies.plans.plan import Plan, PlanLike, plan_of

SHOWN = 5
"""Number of missing texts that a sentence names."""


class ParticipantPreview(NamedTuple):
    """What a study plans for its participants.

    Attributes:
        source: the recruitment source.
        places: maximum number of completions; None for as many as the matches require.
        design: the design with its orders of treatments and matching groups, else empty.
        steps: names of the steps, in order.
        cost: a sentence on the cost of paying the participants.
        shortage: a warning if the plan has too few seats for all participants, else empty.
        without_deadline: labels of human players without a deadline, who may thus block others.
        missing_settings: sentences on settings that the recruitment platform requires.
        untranslated: locations of the texts that are missing in a language, by language code.
    """

    source: str
    places: int | None
    design: str
    steps: list[str]
    cost: str
    shortage: str
    without_deadline: list[str]
    missing_settings: list[str]
    untranslated: dict[str, list[str]]

    @property
    def translation_lines(self) -> list[str]:
        """A sentence on the missing texts of each language."""
        return [
            f"{counted(len(texts), 'text')} without a translation into {code!r}: "
            f"{', '.join(texts[:SHOWN])}{' and others' if len(texts) > SHOWN else ''}"
            for code, texts in self.untranslated.items()
        ]


def preview_participants(planned: PlanLike) -> ParticipantPreview | None:
    """Return a preview of a study's participants; None if the study recruits no participants."""
    planned = plan_of(planned)
    protocol = planned.study.people
    if protocol is None:
        return None
    seats = {label: entry.form for label, entry in planned.study.players.items()}
    design = design_of(planned.study, planned.matches)
    return ParticipantPreview(
        protocol.recruitment.source,
        protocol.recruitment.places if design is None else design.places,
        "" if design is None else design_text(design),
        [step.called for step in protocol.path],
        participant_cost(protocol, [block.configuration.game for block in planned.matches.blocks]),
        _seat_shortage(planned, protocol),
        [
            label
            for label, seat in seats.items()
            if isinstance(seat, PersonSeat) and seat.deadline is None
        ],
        [check.problem for check in setting_checks(protocol) if not check.passed],
        untranslated(protocol),
    )


def design_text(design: StudyDesign) -> str:
    """Return a sentence about a design."""
    schedule = design.schedule
    arms, orders = counted(len(schedule.arms), "treatment"), len(schedule.orders)
    if schedule.design == "between":
        played = f"one of {arms}"
    elif orders:
        played = f"{arms} in {'the same order' if orders == 1 else f'one of {orders} orders'}"
    else:
        played = f"{arms} in random order"
    each = "" if schedule.rounds == 1 else f", with {schedule.rounds} games each"
    groups = ""
    if schedule.grouped:
        matching = schedule.matching.replace("_", " ")
        groups = f"; {matching} matching in groups of {schedule.group}, which start together"
    uneven = ""
    if orders > 1 and design.places % (orders * schedule.unit):
        parts = arms if schedule.design == "between" else counted(orders, "order")
        units = f" in units of {schedule.unit}" if schedule.unit > 1 else ""
        places = counted(design.places, "place")
        uneven = f". {places} cannot be divided evenly among {parts}{units}"
    return f"{schedule.design.replace('_', ' ')}: {played}{each}{groups}{uneven}."


def untranslated(protocol: Protocol) -> dict[str, list[str]]:
    """Return the locations of the texts that are missing in a language, by language code.

    >>> texts = {"title": {"en": "Hello", "de": "Hallo"}, "path": [{"debrief": "Bye"}, "games"]}
    >>> untranslated(Protocol.model_validate(texts))
    {'de': ['path.0.debrief.text']}
    """
    missing: dict[str, list[str]] = {}
    for text in missing_translations(protocol):
        for code in text.codes:
            missing.setdefault(code, []).append(text.location)
    return missing


def participant_cost(protocol: Protocol, configurations: Sequence[Game] = ()) -> str:
    """Return a sentence that states the cost of paying the participants.

    The payoffs of ``configurations`` limit bonuses without a maximum.

    >>> participant_cost(Protocol(path=["games"], pay={"base": 2}, recruitment={"places": 50}))
    'Paying participants costs 100.00 USD for 50 places.'
    """
    slots, currency = protocol.recruitment.places, protocol.pay.currency
    minimum, maximum = visit_cents(protocol, configurations)
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
            "Set pay.max or pay.max_total to limit them"
        )
    cost = f"Paying participants costs {total}{open_ended}."
    if protocol.pay.budget is None:
        return cost
    return cost + f" The budget is {protocol.pay.budget:,.2f} {currency}."


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
