"""The viewer: reading a store in the browser, page by page, on this machine only.

It changes nothing, runs without JavaScript, and never reads a whole study: cells and pages of
matches are queries to the store.
"""

import json
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from starlette.middleware.trustedhost import TrustedHostMiddleware

from cheaptalk.players import Kind
from cheaptalk.records import MatchRecord, Status, Store, StoreError
from cheaptalk.records.browsing import (
    Pairing,
    Wanted,
    count,
    match,
    page,
    pairings,
    studies_of,
)
from cheaptalk.reports.pages import PORT, environment, policy, source
from cheaptalk.reports.talk import exchange, talk
from cheaptalk.rules import CheaptalkError, unknown

HOST = "127.0.0.1"
SIZE = 50
"""Matches on a page."""


def listen(port: int = PORT) -> socket.socket:
    """A socket that waits for readers on this machine; port 0 takes any that is free.

    Raises:
        CheaptalkError: the port is taken.
    """
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise CheaptalkError(
            f"port {port} cannot be used ({error.strerror}); choose another with --port"
        ) from error
    return listening


def serve(store: Store, listening: socket.socket) -> None:
    """Show a store until stopped."""
    config = uvicorn.Config(make_viewer(store), log_level="warning")
    uvicorn.Server(config).run(sockets=[listening])


def make_viewer(store: Store) -> FastAPI:
    """The viewer of a store, as a web application.

    It answers only requests that name this machine itself, so that no page from elsewhere can
    read it through the browser.
    """
    app = FastAPI(title="cheaptalk view", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])
    pages = _Pages(store)
    app.add_exception_handler(CheaptalkError, pages.not_found)
    app.get("/")(pages.studies)
    app.get("/studies/{study}")(pages.study)
    app.get("/studies/{study}/{game}")(pages.matches)
    app.get("/matches/{match_id}")(pages.match)
    return app


class _Pages:
    """The pages, each a query and a template."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.templates = environment(Path(__file__).parent / "templates")
        self.headers = {
            "Content-Security-Policy": policy(source("page.js"), forms="'self'"),
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        }

    def render(self, template: str, code: int = 200, **values: Any) -> HTMLResponse:
        """A page from its template."""
        text = self.templates.get_template(template).render(store=self.store.path.name, **values)
        return HTMLResponse(text, code, self.headers)

    async def not_found(self, request: Request, error: Exception) -> HTMLResponse:
        return self.render("missing.html.jinja", 404, error=str(error))

    def studies(self) -> HTMLResponse:
        return self.render("studies.html.jinja", studies=self.store.studies())

    def study(self, study: str) -> HTMLResponse:
        summary = self.store.study(study)
        games: dict[str, list[Pairing]] = {}
        for pairing in pairings(self.store, study):
            games.setdefault(pairing.game, []).append(pairing)
        problems = self.store.problems(study)
        return self.render("study.html.jinja", study=summary, games=games, problems=problems)

    def matches(self, request: Request, study: str, game: str) -> HTMLResponse:
        self.store.study(study)
        found = pairings(self.store, study)
        known = sorted({pairing.game for pairing in found})
        if game not in known:
            raise unknown(f"game of {study}", game, known)
        people = _people(pairing for pairing in found if pairing.game == game)
        wanted = _wanted(game, tuple(people), request.query_params)
        shown = page(self.store, study, wanted, after=request.query_params.get("after"), size=SIZE)
        asked = {name: value for name, value in request.query_params.items() if value}
        return self.render(
            "matches.html.jinja", study=study, game=game, people=people, asked=asked, page=shown,
            total=count(self.store, study, wanted), varying=_varying(shown.records),
            statuses=[status.value for status in Status], kinds=[kind.value for kind in Kind],
        )  # fmt: skip

    def match(self, match_id: str, study: str | None = None) -> HTMLResponse:
        known = studies_of(self.store, match_id)
        if study is not None and study not in known:
            raise StoreError(f'no match "{match_id}" in {study}')
        study = study or next(iter(known), None)
        record = match(self.store, match_id, study)
        ledger = [(call, exchange(call)) for call in self.store.open_calls(record.id)]
        return self.render(
            "one.html.jinja", record=record, study=study, talk=talk(record), ledger=ledger
        )


def _people(found: Iterable[Pairing]) -> dict[str, list[str]]:
    """Who played each role."""
    people: dict[str, set[str]] = {}
    for pairing in found:
        for role, label in pairing.players.items():
            people.setdefault(role, set()).add(label)
    return {role: sorted(labels) for role, labels in people.items()}


def _wanted(game: str, roles: tuple[str, ...], asked: Any) -> Wanted:
    """What a query asks for; an empty value asks for nothing."""
    return Wanted(
        game,
        roles,
        status=asked.get("status") or None,
        player=asked.get("player") or None,
        players={role: asked[f"player.{role}"] for role in roles if asked.get(f"player.{role}")},
        kind=asked.get("kind") or None,
        kinds={role: asked[f"kind.{role}"] for role in roles if asked.get(f"kind.{role}")},
        parameters=asked.get("parameters") or None,
    )


def _varying(records: list[MatchRecord]) -> list[str]:
    """The parameters in which these matches differ."""
    values: dict[str, set[str]] = {}
    for record in records:
        for name, value in record.parameters.items():
            values.setdefault(name, set()).add(json.dumps(value))
    return [name for name, different in values.items() if len(different) > 1]
