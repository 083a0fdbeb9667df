"""The folder of a laboratory: where each study's text, store and outputs lie."""

from contextlib import suppress
from pathlib import Path

from cheaptalk.rules import unknown

STORE_ENDS = (
    "", "-wal", "-shm", "-journal", ".lock", ".run.json", ".orders",
    ".identities", ".identities-journal", ".identities-wal", ".identities-shm",
)  # fmt: skip
"""What follows the name of a store in the names of its files. None contains ``.sqlite`` or
``.yaml``, so that no file of a study is also a file of another one."""
NOT_NAMES = ("", ".", "..")
"""Names that lead out of the folder of outputs."""


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
        names = (file.stem for file in self.path.glob("*.yaml") if file.is_file())
        return sorted(name for name in names if name not in NOT_NAMES)

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

    def files(self, name: str) -> list[Path]:
        """Return every path that can belong to a study, its text last.

        The paths may be missing. They are listed instead of matched, because a pattern made of a
        study's name would match files of studies whose names begin with it.

        Raises:
            UnknownName: there is no such study.
        """
        store = self.store(name)
        beside = [store.with_name(f"{store.name}{end}") for end in STORE_ENDS]
        return [self.outputs(name), *beside, self.text(name)]

    def make_private(self) -> None:
        """Let only their owner read and write the files of all studies.

        Files that belong to another account stay as they are.
        """
        for name in self.names():
            for path in self.files(name):
                for one in (path, *(path.rglob("*") if path.is_dir() else ())):
                    if one.exists() and not one.is_symlink():
                        with suppress(PermissionError):
                            one.chmod(0o700 if one.is_dir() else 0o600)

    def _of(self, name: str, file: str) -> Path:
        names = self.names()
        if name not in names:
            raise unknown("study", name, names)
        return self.path / file
