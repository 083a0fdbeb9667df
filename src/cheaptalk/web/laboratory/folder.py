"""The folder of a laboratory, with each study's file, store and outputs."""

from contextlib import suppress
from pathlib import Path

from cheaptalk.rules import unknown

STORE_ENDS = (
    "",
    "-wal",
    "-shm",
    "-journal",
    ".lock",
    ".run.json",
    ".commands",
    ".identities",
    ".identities-journal",
    ".identities-wal",
    ".identities-shm",
)
"""Suffixes of a store's files. None contains ``.sqlite`` or ``.yaml``, so that no file of a study
is also a file of another one."""
NOT_NAMES = ("", ".", "..")
"""Names that would lead out of the folder of outputs."""


class Folder:
    """The folder in which a laboratory stores its studies.

    Methods raise :class:`.UnknownName` for a name without a study file, so that no other name gives
    access to a path.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        names = (file.stem for file in self.path.glob("*.yaml") if file.is_file())
        return sorted(name for name in names if name not in NOT_NAMES)

    def text(self, name: str) -> Path:
        return self._path(name, f"{name}.yaml")

    def store(self, name: str) -> Path:
        return self._path(name, f"{name}.sqlite")

    def outputs(self, name: str) -> Path:
        return self._path(name, "outputs") / name

    def files(self, name: str) -> list[Path]:
        """Return the paths of all files of a study, including missing ones, the study file last.

        The paths are listed instead of matched, because a pattern would also match files of studies
        whose names start with this study's name.
        """
        store = self.store(name)
        beside = [store.with_name(f"{store.name}{end}") for end in STORE_ENDS]
        return [self.outputs(name), *beside, self.text(name)]

    def make_private(self) -> None:
        """Make the studies' files readable by their owner only; skip files of other accounts."""
        for name in self.names():
            for path in self.files(name):
                for file in (path, *(path.rglob("*") if path.is_dir() else ())):
                    if file.exists() and not file.is_symlink():
                        with suppress(PermissionError):
                            file.chmod(0o700 if file.is_dir() else 0o600)

    def _path(self, name: str, file: str) -> Path:
        names = self.names()
        if name not in names:
            raise unknown("study", name, names)
        return self.path / file
