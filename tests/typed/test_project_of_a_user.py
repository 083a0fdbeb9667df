"""A user's project and the documentation's code pass strict type checkers; the project runs."""

import asyncio
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import cheaptalk as ct
from tests.typed.project import playing, records, results, studies
from tests.typed.snippets import write_snippets

PROJECT = Path(__file__).parent / "project"
CHECKS = {
    "mypy": ("mypy",),
    "mypy with pydantic's plugin": ("mypy", "--config-file", "plugin.ini"),
    "pyright": ("basedpyright", "--pythonpath", sys.executable),
}
TYPOS = {"studies.py": ("instances=2", "deels=2"), "playing.py": ("money=100", "monei=100")}
"""Misspelt arguments that the type checkers must report: by file, from and to."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("user")
    for file in PROJECT.iterdir():
        if file.is_file() and file.name != "__init__.py":
            (folder / file.name).write_text(file.read_text())
    write_snippets(folder)
    (folder / "plugin.ini").write_text("[mypy]\nstrict = true\nplugins = pydantic.mypy\n")
    return folder


def check(folder: Path, module: str, *options: str) -> tuple[int, str]:
    cache = ("--cache-dir", str(folder / "cache")) if module == "mypy" else ()
    command = [sys.executable, "-m", module, *options, *cache, "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_user_project_passes_type_checkers(project: Path, name: str) -> None:
    module, *options = CHECKS[name]
    if find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    status, output = check(project, module, *options)
    assert status == 0, output
    for file, (right, wrong) in TYPOS.items():
        text = (project / file).read_text()
        assert right in text
        (project / file).write_text(text.replace(right, wrong))
        status, output = check(project, module, *options)
        (project / file).write_text(text)
        assert status == 1
        assert wrong.partition("=")[0] in output


@pytest.mark.usefixtures("importable")
def test_user_project_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.sqlite"
    assert studies.make_forecast().settled == 0
    assert studies.run_study(path) > 0
    progress = asyncio.run(studies.await_run(path))
    assert progress.left == 0
    with ct.Store.open(path) as store:
        forecast = studies.make_forecast(store)
    assert (forecast.settled, studies.study_names(path)) == (progress.planned, ["mine"])
    assert len(studies.add_roster().players) > len(studies.STUDY.players)
    assert len(ct.plan(studies.all_pairs(["linear", "boulware"])).matches) == 4
    assert "quickstart" in studies.preset_names()
    matches = results.find_matches(path)
    assert all(payoffs is not None and payoffs["alice"] > 10 for payoffs in matches.values())
    assert results.read_transcript(path, next(iter(matches)))
    assert results.read_frames(path).height > 0
    assert records.export_study(path, tmp_path)["matches"] == progress.planned
    assert records.archive_study(path, str(tmp_path / "kept"))["matches"] == progress.planned
    assert isinstance(records.is_healthy(path), bool)
    assert len(playing.every_game()) == len(ct.rules.games())
    assert playing.match().keys() == {"alice", "bob"}
    assert playing.preview_prompt()
    assert playing.catalogue()
