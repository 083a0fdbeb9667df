"""HTTP response headers for content security, caching and HTTPS."""

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HTTPS_ONLY = "max-age=31536000"
"""Strict-Transport-Security: browsers use only HTTPS for a year."""
STATIC_CACHING = "public, max-age=31536000, immutable"
"""Cache-Control of static files, whose URL contains a digest."""


def page_headers(*styles: str, frames: bool = False) -> dict[str, str]:
    """Return headers for pages with inline style sheets and no content from other sites.

    ``styles`` are the style sheets exactly as they appear in the pages. With ``frames``, the pages
    may contain frames of this site, and be shown in them.
    """
    framing = "'self'" if frames else "'none'"
    digests = (base64.b64encode(hashlib.sha256(style.encode()).digest()) for style in styles)
    allowed = " ".join(f"'sha256-{digest.decode()}'" for digest in digests)
    return {
        "Content-Security-Policy": (
            f"default-src 'none'; script-src 'self'; style-src {allowed}; "
            "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
            f"frame-src {framing}; frame-ancestors {framing}"
        ),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "SAMEORIGIN" if frames else "DENY",
        "Cache-Control": "no-store",
    }


def static_path(file: Path) -> str:
    """Return a static file's URL with a digest that changes with the file's content."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return f"/static/{file.name}?{digest[:12]}"


class HeadersMiddleware:
    """Middleware that adds default headers to every response.

    Headers that a mounted application has already set are kept.
    """

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self.app = app
        self.headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "").removeprefix(scope.get("root_path", ""))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if message["status"] == 200 and path.startswith("/static/"):
                    headers.setdefault("Cache-Control", STATIC_CACHING)
                if scope["scheme"] == "https":
                    headers.setdefault("Strict-Transport-Security", HTTPS_ONLY)
                for name, text in self.headers.items():
                    headers.setdefault(name, text)
            await send(message)

        await self.app(scope, receive, send_with_headers)
