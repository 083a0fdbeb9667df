"""The laboratory's website: the console and each study's participant pages."""

from fastapi import FastAPI
from fastapi.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from cheaptalk.web.laboratory.laboratory import Laboratory

CONSOLE = "/console"
STUDIES = "/s"


def make_site(laboratory: Laboratory, console: ASGIApp) -> FastAPI:
    """Return the laboratory's website: console at ``/console``, studies at ``/s/NAME``."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)

    async def start() -> Response:
        return RedirectResponse(f"{CONSOLE}/", 303)

    app.get("/")(start)
    app.get(CONSOLE)(start)
    app.mount(CONSOLE, console)
    app.mount(STUDIES, _Studies(laboratory))
    return app


class _Studies:
    """ASGI application that forwards requests to the pages of open studies."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        root = scope.get("root_path", "")
        name, slash, _ = scope["path"].removeprefix(root).lstrip("/").partition("/")
        opened = self.laboratory.open.get(name)
        if opened is None:
            missing = Response("There is no such study here. Use the complete link that you "
                               "received.", 404, media_type="text/plain")  # fmt: skip
            await missing(scope, receive, send)
        elif not slash:
            query = scope.get("query_string", b"").decode("latin-1")
            location = f"{root}/{name}/" + (f"?{query}" if query else "")
            await RedirectResponse(location, 307)(scope, receive, send)
        else:
            await opened.app({**scope, "root_path": f"{root}/{name}"}, receive, send)
