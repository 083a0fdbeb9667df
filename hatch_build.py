"""The README as a package index shows it, where links to files of the repository lead nowhere."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE_IMAGE = re.compile(r"!\[[^]]*\]\((?!https?:)[^)]*\)\n*")
RELATIVE_LINK = re.compile(r"\[([^]]*)\]\((?!https?:|#)[^)]*\)")


def for_an_index(readme: str) -> str:
    """A README without images and links that are relative; what a link says stays."""
    return RELATIVE_LINK.sub(r"\1", RELATIVE_IMAGE.sub("", readme))


class IndexReadme(MetadataHookInterface):
    """Puts the README into the metadata of a package that is built."""

    def update(self, metadata: dict[str, Any]) -> None:
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_an_index(readme)}
