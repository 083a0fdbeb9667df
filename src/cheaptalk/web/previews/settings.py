"""PreviewSettings of a preview: what a researcher can choose, and the study that is then opened."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from cheaptalk.players import MOCK_MODEL, ModelSeat, PersonSeat, RosterEntry, RosterForm
from cheaptalk.rules import CheaptalkError, game_title, strategies
from cheaptalk.rules.game_spec import LANGUAGES
from cheaptalk.studies.people.protocol import Limits, Protocol
from cheaptalk.studies.people.steps import Games
from cheaptalk.studies.plans.designs import StudyDesign, design_of, positions
from cheaptalk.studies.plans.plan import plan
from cheaptalk.studies.study import Study
from cheaptalk.styles.languages import SOURCE
from cheaptalk.text import capital, plain, readable
from cheaptalk.web.participants.people import check_protocol
from cheaptalk.web.rooms.table_templates import TableTemplate, table_templates_of

ARROW = " \u2192 "
RANDOM = "random"
MOST_SEATS = 4
"""Maximum number of seats that one researcher plays."""
SEARCHED = 720
"""Number of places of a design that are searched for an order of treatments."""
DRAWN = 60
"""Number of places whose random orders of treatments can be chosen."""
HOUR = 3600.0


class PreviewSettings(NamedTuple):
    """The settings of a preview.

    Attributes:
        treatment: key of :attr:`Options.treatments`; empty for the first treatment.
        seat: the seat in the first game; empty for any.
        own: number of seats that the researcher plays.
        language: code of the pages' language.
        start: name of the step at which the preview starts; empty for the first step.
        strategy: the strategy of the bots in games that have it; in others, random legal moves.
        timed: whether deadlines apply.
        real_models: whether models are called, which costs money, instead of a mock model.
    """

    treatment: str = ""
    seat: str = ""
    own: int = 1
    language: str = SOURCE
    start: str = ""
    strategy: str = RANDOM
    timed: bool = False
    real_models: bool = False


class Options(NamedTuple):
    """The choices of a preview: display texts by key, and the maximum of own seats.

    Attributes:
        treatments: treatments or, in a design within participants, their orders.
        steps: names of the steps, in order.
        models: whether models play.
    """

    treatments: dict[str, str]
    seats: dict[str, str]
    steps: dict[str, str]
    strategies: list[str]
    most: int
    models: bool

    def check(self, settings: PreviewSettings) -> None:
        """Raise a CheaptalkError if the study does not offer a setting."""
        for kind, key, known in (
            ("treatment", settings.treatment, self.treatments),
            ("seat", settings.seat, self.seats),
            ("step", settings.start, self.steps),
            ("language", settings.language, dict.fromkeys(LANGUAGES, "")),
        ):
            if key and key not in known:
                expected = ", ".join(
                    f"{name} ({text})" if name.isdigit() else name for name, text in known.items()
                )
                raise CheaptalkError(f"{key} is not a {kind} of this study; choose one: {expected}")
        if not 1 <= settings.own <= self.most:
            raise CheaptalkError(
                f"you can't play {settings.own} seats of this study; choose a number from 1 to "
                f"{self.most}"
            )


def options_of(study: Study) -> Options:
    """Return what a preview of a study can show.

    Raises:
        StudyError: the study has no participants, or cannot be planned.
    """
    check_protocol(study)
    assert study.people is not None
    planned = plan(study)
    templates = list(table_templates_of(planned).values())
    design = design_of(study, planned.matches)
    names = list(dict.fromkeys(template.game.name for template in templates))
    group = 1 if design is None else design.schedule.group
    return Options(
        _arrival_treatments(templates) if design is None else _orders(study.people, design),
        _seats(templates),
        {step.called: capital(plain(step.called)) for step in study.people.steps},
        sorted({strategy for name in names for strategy in strategies(name)} - {RANDOM}),
        min(MOST_SEATS, max(group, *(len(template.human_seats) for template in templates))),
        any(isinstance(form, ModelSeat) for form in _forms(study.players.values())),
    )


def _arrival_treatments(templates: Iterable[TableTemplate]) -> dict[str, str]:
    """Return names of tables by number: their players and, if necessary, game and parameters."""
    templates = list(templates)
    several = len({template.game.name for template in templates}) > 1
    named: dict[str, str] = {}
    for template in templates:
        players = ", ".join(seated.label for seated in template.seated.values())
        title = game_title(template.game.name)
        named[template.name] = f"{title}: {players}" if several else players
    counts = Counter(named.values())
    for template in templates:
        if counts[named[template.name]] > 1:
            settings = template.game.model_dump(mode="json", exclude_defaults=True)
            named[template.name] += f" ({readable(settings)})"
    return {str(number): text for number, text in enumerate(named.values(), 1)}


def _orders(protocol: Protocol, design: StudyDesign) -> dict[str, str]:
    schedule, line = design.schedule, line_of(protocol)
    drawn = range(DRAWN) if not schedule.orders else ()
    orders = schedule.orders or sorted({schedule.order(line, place) for place in drawn})
    return {ARROW.join(order): ARROW.join(order) for order in orders}


def line_of(protocol: Protocol) -> str:
    """Return a line of places: the first cohort, or a stratum of it."""
    first = protocol.cohorts[0]
    return first if protocol.games.stratify is None else f"{first}/None"


def _seats(templates: Iterable[TableTemplate]) -> dict[str, str]:
    seats: dict[str, str] = {}
    for template in templates:
        for seat in template.human_seats:
            role = template.game.seats[seat]
            seats.setdefault(seat, f"{template.shown.called(seat)} ({plain(role)})")
    return seats


def seat_at(templates: Iterable[TableTemplate], position: int) -> str:
    """Return the seat of a position in the tables of a treatment."""
    first, *_ = templates = list(templates)
    if len(first.human_seats) > 1:
        return first.human_seats[position]
    names = list(first.game.seats)
    indices = [tuple(map(names.index, template.human_seats)) for template in templates]
    return names[positions(indices)[position]]


def _forms(entries: Iterable[RosterEntry]) -> Iterator[RosterForm]:
    for entry in entries:
        yield entry.form
        if isinstance(entry.form, PersonSeat) and entry.form.away is not None:
            yield entry.form.away.form


def study_to_preview(study: Study, settings: PreviewSettings) -> Study:
    """Return a study as it is previewed: open to anyone, and without models and time limits.

    With ``real_models`` or ``timed``, these stay.
    """
    assert study.people is not None
    numbers = iter(range(len(study.players) * 2))
    players = {
        label: RosterEntry.model_validate(_previewed(entry.form, settings, numbers))
        for label, entry in study.players.items()
    }
    return study.model_copy(
        update={"players": players, "people": _open_protocol(study.people, settings)}
    )


def _previewed(form: RosterForm, settings: PreviewSettings, numbers: Iterator[int]) -> RosterForm:
    if isinstance(form, ModelSeat) and not settings.real_models:
        # The seed keeps players apart that differ only in their model.
        (number,) = islice(numbers, 1)
        return form.model_copy(update={"model": MOCK_MODEL, "seed": number, "reasoning": None})
    if isinstance(form, PersonSeat):
        changes: dict[str, Any] = {} if settings.timed else {"deadline": None, "away": None}
        if settings.timed and form.away is not None:
            away = _previewed(form.away.form, settings, numbers)
            changes["away"] = RosterEntry.model_validate(away)
        return form.model_copy(update=changes)
    return form


def _open_protocol(protocol: Protocol, settings: PreviewSettings) -> Protocol:
    opened: dict[str, Any] = {"invited": None, "one_browser": False}
    if protocol.recruitment.source == "code":
        opened["source"] = "open"
    recruitment = protocol.recruitment.model_copy(update=opened)
    limits: Limits = protocol.limits.model_copy(update={"hours": 0})
    changes: dict[str, Any] = {"recruitment": recruitment, "limits": limits, "keep_days": None}
    if not settings.timed:
        changes["path"] = [
            _untimed(step) if isinstance(step, Games) else step for step in protocol.path
        ]
    return protocol.model_copy(update=changes)


def _untimed(step: Games) -> Games:
    attention = step.attention and step.attention.model_copy(update={"seconds": HOUR})
    return step.model_copy(update={"attention": attention})


def settings_of(fields: Mapping[str, str]) -> PreviewSettings:
    """Return the settings in a posted form.

    Raises:
        CheaptalkError: the number of seats is not a number.
    """
    own = fields.get("own", "1").strip()
    if not (own.isascii() and own.isdigit() and len(own) < 4):
        raise CheaptalkError(f"{own[:20] or 'nothing'} is not a number of seats; write 1 or more")
    texts = {name: fields.get(name, "") for name in ("treatment", "seat", "start")}
    return PreviewSettings(
        **texts,
        language=fields.get("language") or SOURCE,
        own=int(own),
        strategy=fields.get("strategy") or RANDOM,
        timed="timed" in fields,
        real_models="real_models" in fields,
    )
