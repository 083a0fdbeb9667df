"""Files with drawings: SVG and PDF."""

from io import BytesIO, StringIO
from pathlib import Path

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


def _pdf(svg: str) -> bytes:
    with needing("figures"):
        from reportlab.graphics.renderPDF import drawToFile  # noqa: PLC0415 - an optional extra
        from svglib.svglib import svg2rlg  # noqa: PLC0415 - an optional extra

    buffer = BytesIO()
    drawToFile(svg2rlg(StringIO(svg)), buffer)
    return buffer.getvalue()
