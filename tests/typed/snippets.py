"""The documentation's Python code as modules that type checkers can read."""

import json
from collections.abc import Iterator
from doctest import DocTestParser
from pathlib import Path
from textwrap import indent

ROOT = Path(__file__).parents[2]
HEADER = """\
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, check-untyped-defs
# mypy: allow-redefinition, allow-any-generics
# mypy: disable-error-code="import-untyped, import-not-found"
# pyright: reportUnusedExpression=false, reportDuplicateImport=false, reportUnusedImport=false
# pyright: reportMissingParameterType=false, reportMissingTypeArgument=false
# pyright: reportUnknownParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportMissingTypeStubs=false
# pyright: reportPossiblyUnboundVariable=false
"""
"""Examples show values, define functions without annotations, and use packages without types."""


def snippets() -> Iterator[tuple[str, str]]:
    """Yield a module with the code of each page and notebook by name, without expected errors."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        examples = DocTestParser().get_examples(page.read_text(encoding="utf-8"))
        code = "".join(example.source for example in examples if example.exc_msg is None)
        if code:
            yield page.relative_to(ROOT).with_suffix("").as_posix(), HEADER + code
    for notebook in sorted((ROOT / "examples" / "notebooks").glob("*.ipynb")):
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        code = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        if "await " in code:  # notebooks run it in an event loop
            code = f"async def cells() -> None:\n{indent(code, '    ')}"
        yield f"notebooks/{notebook.stem}", f"{HEADER}{code}\n"


def write_snippets(folder: Path) -> None:
    """Write each page's module into a folder."""
    for name, code in snippets():
        file = folder / f"{name.replace('/', '_').replace('-', '_')}.py"
        file.write_text(code, encoding="utf-8")
