"""What the names of GAMA's files tell that the files do not: models, runs and treatments.

A file is called ``[MODEL_]GAME[_MODE][_VERSION][_TAG].json``. A tag that is a number counts the
runs of the default; any other is an experiment of the paper (section 4), whose temperature, phrase
or persona stands nowhere else.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

ALIASES = {"gpt-3.5-turbo": "gpt-3.5-turbo-0125", "gpt-4o": "gpt-4o-2024-08-06"}
"""The versions that the paper played (section 3) where a file leaves them open."""
Treatment = dict[str, str | float]
TAGS: dict[str, Treatment] = {
    **{f"t{number}": {"temperature": number / 5} for number in range(6)},
    "cot1": {"chain_of_thought": "step_by_step"},
    **{f"cot{number}": {"chain_of_thought": f"phrase_{number}"} for number in range(2, 6)},
    "role1": {"persona": "cooperative"}, "role2": {"persona": "selfish"},
    "role3": {"persona": "mathematician"},
}  # fmt: skip
"""The treatments of Tables 5 and 7."""
JAILBREAK = "jailbreak"
"""What begins the tags of appendix H's runs."""
SETTINGS = {
    "guessing_game": "r", "bar_game": "r", "divide_dollar": "g", "public_goods": "r",
    "diner_dilemma": "p", "sealed_bid_auction": "vr", "battle_royale": "h", "pirate_game": "g",
}  # fmt: skip
"""What GAMA calls its games, and what begins the tags of Table 8's settings of each."""
_NAME = re.compile(
    rf"(?:(?P<model>.+?)[_-])?(?P<game>{'|'.join(SETTINGS)})"
    r"(?:_(?P<mode>implicit|explicit))?(?:_(?P<version>v\d))?(?:_(?P<tag>.+))?"
)
VERSION = re.compile(r"-\d{4}$")
"""The digits that tell a model's versions apart."""


class FileName(NamedTuple):
    """What a name tells; None where it does not.

    Attributes:
        model: the model's name.
        game: the game, one of :data:`SETTINGS`.
        mode: the feedback of the bar.
        version: of the prompts.
        tag: the run, or the experiment.
    """

    model: str | None = None
    game: str | None = None
    mode: str | None = None
    version: str | None = None
    tag: str | None = None

    @classmethod
    def of(cls, name: str, inner: str = "") -> "FileName":
        """What a file's name tells and, where it tells no game or no model, the name inside.

        The name inside (``meta.name_exp``) is that of the whole experiment, often without the run:
        of its version nothing follows.
        """
        outer, within = (
            cls(**found.groupdict()) if (found := _NAME.fullmatch(one)) else cls()
            for one in (name, inner)
        )
        if outer.game is None:
            return within._replace(version=None)
        return outer._replace(model=outer.model or within.model)

    def treatment(self, version: str) -> Treatment:
        """How the players' settings differ from the paper's default; empty for its runs.

        Args:
            version: of the prompts, as the file has it. A name that tells no run is that of the
                default among the versions of Table 6.
        """
        found: Treatment = {}
        if version != "v1" or (self.version and self.tag is None):
            found["style"] = version
        if self.tag and self.game and not re.fullmatch(r"[0-9]+", self.tag):
            kind = self.tag.rstrip("0123456789")
            number = self.tag.removeprefix(kind)
            if self.tag in TAGS:
                found |= TAGS[self.tag]
            elif number and kind in (SETTINGS[self.game], JAILBREAK):
                found["experiment"] = JAILBREAK if kind == JAILBREAK else "settings"
            else:
                found["experiment"] = self.tag
        return found


def exact_model(recorded: str, named: str | None, aliases: Mapping[str, str]) -> str:
    """A model's short name, with its version.

    Of a version in the file's name and one in the file, the first counts: the paper's own scores
    are of files picked by their names.

    >>> exact_model("openai/gpt-4", "gpt-4-0125-preview", {})
    'gpt-4-0125-preview'
    >>> exact_model("gpt-4o", None, ALIASES)
    'gpt-4o-2024-08-06'
    """
    short = recorded.rpartition("/")[2] or recorded
    if named and is_exacter(named, short):
        short = named
    return aliases.get(short, short)


def is_exacter(name: str, other: str) -> bool:
    """Whether a model's name tells a version that another name leaves open, or has otherwise.

    >>> is_exacter("gpt-4-0613", "gpt-4"), is_exacter("gpt-4-0613", "gpt-4-0125")
    (True, True)
    >>> is_exacter("gpt-4", "gpt-4-0125"), is_exacter("gpt-4o", "gpt-4")
    (False, False)
    """
    base = VERSION.sub("", other)
    return name.startswith(f"{base}-") and (base == other or VERSION.search(name) is not None)
