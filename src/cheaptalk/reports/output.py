"""Writing a page: one file that needs nothing else, whole or not at all."""

from pathlib import Path
from typing import Any

from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.pages import environment, policy, source, viewer_path
from cheaptalk.rules import CheaptalkError
from cheaptalk.whole_files import whole_file

SCRIPT = "page.js"
"""What every page does: sorting, filtering, reading transcripts."""
SCRIPTS = (SCRIPT, "charts.js")
"""Those of pages with charts: pointing at marks, and saving figures as files."""


def write_page(
    template: str,
    out: Path | str,
    *,
    leads_to: str = "",
    port: int | None,
    **shown: Any,
) -> None:
    """Write a page as one HTML file that works offline; an existing file is replaced, whole.

    Args:
        template: its file's name.
        out: the file to write.
        leads_to: the study whose matches its charts lead to; nowhere without.
        port: where ``cheaptalk view`` will listen; None where there is nothing to view.
        **shown: what the template shows, by name.

    Raises:
        CheaptalkError: the file cannot be written.
    """
    code, viewer = tuple(map(source, SCRIPTS)), f"http://127.0.0.1:{port}"

    def href(lead: Lead) -> str:
        return viewer + viewer_path(leads_to, lead.game, lead.query)

    page = (
        environment()
        .get_template(template)
        .stream(
            scripts=code, policy=policy(*code), viewer=viewer,
            href=href if leads_to else None, **shown,
        )
    )  # fmt: skip
    page.enable_buffering(100)
    out = Path(out)
    try:
        with whole_file(out) as file:
            file.writelines(page)
    except OSError as error:
        raise CheaptalkError(f"{out}: cannot be written: {error.strerror}") from error
