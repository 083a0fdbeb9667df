"""Distributions: reproducible builds, complete packages, and the container."""

import json
import os
import re
import subprocess
import sys
import zipfile
from http.client import HTTPConnection
from inspect import signature
from pathlib import Path

import pytest
from docs.blocks import environment, free_port

from cheaptalk.cli.studies.serve import serve
from tests.conftest import Command
from tests.installs import NONE, use

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
OTHER_LOOPBACK = "127.0.0.2"
"""A loopback address that reaches only servers listening at all addresses."""


def run(*words: object, umask: int = -1, **variables: str) -> str:
    done = subprocess.run(
        list(map(str, words)),
        cwd=ROOT,
        env=os.environ | variables,
        umask=umask,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(dist: Path, umask: int = -1) -> dict[str, bytes]:
    """Run ``make dist`` in this environment, and return the files by name."""
    known = ("-o", f"{BIN.parent}/.installed-dev", f"VENV={BIN.parent}")
    run("make", *known, "dist", f"DIST={dist}", umask=umask)
    return {file.name: file.read_bytes() for file in dist.iterdir()}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist of the last commit."""
    if not (ROOT / ".git").exists():
        pytest.skip("only a checkout has a last commit")
    folder = tmp_path_factory.mktemp("built") / "dist"
    assert {Path(name).suffix for name in build(folder)} == {".whl", ".gz"}
    return folder


@pytest.mark.slow
def test_builds_are_reproducible(dist: Path, tmp_path: Path) -> None:
    again = build(tmp_path / "elsewhere" / "dist", umask=0o077)
    assert again == {file.name: file.read_bytes() for file in dist.iterdir()}


@pytest.mark.slow
def test_sdist_builds_the_same_wheel(dist: Path, tmp_path: Path) -> None:
    (sdist,), (wheel,) = dist.glob("*.tar.gz"), dist.glob("*.whl")
    command = [BIN / "uv", "build", "--wheel", "--offline", "--no-build-isolation"]
    command += ["--python", sys.executable, "--out-dir", tmp_path, sdist]
    moment = run("git", "log", "-1", "--format=%ct").strip()
    run(*command, SOURCE_DATE_EPOCH=moment)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_wheel_contains_exactly_the_package(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    package = {name for name in held if ".dist-info/" not in name}
    committed = run("git", "ls-tree", "-r", "-z", "--name-only", "HEAD", "src").split("\0")
    assert package == {name.removeprefix("src/") for name in committed if name}
    assert "cheaptalk/py.typed" in package
    about = {name.partition("/")[2] for name in held - package}
    assert about == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}


def container_command() -> list[str]:
    """Return the command that the container runs."""
    lines = re.findall(r"^([A-Z]+) (.*)$", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    instructions = dict(lines)
    assert instructions["VOLUME"] == instructions["WORKDIR"]
    assert int(instructions["EXPOSE"]) == signature(serve).parameters["port"].default
    return [*json.loads(instructions["ENTRYPOINT"]), *json.loads(instructions["CMD"])]


def test_container_command_has_known_options(cheaptalk: Command) -> None:
    name, *words = container_command()
    assert (name, cheaptalk(" ".join([*words, "--help"])).status) == ("cheaptalk", 0)


@pytest.mark.slow
def test_container_serves_the_demo_and_keeps_its_store(tmp_path: Path) -> None:
    port = free_port()
    with subprocess.Popen(
        [*container_command(), "--port", str(port)],
        cwd=tmp_path,
        env=environment(tmp_path),
        text=True,
        stdout=subprocess.PIPE,
    ) as server:
        try:
            assert server.stdout is not None
            assert "Open http://" in server.stdout.readline()
            connection = HTTPConnection(OTHER_LOOPBACK, port, timeout=60)
            connection.request("GET", "/", headers={"Host": f"localhost:{port}"})
            assert connection.getresponse().status == 200
            connection.close()
        finally:
            server.terminate()
    assert (tmp_path / "cheaptalk.sqlite").exists()


@pytest.mark.slow
@pytest.mark.parametrize("extra", [NONE, "web", "figures", "pettingzoo", "openspiel"])
def test_extras_work_in_this_environment(extra: str, tmp_path: Path) -> None:
    works, output = use(extra, BIN, tmp_path)
    assert works, output
