"""The store viewer: browse the matches of a store in a local browser.

The viewer is read-only and works without JavaScript. It never loads a whole study: cells and pages
of matches are queries to the store.
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
from cheaptalk.records.exclusions import Excluded, Standing, count_excluded, policies_of
from cheaptalk.records.judgements import judges_of, read_judgements
from cheaptalk.records.store import queries, schema
from cheaptalk.records.store.lookup import StoreLike, reads
from cheaptalk.records.store.queries import MatchFilter, PlayedPairing
from cheaptalk.records.store.store import set_aside
from cheaptalk.reports.pages import PORT, environment, policy, source, viewer_path
from cheaptalk.reports.transcripts import match_transcript
from cheaptalk.rules import CheaptalkError, games, unknown
from cheaptalk.web.problems import problem_of

TEMPLATES = environment(Path(__file__).parent / "templates")


def listen(port: int = PORT, host: str = HOST) -> socket.socket:
    """Listen on a port of this machine (0 for any free port); raise an error if it is in use."""
    return listening(port, host)


@reads
def serve(store: StoreLike, listener: socket.socket) -> None:
    """Serve the viewer of a store until interrupted."""
    assert isinstance(store, Store)
    games()  # load now, so that the first page does not wait
    config = uvicorn.Config(make_viewer(store), log_level="warning")
    uvicorn.Server(config).run(sockets=[listener])


def make_viewer(
    store: StoreLike,
    hosts: Sequence[str] = (HOST, "localhost"),
    above: Sequence[tuple[str, str]] = (),
) -> FastAPI:
    """Return the viewer of a store as a web application that can also be mounted in another one.

    Args:
        store: a store, or its path or URL, which stays open until the process ends.
        hosts: allowed host names of requests. The default allows only this machine, so that no
            other website can read the store through the browser. ``["*"]`` leaves the check to the
            outer application.
        above: title and URL of each page of the outer application to link to from every page.
    """
    app = FastAPI(title="cheaptalk view", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    pages = _Pages(store if isinstance(store, Store) else Store.open(store), above)
    for error in (CheaptalkError, ValueError, SQLAlchemyError):
        app.add_exception_handler(error, pages.not_found)
    app.get("/")(pages.studies)
    app.get("/studies/{study}")(pages.study)
    app.get("/studies/{study}/{game}")(pages.matches)
    app.get("/matches/{match_id}")(pages.match)
    return app


class _Overview(NamedTuple):
    """Results of expensive queries over a study's matches, cached until the store changes."""

    stamp: object
    summary: StudySummary
    pairings: list[PlayedPairing]
    seats: dict[str, dict[str, str]]
    problems: dict[str, int]
    excluded: Excluded
    superseded: frozenset[str]


class _Pages:
    def __init__(self, store: Store, above: Sequence[tuple[str, str]]) -> None:
        self.store = store
        self.above = list(above)
        self.overviews: dict[str, _Overview] = {}
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
        path = partial(viewer_path, root=root)
        values |= {"root": root, "viewer_path": path, "above": self.above}
        text = TEMPLATES.get_template(template).render(store=self.store.title, **values)
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
        """Return the data shared by a study's pages, cached until the store changes."""
        stamp = self.store.backend.stamp()
        cached = self.overviews.get(study)
        if cached is None or cached.stamp != stamp:
            summary = self.store.study(study, counted=False)
            counts = queries.overview(self.store, study)
            ended = {status for pairing in counts.pairings for status in pairing.counts}
            well = ended <= {Status.FINISHED.value}
            cached = _Overview(
                stamp,
                summary,
                *counts,
                {} if well else self.store.problems(study),
                count_excluded(self.store, study),
                set_aside(self.store, study),
            )
            self.overviews[study] = cached
        return cached

    def study(self, request: Request, study: str) -> HTMLResponse:
        study_overview = self.overview(study)
        by_game: dict[str, list[PlayedPairing]] = {}
        for pairing in study_overview.pairings:
            by_game.setdefault(pairing.game, []).append(pairing)
        return self.render(
            request,
            "study.html.jinja",
            study=study_overview.summary,
            games=by_game,
            problems=study_overview.problems,
            excluded=study_overview.excluded,
            superseded=len(study_overview.superseded),
            seats={
                game: list(queries.united([pairing.players for pairing in pairings]))
                for game, pairings in by_game.items()
            },
        )

    def matches(self, request: Request, study: str, game: str) -> HTMLResponse:
        study_overview = self.overview(study)
        if game not in study_overview.seats:
            raise unknown(f"game of {study}", game, sorted(study_overview.seats))
        labels = study_overview.seats[game]
        parameters = {name: value for name, value in request.query_params.items() if value}
        played = [pairing for pairing in study_overview.pairings if pairing.game == game]
        players = _players_by_seat(played, labels)
        filters = _match_filter(game, labels, parameters)
        matches_page = queries.page(self.store, study, filters, after=parameters.get("after"))
        return self.render(
            request,
            "matches.html.jinja",
            study=study,
            game=game,
            seats=list(labels),
            players=players,
            choices=_choices(labels),
            query=parameters,
            hidden_players=_hidden_players(labels, parameters),
            page=matches_page,
            total=queries.count(self.store, study, filters),
            varying=_varying(matches_page.records),
            policies=policies_of(study_overview.summary.spec),
            statuses=[status.value for status in Status],
            kinds=[kind.value for kind in Kind],
        )

    def match(self, request: Request, match_id: str, study: str | None = None) -> HTMLResponse:
        studies = queries.studies_of(self.store, match_id)
        if study is not None and study not in studies:
            raise StoreError(f'no match "{match_id}" in {study}')
        study = study or next(iter(studies), None)
        record = queries.match(self.store, match_id, study)
        dialogue = match_transcript(record, self.store.open_calls(record.id))
        judges = {} if study is None else judges_of(self.store, study)
        standing = None if study is None else Standing(self.store, study).of(record)
        judgements = read_judgements(self.store, match_id=record.id) if judges else ()
        return self.render(
            request,
            "match_page.html.jinja",
            record=record,
            study=study,
            talk=dialogue,
            judges=judges,
            stand=standing,
            judgements=[judgement for judgement in judgements if judgement.judge in judges],
        )


def _readable(store: Store) -> tuple[list[StudySummary], dict[str, str]]:
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


def _players_by_seat(
    pairings: Iterable[PlayedPairing], seats: Mapping[str, str]
) -> dict[str, list[str]]:
    players: dict[str, set[str]] = {}
    for pairing in pairings:
        for seat, label in pairing.players.items():
            for name in (seat, seats[seat]):
                players.setdefault(name, set()).add(label)
    return {name: sorted(labels) for name, labels in players.items()}


def _choices(labels: Mapping[str, str]) -> list[str]:
    return list(dict.fromkeys(labels if len(labels) <= FEW else labels.values()))


def _hidden_players(labels: Mapping[str, str], parameters: Mapping[str, str]) -> dict[str, str]:
    hidden = [seat for seat in labels if seat not in _choices(labels)]
    return {seat: parameters[f"player_{seat}"] for seat in hidden if f"player_{seat}" in parameters}


def _match_filter(
    game: str, labels: Mapping[str, str], parameters: Mapping[str, str]
) -> MatchFilter:
    def by_seat(field: str) -> dict[str, str]:
        keys = {name: f"{field}_{name}" for name in [*labels, *labels.values()]}
        return {name: parameters[key] for name, key in keys.items() if key in parameters}

    return MatchFilter(
        game,
        labels,
        status=parameters.get("status"),
        player=parameters.get("player"),
        players=by_seat("player"),
        kind=parameters.get("kind"),
        kinds=by_seat("kind"),
        forfeits=by_seat("forfeit"),
        without=parameters.get("without"),
        parameters=parameters.get("parameters"),
        says=parameters.get("says"),
        configurations=tuple(filter(None, parameters.get("configuration", "").split(","))),
    )


def _varying(records: list[MatchRecord]) -> list[str]:
    values: dict[str, set[str]] = {}
    for record in records:
        for name, value in record.parameters.items():
            values.setdefault(name, set()).add(json.dumps(value))
    return [name for name, different in values.items() if len(different) > 1]
