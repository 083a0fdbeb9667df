"""The laboratory's database: accounts, drafts and the audit log."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from cheaptalk.web.laboratory.audit import Audit
from cheaptalk.web.laboratory.drafts import Drafts
from cheaptalk.web.laboratory.sqlite_file import SqliteFile
from cheaptalk.web.laboratory.staff import Staff

FILE = "laboratory.db"
"""File name in the laboratory's folder."""


class LaboratoryDatabase:
    """The database in a laboratory's folder, which is created if it does not exist.

    Args:
        now: clock, in seconds since 1970.

    Raises:
        CheaptalkError: the file cannot be opened, has a newer version, or is another file.
    """

    def __init__(self, folder: Path, now: Callable[[], float] = time.time) -> None:
        self.file = SqliteFile(folder / FILE)
        self.audit = Audit(self.file, now)
        self.staff = Staff(self.file, self.audit)
        self.drafts = Drafts(self.file, self.audit, folder)

    def close(self) -> None:
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
