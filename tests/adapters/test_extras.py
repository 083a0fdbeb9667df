"""What another project is needed for says so, and how to get it, where it is not installed."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("pettingzoo_env", "pettingzoo", "pettingzoo"),
        ("pettingzoo_parallel_env", "gymnasium", "pettingzoo"),
        ("openspiel_game", "pyspiel", "openspiel"),
    ],
)
def test_what_is_missing_is_named(name: str, module: str, extra: str) -> None:
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
    assert f"need {module}" in done.stdout
    assert f'pip install "cheaptalk[{extra}]"' in done.stdout
