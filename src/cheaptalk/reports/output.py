"""Writing a page: one file that needs nothing else, whole or not at all."""

from pathlib import Path
from typing import Any

from plotly.offline import get_plotlyjs

from cheaptalk.reports.pages import environment, policy, source, verbatim
from cheaptalk.rules import CheaptalkError
from cheaptalk.whole_files import whole_file

SCRIPT = "page.js"
"""What every page does: sorting, filtering, reading transcripts."""
SAVING = "saving.js"
"""Saving figures as files."""


def write_page(
    template: str,
    out: Path | str,
    *,
    charts: bool,
    scripts: tuple[str, ...],
    port: int | None,
    **shown: Any,
) -> None:
    """Write a page as one HTML file that works offline; an existing file is replaced, whole.

    Args:
        template: its file's name.
        out: the file to write.
        charts: whether Plotly draws something in it.
        scripts: the files of its own scripts.
        port: where ``cheaptalk view`` will listen; None where there is nothing to view.
        **shown: what the template shows, by name.

    Raises:
        CheaptalkError: the file cannot be written.
    """
    code = (verbatim(get_plotlyjs() if charts else ""), *map(source, scripts))
    page = (
        environment()
        .get_template(template)
        .stream(scripts=code, policy=policy(*code), viewer=f"http://127.0.0.1:{port}", **shown)
    )
    page.enable_buffering(100)
    out = Path(out)
    try:
        with whole_file(out) as file:
            file.writelines(page)
    except OSError as error:
        raise CheaptalkError(f"{out}: cannot be written: {error.strerror}") from error
