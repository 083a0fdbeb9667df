"""Export charts as SVG and, with the extra ``[figures]``, as PDF."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from io import BytesIO, StringIO
from pathlib import Path

from cheaptalk.atomic_files import whole_file, whole_path
from cheaptalk.reports.charts.chart import Chart
from cheaptalk.reports.charts.svg import WIDE, WIDTH, drawing
from cheaptalk.reports.pages import anchor
from cheaptalk.reports.recipes.parts import Charts
from cheaptalk.rules import CheaptalkError


def pdf_can_be_made() -> bool:
    """Return whether the extra ``[figures]`` is installed."""
    return find_spec("svglib") is not None


def write_figures(charts: Mapping[str, Charts], folder: Path | str) -> list[Path]:
    """Write every chart as ``NAME-TITLE.svg`` and, with the extra ``[figures]``, as a PDF.

    Args:
        charts: groups of charts by name, see :attr:`.Findings.charts`.
        folder: the output folder, created if missing.

    Returns:
        The files, chart by chart.

    Raises:
        CheaptalkError: the folder or a file in it cannot be written.
    """
    folder, written = Path(folder), []
    try:
        for name, svg in _drawings(charts):
            file = folder / f"{name}.svg"
            with whole_file(file) as text:
                text.write(svg)
            written.append(file)
            if pdf_can_be_made():
                with whole_path(file.with_suffix(".pdf")) as half:
                    half.write_bytes(_pdf(svg))
                written.append(file.with_suffix(".pdf"))
    except OSError as error:
        raise CheaptalkError(f"{folder}: cannot be written: {error.strerror}") from error
    return written


def _drawings(charts: Mapping[str, Charts]) -> Iterator[tuple[str, str]]:
    taken: dict[str, int] = {}
    for name, group in charts.items():
        for chart in group.panels:
            if chart.empty:
                continue
            called = "-".join(filter(None, (name, anchor(chart.title))))
            taken[called] = taken.get(called, 0) + 1
            suffix = f"-{taken[called]}" if taken[called] > 1 else ""
            yield called + suffix, drawing(_titled(chart), WIDE if group.wide else WIDTH)


def _titled(chart: Chart) -> Chart:
    """Move a chart's title and unit to its numeric axis, because exported files have no caption."""
    title = f"{chart.title} ({chart.unit})" if chart.unit else chart.title
    if chart.round or chart.x.title or chart.y.title or (chart.x.names and chart.y.names):
        return chart
    if chart.x.names:
        return replace(chart, y=chart.y._replace(title=title))
    return replace(chart, x=chart.x._replace(title=title))


def _pdf(svg: str) -> bytes:
    from reportlab.graphics.renderPDF import drawToFile  # noqa: PLC0415 - an optional extra
    from svglib.svglib import svg2rlg  # noqa: PLC0415 - an optional extra

    buffer = BytesIO()
    drawToFile(svg2rlg(StringIO(svg)), buffer)
    return buffer.getvalue()
