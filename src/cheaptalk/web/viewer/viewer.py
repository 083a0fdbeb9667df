"""The viewer: reading a store in the browser, page by page, on this machine only.

It changes nothing, runs without JavaScript, and never reads a whole study: cells and pages of
matches are queries to the store.
"""

import json
import socket
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
import uvicorn
from fastapi import FastAPI, Request
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import HTMLResponse
from sqlalchemy.exc import SQLAlchemyError

from cheaptalk.loopback import HOST, listening
from cheaptalk.players import Kind
from cheaptalk.records import FEW, MatchRecord, Status, Store, StoreError, StudySummary
from cheaptalk.records.exclusions import Excluded, Standing, excluded, policies_of
from cheaptalk.records.judgements import judges_of, read_judgements
from cheaptalk.records.store import schema
from cheaptalk.records.store.queries import (
    PlayedPairing,
    Wanted,
    count,
    match,
    overview,
    page,
    studies_of,
    united,
)
from cheaptalk.records.store.store import set_aside
from cheaptalk.reports.pages import PORT, environment, policy, source, viewer_path
from cheaptalk.reports.transcripts import talk
from cheaptalk.rules import CheaptalkError, games, unknown
from cheaptalk.web.problems import problem_of


def listen(port: int = PORT, host: str = HOST) -> socket.socket:
    """A socket that waits for readers on this machine; port 0 takes any that is free.

    Raises:
        CheaptalkError: the port is taken.
    """
    return listening(port, host)


def serve(store: Store, there: socket.socket) -> None:
    """Show a store until stopped."""
    games()  # loading them would hold up the first page
    config = uvicorn.Config(make_viewer(store), log_level="warning")
    uvicorn.Server(config).run(sockets=[there])


def make_viewer(
    store: Store, hosts: Sequence[str] = (HOST, "localhost"), above: Sequence[tuple[str, str]] = ()
) -> FastAPI:
    """The viewer of a store, as a web application, which may be mounted below another's pages.

    Args:
        hosts: the names of the server that requests may have: those of this machine itself, so
            that no page from elsewhere can read it through the browser. ``["*"]`` leaves them to
            the application that it is mounted in.
        above: pages around it, each its title and address, which all pages lead to.
    """
    app = FastAPI(title="cheaptalk view", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    pages = _Pages(store, above)
    for error in (CheaptalkError, ValueError, SQLAlchemyError):
        app.add_exception_handler(error, pages.not_found)
    app.get("/")(pages.studies)
    app.get("/studies/{study}")(pages.study)
    app.get("/studies/{study}/{game}")(pages.matches)
    app.get("/matches/{match_id}")(pages.match)
    return app


class _Overview(NamedTuple):
    """What takes a look at all matches of a study, as of a state of the store."""

    stamp: object
    summary: StudySummary
    pairings: list[PlayedPairing]
    places: dict[str, dict[str, str]]
    problems: dict[str, int]
    excluded: Excluded
    aside: frozenset[str]


class _Pages:
    """The pages, each a query and a template."""

    def __init__(self, store: Store, above: Sequence[tuple[str, str]]) -> None:
        self.store = store
        self.above = list(above)
        self.overviews: dict[str, _Overview] = {}
        self.templates = environment(Path(__file__).parent / "templates")
        self.headers = {
            "Content-Security-Policy": policy(source("page.js"), forms="'self'"),
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        }

    def render(
        self, request: Request, template: str, code: int = 200, **values: Any
    ) -> HTMLResponse:
        root = request.scope.get("root_path", "")
        values |= {
            "root": root,
            "viewer_path": partial(viewer_path, root=root),
            "above": self.above,
        }
        text = self.templates.get_template(template).render(store=self.store.title, **values)
        return HTMLResponse(text, code, self.headers)

    async def not_found(self, request: Request, error: Exception) -> HTMLResponse:
        problem = problem_of(error, f"the store {self.store.title}")
        code = 404 if isinstance(error, CheaptalkError) else 500
        return self.render(request, "missing.html.jinja", code, error=problem)

    def studies(self, request: Request) -> HTMLResponse:
        broken: dict[str, str] = {}
        try:
            studies = self.store.studies()
        except Exception:  # noqa: BLE001 - one damaged row is enough; show the others
            studies, broken = _readable(self.store)
        return self.render(request, "studies.html.jinja", studies=studies, broken=broken)

    def overview(self, study: str) -> _Overview:
        """What a study's pages share, counted anew when the store has changed.

        Raises:
            StoreError: there is no such study.
        """
        stamp = self.store.backend.stamp()
        known = self.overviews.get(study)
        if known is None or known.stamp != stamp:
            summary = self.store.study(study, counted=False)
            seen = overview(self.store, study)
            ended = {status for pairing in seen.pairings for status in pairing.counts}
            well = ended <= {Status.FINISHED.value}
            known = _Overview(
                stamp, summary, *seen, {} if well else self.store.problems(study),
                excluded(self.store, study), set_aside(self.store, study),
            )  # fmt: skip
            self.overviews[study] = known
        return known

    def study(self, request: Request, study: str) -> HTMLResponse:
        seen = self.overview(study)
        met: dict[str, list[PlayedPairing]] = {}
        for pairing in seen.pairings:
            met.setdefault(pairing.game, []).append(pairing)
        return self.render(
            request, "study.html.jinja", study=seen.summary, games=met, problems=seen.problems,
            excluded=seen.excluded, aside=len(seen.aside),
            places={game: list(united([one.players for one in of])) for game, of in met.items()},
        )  # fmt: skip

    def matches(self, request: Request, study: str, game: str) -> HTMLResponse:
        seen = self.overview(study)
        found = seen.pairings
        if game not in seen.places:
            raise unknown(f"game of {study}", game, sorted(seen.places))
        places = seen.places[game]
        asked = {name: value for name, value in request.query_params.items() if value}
        people = _people([one for one in found if one.game == game], places)
        wanted = _wanted(game, places, asked)
        shown = page(self.store, study, wanted, after=asked.get("after"))
        return self.render(
            request, "matches.html.jinja", study=study, game=game, places=list(places),
            people=people, choices=_choices(places), seated=_seated(places, asked), asked=asked,
            page=shown, total=count(self.store, study, wanted), varying=_varying(shown.records),
            policies=policies_of(seen.summary.spec),
            statuses=[status.value for status in Status], kinds=[kind.value for kind in Kind],
        )  # fmt: skip

    def match(self, request: Request, match_id: str, study: str | None = None) -> HTMLResponse:
        known = studies_of(self.store, match_id)
        if study is not None and study not in known:
            raise StoreError(f'no match "{match_id}" in {study}')
        study = study or next(iter(known), None)
        record = match(self.store, match_id, study)
        told = talk(record, self.store.open_calls(record.id))
        judges = {} if study is None else judges_of(self.store, study)
        stands = None if study is None else Standing(self.store, study).of(record)
        judgements = list(read_judgements(self.store, match_id=record.id)) if judges else []
        return self.render(
            request, "one.html.jinja", record=record, study=study, talk=told, judges=judges,
            stand=stands, judgements=[one for one in judgements if one.judge in judges],
        )  # fmt: skip


def _readable(store: Store) -> tuple[list[StudySummary], dict[str, str]]:
    """Return the studies that can be read, without counts, and why each other cannot, by name."""
    readable, broken = [], {}
    text = schema.studies.c
    with store.reading() as connection:
        names = list(connection.scalars(sa.select(text.name).order_by(text.id)))
    for name in names:
        try:
            with store.reading() as connection:
                row = connection.execute(sa.select(schema.studies).where(text.name == name)).one()
            readable.append(StudySummary(row.name, row.spec, row.package, row.created, {}))
        except Exception as error:  # noqa: BLE001 - a damaged row may fail in any way
            broken[name] = problem_of(error, f"the study {name}")
    return readable, broken


def _people(found: Iterable[PlayedPairing], places: Mapping[str, str]) -> dict[str, list[str]]:
    """Who played each place, and each role."""
    people: dict[str, set[str]] = {}
    for pairing in found:
        for place, label in pairing.players.items():
            for name in (place, places[place]):
                people.setdefault(name, set()).add(label)
    return {name: sorted(labels) for name, labels in people.items()}


def _choices(places: Mapping[str, str]) -> list[str]:
    """The places to choose players of, or the roles where there are many places."""
    return list(dict.fromkeys(places if len(places) <= FEW else places.values()))


def _seated(places: Mapping[str, str], asked: Mapping[str, str]) -> dict[str, str]:
    """The players asked for in places that one cannot choose players of."""
    hidden = [place for place in places if place not in _choices(places)]
    return {place: asked[f"player.{place}"] for place in hidden if f"player.{place}" in asked}


def _wanted(game: str, places: Mapping[str, str], asked: Mapping[str, str]) -> Wanted:
    names = dict.fromkeys([*places, *places.values()])
    return Wanted(
        game,
        places,
        status=asked.get("status"),
        player=asked.get("player"),
        players={name: asked[f"player.{name}"] for name in names if f"player.{name}" in asked},
        kind=asked.get("kind"),
        kinds={name: asked[f"kind.{name}"] for name in names if f"kind.{name}" in asked},
        forfeits={name: asked[f"forfeit.{name}"] for name in names if f"forfeit.{name}" in asked},
        without=asked.get("without"),
        parameters=asked.get("parameters"),
        says=asked.get("says"),
        configurations=tuple(filter(None, asked.get("configuration", "").split(","))),
    )


def _varying(records: list[MatchRecord]) -> list[str]:
    """The parameters in which these matches differ."""
    values: dict[str, set[str]] = {}
    for record in records:
        for name, value in record.parameters.items():
            values.setdefault(name, set()).add(json.dumps(value))
    return [name for name, different in values.items() if len(different) > 1]
