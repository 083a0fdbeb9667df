"""A small application around a study's form, as a console has it: for trying it, and for tests."""

import asyncio
from urllib.parse import parse_qsl

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, PlainTextResponse
from markupsafe import Markup

from cheaptalk.studies.presets import study_of
from cheaptalk.web.console.designs.filled_form import fields_from
from cheaptalk.web.console.designs.study_fields import StudyFields
from cheaptalk.web.console.designs.study_form_page import (
    SCRIPT,
    STYLE,
    Addresses,
    FormPage,
    look_at,
)
from cheaptalk.web.console.designs.study_outlook import CostDesk, not_estimated
from cheaptalk.web.rooms.pages import STYLE as ROOMS_STYLE

TO = Addresses("/form", "/form/counts", "/form/cost")
PATIENCE = 20.0
"""Seconds that a cost is waited for before it is said that it is still being estimated."""


def page(content: Markup) -> str:
    """A page around a piece."""
    style = STYLE.read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>A study</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{ROOMS_STYLE}{style}</style><header class='top'><b>cheaptalk</b></header>"
        f"<main><h1>A new study</h1>{content}</main><script src='/form.js'></script></html>"
    )


def make_form_preview() -> FastAPI:
    """The form alone, without accounts: nothing is kept."""
    app, pieces, desk = FastAPI(), FormPage(), CostDesk()

    async def posted(request: Request) -> tuple[StudyFields, dict[str, str]]:
        pairs = parse_qsl((await request.body()).decode(), keep_blank_values=True)
        return StudyFields.read(pairs), dict(pairs)

    @app.get("/form.js")
    def script() -> PlainTextResponse:
        return PlainTextResponse(SCRIPT.read_text(encoding="utf-8"), media_type="text/javascript")

    @app.get("/")
    def start() -> HTMLResponse:
        return HTMLResponse(page(pieces.start("/form", ["pilot", "main-study"])))

    @app.get("/form")
    def form(preset: str | None = None) -> HTMLResponse:
        filled = fields_from(study_of(preset)) if preset else StudyFields.blank()
        return HTMLResponse(page(pieces.form(look_at(filled), TO)))

    @app.post("/form")
    async def sent(request: Request) -> HTMLResponse:
        typed, pairs = await posted(request)
        at = typed.changed(pairs.get("do", ""), pairs.get("new-game", ""))
        found = await asyncio.to_thread(look_at, typed)
        cost = Markup()
        if pairs.get("do") == "estimate" and found.plan is not None:
            cost = pieces.cost(found.plan.study, await desk.within(found.plan, PATIENCE))
        text = page(pieces.form(found, TO, at=at, cost=cost))
        return HTMLResponse(text, 422 if found.problems else 200)

    @app.post("/form/counts")
    async def counts(request: Request) -> HTMLResponse:
        typed, _ = await posted(request)
        return HTMLResponse(pieces.counts(await asyncio.to_thread(look_at, typed)))

    @app.post("/form/cost")
    async def cost(request: Request) -> HTMLResponse:
        typed, _ = await posted(request)
        found = await asyncio.to_thread(look_at, typed)
        if found.plan is None or found.size is None or not_estimated(found.size):
            return HTMLResponse("")
        takes = await desk.within(found.plan, PATIENCE)
        return HTMLResponse(pieces.cost(found.plan.study, takes))

    return app
