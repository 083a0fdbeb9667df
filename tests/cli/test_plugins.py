"""Plug-ins of other packages: working importers and broken entry points."""

import warnings
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.players import ImportedSeat
from cheaptalk.records.imports import (
    IMPORTERS,
    GameCollection,
    ImportedGame,
    Importer,
    Skipped,
    folder_reader,
)
from cheaptalk.rules import registry
from tests.conftest import Command
from tests.fakes import install


def read(paths: Sequence[Path]) -> GameCollection:
    """Read a game of bargaining for each file."""

    def games() -> Iterator[ImportedGame | Skipped]:
        game_spec = ct.get_game("bargaining")
        game = game_spec.rules.model_validate({"money": 100, "messages": False})
        for path in paths:
            players = dict.fromkeys(game.seats, game_spec.strategies["boulware"])
            table = ct.play(game, game.draw_instance(ct.Chance(path.stem)), path.stem, players)
            seats = {seat: ImportedSeat(imported="theirs", model="x") for seat in game.seats}
            source = {"system": "theirs", "id": path.stem}
            yield ImportedGame(path.stem, table, seats, source, str(path))

    return GameCollection("theirs", games(), paths[0].name)


@pytest.fixture
def registered_importer() -> Iterator[None]:
    """Register an importer of another package."""
    IMPORTERS.add("theirs", Importer("Import games of theirs.", read))
    yield
    IMPORTERS.remove("theirs")


@pytest.mark.usefixtures("registered_importer")
def test_registered_importer_becomes_a_command(cheaptalk: Command) -> None:
    assert "Import games of theirs." in cheaptalk("store import --help").out
    assert "PATH..." in cheaptalk("store import theirs --help").out
    done = cheaptalk("store import theirs a.txt b.txt --json")
    taken = done.json
    assert (taken["study"], taken["imported"]) == ("theirs-import", 2)
    again = cheaptalk("store import theirs a.txt --study theirs-import")
    assert "0 games imported, 1 already in the store" in again.out
    assert cheaptalk("store import other a.txt").status == 2


def test_folder_importer_rejects_several_folders() -> None:
    importer = Importer("", folder_reader(ct.papers.read_glee))
    with pytest.raises(ct.CheaptalkError, match="expected one folder, not 2"):
        importer.read([Path("a"), Path("b")])


MESSAGE = (
    'the game "chess" of chess_games cannot be used (ModuleNotFoundError: No module named '
    "'chess_games'); fix, upgrade or uninstall chess_games"
)


@pytest.fixture
def broken_plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a package whose game cannot be imported."""
    chess = EntryPoint("chess", "chess_games:SPEC", "cheaptalk.games")

    install(monkeypatch, [chess])
    registry.GAMES.forget()
    yield
    registry.GAMES.forget()


@pytest.mark.usefixtures("importable", "broken_plugin")
def test_broken_plugin_prints_one_warning_and_is_listed_by_the_doctor(cheaptalk: Command) -> None:
    done = cheaptalk("game list")
    assert (done.status, done.err) == (0, f"warning: {MESSAGE}\n")
    assert "bargaining" in done.out
    done = cheaptalk("store doctor")
    assert f"--  plug-in: {MESSAGE}" in done.out.splitlines()
    assert "ok  store: " in done.out
    assert (done.status, done.err) == (0, "")


def test_other_warnings_are_not_intercepted(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warn() -> list[str]:
        warnings.warn("an old name", FutureWarning, stacklevel=1)
        return []

    monkeypatch.setattr(ct.studies, "preset_names", warn)
    with pytest.warns(FutureWarning, match="an old name"):
        assert cheaptalk("study presets").status == 0
