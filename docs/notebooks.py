"""The notebooks of ``examples/notebooks`` as pages, with what their cells gave when they last ran.

Each runs where the site is built. MkDocs calls the functions whose names begin with ``on_``.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from docs.blocks import ROOT, environment
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
EXECUTE = Path(sys.executable).parent / "jupyter-execute"
COLOUR = re.compile(r"\x1b\[[\d;]*m")
FENCE = "````"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each notebook, and the notebook itself."""
    for path in NOTEBOOKS:
        page = f"notebooks/{path.stem}.md"
        files.append(File.generated(config, page, content=shown(path)))
        files.append(File.generated(config, f"notebooks/{path.name}", content=path.read_bytes()))
    return files


@cache
def shown(path: Path) -> str:
    """A notebook as Markdown: once, however often a site that is served is built."""
    title, *cells = executed(path)["cells"]
    link = f"*Executed when this site was built. [Download the notebook]({path.name})*"
    parts = ["".join(title["source"]), link]
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts += [fenced("python", source), *map(output, cell["outputs"])]
    return "\n\n".join(parts) + "\n"


def executed(path: Path) -> Any:
    """A notebook with what its cells give, run in a folder of its own.

    Raises:
        PluginError: a cell failed.
    """
    with TemporaryDirectory() as folder:
        copy = shutil.copy(path, folder)
        done = subprocess.run(  # noqa: S603 - our own notebook
            [EXECUTE, "--inplace", copy], cwd=folder, env=environment(Path(folder)),
            text=True, capture_output=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise PluginError(f"{path.name}: {COLOUR.sub('', done.stderr)}")
        return json.loads(Path(copy).read_text(encoding="utf-8"))


def output(given: Mapping[str, Any]) -> str:
    """What a cell gave, as Markdown: its HTML where it has some, and else its text."""
    if given["output_type"] == "stream":
        return fenced("text", "".join(given["text"]))
    if "text/html" in given["data"]:
        lines = "".join(given["data"]["text/html"]).splitlines()
        return "\n".join(['<div class="given">', *filter(str.strip, lines), "</div>"])
    return fenced("text", "".join(given["data"]["text/plain"]))


def fenced(language: str, text: str) -> str:
    """A block of code or text."""
    return f"{FENCE}{language}\n{text.rstrip()}\n{FENCE}"
