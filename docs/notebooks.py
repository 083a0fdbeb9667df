"""MkDocs hook that executes the notebooks of ``examples/notebooks`` and adds them as pages."""

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
    """Add a page for each notebook, and the notebook as a download."""
    for path in NOTEBOOKS:
        page = f"notebooks/{path.stem}.md"
        files.append(File.generated(config, page, content=shown(path)))
        files.append(File.generated(config, f"notebooks/{path.name}", content=path.read_bytes()))
    return files


@cache
def shown(path: Path) -> str:
    """Execute a notebook and return it as Markdown; cached for repeated builds."""
    title, *cells = executed(path)["cells"]
    link = f"*Executed when this site was built. [Download the notebook]({path.name})*"
    parts = ["".join(title["source"]), link]
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            # warnings on stderr name files of this machine
            outputs = [result for result in cell["outputs"] if result.get("name") != "stderr"]
            parts += [fenced("python", source), *map(output, outputs)]
    return "\n\n".join(parts) + "\n"


def executed(path: Path) -> Any:
    """Execute a notebook in a temporary folder, and return it with its outputs.

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


def output(result: Mapping[str, Any]) -> str:
    """Return the output of a cell as Markdown: its HTML if available, otherwise its text."""
    if result["output_type"] == "stream":
        return fenced("text", "".join(result["text"]))
    if "text/html" in result["data"]:
        lines = "".join(result["data"]["text/html"]).splitlines()
        return "\n".join(['<div class="given">', *filter(str.strip, lines), "</div>"])
    return fenced("text", "".join(result["data"]["text/plain"]))


def fenced(language: str, text: str) -> str:
    """Return a fenced block of code or text."""
    return f"{FENCE}{language}\n{text.rstrip()}\n{FENCE}"
