"""What other packages add: importers that work, and plug-ins that do not."""

import json
import warnings
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.players import ImportedSeat
from cheaptalk.records.imports import (
    IMPORTERS,
    Collection,
    ForeignGame,
    Importer,
    Skipped,
    of_folder,
)
from cheaptalk.rules import registry
from tests.conftest import Command
from tests.fakes import install


def read(paths: Sequence[Path]) -> Collection:
    """A game of bargaining for each file."""

    def games() -> Iterator[ForeignGame | Skipped]:
        game_spec = ct.get_game("bargaining")
        game = game_spec.rules.model_validate({"money": 100, "messages": False})
        for path in paths:
            players = dict.fromkeys(game.seats, game_spec.strategies["boulware"])
            table = ct.play(game, game.draw_instance(ct.Chance(path.stem)), path.stem, players)
            seats = {place: ImportedSeat(imported="theirs", model="x") for place in game.seats}
            source = {"system": "theirs", "id": path.stem}
            yield ForeignGame(path.stem, str(path), table, seats, source)

    return Collection("theirs", paths[0].name, games())


@pytest.fixture
def theirs() -> Iterator[None]:
    """An importer that another package registers."""
    IMPORTERS.add("theirs", Importer("Import games of theirs.", read))
    yield
    IMPORTERS.remove("theirs")


@pytest.mark.usefixtures("theirs")
def test_an_importer_of_another_package_is_a_command(cheaptalk: Command) -> None:
    assert "Import games of theirs." in cheaptalk("store", "import", "--help").out
    assert "PATH..." in cheaptalk("store", "import", "theirs", "--help").out
    done = cheaptalk("store", "import", "theirs", "a.txt", "b.txt", "--json")
    taken = json.loads(done.out)
    assert (taken["study"], taken["imported"]) == ("theirs-import", 2)
    again = cheaptalk("store", "import", "theirs", "a.txt", "--study", "theirs-import")
    assert "0 games imported, 1 already in the store" in again.out
    assert cheaptalk("store", "import", "other", "a.txt").status == 2


def test_an_importer_of_one_folder_refuses_several() -> None:
    importer = Importer("", of_folder(ct.read_glee))
    with pytest.raises(ct.CheaptalkError, match="expected one folder, not 2"):
        importer.read([Path("a"), Path("b")])


SAID = (
    'the game "chess" of chess_games cannot be used (ModuleNotFoundError: No module named '
    "'chess_games'); fix, upgrade or uninstall chess_games"
)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package whose game cannot be imported, beside all that is installed."""
    chess = EntryPoint("chess", "chess_games:SPEC", "cheaptalk.games")

    install(monkeypatch, [chess])
    registry.GAMES.forget()
    yield
    registry.GAMES.forget()


@pytest.mark.usefixtures("broken")
def test_a_broken_plugin_is_one_line_and_ends_no_command(cheaptalk: Command) -> None:
    done = cheaptalk("game", "list")
    assert done.status == 0
    assert "bargaining" in done.out
    assert done.err == f"warning: {SAID}\n"


@pytest.mark.usefixtures("importable")
@pytest.mark.usefixtures("broken")
def test_the_doctor_lists_broken_plugins_and_goes_on(cheaptalk: Command) -> None:
    done = cheaptalk("store", "doctor")
    assert f"--  plug-in: {SAID}" in done.out.splitlines()
    assert "ok  store: " in done.out
    assert (done.status, done.err) == (0, "")


def test_other_warnings_are_as_python_has_them(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warn() -> list[str]:
        warnings.warn("an old name", FutureWarning, stacklevel=1)
        return []

    monkeypatch.setattr(ct.studies, "preset_names", warn)
    with pytest.warns(FutureWarning, match="an old name"):
        assert cheaptalk("study", "presets").status == 0
