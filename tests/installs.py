"""The wheel in bare environments: what it does without an extra, and with each.

``python -m tests.installs`` makes an environment for each extra from the wheel in ``dist/`` and what
a package index has, and uses it; ``--python 3.12 --extra web`` chooses.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.blocks import BASH, ROOT, environment

NONE = ""
"""Stands for no extra."""
STUDY = """
name: small
deals: 3
games: [{game: bargaining, fixed: {money: 100, horizon: 6}}]
players: {fair: equal_split, firm: boulware}
"""
PLAYED = "cheaptalk run small.yaml\n"
TALK = """
cat > talk.yaml <<'END'
name: talk
deals: 4
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
        cheaptalk show "$(cheaptalk plan quickstart --matches | cut -d' ' -f1 | head -1)"
        """,
    "report": PLAYED + "cheaptalk report small --out report.html; test -s report.html",
    "web": """
        cheaptalk serve --demo --port 8130 > said & trap "kill $!" EXIT
        until grep Open said; do kill -0 $!; sleep 0.2; done
        cheaptalk bots http://127.0.0.1:8130/ --people 1 --think 0 --game bargaining
        """,
    "analysis": PLAYED + "cheaptalk metagame small --out page.html; test -s page.html",
    "figures": PLAYED + "cheaptalk report small --figures figures; ls figures/*.pdf",
    "predict": """
        cheaptalk run glee-small
        cheaptalk report glee-small --recipe glee --set splits=1 --tables tables
        test -s tables/predictions.csv
        """,
    "learn": """
        cheaptalk train nfsp --game BG4 --out bg4.policy --matches 256 --with hidden=4
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
    "tune": TALK + """
        cheaptalk export talk --out chats --format chats --style tagged
        cheaptalk lm pretrain chats/chats.jsonl --out model --shape hidden=16 --shape layers=1
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
    "ray": "cheaptalk run small.yaml --on ray",
    "openenv": """
        python - <<'END'
import cheaptalk as ct
print(ct.adapters.openenv_app("deal_or_no_deal", other="fair", style="tagged").openapi()["info"])
END
        """,
    "inspect": PLAYED + """
        cheaptalk run small.yaml --player model='{model: script/legal}'
        cheaptalk export small --format inspect --out logs; ls logs/*
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
game = ct.adapters.openspiel_game("item_bargaining", {"quantities": [1, 1], "highest_value": 1})
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
"""The smallest use of each extra, as commands that end with an error where it does not work."""


def use(extra: str, programs: Path, folder: Path) -> tuple[bool, str]:
    """Use an extra in a folder: whether that worked, and what was said.

    Args:
        extra: its name.
        programs: where ``python`` and ``cheaptalk`` are.
        folder: an empty one.
    """
    (folder / "small.yaml").write_text(STUDY, encoding="utf-8")
    there = environment(folder / "home") | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",  # nobody listens
    }
    done = subprocess.run(
        [BASH, "-euo", "pipefail", "-c", USES[extra]], cwd=folder, env=there, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    return done.returncode == 0, done.stdout


def install(wheel: Path, extra: str, python: str, folder: Path) -> int:
    """Make an environment of the wheel with an extra: how many packages it holds."""
    uv = Path(sys.executable).parent / "uv"
    named = f"{wheel}[{extra}]" if extra else str(wheel)
    subprocess.run([uv, "venv", "--quiet", "--python", python, folder], check=True)
    here = ("--quiet", "--python", folder)
    subprocess.run([uv, "pip", "install", *here, named], check=True)
    return len(list(folder.glob("lib/python*/site-packages/*.dist-info")))


def main(wheel: Path, pythons: Sequence[str], extras: Sequence[str]) -> int:
    """Install and use everything, and print how it went; 1 if anything failed."""
    failed = 0
    for python in pythons:
        for extra in extras:
            with TemporaryDirectory() as made:
                began = time.monotonic()
                try:
                    packages = install(wheel, extra, python, Path(made) / "venv")
                except subprocess.CalledProcessError:
                    works, said, packages = False, "", 0
                installed = time.monotonic()
                if packages:
                    place = Path(made) / "use"
                    place.mkdir()
                    works, said = use(extra, Path(made) / "venv" / "bin", place)
            took = f"installed in {installed - began:.0f} s, used in {time.monotonic() - installed:.0f} s"
            word = "works" if works else "FAILS"
            print(f"{python} [{extra}] {word}: {packages} packages, {took}", flush=True)
            if not works:
                failed += 1
                print(said, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", help="a version or a path; repeat it")
    parser.add_argument("--extra", action="append", choices=USES, help="one alone; repeat it")
    chosen = parser.parse_args()
    (built,) = (ROOT / "dist").glob("*.whl")
    sys.exit(main(built, chosen.python or ["3.11"], chosen.extra or list(USES)))
