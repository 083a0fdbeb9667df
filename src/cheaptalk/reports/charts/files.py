"""Files with drawings: SVG and PDF."""

import re
from importlib.util import find_spec
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from cheaptalk.atomic_files import whole_path
from cheaptalk.extras import needing
from cheaptalk.rules import CheaptalkError


def save_drawing(svg: str, path: Path | str) -> Path:
    """Write a drawing as an SVG file or, with the extra ``[figures]``, as a PDF file.

    Args:
        path: a file whose name ends with ``.svg`` or ``.pdf``; an existing file is replaced.

    Returns:
        The path.

    Raises:
        CheaptalkError: the file cannot be written, the name has another ending, or the packages for
            PDF files are not installed.
    """
    path = Path(path)
    if path.suffix not in (".svg", ".pdf"):
        raise CheaptalkError(f"{path}: a figure is an .svg or a .pdf file")
    data = svg.encode() if path.suffix == ".svg" else _pdf(svg)
    try:
        with whole_path(path) as partial:
            partial.write_bytes(data)
    except OSError as error:
        raise CheaptalkError(f"{path}: cannot be written: {error.strerror}") from error
    return path


NARROWED = 0.88
"""Size of text in PDF files: their font is wider than those for which drawings are laid out."""


def _pdf(svg: str) -> bytes:
    """Return a drawing as PDF with embedded fonts, as journals require."""
    with needing("figures"):
        from reportlab.graphics.renderPDF import drawToFile  # noqa: PLC0415 - an optional extra
        from svglib.fonts import register_font  # noqa: PLC0415 - an optional extra
        from svglib.svglib import svg2rlg  # noqa: PLC0415 - an optional extra

    for weight, file in _fonts().items():
        register_font("Embedded", file, weight)
    svg = re.sub('font-family="[^"]*"', 'font-family="Embedded"', svg)
    svg = re.sub(
        r'font-size="([\d.]+)', lambda size: f'font-size="{NARROWED * float(size[1]):.4g}', svg
    )
    buffer = BytesIO()
    drawing: Any = svg2rlg(StringIO(svg))
    drawing.initialFontName = "Embedded"  # otherwise, every file refers to an unembedded font
    drawToFile(drawing, buffer)
    return buffer.getvalue()


def _fonts() -> dict[str, str]:
    """Return a font's files by weight: matplotlib's DejaVu, which has more characters, or Vera."""
    matplotlib = find_spec("matplotlib")
    if matplotlib is None or matplotlib.origin is None:
        return {"normal": "Vera.ttf", "bold": "VeraBd.ttf"}  # contained in reportlab
    folder = Path(matplotlib.origin).parent / "mpl-data" / "fonts" / "ttf"
    return {"normal": f"{folder / 'DejaVuSans.ttf'}", "bold": f"{folder / 'DejaVuSans-Bold.ttf'}"}
