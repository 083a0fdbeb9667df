import json
import subprocess
import sys
from pathlib import Path

import pytest

from cheaptalk.cli.shared.options import PORT as LISTENING
from cheaptalk.reports.pages import PORT
from tests.conftest import Command


def test_says_where_the_report_lies(cheaptalk: Command, well: Path, tmp_path: Path) -> None:
    done = cheaptalk("report", "well", "--store", str(well))
    assert (done.status, done.err) == (0, "")
    *answers, last = done.out.splitlines()
    assert last == f"Report written to {tmp_path / 'well-report.html'}"
    assert [line.partition(":")[0] for line in answers] == [
        "Bargaining", "Negotiation", "Persuasion",
    ]  # fmt: skip
    assert (tmp_path / "well-report.html").read_text().startswith("<!doctype html>")


def test_tells_scripts_in_json(cheaptalk: Command, badly: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.html"
    options = [
        "--store",
        str(badly),
        "--out",
        str(out),
        "--json",
        "--transcripts",
        "0",
        "--as-published",
    ]
    done = cheaptalk("report", "badly", *options)
    told = json.loads(done.out)
    assert (told["study"], told["report"]) == ("badly", str(out))
    failed = told["matches"]["failed"]
    assert done.err.startswith(f"warning: badly is incomplete: {failed} matches failed")
    assert sum(told["matches"].values()) == 54
    assert list(told["answers"]) == ["Bargaining", "Persuasion"]
    assert {"games", "persuasion-players"} <= told["tables"].keys()
    assert "follows the code" in out.read_text()


def test_the_published_variants_have_a_page_of_their_own_that_says_so(
    cheaptalk: Command, well: Path, tmp_path: Path
) -> None:
    for options in ([], ["--as-published"]):
        cheaptalk("report", "well", "--store", str(well), *options)
    paper, published = (tmp_path / f"well-report{name}.html" for name in ("", "-as-published"))
    said = "with the metrics of the published systems&#39; code"
    assert [said in page.read_text() for page in (paper, published)] == [False, True]


def test_an_unknown_study_is_an_error_and_writes_nothing(
    cheaptalk: Command, well: Path, tmp_path: Path
) -> None:
    done = cheaptalk("report", "wel", "--store", str(well))
    assert done.status == 2
    assert 'did you mean "well"' in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("command", "package"), [("report", "polars"), ("view", "fastapi")])
def test_a_missing_extra_is_named(well: Path, tmp_path: Path, command: str, package: str) -> None:
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


def test_reports_link_to_where_the_viewer_listens() -> None:
    assert LISTENING == PORT
