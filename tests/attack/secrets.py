"""The forms in which a key may leak, and a search for them in texts and files."""

import base64
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import quote

KEY = "sk-Attack+9/fQ7zLr4Wm2Xy8Kd5Vb1Nc6Ht3"
"""The key of the attacks, with both cases, digits and characters that URLs escape."""
ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")


@cache
def forms(secret: str) -> frozenset[bytes]:
    """Return a secret in all encodings in which a server may repeat it."""
    return frozenset((*(text.encode() for text in texts(secret)), *encoded(secret)))


def texts(secret: str) -> Iterator[str]:
    escaped = "".join(f"\\u{ord(char):04x}" for char in secret)
    begin, end = secret[:6], secret[6:]
    yield from (secret, secret.upper(), secret.lower())
    yield from (escaped, escaped[:18] + secret[3:], escaped.upper(), json.dumps(escaped))
    yield json.dumps(secret).strip('"').replace("/", "\\/")
    yield quote(secret, safe="")
    yield "".join(char if char.isalnum() else f"&#{ord(char)};" for char in secret)
    for form in ("%{:02x}", "%{:02X}", "%25{:02x}", "&#x{:02X};", "\\x{:02x}", "{:02x}"):
        yield "".join(form.format(byte) for byte in secret.encode())
    for separator in ("\n", "\\n", "\\u200b"):
        yield begin + separator + end
    yield "\\u0000".join(secret)


def encoded(secret: str) -> Iterator[bytes]:
    """Yield UTF-16, and base64 at each offset, without the characters that depend on neighbours."""
    for encoding in ENCODINGS:
        data = secret.encode(encoding)
        yield data
        for before in range(3):
            start, end = (before * 8 + 5) // 6, (before + len(data)) * 8 // 6
            standard = base64.b64encode(b"\0" * before + data)[start:end]
            yield from (standard, standard.translate(bytes.maketrans(b"+/", b"-_")))


def leaks_in(data: str | bytes, secret: str) -> list[bytes]:
    """Return the forms of a secret that a text contains, also with repeated backslashes."""
    content = data if isinstance(data, bytes) else data.encode(errors="surrogatepass")
    single = re.sub(rb"\\+", rb"\\", content)
    return [form for form in forms(secret) if form in content or form in single]


def leaks(secret: str, folder: Path) -> list[str]:
    """Return the files in a folder whose name or content contains a secret in any form."""
    return [
        f"{file}: {form!r} leaked"
        for file in sorted(folder.rglob("*"))
        for form in leaks_in(file.read_bytes() if file.is_file() else b"", secret)
        + leaks_in(str(file), secret)
    ]
