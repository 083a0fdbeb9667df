"""Removal of keys and proxy passwords from servers' responses, in all common encodings.

A server may echo a secret verbatim or in another case, with JSON or URL escapes, or in UTF-16,
base64 or hexadecimal digits.
"""

import re
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from cheaptalk.models.calls import Reply

LEAST = 8
"""Minimum characters of a secret: shorter ones are placeholders, such as ``EMPTY``."""
BLANK = "[key]"
"""Replacement of a secret."""
SIGNS = r"[\\%&\x00\r\n\xad\u200b-\u200d\u2060\ufeff]"
ESCAPED = re.compile(SIGNS)
"""First characters of escapes."""
ESCAPES = re.compile(
    rf"(?={SIGNS})(?:"
    r"(?:\\+(?:[uU]00|[xX])|%(?:25)*|&#[xX]0*)([0-9a-fA-F]{2});?|&#0*(\d{2,3});"
    r"|\\+(?:[nrt]|[uU](?:200[b-d]|[fF][eE][fF]{2}))?|[\x00\r\n\xad\u200b-\u200d\u2060\ufeff])"
)
"""Escapes of JSON, URLs, HTML and program code, backslashes, UTF-16 null bytes and line breaks."""
ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")


class Forms(NamedTuple):
    """Search patterns for a set of secrets in lower case, and in base64.

    The former include hexadecimal digits; the latter lack characters that depend on adjacent bytes.
    """

    lower: tuple[str, ...]
    base64: tuple[str, ...]
    pattern: re.Pattern[str]


def of_proxy(url: str | None) -> tuple[str, ...]:
    """Return the secrets in a proxy's URL: the credentials and the password.

    >>> of_proxy("http://me:open%20sesame@proxy:3128")
    ('me:open%20sesame', 'open%20sesame', 'me:open sesame', 'open sesame')
    """
    credentials, separator, _ = urlsplit(url or "").netloc.rpartition("@")
    if not separator:
        return ()
    texts = dict.fromkeys((credentials, unquote(credentials)))
    return tuple(form for text in texts for form in (text, text.partition(":")[2]))


@lru_cache(maxsize=256)
def _forms(secrets: tuple[str, ...]) -> Forms | None:
    long_secrets = [secret for secret in secrets if len(secret) >= LEAST]
    if not long_secrets:
        return None
    encoded = tuple(dict.fromkeys(core for secret in long_secrets for core in _base64(secret)))
    long_secrets += [secret.encode("utf-8", "surrogatepass").hex() for secret in long_secrets]
    plain = (f"(?i:{re.escape(secret)})" for secret in sorted(long_secrets, key=len, reverse=True))
    inner = (re.escape(core).replace(r"\+", "[+-]").replace("/", "[/_]") for core in encoded)
    return Forms(
        tuple(secret.lower() for secret in long_secrets),
        encoded,
        re.compile("|".join((*plain, *inner))),
    )


def _base64(secret: str) -> Iterator[str]:
    """Yield a secret's base64 forms at each offset, without characters that other bytes affect."""
    for encoding in ENCODINGS:
        data = secret.encode(encoding, "surrogatepass")
        for offset in range(3):
            encoded = b64encode(bytes(offset) + data + bytes(3)).decode()
            yield encoded[-(-8 * offset // 6) : 8 * (offset + len(data)) // 6]


def scrubbed(text: str, secrets: tuple[str, ...]) -> str:
    r"""Remove secrets from a text.

    >>> scrubbed(r"no such key: \u0073K-1234567%38", ("sk-12345678",))
    'no such key: [key]'
    >>> scrubbed("EMPTY", ("EMPTY",))
    'EMPTY'
    """
    forms = _forms(secrets)
    if forms is None or not text:
        return text
    plain = ESCAPES.sub(_unescaped, text) if ESCAPED.search(text) else text
    small, standard = plain.lower(), plain.replace("-", "+").replace("_", "/")
    if not (
        any(secret in small for secret in forms.lower)
        or any(secret in standard for secret in forms.base64)
    ):
        return text
    pieces, end = [], 0
    spans = [match.span() for match in forms.pattern.finditer(plain)]
    for start, stop in _original_spans(text, spans):
        pieces.append(text[end:start])
        end = stop
    return BLANK.join((*pieces, text[end:]))


def _unescaped(escape: re.Match[str]) -> str:
    """Decode an escape sequence to its character; return an empty string for separators."""
    character = chr(int(escape[1], 16)) if escape[1] else chr(int(escape[2])) if escape[2] else ""
    return "" if character in "\x00\r\n" else character


def _original_spans(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Map spans in unescaped text to the corresponding spans in the original text."""
    lengths, ends = [0], [0]  # positions in both texts at each change
    for escaped_match in ESCAPES.finditer(text):
        gap = escaped_match.start() - ends[-1]
        if gap:
            lengths.append(lengths[-1] + gap)
            ends.append(escaped_match.start())
        lengths.append(lengths[-1] + len(_unescaped(escaped_match)))
        ends.append(escaped_match.end())

    def span(position: int) -> tuple[int, int]:
        """Return the start and end of an unescaped character in the original text."""
        index = bisect_right(lengths, position) - 1
        start = ends[index] + position - lengths[index]
        escape = lengths[index + 1 : index + 2] == [lengths[index] + 1]
        return start, ends[index + 1] if escape else start + 1

    for start, stop in spans:
        yield span(start)[0], span(stop - 1)[1]


def scrubbed_values(data: Any, secrets: tuple[str, ...]) -> Any:
    """Remove secrets from all texts in JSON-like data, including keys."""
    if _forms(secrets) is None:
        return data
    if isinstance(data, str):
        return scrubbed(data, secrets)
    if isinstance(data, list | tuple):
        return type(data)(scrubbed_values(value, secrets) for value in data)
    if isinstance(data, dict):
        return {
            scrubbed(key, secrets): scrubbed_values(value, secrets) for key, value in data.items()
        }
    return data


def scrubbed_reply(reply: Reply, secrets: tuple[str, ...]) -> Reply:
    """Remove secrets from all texts of a reply."""
    texts = {name: value for name, value in reply if isinstance(value, str | tuple)}
    clean = {name: scrubbed_values(value, secrets) for name, value in texts.items()}
    return reply if clean == texts else reply.model_copy(update=clean)
