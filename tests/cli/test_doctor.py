"""The doctor says what is there, what is missing, and what for."""

import json
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
import yaml

import cheaptalk as ct
from cheaptalk.cli.shared import extras
from tests.conftest import Command
from tests.fakes import spec


def test_all_is_said_in_plain_lines(cheaptalk: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("GROQ_API_KEY", "sk-sec\nret")
    monkeypatch.setenv("VLLM_API_KEY", "sk-secret")
    for unset in ("GEMINI_API_KEY", "OLLAMA_API_KEY"):
        monkeypatch.delenv(unset, raising=False)
    done = cheaptalk("doctor")
    lines = done.out.splitlines()
    assert done.status == 0
    assert f"ok  cheaptalk: {ct.__version__}" in lines
    assert f"ok  games: {', '.join(ct.rules.games())}" in lines
    assert "ok  openai: OPENAI_API_KEY is set" in lines
    assert "--  gemini: GEMINI_API_KEY is not set" in lines
    assert "ok  vllm: VLLM_API_KEY is set" in lines
    assert "--  groq: GROQ_API_KEY holds a line break or the like inside: " in done.out
    assert "ollama" not in done.out, "it needs no key"
    assert lines[-1] == "ok  store: cheaptalk.sqlite does not exist yet; the first run makes it"
    assert "sk-sec" not in done.out + done.err


def test_a_missing_extra_is_named_with_how_to_get_it(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(package: str) -> str:
        if package in ("polars", "plotly"):
            raise PackageNotFoundError(package)
        return "1"

    monkeypatch.setattr(extras, "version", version)
    data = {one["what"]: one for one in json.loads(cheaptalk("doctor", "--json").out)}
    assert data["[web]"] == {"what": "[web]", "ok": True, "detail": "installed"}
    assert data["[analysis]"]["ok"] is False
    assert data["[analysis]"]["detail"] == (
        'missing polars, plotly: pip install "cheaptalk[analysis]"'
    )


def test_a_sound_store_is_counted(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(spec()))
    cheaptalk("run", "small.yaml")
    assert cheaptalk("doctor").out.splitlines()[-1] == (
        "ok  store: cheaptalk.sqlite is sound and holds 2 matches"
    )


def test_a_store_that_is_none_or_damaged_ends_with_1(cheaptalk: Command, tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("dear diary " * 100)
    done = cheaptalk("doctor", "--store", "diary.txt")
    assert done.status == 1
    assert "--  store: diary.txt: file is not a database: it is damaged or no store" in done.out
    (tmp_path / "many.yaml").write_text(yaml.safe_dump(spec(deals=300)))
    cheaptalk("run", "many.yaml")
    path = tmp_path / "cheaptalk.sqlite"
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\x99" * 20_000)
    done = cheaptalk("doctor")
    assert done.status == 1
    assert "--  store: cheaptalk.sqlite" in done.out
    assert "damaged" in done.out
