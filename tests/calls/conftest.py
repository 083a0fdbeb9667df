"""Keys of the providers of batches."""

import pytest


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-open-secret")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
