"""Defaults of options: the environment, then .env, then a user's settings."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

import cheaptalk as ct
from cheaptalk.cli.shared.settings import read_dotenv
from tests.cli import CASES, write_study
from tests.conftest import Command
from tests.fakes import Server, with_model

KEY = "sk-1234567890abcdef"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a user's empty settings file."""
    monkeypatch.delenv("CHEAPTALK_SETTINGS")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path = tmp_path / "config" / "cheaptalk" / "settings.toml"
    path.parent.mkdir(parents=True)
    path.touch()
    return path


def test_options_override_environment_dotenv_and_settings(
    cheaptalk: Command, tmp_path: Path, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = "no store at {}"
    settings.write_text('store = "~/settings.sqlite"\n')
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert message.format(tmp_path / "home" / "settings.sqlite") in cheaptalk("resume x").said
    (tmp_path / ".env").write_text("CHEAPTALK_STORE=dotenv.sqlite\n")
    assert message.format("dotenv.sqlite") in cheaptalk("resume x").said
    monkeypatch.setenv("CHEAPTALK_STORE", "environment.sqlite")
    assert message.format("environment.sqlite") in cheaptalk("resume x").said
    assert message.format("o.sqlite") in cheaptalk("resume x --store o.sqlite").said


def test_settings_are_defaults_of_options(
    cheaptalk: Command, tmp_path: Path, settings: Path
) -> None:
    settings.write_text(
        'cache = true\ncache-file = "kept.sqlite"\nconcurrency = 2\nworkers = 1\n'
        "retry-timeout = 30\nmax-calls = 1\nmax-tokens = 100_000\nmax-dollars = 5\n"
    )
    with Server() as server:
        write_study(**with_model(server.url))
        assert "halted" in cheaptalk("run small.yaml").out
        assert len(server.calls) == 1
        assert (tmp_path / "kept.sqlite").exists()
        assert cheaptalk("run small.yaml --max-calls 1000").status == 0


def test_invalid_settings_are_reported_by_line_without_values(
    cheaptalk: Command, settings: Path
) -> None:
    for content, message in [
        ("store = 5", "line 1: store: expected the file or URL of a store in quotes"),
        ("\nworkers = true", "line 2: workers: expected an integer above 0"),
        ("max-dollars = -1", "line 1: max-dollars: expected a number above 0"),
        ("patience = 10", "line 1: patience was renamed to retry-timeout, in seconds"),
        ("# ours\nconcurency = 3", 'line 2: no setting "concurency" (did you mean "concurrency"?)'),
        ('[run]\nstore = "x"', 'line 1: no setting "run" (known: store, '),
        ("store = \n", "invalid TOML: Invalid value (at line 1, column 9)"),
        (f'OPENAI_API_KEY = "{KEY}"', "line 1: OPENAI_API_KEY: API keys are not allowed here"),
        (f'openai = "{KEY}"', "line 1: openai: API keys are not allowed here"),
    ]:
        settings.write_text(content)
        done = cheaptalk("status")
        assert f"error: {settings}: {message}" in done.rejection
        assert KEY not in done.said
        assert cheaptalk("status --help").status == 0


def test_dotenv_is_parsed_and_errors_name_the_line_without_values(
    cheaptalk: Command, tmp_path: Path
) -> None:
    path = tmp_path / ".env"
    for line, value in CASES["dotenv_values_are_parsed"]:
        path.write_text(f"\n# a comment\n{line}\n")
        assert read_dotenv(path) == {"A": value}
    malformed = "expected NAME=VALUE with closed quotes, or a comment starting with #"
    for content, message in [
        (KEY, f"line 1: {malformed}"),
        (f"\nA='{KEY}", f"line 2: {malformed}"),
        (f"A=1\nA={KEY}", "line 2: duplicate variable A; remove one of them"),
    ]:
        path.write_text(content)
        assert cheaptalk("game list").rejection == f"error: .env: {message}"


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Return a function that sets the URL of the only entry in a user's provider file."""
    path = tmp_path / "providers.yaml"
    monkeypatch.setenv("CHEAPTALK_PROVIDERS", str(path))

    def at(url: str) -> None:
        path.write_text(yaml.safe_dump({"lab": {"url": url, "key": "LAB_KEY"}}))
        ct.models.PROVIDERS.forget()

    yield at
    ct.models.PROVIDERS.forget()


@pytest.mark.usefixtures("importable")
def test_dotenv_cannot_redirect_keys_of_the_environment(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lab: Callable[[str], None]
) -> None:
    lab("https://${LAB_HOST}/v1")
    (tmp_path / ".env").write_text(
        f"LAB_KEY={KEY}\nLAB_HOST=theirs.example\nCHEAPTALK_PROVIDERS=other.yaml\nLAB_PROXY=x\n"
    )
    done = cheaptalk("store doctor")
    assert ".env sets: LAB_KEY, LAB_HOST; " in done.out
    assert "overridden by the environment: CHEAPTALK_PROVIDERS; ignored: LAB_PROXY" in done.out
    assert "ok  lab: LAB_KEY is set" in done.out
    assert KEY not in done.out + done.err
    assert "LAB_KEY" not in os.environ
    monkeypatch.setenv("LAB_KEY", "my own key")
    done = cheaptalk("store doctor")
    assert "--  lab: set the environment variable LAB_HOST" in done.out
    overridden = "overridden by the environment: LAB_KEY, CHEAPTALK_PROVIDERS; ignored: LAB_HOST"
    assert overridden in done.out


async def echo_key(request: web.Request, _: dict[str, Any]) -> web.StreamResponse:
    """Answer with the key that was sent."""
    content = f"I heard {request.headers['Authorization']}."
    return web.json_response({"choices": [{"message": {"content": content}}]})


def test_dotenv_key_is_sent_and_removed_from_records(
    cheaptalk: Command, tmp_path: Path, lab: Callable[[str], None]
) -> None:
    (tmp_path / ".env").write_text(f"LAB_KEY={KEY}\n")
    with Server(handler=echo_key) as server:
        lab(server.url)
        write_study(players={"fair": {"model": "lab/x"}, "firm": {"strategy": "fixed_demand"}})
        cheaptalk("run small.yaml")
        assert server.headers["Authorization"] == f"Bearer {KEY}"
    assert cheaptalk("store export small --format jsonl --out records").status == 0
    text = "".join(path.read_text() for path in (tmp_path / "records").iterdir())
    assert "I heard Bearer [key]." in text
    assert KEY not in text


@pytest.mark.usefixtures("importable")
def test_doctor_lists_the_settings(cheaptalk: Command, settings: Path) -> None:
    settings.write_text('store = "postgresql://me:word@host/x"\nconcurrency = 3\n')
    assert f"ok  settings: {settings} sets: store = set, concurrency = 3" in (
        cheaptalk("store doctor --store no.sqlite").out
    )
