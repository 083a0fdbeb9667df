"""Errors about missing optional packages, and features that need none."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct


@pytest.mark.parametrize(
    ("module", "extra", "use"),
    [
        ("opentelemetry.trace", "telemetry", lambda _: ct.adapters.Telemetry()),
        (
            "opentelemetry.sdk.trace",
            "telemetry",
            lambda _: ct.adapters.open_telemetry().__enter__(),
        ),
        ("tensorboardX", "tensorboard", lambda at: ct.adapters.tracker(f"tensorboard:{at}", "a")),
        ("wandb", "wandb", lambda _: ct.adapters.tracker("wandb", "a")),
        ("mlflow", "mlflow", lambda _: ct.adapters.tracker("mlflow", "a")),
        ("mcp.server", "mcp", lambda _: ct.adapters.mcp_server("http://gpu/agents/a", "a token")),
        ("huggingface_hub", "hub", lambda at: ct.adapters.push_dataset(at, "me/set")),
    ],
)
def test_missing_package_names_its_extra(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    module: str,
    extra: str,
    use: Callable[..., Any],
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "README.md").touch()
    monkeypatch.setitem(sys.modules, module, None)
    wanted = f'{module} is not installed; install it with: pip install "cheaptalk[{extra}]"'
    with pytest.raises(ct.CheaptalkError) as refused:
        use(tmp_path)
    assert str(refused.value) == wanted


def run_without(modules: str, program: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a program with arguments in a process that lacks some modules."""
    begin = f"import sys; sys.modules.update(dict.fromkeys({modules.split()}))\n"
    command = [sys.executable, "-c", begin + program, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_transcripts_and_rooms_need_no_report_packages() -> None:
    used = "import cheaptalk as ct\nct.web.listen, ct.web.open_room_manager, ct.reports.exchanges"
    assert run_without("numpy polars scipy", used).stderr == ""


PROGRAM = """
from contextlib import suppress
from cheaptalk.cli import main
for words in sys.argv[1:]:
    sys.argv = ["cheaptalk", *words.split()]
    with suppress(SystemExit):
        sys.exit(main())
"""
"""Runs commands in one process."""


@pytest.mark.parametrize(
    ("missing", "commands"),
    [
        ("uvicorn", ["serve --demo --port 0", "serve --port 0 --data-dir ."]),
        ("polars", ["judge run small --rubric hallucination --model script/legal"]),
        ("polars", ["profile equal_split", "reproduce chips"]),  # before they play
    ],
)
def test_commands_name_the_missing_package(
    missing: str, commands: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ct.Store.open("store.sqlite", create=True).close()
    done = run_without(
        missing, PROGRAM, *(f"{command} --store store.sqlite" for command in commands)
    )
    error = f'error: {missing} is not installed; install it with: pip install "chea'
    assert done.stderr.count(error) == len(commands), done.stderr
