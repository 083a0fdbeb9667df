"""MkDocs hook that draws the dependency diagram of the subpackages from their imports."""

import ast
import html
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "cheaptalk"
WIDTH, BOX_WIDTH, BOX_HEIGHT, GAP = 1140, 250, 58, 34
"""Width of the diagram, size of a box, and gap between two levels, in pixels."""
Imports = dict[str, set[str]]
"""The subpackages that each subpackage imports."""


def layers() -> list[list[str]]:
    """Return the subpackages by layer of the import contract, topmost first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    lines = next(contract for contract in contracts if contract.get("exhaustive"))["layers"]
    names = [[name.strip(" ()") for name in line.split("|")] for line in lines]
    return [layer for layer in names if layer != ["__main__"]]


def meaning(package: str) -> str:
    """Return the first sentence of a subpackage's docstring."""
    path = SOURCE / package / "__init__.py"
    text = (path if path.exists() else SOURCE / f"{package}.py").read_text(encoding="utf-8")
    first = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    return first.split(". ")[0].rstrip(".")


def imports() -> Imports:
    """Return the subpackages that each subpackage imports."""
    packages = [package for layer in layers() for package in layer]
    imported: Imports = {package: set() for package in packages}
    for path in SOURCE.rglob("*.py"):
        package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if package not in imported:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cheaptalk."):
                imported[package].add((node.module or "").split(".")[1])
    imported["cli"] = set(packages) - {"cli"}  # it imports them through ``cheaptalk`` itself
    return {
        package: {name for name in names if name in imported and name != package}
        for package, names in imported.items()
    }


def direct(dependencies: Mapping[str, set[str]]) -> Iterator[tuple[str, str]]:
    """Yield the imports without those that are implied by transitivity."""
    reachable: dict[str, set[str]] = {}
    for package in reversed([package for layer in layers() for package in layer]):
        names = dependencies[package]
        reachable[package] = names.union(*(reachable[name] for name in names))
    for package, names in dependencies.items():
        for name in sorted(names):
            if not any(name in reachable[other] for other in names - {name}):
                yield package, name


def levels() -> list[list[str]]:
    """Return the subpackages by length of their longest chain of imports, longest first."""
    dependencies = imports()
    depth: dict[str, int] = {}
    for package in reversed([package for layer in layers() for package in layer]):
        depth[package] = 1 + max((depth[name] for name in dependencies[package]), default=0)
    by_depth = [
        [package for package in depth if depth[package] == level]
        for level in range(1, 1 + max(depth.values()))
    ]
    return by_depth[::-1]


def places() -> dict[str, tuple[float, float]]:
    """Return the coordinates of the centre of each box's upper edge."""
    coordinates = {}
    for level, packages in enumerate(levels()):
        for number, package in enumerate(packages):
            x = WIDTH / 2 + (BOX_WIDTH + 30) * (number - (len(packages) - 1) / 2)
            coordinates[package] = (x, 10.0 + level * (BOX_HEIGHT + GAP))
    return coordinates


def picture() -> str:
    """Return the diagram as SVG, from the command line down to the rules, with import arrows."""
    at = places()
    height = max(top for _, top in at.values()) + BOX_HEIGHT + 10
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
    for package, imported in direct(imports()):
        (x1, y1), (x2, y2) = at[package], at[imported]
        bend = (y1 + BOX_HEIGHT + y2) / 2
        lines.append(
            f'<path d="M{x1:.0f} {y1 + BOX_HEIGHT:.0f} C{x1:.0f} {bend:.0f} {x2:.0f} {bend:.0f} '
            f'{x2:.0f} {y2:.0f}" fill="none" stroke="#8a97a8" stroke-width="1.3" '
            'marker-end="url(#tip)"/>'
        )
    for package, (x, y) in at.items():
        text = html.escape(meaning(package))
        short = text if len(text) <= 40 else text[:39].rsplit(" ", 1)[0].rstrip(",:;") + "…"
        lines += [
            (
                f'<g><rect x="{x - BOX_WIDTH / 2:.0f}" y="{y:.0f}" width="{BOX_WIDTH}" '
                f'height="{BOX_HEIGHT}" rx="8" fill="#f4f6f9" stroke="#52606d"/>'
            ),
            (
                f'<text x="{x:.0f}" y="{y + 24:.0f}" text-anchor="middle" font-size="16" '
                f'font-weight="600" fill="#1f2933">{package}</text>'
            ),
            (
                f'<text x="{x:.0f}" y="{y + 44:.0f}" text-anchor="middle" font-size="11" '
                f'fill="#52606d">{short}</text><title>{text}</title></g>'
            ),
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the diagram to the site's images."""
    files.append(File.generated(config, "images/rooms.svg", content=picture()))
    return files
