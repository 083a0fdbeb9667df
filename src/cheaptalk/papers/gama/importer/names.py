"""Information in the names of GAMA's files: models, runs and treatments.

A file name is ``[MODEL_]GAME[_MODE][_VERSION][_TAG].json``. Numeric tags number the default runs.
Other tags identify the paper's experiments (section 4), with temperature, phrase or persona.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

ALIASES = {"gpt-3.5-turbo": "gpt-3.5-turbo-0125", "gpt-4o": "gpt-4o-2024-08-06"}
"""The versions that the paper used (section 3), for files without a version."""
Treatment = dict[str, str | float]
TAGS: dict[str, Treatment] = {
    **{f"t{number}": {"temperature": number / 5} for number in range(6)},
    "cot1": {"chain_of_thought": "step_by_step"},
    **{f"cot{number}": {"chain_of_thought": f"phrase_{number}"} for number in range(2, 6)},
    "role1": {"persona": "cooperative"},
    "role2": {"persona": "selfish"},
    "role3": {"persona": "mathematician"},
}
"""The treatments of Tables 5 and 7."""
JAILBREAK = "jailbreak"
"""The prefix of tags of the runs in appendix H."""
SETTINGS = {
    "guessing_game": "r",
    "bar_game": "r",
    "divide_dollar": "g",
    "public_goods": "r",
    "diner_dilemma": "p",
    "sealed_bid_auction": "vr",
    "battle_royale": "h",
    "pirate_game": "g",
}
"""GAMA's names of games, each with the prefix of tags of the settings in Table 8."""
_NAME = re.compile(
    rf"(?:(?P<model>.+?)[_-])?(?P<game>{'|'.join(SETTINGS)})"
    r"(?:_(?P<mode>implicit|explicit))?(?:_(?P<version>v\d))?(?:_(?P<tag>.+))?"
)
VERSION = re.compile(r"-\d{4}$")
"""The digits that distinguish a model's versions."""


class FileName(NamedTuple):
    """The parts of a file name; missing parts are None.

    ``mode`` is the feedback of the bar, ``version`` that of the prompts, and ``tag`` the run or the
    experiment.
    """

    model: str | None = None
    game: str | None = None
    mode: str | None = None
    version: str | None = None
    tag: str | None = None

    @classmethod
    def of(cls, name: str, inner: str = "") -> "FileName":
        """Parse a file name; if the game or model is missing, use ``meta.name_exp`` (``inner``)."""
        outer, within = (
            cls(**match.groupdict()) if (match := _NAME.fullmatch(text)) else cls()
            for text in (name, inner)
        )
        if outer.game is None:
            return within._replace(version=None)
        return outer._replace(model=outer.model or within.model)

    def treatment(self, version: str) -> Treatment:
        """Return the players' settings that differ from the paper's defaults.

        A file name with a version of the prompts but without a run is the default run in Table 6.
        """
        settings: Treatment = {}
        if version != "v1" or (self.version and self.tag is None):
            settings["style"] = version
        if self.tag and self.game and not re.fullmatch(r"[0-9]+", self.tag):
            kind = self.tag.rstrip("0123456789")
            number = self.tag.removeprefix(kind)
            if self.tag in TAGS:
                settings |= TAGS[self.tag]
            elif number and kind in (SETTINGS[self.game], JAILBREAK):
                settings["experiment"] = JAILBREAK if kind == JAILBREAK else "settings"
            else:
                settings["experiment"] = self.tag
        return settings


def exact_model(recorded: str, named: str | None, aliases: Mapping[str, str]) -> str:
    """Return a model's short name with its version, preferably as in the file name.

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
    """Return whether a model name differs from another only by an added or changed version.

    >>> is_exacter("gpt-4-0613", "gpt-4"), is_exacter("gpt-4-0613", "gpt-4-0125")
    (True, True)
    >>> is_exacter("gpt-4", "gpt-4-0125"), is_exacter("gpt-4o", "gpt-4")
    (False, False)
    """
    base = VERSION.sub("", other)
    return name.startswith(f"{base}-") and (base == other or VERSION.search(name) is not None)
