"""Adapt the README to a package index, where relative links don't work."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE_IMAGE = re.compile(r"!\[[^]]*\]\((?!https?:)[^)]*\)\n*")
RELATIVE_LINK = re.compile(r"\[([^]]*)\]\((?!https?:|#)[^)]*\)")


def for_an_index(readme: str) -> str:
    """Return a README without relative images, and with relative links as plain text."""
    return RELATIVE_LINK.sub(r"\1", RELATIVE_IMAGE.sub("", readme))


class IndexReadme(MetadataHookInterface):
    """Add the README to the metadata of the built package."""

    def update(self, metadata: dict[str, Any]) -> None:
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_an_index(readme)}
