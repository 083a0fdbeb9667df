"""The picture of the package's rooms, drawn from its imports, so that it cannot go stale.

MkDocs calls :func:`on_files`.
"""

import ast
import html
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "cheaptalk"
WIDTH, ROOM, HIGH, GAP = 1140, 250, 58, 34
"""Of the picture, of a room, and between two levels, in pixels."""
Rooms = dict[str, set[str]]
"""The rooms that each room imports."""


def floors() -> list[list[str]]:
    """The rooms by floor, the topmost first, as the import contract has them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = next(one for one in contracts if one.get("exhaustive"))["layers"]
    listed = [[room.strip(" ()") for room in layer.split("|")] for layer in layers]
    return [layer for layer in listed if layer != ["__main__"]]


def meaning(room: str) -> str:
    """What lives in a room, from the first line of its docstring."""
    path = SOURCE / room / "__init__.py"
    text = (path if path.exists() else SOURCE / f"{room}.py").read_text(encoding="utf-8")
    first = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    return first.split(". ")[0].rstrip(".")


def imports() -> Rooms:
    """Which rooms each room imports."""
    rooms = [room for floor in floors() for room in floor]
    found: Rooms = {room: set() for room in rooms}
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room not in found:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cheaptalk."):
                found[room].add((node.module or "").split(".")[1])
    found["cli"] = set(rooms) - {"cli"}  # it reaches them through the package's face
    return {room: {one for one in of if one in found and one != room} for room, of in found.items()}


def direct(rooms: Mapping[str, set[str]]) -> Iterator[tuple[str, str]]:
    """The imports that do not follow from others: what is reached over a third room is left out."""
    reach: dict[str, set[str]] = {}
    for room in reversed([room for floor in floors() for room in floor]):
        reach[room] = rooms[room].union(*(reach[one] for one in rooms[room]))
    for room, of in rooms.items():
        for one in sorted(of):
            if not any(one in reach[other] for other in of - {one}):
                yield room, one


def levels() -> list[list[str]]:
    """The rooms by how many others they stand on, the topmost first, near those they import."""
    rooms = imports()
    depth: dict[str, int] = {}
    for room in reversed([room for floor in floors() for room in floor]):
        depth[room] = 1 + max((depth[one] for one in rooms[room]), default=0)
    found = [
        [room for room in depth if depth[room] == level]
        for level in range(1, 1 + max(depth.values()))
    ]
    return found[::-1]


def places() -> dict[str, tuple[float, float]]:
    """The middle of each room's upper edge."""
    found = {}
    for level, floor in enumerate(levels()):
        for number, room in enumerate(floor):
            across = WIDTH / 2 + (ROOM + 30) * (number - (len(floor) - 1) / 2)
            found[room] = (across, 10.0 + level * (HIGH + GAP))
    return found


def picture() -> str:
    """The rooms as an SVG: floors from the command line down to the rules, arrows for imports."""
    at = places()
    height = max(top for _, top in at.values()) + HIGH + 10
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
            'role="img" font-family="system-ui, sans-serif">'
        ),
        "<title>The packages of cheaptalk: each imports only packages below it</title>",
        (
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#8a97a8"/></marker>'
            "</defs>"
        ),
    ]
    for room, other in direct(imports()):
        (x1, y1), (x2, y2) = at[room], at[other]
        bend = (y1 + HIGH + y2) / 2
        lines.append(
            f'<path d="M{x1:.0f} {y1 + HIGH:.0f} C{x1:.0f} {bend:.0f} {x2:.0f} {bend:.0f} '
            f'{x2:.0f} {y2:.0f}" fill="none" stroke="#8a97a8" stroke-width="1.3" '
            'marker-end="url(#tip)"/>'
        )
    for room, (x, y) in at.items():
        text = html.escape(meaning(room))
        short = text if len(text) <= 40 else text[:39].rsplit(" ", 1)[0].rstrip(",:;") + "…"
        lines += [
            (
                f'<g><rect x="{x - ROOM / 2:.0f}" y="{y:.0f}" width="{ROOM}" '
                f'height="{HIGH}" rx="8" fill="#f4f6f9" stroke="#52606d"/>'
            ),
            (
                f'<text x="{x:.0f}" y="{y + 24:.0f}" text-anchor="middle" font-size="16" '
                f'font-weight="600" fill="#1f2933">{room}</text>'
            ),
            (
                f'<text x="{x:.0f}" y="{y + 44:.0f}" text-anchor="middle" font-size="11" '
                f'fill="#52606d">{short}</text><title>{text}</title></g>'
            ),
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the picture to the pages' images."""
    files.append(File.generated(config, "images/rooms.svg", content=picture()))
    return files
