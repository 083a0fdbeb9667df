"""Signed links: who somebody is, told by the address that they were given and nothing else."""

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable
from pathlib import Path

LASTS = 90 * 24 * 3600.0
"""Seconds for which a link leads somewhere."""
FORM = re.compile(r"([0-9a-f]{16})\.([0-9a-f]{8,12})\.([0-9a-f]{32})")


class BadLink(Exception):
    """A link that was never given out."""


class ExpiredLink(Exception):
    """A link whose time is over."""


def key_at(path: Path) -> bytes:
    """The key that signs links, made where there is none; only its owner can read the file.

    Whoever has it can be anybody at the tables of its store.

    Raises:
        OSError: the file can neither be read nor made.
    """
    if not path.exists():
        path.touch(mode=0o600)
        path.write_bytes(secrets.token_bytes(32))
    return path.read_bytes()


class Links:
    """Signs names of guests, and reads them back.

    Args:
        key: secret.
        lasts: seconds after which a link expires.
        now: seconds since 1970.
    """

    def __init__(
        self, key: bytes, lasts: float = LASTS, now: Callable[[], float] = time.time
    ) -> None:
        self.key = key
        self.lasts = lasts
        self.now = now

    def token(self, guest: str) -> str:
        """What stands in the link of a guest."""
        said = f"{guest}.{int(self.now() + self.lasts):08x}"
        return f"{said}.{self._mac(said)}"

    def guest(self, token: str) -> str:
        """Whose link it is.

        Raises:
            BadLink: nobody's.
            ExpiredLink: it was somebody's.
        """
        written = FORM.fullmatch(token)
        said = token.rpartition(".")[0]
        if written is None or not hmac.compare_digest(self._mac(said), written[3]):
            raise BadLink
        if int(written[2], 16) < self.now():
            raise ExpiredLink
        return written[1]

    def _mac(self, said: str) -> str:
        return hmac.new(self.key, said.encode(), hashlib.sha256).hexdigest()[:32]


def new_name() -> str:
    """The name of a new guest or room, which nobody can guess."""
    return secrets.token_hex(8)


CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Of codes that people read to one another: none that is taken for another."""


def new_code() -> str:
    """The code of a room."""
    return "".join(secrets.choice(CODE_LETTERS) for _ in range(6))
