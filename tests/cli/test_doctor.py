"""The doctor reports what is installed, what is missing and how to install it."""

import shutil
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.doctor import Imported, imported
from cheaptalk.models.local.files import PACKAGED
from tests.conftest import Command
from tests.fakes import Canned, study

doctor = import_module("cheaptalk.doctor")


@pytest.mark.usefixtures("importable")
def test_doctor_prints_plain_lines(cheaptalk: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("GROQ_API_KEY", "sk-sec\nret")
    monkeypatch.setenv("VLLM_API_KEY", "sk-secret")
    for unset in ("GEMINI_API_KEY", "OLLAMA_API_KEY"):
        monkeypatch.delenv(unset, raising=False)
    done = cheaptalk("store doctor")
    lines = done.out.splitlines()
    assert done.status == 0
    assert f"ok  cheaptalk: {ct.__version__}" in lines
    assert f"ok  games: {', '.join(ct.rules.games())}" in lines
    assert "ok  openai: OPENAI_API_KEY is set" in lines
    assert "--  gemini: GEMINI_API_KEY is not set" in lines
    assert "ok  vllm: VLLM_API_KEY is set" in lines
    assert "--  groq: GROQ_API_KEY contains a line break or another control character: " in done.out
    assert "ollama" not in done.out, "it needs no key"
    assert lines[-1] == "ok  store: cheaptalk.sqlite does not exist; the first run creates it"
    assert "sk-sec" not in done.out + done.err


def test_missing_local_models_are_reported_before_a_run(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The doctor, a plan and a run report the same sentences."""
    monkeypatch.setattr(doctor, "extras", lambda: {"analysis": ("absent",), "learn": ("absent",)})
    monkeypatch.setattr("cheaptalk.models.local.files.NEEDED", ())
    for name in ("gone", "llama", "ready"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").touch()
    players = {name: {"model": f"hf/{tmp_path}/{name}"} for name in ("gone", "llama", "ready")}
    made = study(games=[{"game": "negotiation"}], players=players, instances=2, pairing="self")
    begun = ct.studies.restrict_plan(ct.studies.plan(made), None, limit=1)
    ct.run(begun, "cheaptalk.sqlite", models=Canned())
    done = cheaptalk("store doctor")
    assert "players." not in done.out

    shutil.rmtree(tmp_path / "gone")
    (tmp_path / "llama" / "config.json").rename(tmp_path / "llama" / "b.gguf")
    monkeypatch.setattr("cheaptalk.models.local.files.NEEDED", ("no_such_package",))
    monkeypatch.setitem(PACKAGED, "small", "no_such_package")
    llama = tmp_path / "llama"
    needed = 'requires: pip install "cheaptalk[lm]"'
    problems = [
        f"players.gone: there is no folder {tmp_path}/gone; write hf/FOLDER, hf/FILE.gguf, or",
        f"players.llama: {llama} is a folder of GGUF files; write hf/{llama}/b.gguf",
        f"players.ready: a model in this process {needed}",
    ]
    done, planned = cheaptalk("store doctor"), cheaptalk(f"plan {made.name}")
    assert done.status == planned.status == 0, "the store is intact"
    for problem in problems:
        assert f"--  study {made.name}: {problem}" in done.out
        assert f"\n- {problem}" in planned.out
    package = "pip install --no-deps no-such-package"
    assert f"--  small: a model in this process {needed} && {package}" in done.out
    resumed = cheaptalk(f"resume {made.name}")
    assert resumed.status == 2
    assert problems[0] in resumed.err


MODULES = {
    "fine": "__version__ = '2.5'\nprint('hello')",
    "hurt": "raise ImportError('libhurt.so: no such file\\nand more')",
    "halved": "import a_part_that_is_missing",
    "deadly": "import os; os._exit(7)",
}


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write modules, some of which cannot be imported, to the path of subprocesses."""
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


@pytest.mark.usefixtures("modules")
def test_import_problems_are_reported_per_module() -> None:
    assert imported(["fine", "hurt", "halved", "absent", "deadly", "later"]) == [
        Imported("fine", version="2.5"),
        Imported("hurt", problem="ImportError: libhurt.so: no such file"),
        Imported("halved", problem="ModuleNotFoundError: No module named 'a_part_that_is_missing'"),
        Imported("absent", absent=True, problem="ModuleNotFoundError: No module named 'absent'"),
        Imported("deadly", problem="the import ends with status 7"),
        Imported("later", problem="not tried"),
    ]


@pytest.mark.usefixtures("modules")
def test_missing_extras_are_reported_with_install_commands(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {
        "analysis": ("absent", "gone"),
        "learn": ("absent",),
        "web": ("fine",),
        "lm": ("fine", "hurt", "absent"),
    }
    monkeypatch.setattr(doctor, "extras", lambda: parts)
    data = {row["what"]: row for row in cheaptalk("store doctor --json").json}
    assert data["[web]"] == {"what": "[web]", "ok": True, "detail": "fine 2.5"}
    missing = 'missing absent, gone: pip install "cheaptalk[analysis]"'
    assert data["[analysis]"] == {"what": "[analysis]", "ok": False, "detail": missing}
    assert data["[lm]"]["detail"] == (
        "hurt cannot be imported (ImportError: libhurt.so: no such file); reinstall it: "
        'pip install --force-reinstall "cheaptalk[lm]"; '
        'missing absent: pip install "cheaptalk[lm]"'
    )


@pytest.mark.usefixtures("importable")
def test_unknown_entry_point_groups_are_reported(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    chess = EntryPoint("chess", "chess_games:SPEC", "cheaptalk.game")
    monkeypatch.setattr(doctor, "entry_points", lambda: EntryPoints([chess]))
    group = '"cheaptalk.game" (did you mean "cheaptalk.games"?), which is not an entry point group'
    advice = "fix, upgrade or uninstall the package"
    problem = f'--  plug-in: "chess" (chess_games:SPEC) is registered under {group}; {advice}'
    assert problem in cheaptalk("store doctor").out.splitlines()


def test_deep_check_imports_no_extras(cheaptalk: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "imported", lambda modules: pytest.fail(f"imports {modules}"))
    monkeypatch.setattr(
        doctor, "extras", lambda: {"all": ("json", "json.decoder"), "no": ("absent", "absent.part")}
    )
    lines = cheaptalk("store doctor --deep").out.splitlines()
    assert "ok  [all]: json is installed, json.decoder is installed" in lines
    assert '--  [no]: missing absent, absent.part: pip install "cheaptalk[no]"' in lines


@pytest.mark.usefixtures("importable")
def test_invalid_or_damaged_store_exits_with_status_1(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("dear diary " * 100)
    done = cheaptalk("store doctor --store diary.txt")
    problem = "diary.txt: file is not a database: the file is damaged or not a store"
    assert (done.status, f"--  store: {problem}" in done.out) == (1, True)
    path = tmp_path / "cheaptalk.sqlite"
    ct.run(study(instances=300), path)
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\x99" * 20_000)
    done = cheaptalk("store doctor")
    assert done.status == 1
    assert "--  store: cheaptalk.sqlite" in done.out
    assert "damaged" in done.out
