"""Creation of starter packages from the templates in this folder.

The names of templates end in ``.in``. ``NAME`` in a path is replaced with the package's name.
Variables are enclosed in ``<<`` and ``>>``, because prompt templates use braces.
"""

import keyword
import re
import sys
import unicodedata
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import jinja2

from cheaptalk.rules import CheaptalkError, get_game
from cheaptalk.rules.registry import GAMES
from cheaptalk.styles import block_name

TEMPLATES = Path(__file__).parent
ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(TEMPLATES),
    variable_start_string="<<",
    variable_end_string=">>",
    block_start_string="<%",
    block_end_string="%>",
    comment_start_string="<#",
    comment_end_string="#>",
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701 - source code, not HTML
)


def write_game(name: str, out: Path | None = None) -> list[Path]:
    """Write a package with a game's rules, prompts, strategies, metric and conformance tests.

    Args:
        name: the name of the game, module and package: lower-case letters, digits and underscores.
        out: the folder to create; by default the package's name in the current folder.

    Returns:
        The files that were written.

    Raises:
        CheaptalkError: the name is invalid or taken, or the folder exists.
        OSError: the folder cannot be written; no partial folder remains.
    """
    if name in GAMES:
        raise CheaptalkError(f'a game named "{name}" already exists; choose another name')
    return _write("game", name, out, {"title": name.title().replace("_", "")})


def write_player(name: str, game: str, out: Path | None = None) -> list[Path]:
    """Write a package with a strategy for a game, and passing tests of the strategy.

    Raises:
        UnknownName: no game has this name.
        CheaptalkError, OSError: see :func:`write_game`.
    """
    game_spec = get_game(game)
    _check_free("strategy", name, game, list(game_spec.strategies))
    roles = ", ".join(f'"{role}"' for role in game_spec.rules.roles)
    return _write("player", name, out, {"game": game, "roles": roles})


def write_style(name: str, game: str, out: Path | None = None) -> list[Path]:
    """Write a package with a prompt style for a game, and passing tests of the style.

    The style changes the instructions for each action of the game's default style.

    Raises:
        UnknownName: no game has this name.
        CheaptalkError, OSError: see :func:`write_game`.
    """
    game_spec = get_game(game)
    _check_free("style", name, game, list(game_spec.styles))
    default = next(iter(game_spec.styles.values()))
    codec = "" if default.codec == "json" else f', codec="{default.codec}"'
    blocks = [block_name(action) for action in game_spec.rules.actions]
    values: dict[str, object] = {"game": game, "template": default.template, "codec": codec}
    return _write("style", name, out, values | {"blocks": blocks})


def _check_free(kind: str, name: str, game: str, taken: list[str]) -> None:
    if name in taken:
        raise CheaptalkError(f'{game} already has a {kind} named "{name}"; choose another name')


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name, re.ASCII):
        raise CheaptalkError(
            f'"{name}" is not a valid module name; use lower-case letters, digits and underscores, '
            f"e.g. {_near(name)}"
        )
    if keyword.iskeyword(name):
        raise CheaptalkError(f'"{name}" is a Python keyword; choose another name, e.g. my_{name}')
    if name in sys.stdlib_module_names or find_spec(name) is not None:
        raise CheaptalkError(f'a module named "{name}" already exists; choose another name')


def _near(name: str) -> str:
    """Return a valid module name that is similar to the given name.

    >>> _near("MyGame"), _near("Été à deux"), _near("2x"), _near("?")
    ('my_game', 'ete_a_deux', 'my_2x', 'my_game')
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", plain).strip("_").lower()
    return words if words[:1].isalpha() else f"my_{words or 'game'}"


def _write(kind: str, name: str, out: Path | None, values: dict[str, object]) -> list[Path]:
    """Write a package from templates of a kind; write no files if an error occurs."""
    _check_name(name)
    project = name.replace("_", "-")
    folder = Path(project) if out is None else out
    if folder.exists() or folder.is_symlink():
        raise CheaptalkError(f"{folder} already exists; choose another folder")
    values |= {"name": name, "project": project}
    templates = sorted(path for path in (TEMPLATES / kind).rglob("*.in") if path.is_file())
    with TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as half:
        for template in templates:
            relative = template.relative_to(TEMPLATES / kind).with_suffix("")
            path = Path(half, "whole", str(relative).replace("NAME", name))
            path.parent.mkdir(parents=True, exist_ok=True)
            source = template.relative_to(TEMPLATES).as_posix()
            path.write_text(ENVIRONMENT.get_template(source).render(values), encoding="utf-8")
        Path(half, "whole").rename(folder)
    return sorted(path for path in folder.rglob("*") if path.is_file())
