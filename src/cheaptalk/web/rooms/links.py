"""Signed links: who somebody is, told by the address that they were given and nothing else."""

import hashlib
import hmac
import secrets
from pathlib import Path

from itsdangerous import BadSignature, SignatureExpired, Signer, TimestampSigner

from cheaptalk.rules import CheaptalkError
from cheaptalk.whole_files import whole_path

LASTS = 90 * 24 * 3600
"""Seconds for which a link leads somewhere."""
SHORTEST = 32
"""Bytes of a key."""
CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Of codes that people read to one another: none that is taken for another."""


class BadLink(Exception):
    """A link that was never given out."""


class ExpiredLink(Exception):
    """A link whose time is over."""


def key_beside(store: str) -> bytes:
    """The key that signs links to a store's tables, from a file that only its owner can read.

    It is ``STORE.key`` beside a store that is a file, else ``cheaptalk.key`` in this folder, made
    where there is none. Whoever has it can be anybody at the tables.

    Raises:
        CheaptalkError: the file holds no key, or cannot be read or made.
    """
    path = Path("cheaptalk.key" if "://" in store else f"{store}.key")
    try:
        if not path.exists():
            with whole_path(path) as half:
                half.touch(mode=0o600)
                half.write_bytes(secrets.token_bytes(SHORTEST))
        key = path.read_bytes()
    except OSError as error:
        raise CheaptalkError(f"{path}: {error.strerror}; links are signed with it") from error
    if len(key) < SHORTEST:
        raise CheaptalkError(f"{path} is no key: it has fewer than {SHORTEST} bytes; move it away")
    return key


class Links:
    """Signs names of guests, and reads them back.

    Args:
        key: secret.
        lasts: seconds after which a link expires.
    """

    def __init__(self, key: bytes, lasts: int = LASTS) -> None:
        self.signer = TimestampSigner(key, salt="cheaptalk.rooms", digest_method=hashlib.sha256)
        self.offers = Signer(key, salt="cheaptalk.offers", digest_method=hashlib.sha256)
        self.key = key
        self.lasts = lasts

    def token(self, guest: str) -> str:
        """What stands in the link of a guest."""
        return self.signer.sign(guest).decode()

    def offer(self, name: str) -> str:
        """What an offer is called on pages.

        Its name is a hash of the game's parameters, some of which one seat alone may know; whoever
        reads it could try all that these may be.
        """
        return self.offers.get_signature(name).decode()[:16]

    def code(self, what: str) -> str:
        """Eight letters for something, the same each time, which nobody else can tell."""
        digest = hmac.digest(self.key, f"cheaptalk.codes/{what}".encode(), "sha256")
        return "".join(CODE_LETTERS[byte % len(CODE_LETTERS)] for byte in digest[:8])

    def secret(self, of: str) -> str:
        """What only a browser knows to which it was given; the same each time."""
        return hmac.new(self.key, f"cheaptalk.browsers/{of}".encode(), "sha256").hexdigest()

    def guest(self, token: str) -> str:
        """Whose link it is.

        Raises:
            BadLink: nobody's.
            ExpiredLink: it was somebody's.
        """
        try:
            return self.signer.unsign(token, max_age=self.lasts).decode()
        except SignatureExpired as error:
            raise ExpiredLink from error
        except BadSignature as error:
            raise BadLink from error


def new_name() -> str:
    """The name of a new guest, which nobody can guess."""
    return secrets.token_hex(8)


def new_code() -> str:
    """The code of a room."""
    return "".join(secrets.choice(CODE_LETTERS) for _ in range(6))
