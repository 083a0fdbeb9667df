"""The folder of a laboratory: where each study's text, store and outputs lie."""

from pathlib import Path

from cheaptalk.rules import unknown


class Folder:
    """The folder of a laboratory.

    A study is there if its text is; no other name leads to any path.

    Args:
        path: where the folder is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        """The names of all studies that were launched."""
        return sorted(one.stem for one in self.path.glob("*.yaml") if one.is_file())

    def text(self, name: str) -> Path:
        """The file of a study.

        Raises:
            UnknownName: there is no such study.
        """
        return self._of(name, f"{name}.yaml")

    def store(self, name: str) -> Path:
        """Where a study's store is, or will be.

        Raises:
            UnknownName: there is no such study.
        """
        return self._of(name, f"{name}.sqlite")

    def outputs(self, name: str) -> Path:
        """The folder of what is made of a study; it may be missing.

        Raises:
            UnknownName: there is no such study.
        """
        return self._of(name, "outputs") / name

    def _of(self, name: str, file: str) -> Path:
        names = self.names()
        if name not in names:
            raise unknown("study", name, names)
        return self.path / file
