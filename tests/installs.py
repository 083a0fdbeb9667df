"""Install the wheel in clean environments, without extras and with each extra.

``python -m tests.installs`` installs the wheel in ``dist/`` and each extra from the package index
into a new environment and uses it; select with ``--python 3.12 --extra web``. ``--lowest`` installs
the lowest versions that ``pyproject.toml`` allows.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.blocks import BASH, ROOT, environment

NONE = "none"
"""The choice of no extra."""
STUDY = """
name: small
instances: 3
games: [{game: bargaining, fixed: {money: 100, horizon: 6}}]
players: {fair: equal_split, firm: boulware}
"""
PLAYED = "cheaptalk run small.yaml\n"
TALK = """
cat > talk.yaml <<'END'
name: talk
instances: 4
games: [{game: deal_or_no_deal}]
players: {honest: honest}
pairing: self
END
cheaptalk run talk.yaml
"""
USES = {
    NONE: """
        cheaptalk --help
        cheaptalk run quickstart
        cheaptalk match show "$(cheaptalk plan quickstart --list-matches | cut -d' ' -f1 | head -1)"
        """,
    "report": PLAYED + "cheaptalk report small --out report.html; test -s report.html",
    "web": """
        cheaptalk serve --demo --port 8130 > log & trap "kill $!" EXIT
        until grep Open log; do kill -0 $!; sleep 0.2; done
        cheaptalk study bots http://127.0.0.1:8130/ --bots 1 --think-time 0 --game bargaining
        """,
    "analysis": PLAYED + """
        cheaptalk metagame small --out page.html; test -s page.html
        python - <<'END'
import cheaptalk as ct
frame = ct.read_matches("cheaptalk.sqlite", "small")["bargaining"].to_pandas()
print(ct.statistics.mean_intervals(frame, ["payoff_alice"]).to_pandas())
END
        """,
    "figures": PLAYED + "cheaptalk report small --figures figures; ls figures/*.pdf",
    "predict": """
        cheaptalk run glee-small
        cheaptalk report glee-small --recipe glee --recipe-option splits=1 --tables tables
        test -s tables/predictions.csv
        """,
    "learn": """
        cheaptalk train policy nfsp --game BG4 --out bg4.policy --matches 256 \
            --hyperparameter hidden=4
        test -s bg4.policy
        """,
    "lm": f"""
        PYTHONPATH={ROOT} python - <<'END'
from pathlib import Path
from tests.tiny_model import make_tiny_model
make_tiny_model(Path("tiny"))
END
        cheaptalk run small.yaml --player tiny='{{model: hf/tiny, tries: 1, max_tokens: 8}}'
        """,
    "smollm": """
        cheaptalk run small.yaml --player tiny='{model: smollm2, tries: 1, max_tokens: 8}'
        """,
    "tune": TALK + """
        cheaptalk store export talk --out chats --format chats --prompt-style tagged
        cheaptalk train pretrain chats/chats.jsonl --out model --shape hidden=16 --shape layers=1
        test -s model/config.json
        """,
    "postgres": f"""
        PYTHONPATH={ROOT} python - <<'END'
import cheaptalk as ct
from tests.postgres import LACKING, Databases, serving
if LACKING:
    raise SystemExit(LACKING)
with serving() as server:
    print(ct.run(ct.load_study("small.yaml"), Databases(server).new()))
END
        """,
    "ray": "cheaptalk run small.yaml --cluster ray",
    "archive": PLAYED + """
        cheaptalk store archive kept
        cheaptalk store restore kept again.sqlite
        cheaptalk status small --store again.sqlite
        """,
    "openenv": """
        python - <<'END'
import cheaptalk as ct
print(ct.adapters.openenv_app("deal_or_no_deal", other="fair", style="tagged").openapi()["info"])
END
        """,
    "mcp": """
        python - <<'END'
import asyncio
import cheaptalk as ct
server = ct.adapters.mcp_server("http://127.0.0.1:9/agents/mine", "a token of mine")
print([one.name for one in asyncio.run(server.list_tools())])
END
        """,
    "inspect": PLAYED + """
        cheaptalk run small.yaml --player model='{model: script/legal}'
        cheaptalk store export small --format inspect --out logs; ls logs/*
        """,
    "pettingzoo": """
        python - <<'END'
from pettingzoo.test import api_test
import cheaptalk as ct
api_test(ct.adapters.pettingzoo_env("item_bargaining"), num_cycles=20)
END
        """,
    "openspiel": """
        python - <<'END'
import pyspiel
import cheaptalk as ct
parameters = {"quantities": [1, 1], "highest_value": 1, "rounds": 2}
game = ct.adapters.openspiel_game("item_bargaining", parameters)
print(pyspiel.nash_conv(game, pyspiel.UniformRandomPolicy(game)))
END
        """,
    "telemetry": PLAYED.replace("\n", " --telemetry\n"),
    "tensorboard": PLAYED.replace("\n", " --track tensorboard:board; ls board/small/*\n"),
    "wandb": PLAYED.replace("\n", " --track wandb:mine; ls wandb\n"),
    "mlflow": PLAYED.replace("\n", " --track mlflow:sqlite:///mlflow.db; test -s mlflow.db\n"),
    "hub": PLAYED + """
        python - <<'END'
import cheaptalk as ct
from huggingface_hub import DatasetCard
ct.adapters.write_dataset("cheaptalk.sqlite", "small", "dataset", title="Small", licence="cc0-1.0")
print(DatasetCard.load("dataset/README.md").data.to_dict())
END
        """,
}  # fmt: skip
"""A minimal use of each extra, as shell commands that fail if it doesn't work."""


def use(extra: str, programs: Path, folder: Path) -> tuple[bool, str]:
    """Use an extra in an empty folder with the given programs, and return success and output."""
    (folder / "small.yaml").write_text(STUDY, encoding="utf-8")
    there = environment(folder / "home") | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",  # no server
    }
    done = subprocess.run(
        [BASH, "-euo", "pipefail", "-c", USES[extra]],
        cwd=folder,
        env=there,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode == 0, done.stdout


def install(wheel: Path, extra: str, python: str, folder: Path, resolution: str) -> int:
    """Install the wheel with an extra into a new environment; return the number of packages.

    The interpreter is a version or a path, and the resolution that of uv, such as ``highest``.
    """
    uv = Path(sys.executable).parent / "uv"
    subprocess.run([uv, "venv", "--quiet", "--python", python, folder], check=True)
    wanted = str(wheel) if extra == NONE else f"{wheel}[{extra}]"
    options = ["--quiet", "--python", str(folder), "--resolution", resolution]
    subprocess.run([uv, "pip", "install", *options, wanted], check=True)
    return len(list(folder.glob("lib/python*/site-packages/*.dist-info")))


def try_extra(wheel: Path, extra: str, python: str, resolution: str = "highest") -> bool:
    """Install and use an extra, print the result, and return whether it works."""
    name, began = f"{python} [{extra}]", time.monotonic()
    with TemporaryDirectory() as made:
        venv, place = Path(made) / "venv", Path(made) / "use"
        place.mkdir()
        try:
            packages = install(wheel, extra, python, venv, resolution)
        except subprocess.CalledProcessError:
            print(f"{name} cannot be installed", flush=True)
            return False
        between = time.monotonic()
        works, output = use(extra, venv / "bin", place)
    took = f"{between - began:.0f} s to install, {time.monotonic() - between:.0f} s to use"
    print(f"{name} {'works' if works else 'FAILS'}: {packages} packages, {took}", flush=True)
    print("" if works else output, end="", flush=True)
    return works


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", help="Python version or path; repeatable")
    parser.add_argument("--extra", action="append", choices=USES, help="an extra; repeatable")
    parser.add_argument("--lowest", action="store_true", help="install the lowest versions")
    chosen = parser.parse_args()
    resolution = "lowest-direct" if chosen.lowest else "highest"
    (built,) = (ROOT / "dist").glob("*.whl")
    pythons, extras = chosen.python or [sys.executable], chosen.extra or list(USES)
    tries = [try_extra(built, extra, python, resolution) for python in pythons for extra in extras]
    sys.exit(not all(tries))
