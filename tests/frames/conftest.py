"""Stores of played studies, which all tests of frames share."""

from pathlib import Path

import pytest

from tests.played import BADLY, WELL, play


@pytest.fixture(scope="session")
def well(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return play(tmp_path_factory.mktemp("well"), WELL)


@pytest.fixture(scope="session")
def badly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return play(tmp_path_factory.mktemp("badly"), BADLY)
