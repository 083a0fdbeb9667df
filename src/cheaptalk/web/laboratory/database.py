"""The laboratory's database: what researchers share, beside the stores of their studies."""

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from cheaptalk.web.laboratory.audit import Audit
from cheaptalk.web.laboratory.drafts import Drafts
from cheaptalk.web.laboratory.sqlite_file import SqliteFile
from cheaptalk.web.laboratory.staff import Staff

FILE = "laboratory.db"
"""Its name in the laboratory's folder."""


class LaboratoryDatabase:
    """The database in a laboratory's folder, which is made where there is none.

    Args:
        folder: it must exist.
        now: the time, in seconds since 1970.

    Attributes:
        audit: the log of deeds.
        staff: the accounts and who is logged in.
        drafts: the studies as they are written.

    Raises:
        CheaptalkError: its file cannot be opened, is of a later version, or is something else.
    """

    def __init__(self, folder: Path, now: Callable[[], float] = time.time) -> None:
        self.file = SqliteFile(folder / FILE)
        self.audit = Audit(self.file, now)
        self.staff = Staff(self.file, self.audit)
        self.drafts = Drafts(self.file, self.audit)

    def close(self) -> None:
        """Let go of the file."""
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()
