"""The site of a laboratory: its console, and the pages of each study's participants."""

from fastapi import FastAPI
from fastapi.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from cheaptalk.web.laboratory.laboratory import Laboratory

CONSOLE = "/console"
STUDIES = "/s"


def make_site(laboratory: Laboratory, console: ASGIApp) -> FastAPI:
    """All pages of a laboratory: the console below ``/console``, a study's below ``/s/NAME``."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)

    async def beginning() -> Response:
        return RedirectResponse(f"{CONSOLE}/", 303)

    app.get("/")(beginning)
    app.get(CONSOLE)(beginning)
    app.mount(CONSOLE, console)
    app.mount(STUDIES, _Studies(laboratory))
    return app


class _Studies:
    """Passes on what comes to a study's address, whichever studies are open then."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        root = scope.get("root_path", "")
        name, slash, _ = scope["path"].removeprefix(root).lstrip("/").partition("/")
        opened = self.laboratory.open.get(name)
        if opened is None:
            gone = Response("There is no such study here. Use the whole link that you were sent.",
                            404, media_type="text/plain")  # fmt: skip
            await gone(scope, receive, send)
        elif not slash:
            query = scope.get("query_string", b"").decode("latin-1")
            where = f"{root}/{name}/" + (f"?{query}" if query else "")
            await RedirectResponse(where, 307)(scope, receive, send)
        else:
            await opened.app({**scope, "root_path": f"{root}/{name}"}, receive, send)
