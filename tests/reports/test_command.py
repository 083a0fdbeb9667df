import json
import subprocess
import sys
from pathlib import Path

import pytest

from cheaptalk.cli.shared.options import PORT as LISTENING
from cheaptalk.reports.pages import PORT
from tests.conftest import Command


def test_commands_print_results_and_paths(
    cheaptalk: Command, well: Path, tmp_path: Path, badly: Path
) -> None:
    done = cheaptalk("report", "well", "--store", str(well))
    assert (done.status, done.err) == (0, "")
    *answers, last = done.out.splitlines()
    assert last == f"Report written to {tmp_path / 'well-report.html'}"
    games = [line.partition(":")[0] for line in answers]
    assert games == ["Bargaining", "Negotiation", "Persuasion"]
    page = (tmp_path / "well-report.html").read_text()
    assert page.startswith("<!doctype html>")
    published_metrics = "with the metrics of the published systems&#39; code"
    assert published_metrics not in page

    options = ["--store", str(badly), "--json", "--as-published", "--transcripts", "0"]
    done = cheaptalk("report", "badly", *options)
    data = json.loads(done.out)
    out = tmp_path / "badly-report-as-published.html"
    assert (data["study"], data["report"]) == ("badly", str(out))
    assert published_metrics in out.read_text()
    failed = data["matches"]["failed"]
    assert done.err.startswith(f"warning: badly is incomplete: {failed} matches failed")
    assert sum(data["matches"].values()) == 54
    assert list(data["answers"]) == ["Bargaining", "Persuasion"]
    assert {"games", "persuasion-players"} <= data["tables"].keys()
    assert "follows the code" in out.read_text()

    assert LISTENING == PORT


@pytest.mark.parametrize(("command", "package"), [("report", "polars"), ("view", "fastapi")])
def test_missing_extra_is_reported(well: Path, tmp_path: Path, command: str, package: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None; from cheaptalk.cli import main; "
        f"sys.argv = ['cheaptalk', {command!r}, 'well', '--store', {str(well)!r}]; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 2
    assert f'{package} is not installed; install it with: pip install "cheaptalk[analysis]"' in (
        " ".join(done.stderr.split())
    )
