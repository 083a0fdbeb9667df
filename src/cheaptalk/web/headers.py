"""What the headers of pages tell browsers: where a page may load, send and be shown."""

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

SECURE = "max-age=31536000"
"""How long browsers that came by https come by nothing else."""
KEPT = "public, max-age=31536000, immutable"
"""How long browsers keep our files: another text has another address."""


def page_headers(style: str) -> dict[str, str]:
    """The headers of pages that hold one style sheet, and load and send to their own site alone.

    Args:
        style: exactly as it stands in the pages.
    """
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return {
        "Content-Security-Policy": (
            f"default-src 'none'; script-src 'self'; style-src 'sha256-{digest}'; "
            "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
            "frame-ancestors 'none'"
        ),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Cache-Control": "no-store",
    }


def static_path(file: Path) -> str:
    """Where a file of ours is; another text has another address, so that no old one is shown."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return f"/static/{file.name}?{digest[:12]}"


class Headed:
    """Says in the headers of every answer what browsers may do with it, where that is not said.

    Pages that are mounted within others thus keep what they say themselves.
    """

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self.app = app
        self.headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "").removeprefix(scope.get("root_path", ""))

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = dict(self.headers)
                if message["status"] == 200 and path.startswith("/static/"):
                    said["Cache-Control"] = KEPT
                if scope["scheme"] == "https":
                    said["Strict-Transport-Security"] = SECURE
                before = {name.lower() for name, _ in message["headers"]}
                pairs = [(name.lower().encode(), text.encode()) for name, text in said.items()]
                more = [pair for pair in pairs if pair[0] not in before]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await self.app(scope, receive, headed)
