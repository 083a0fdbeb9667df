"""Writing a package to begin with, from the templates that lie beside this module.

A template is a file whose name ends in ``.in``; ``NAME`` in its path is the package's name. What is
filled in stands between ``<<`` and ``>>``, as other braces belong to the words of games.
"""

import keyword
import re
import sys
import unicodedata
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import jinja2

from cheaptalk.rules import CheaptalkError, GameBox, game_box
from cheaptalk.rules.registry import GAMES
from cheaptalk.styles import block_name

TEMPLATES = Path(__file__).parent
ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(TEMPLATES),
    variable_start_string="<<", variable_end_string=">>",
    block_start_string="<%", block_end_string="%>",
    comment_start_string="<#", comment_end_string="#>",
    undefined=jinja2.StrictUndefined, trim_blocks=True, keep_trailing_newline=True,
    autoescape=False,  # noqa: S701 - source code, not HTML
)  # fmt: skip


def write_game(name: str, out: Path | None = None) -> list[Path]:
    """Write a package with a game: its rules, words, strategies, a measure, and a test of all laws.

    Args:
        name: of the game, its module and its package: small letters, digits and underscores.
        out: the folder to write; by default one in this folder, with the package's name.

    Returns:
        The files that were written.

    Raises:
        CheaptalkError: the name cannot be one, or is taken; or the folder is there.
        OSError: it cannot be written; nothing is left of it.
    """
    if name in GAMES:
        raise CheaptalkError(f'there is a game named "{name}" already; take another name')
    return _write("game", name, out, {"title": name.title().replace("_", "")})


def write_player(name: str, game: str, out: Path | None = None) -> list[Path]:
    """Write a package with a strategy for a game, and its tests; else as :func:`write_game`.

    Raises:
        UnknownName: there is no such game.
        CheaptalkError, OSError: as for a game.
    """
    box = game_box(game)
    _check_free("strategy", name, game, list(box.strategies))
    roles = ", ".join(f'"{role}"' for role in box.rules.roles)
    return _write("player", name, out, {"game": game, "roles": roles})


def write_style(name: str, game: str, out: Path | None = None) -> list[Path]:
    """Write a package with a style for a game, and its tests; else as :func:`write_game`.

    It changes how the game's default style asks for each action.

    Raises:
        UnknownName: there is no such game.
        CheaptalkError, OSError: as for a game.
    """
    box = game_box(game)
    _check_free("style", name, game, list(box.styles))
    return _write("style", name, out, {"game": game} | _extended(box))


def _extended(box: GameBox) -> dict[str, object]:
    """What a style needs to know of the one that it extends."""
    default = next(iter(box.styles.values()))
    return {
        "template": default.template,
        "codec": "" if default.codec == "json" else f', codec="{default.codec}"',
        "blocks": [block_name(action) for action in box.rules.actions],
    }


def _check_free(what: str, name: str, game: str, taken: list[str]) -> None:
    if name in taken:
        raise CheaptalkError(f'{game} has a {what} named "{name}" already; take another name')


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name, re.ASCII):
        raise CheaptalkError(
            f'"{name}" is no name for a module: write small letters, digits and underscores, such '
            f"as {_near(name)}"
        )
    if keyword.iskeyword(name):
        raise CheaptalkError(f'"{name}" is a word of Python itself; write my_{name} or another')
    if name in sys.stdlib_module_names or find_spec(name) is not None:
        raise CheaptalkError(f'there is a module named "{name}" already; take another name')


def _near(name: str) -> str:
    """A name for a module that is much like this one.

    >>> _near("MyGame"), _near("Été à deux"), _near("2x"), _near("?")
    ('my_game', 'ete_a_deux', 'my_2x', 'my_game')
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", plain).strip("_").lower()
    return apart if apart[:1].isalpha() else f"my_{apart or 'game'}"


def _write(kind: str, name: str, out: Path | None, values: dict[str, object]) -> list[Path]:
    """Write all files of a kind, or none."""
    _check_name(name)
    project = name.replace("_", "-")
    folder = Path(project) if out is None else out
    if folder.exists() or folder.is_symlink():
        raise CheaptalkError(f"{folder} is there already; name another folder with --out")
    values |= {"name": name, "project": project}
    templates = sorted(path for path in (TEMPLATES / kind).rglob("*.in") if path.is_file())
    with TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as half:
        for template in templates:
            inside = template.relative_to(TEMPLATES / kind).with_suffix("")
            path = Path(half, "whole", str(inside).replace("NAME", name))
            path.parent.mkdir(parents=True, exist_ok=True)
            source = template.relative_to(TEMPLATES).as_posix()
            path.write_text(ENVIRONMENT.get_template(source).render(values), encoding="utf-8")
        Path(half, "whole").rename(folder)
    return sorted(path for path in folder.rglob("*") if path.is_file())
