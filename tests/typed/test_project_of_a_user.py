"""A user's project, which uses all of the library, runs and is typed as strictly as can be."""

import asyncio
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import cheaptalk as ct
from tests.typed.project import playing, records, results, studies

PROJECT = Path(__file__).parent / "project"
CHECKS = {
    "mypy": ("mypy",),
    "mypy with pydantic's plugin": ("mypy", "--config-file", "plugin.ini"),
    "pyright": ("basedpyright", "--pythonpath", sys.executable),
}
SLIP = {"studies.py": ("instances=2", "deels=2"), "playing.py": ("money=100", "monei=100")}
"""Words that are misspelt to see that a check looks: in a file, from and to."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("user")
    for file in PROJECT.iterdir():
        if file.is_file() and file.name != "__init__.py":
            (folder / file.name).write_text(file.read_text())
    (folder / "plugin.ini").write_text("[mypy]\nstrict = true\nplugins = pydantic.mypy\n")
    return folder


def check(folder: Path, module: str, *options: str) -> tuple[int, str]:
    cache = ("--cache-dir", str(folder / "cache")) if module == "mypy" else ()
    done = subprocess.run(
        [sys.executable, "-m", module, *options, *cache, "."], cwd=folder, text=True,
        capture_output=True, check=False, timeout=600,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_a_users_project_is_typed(project: Path, name: str) -> None:
    module, *options = CHECKS[name]
    if find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    status, said = check(project, module, *options)
    assert status == 0, said
    for file, (right, wrong) in SLIP.items():
        whole = (project / file).read_text()
        assert right in whole
        (project / file).write_text(whole.replace(right, wrong))
        status, said = check(project, module, *options)
        (project / file).write_text(whole)
        assert status == 1
        assert wrong.partition("=")[0] in said


def test_what_it_calls_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.sqlite"
    assert studies.planned().settled == 0
    assert studies.played(path) > 0
    whole = asyncio.run(studies.awaited(path))
    assert whole.left == 0
    with ct.Store.open(path) as store:
        forecast = studies.planned(store)
    assert (forecast.settled, studies.known(path)) == (whole.planned, ["mine"])
    assert len(studies.joined().players) > len(studies.STUDY.players)
    assert len(ct.plan(studies.seatings(["linear", "boulware"])).matches) == 4
    assert "quickstart" in studies.presets()
    found = results.found(path)
    assert all(payoffs is not None and payoffs["alice"] > 10 for payoffs in found.values())
    assert results.read(path, next(iter(found)))
    assert results.frames(path).height > 0
    assert records.exported(path, tmp_path)["matches"] == whole.planned
    assert records.kept(path, str(tmp_path / "kept"))["matches"] == whole.planned
    assert isinstance(records.healthy(path), bool)
    assert len(playing.every_game()) == len(ct.rules.games())
    assert playing.match().keys() == {"alice", "bob"}
    assert playing.prompted()
    assert playing.catalogue()
