"""What is said where an optional package is missing."""

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
        ("huggingface_hub", "hub", lambda at: ct.adapters.push_dataset(at, "me/set")),
    ],
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    module: str,
    extra: str,
    use: Callable[..., Any],
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "README.md").touch()
    monkeypatch.setitem(sys.modules, module, None)
    wanted = f'{module} is not installed; get it with: pip install "cheaptalk[{extra}]"'
    with pytest.raises(ct.CheaptalkError) as refused:
        use(tmp_path)
    assert str(refused.value) == wanted
