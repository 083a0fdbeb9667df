"""The console's launch page, which summarises what a launch will do before it is confirmed."""

import asyncio
from typing import NamedTuple

from fastapi.responses import Response

from cheaptalk.players import ModelSeat
from cheaptalk.players.person import PersonSeat
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.estimates.amounts import dollars_shown
from cheaptalk.studies.estimates.estimate import forecast
from cheaptalk.studies.estimates.participants import ParticipantPreview, preview_participants
from cheaptalk.studies.people.pay import visit_cents
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.people.recruiting import SettingCheck, setting_checks
from cheaptalk.studies.plans.plan import Plan
from cheaptalk.studies.runs.checks import missing_requirements
from cheaptalk.web.console.authentication import STUDY, Authentication, CurrentVisit
from cheaptalk.web.console.study_pages import check_design, version_in
from cheaptalk.web.laboratory.laboratory import CorrectsTexts, Laboratory
from cheaptalk.web.laboratory.staff import Role

LAUNCH = f"{STUDY}/launch"


class ModelCost(NamedTuple):
    """The estimated cost of a study's models.

    Attributes:
        dollars: the range in dollars, as text; empty if no price is known.
        unpriced: models without a known price.
        doubts: conflicts with the budget, one sentence each.
    """

    dollars: str
    unpriced: list[str]
    doubts: list[str]


class Pay(NamedTuple):
    """The payments for completed visits in cents: of one, and of all places if limited.

    The second value of each pair is the maximum; None if there is none.
    """

    visit: tuple[int, int | None]
    places: tuple[int, int | None] | None


class LaunchSummary(NamedTuple):
    """What a launch will do, and what the study still lacks.

    Attributes:
        matches: number of planned matches.
        participants: the participants; None for a study without them.
        pay: their payments.
        models: the cost of models; None without models or if it cannot be estimated.
        needs: what players still need, such as an API key.
        checks: settings that the recruitment platform requires and the study lacks.
    """

    matches: int
    participants: ParticipantPreview | None
    pay: Pay | None
    models: ModelCost | None
    needs: list[str]
    checks: list[SettingCheck]


def summarize_launch(planned: Plan) -> LaunchSummary:
    """Summarise the launch of a plan. No model is called."""
    study = planned.study
    protocol = study.people
    people = [name for name, entry in study.players.items() if isinstance(entry.form, PersonSeat)]
    participants = preview_participants(planned)
    return LaunchSummary(
        len(planned.matches),
        participants,
        None if protocol is None or participants is None else _pay(planned, protocol, participants),
        _model_cost(planned),
        [
            str(need)
            for need in missing_requirements(planned, None)
            if not {*need.players} & {*people}
        ],
        []
        if protocol is None
        else [check for check in setting_checks(protocol) if not check.passed],
    )


def _pay(planned: Plan, protocol: Protocol, participants: ParticipantPreview) -> Pay | None:
    if not protocol.pay.anything:
        return None
    games = [block.configuration.game for block in planned.matches.blocks]
    low, high = visit_cents(protocol, games)
    places = participants.places
    total = None if places is None else (low * places, None if high is None else high * places)
    return Pay((low, high), total)


def _model_cost(planned: Plan) -> ModelCost | None:
    if not any(isinstance(player.spec, ModelSeat) for player in planned.players().values()):
        return None
    try:
        remaining = forecast(planned, None)
    except CheaptalkError:  # a model without a strategy to rehearse with
        return None
    takes = remaining.takes
    if takes is None or not takes.players:
        return None
    priced = len(takes.unpriced) < len({*takes.models.values()})
    dollars = dollars_shown(takes.total.dollars) if priced and takes.total.dollars else ""
    return ModelCost(dollars, takes.unpriced, [*remaining.doubts])


class LaunchPages:
    """The page that summarises a launch, and the launch itself."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory

    def add(self, authentication: Authentication) -> None:
        authentication.add_page(LAUNCH, self.before_launch, Role.RESEARCHER)
        authentication.add_action(LAUNCH, self.launch, Role.RESEARCHER)

    async def before_launch(self, visit: CurrentVisit, name: str) -> Response:
        """Show what the launch will do, or why the design cannot be launched."""
        return await self._page(visit, name)

    async def _page(self, visit: CurrentVisit, name: str, problem: str = "") -> Response:
        draft = await asyncio.to_thread(self.laboratory.database.drafts.read, name)
        folder = self.laboratory.folder.path
        checked = await asyncio.to_thread(check_design, draft.name, draft.text, folder)
        changes = self.laboratory.changes(draft.name, checked.study) if checked.study else None
        if changes is not None and (changes.rule or changes.texts):
            return visit.go(f"/studies/{draft.name}/corrections")
        summary = None
        if checked.planned is not None:
            summary = await asyncio.to_thread(summarize_launch, checked.planned)
        return visit.render(
            "launch.html.jinja",
            409 if problem else 200,
            name=draft.name,
            tab="overview",
            draft=draft,
            study=checked.study,
            invalid=checked.problem,
            summary=summary,
            again=self.laboratory.launched(draft.name) is not None,
            problem=problem,
        )

    async def launch(self, visit: CurrentVisit, name: str) -> Response:
        """Launch the version of the design that the page showed; without one, show the page."""
        draft = await asyncio.to_thread(self.laboratory.database.drafts.read, name)
        if "version" not in visit.form:
            return visit.go(f"/studies/{draft.name}/launch")
        if draft.version != version_in(visit.form):
            problem = visit.text("The design has changed meanwhile. Review the launch again.")
            return await self._page(visit, name, problem)
        try:
            study = await self.laboratory.launch(draft.name, draft.text)
        except CorrectsTexts:
            return visit.go(f"/studies/{draft.name}/corrections")
        visit.record("launched", draft.name, version=draft.version)
        tab = "matches" if study.people is None else "participants"
        return visit.go(f"/studies/{draft.name}/{tab}", "The study was launched.")
