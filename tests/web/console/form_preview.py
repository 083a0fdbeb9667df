"""A small application around a study's form, like a console's: for manual trials and tests."""

import asyncio
from urllib.parse import parse_qsl

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, PlainTextResponse
from markupsafe import Markup

from cheaptalk.studies.presets import preset_text
from cheaptalk.web.console.authentication import STYLE
from cheaptalk.web.console.designs.study_forecast import (
    CostEstimator,
    no_estimate_reason,
    size_of,
)
from cheaptalk.web.console.designs.study_form import StudyForm, check_form, filled_form
from cheaptalk.web.console.designs.study_form_page import SCRIPT, Addresses, FormPage
from cheaptalk.yaml_files import parse_yaml

ADDRESSES = Addresses("/form", "/form/counts", "/form/cost")
TIMEOUT = 20.0
"""Seconds to wait for a cost estimate before the page reports that it is being computed."""


def page(content: Markup) -> str:
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>A study</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style><header class='top'><b>cheaptalk</b></header>"
        f"<main><h1>A new study</h1>{content}</main><script src='/form.js'></script></html>"
    )


def make_form_preview() -> FastAPI:
    """Make an application of only the form, without accounts or storage."""
    app, form_page, estimator = FastAPI(), FormPage(), CostEstimator()

    async def posted(request: Request) -> tuple[StudyForm, dict[str, str]]:
        pairs = parse_qsl((await request.body()).decode(), keep_blank_values=True)
        return StudyForm.read(pairs), dict(pairs)

    @app.get("/form.js")
    def script() -> PlainTextResponse:
        return PlainTextResponse(SCRIPT.read_text(encoding="utf-8"), media_type="text/javascript")

    @app.get("/")
    def start() -> HTMLResponse:
        return HTMLResponse(page(form_page.start("/form", ["pilot", "main-study"])))

    @app.get("/form")
    def form(preset: str | None = None) -> HTMLResponse:
        filled = filled_form(parse_yaml(preset_text(preset))) if preset else StudyForm(players=[{}])
        return HTMLResponse(page(form_page.form(check_form(filled), ADDRESSES)))

    @app.post("/form")
    async def sent(request: Request) -> HTMLResponse:
        form, pairs = await posted(request)
        focus = form.apply(
            pairs.get("do", ""), pairs.get("new-game", ""), pairs.get("new-step", "")
        )
        checked = await asyncio.to_thread(check_form, form)
        cost = Markup()
        if pairs.get("do") == "estimate" and checked.plan is not None:
            estimate = await estimator.wait_for(checked.plan, TIMEOUT)
            cost = form_page.cost(checked.plan.study, estimate)
        text = page(form_page.form(checked, ADDRESSES, focus=focus, cost=cost))
        return HTMLResponse(text, 422 if checked.problems else 200)

    @app.post("/form/counts")
    async def counts(request: Request) -> HTMLResponse:
        form, _ = await posted(request)
        return HTMLResponse(form_page.counts(await asyncio.to_thread(check_form, form)))

    @app.post("/form/cost")
    async def cost(request: Request) -> HTMLResponse:
        form, _ = await posted(request)
        checked = await asyncio.to_thread(check_form, form)
        if checked.plan is None or no_estimate_reason(size_of(checked.plan)):
            return HTMLResponse("")
        estimate = await estimator.wait_for(checked.plan, TIMEOUT)
        return HTMLResponse(form_page.cost(checked.plan.study, estimate))

    return app
