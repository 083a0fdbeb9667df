"""A key, in the forms in which it may come back, and where it was written."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

KEY = "sk-Attack+9/fQ7zLr4Wm2Xy8Kd5Vb1Nc6Ht3"
"""The key of the attacks: letters of both cases, digits and signs that URLs escape."""


def forms(secret: str) -> Iterator[bytes]:
    """The secret as it is, and as encodings write it."""
    plain = secret.encode()
    yield plain
    yield plain.upper()
    yield plain.lower()
    yield "".join(f"\\u{ord(one):04x}" for one in secret).encode()
    yield json.dumps(secret).strip('"').replace("/", "\\/").encode()
    yield quote(secret, safe="").encode()
    yield "".join(f"%{byte:02x}" for byte in plain).encode()
    yield "".join(one if one.isalnum() else f"&#{ord(one)};" for one in secret).encode()
    yield "".join(f"&#x{byte:02X};" for byte in plain).encode()
    yield "".join(f"\\x{byte:02x}" for byte in plain).encode()
    yield plain.hex().encode()
    yield secret.encode("utf-16-le")
    yield secret.encode("utf-16-be")
    yield from base64_forms(plain)


def base64_forms(plain: bytes) -> Iterator[bytes]:
    """Base64 wherever in a text it begins, less the characters that its neighbours decide."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before in range(3):
            whole = encode(b"\0" * before + plain)
            start = (before * 8 + 5) // 6
            end = (before + len(plain)) * 8 // 6
            yield whole[start:end]


def leaks(secret: str, *places: Path) -> list[str]:
    """The files below some folders, their names included, that hold a secret in some form."""
    wanted = set(forms(secret))
    found = []
    for place in places:
        for file in sorted(place.rglob("*")):
            held = file.read_bytes() if file.is_file() else b""
            found += [f"{file}: {form!r}" for form in wanted if form in held + str(file).encode()]
    return found
