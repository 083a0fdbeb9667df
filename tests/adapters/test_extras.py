"""Adapters that need a missing project name it and the extra that installs it."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("pettingzoo_parallel_env", "gymnasium", "pettingzoo"),
        ("openspiel_game", "pyspiel", "openspiel"),
    ],
)
def test_missing_dependency_error_names_extra(name: str, module: str, extra: str) -> None:
    code = f"""if True:
        import sys, cheaptalk as ct
        assert not {{"gymnasium", "pettingzoo", "pyspiel"}} & sys.modules.keys()
        sys.modules["{module}"] = None
        try:
            ct.adapters.{name}
        except ct.CheaptalkError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(module)
    assert f'is not installed; install it with: pip install "cheaptalk[{extra}]"' in done.stdout
