"""Signed links, which are the only way to identify visitors."""

import hashlib
import hmac
import secrets
from pathlib import Path

from itsdangerous import BadSignature, SignatureExpired, Signer, TimestampSigner

from cheaptalk.atomic_files import whole_path
from cheaptalk.records.store.lookup import StoreLike
from cheaptalk.records.store.store import Store
from cheaptalk.rules import CheaptalkError

LIFETIME = 90 * 24 * 3600
"""Default lifetime of links in seconds."""
MIN_KEY_BYTES = 32
CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Characters of codes, without those that are easily confused."""


class BadLink(Exception):
    """A link without a valid signature."""


class ExpiredLink(Exception):
    """A link that has expired."""


def load_link_key(store: StoreLike) -> bytes:
    """Return the key for signing links, stored in a file that only its owner can read.

    The file is ``STORE.key`` next to a file store, otherwise ``cheaptalk.key`` in the working
    directory. A missing file is created. The key gives access to all seats.

    Raises:
        CheaptalkError: the key is too short, or its file cannot be read or created.
    """
    store = store.name if isinstance(store, Store) else str(store)
    path = Path("cheaptalk.key" if "://" in store else f"{store}.key")
    try:
        if not path.exists():
            with whole_path(path) as half:
                half.touch(mode=0o600)
                half.write_bytes(secrets.token_bytes(MIN_KEY_BYTES))
        key = path.read_bytes()
    except OSError as error:
        raise CheaptalkError(
            f"cannot read or create the link-signing key {path}: {error.strerror}"
        ) from error
    if len(key) < MIN_KEY_BYTES:
        raise CheaptalkError(
            f"{path} is not a link-signing key: expected at least {MIN_KEY_BYTES} bytes, got "
            f"{len(key)}; move the file away to create a new key"
        )
    return key


class Links:
    """Signer and verifier of visitors' links."""

    def __init__(self, key: bytes, lifetime: int = LIFETIME) -> None:
        self.signer = TimestampSigner(key, salt="cheaptalk.rooms", digest_method=hashlib.sha256)
        self.template_signer = Signer(key, salt="cheaptalk.offers", digest_method=hashlib.sha256)
        self.key = key
        self.lifetime = lifetime

    def token(self, visitor: str) -> str:
        return self.signer.sign(visitor).decode()

    def table_template(self, name: str) -> str:
        """Return the public identifier of a table template.

        The name itself is a hash of the game's parameters, some of which may be private to a seat;
        a visitor who knew it could test guesses.
        """
        return self.template_signer.get_signature(name).decode()[:16]

    def code(self, subject: str) -> str:
        """Return an eight-letter code derived from a subject and the secret key."""
        digest = hmac.digest(self.key, f"cheaptalk.codes/{subject}".encode(), "sha256")
        return "".join(CODE_LETTERS[byte % len(CODE_LETTERS)] for byte in digest[:8])

    def secret(self, participant: str) -> str:
        """Return the secret that is stored in the browser where a participant started."""
        return hmac.new(
            self.key, f"cheaptalk.browsers/{participant}".encode(), "sha256"
        ).hexdigest()

    def visitor(self, token: str) -> str:
        """Return the visitor whose link contains a token; raise BadLink or ExpiredLink."""
        try:
            return self.signer.unsign(token, max_age=self.lifetime).decode()
        except SignatureExpired as error:
            raise ExpiredLink from error
        except BadSignature as error:
            raise BadLink from error


def new_name() -> str:
    """Return an unguessable name for a new visitor."""
    return secrets.token_hex(8)


def new_code() -> str:
    """Return a random invitation code for a room."""
    return "".join(secrets.choice(CODE_LETTERS) for _ in range(6))
