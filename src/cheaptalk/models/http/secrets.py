"""Secrets in what servers say: keys and proxies' passwords are taken out, however written.

A server may repeat what it was sent as it stands or in another case, with JSON's or a URL's
escapes, in UTF-16, in base64 or in hexadecimal digits, within a longer text or alone.
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
"""Characters that a secret has at least. What is shorter is a placeholder, such as ``EMPTY``, and
may be a word of a message."""
BLANK = "[key]"
"""What stands in a secret's place."""
SIGNS = r"[\\%&\x00\r\n\xad\u200b-\u200d\u2060\ufeff]"
ESCAPED = re.compile(SIGNS)
"""What every escape begins with."""
ESCAPES = re.compile(
    rf"(?={SIGNS})(?:"
    r"(?:\\+(?:[uU]00|[xX])|%(?:25)*|&#[xX]0*)([0-9a-fA-F]{2});?|&#0*(\d{2,3});"
    r"|\\+(?:[nrt]|[uU](?:200[b-d]|[fF][eE][fF]{2}))?|[\x00\r\n\xad\u200b-\u200d\u2060\ufeff])"
)
"""What a character may be hidden by: an escape of JSON's, of a URL's, of a web page's or of a
program's, a backslash before it, or what stands between the bytes of UTF-16 or breaks a line."""
ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")


class Forms(NamedTuple):
    """How secrets are looked for.

    Attributes:
        lower: they as they are and in hexadecimal digits, in small letters.
        base64: they in base64, as far as their neighbours leave it alone.
        pattern: matches any of both.
    """

    lower: tuple[str, ...]
    base64: tuple[str, ...]
    pattern: re.Pattern[str]


def of_proxy(url: str | None) -> tuple[str, ...]:
    """The secrets in a proxy's URL: the password, and what stands for it in a header.

    >>> of_proxy("http://me:open%20sesame@proxy:3128")
    ('me:open%20sesame', 'open%20sesame', 'me:open sesame', 'open sesame')
    """
    who, at, _ = urlsplit(url or "").netloc.rpartition("@")
    if not at:
        return ()
    return tuple(
        form for whole in dict.fromkeys((who, unquote(who)))
        for form in (whole, whole.partition(":")[2])
    )  # fmt: skip


@lru_cache(maxsize=256)
def _forms(secrets: tuple[str, ...]) -> Forms | None:
    long = [one for one in secrets if len(one) >= LEAST]
    if not long:
        return None
    encoded = tuple(dict.fromkeys(core for one in long for core in _base64(one)))
    long += [one.encode("utf-8", "surrogatepass").hex() for one in long]
    plain = (f"(?i:{re.escape(one)})" for one in sorted(long, key=len, reverse=True))
    inner = (re.escape(one).replace(r"\+", "[+-]").replace("/", "[/_]") for one in encoded)
    return Forms(
        tuple(one.lower() for one in long), encoded, re.compile("|".join((*plain, *inner)))
    )


def _base64(secret: str) -> Iterator[str]:
    """A secret in base64, at each place in three bytes, without what its neighbours decide."""
    for encoding in ENCODINGS:
        data = secret.encode(encoding, "surrogatepass")
        for before in range(3):
            whole = b64encode(bytes(before) + data + bytes(3)).decode()
            yield whole[-(-8 * before // 6) : 8 * (before + len(data)) // 6]


def scrubbed(text: str, secrets: tuple[str, ...]) -> str:
    r"""A text without secrets.

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
        any(one in small for one in forms.lower) or any(one in standard for one in forms.base64)
    ):
        return text
    kept, end = [], 0
    for start, stop in _places(text, [one.span() for one in forms.pattern.finditer(plain)]):
        kept.append(text[end:start])
        end = stop
    return BLANK.join((*kept, text[end:]))


def _unescaped(found: re.Match[str]) -> str:
    """The character that an escape stands for; nothing for what only stands between."""
    said = chr(int(found[1], 16)) if found[1] else chr(int(found[2])) if found[2] else ""
    return "" if said in "\x00\r\n" else said


def _places(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Where spans of the text without escapes stand in the text itself."""
    lengths, ends = [0], [0]  # how much of both texts has been passed, at each change
    for found in ESCAPES.finditer(text):
        between = found.start() - ends[-1]
        if between:
            lengths.append(lengths[-1] + between)
            ends.append(found.start())
        lengths.append(lengths[-1] + len(_unescaped(found)))
        ends.append(found.end())

    def place(position: int) -> tuple[int, int]:
        """Where the character at a position begins and ends."""
        last = bisect_right(lengths, position) - 1
        start = ends[last] + position - lengths[last]
        escape = lengths[last + 1 : last + 2] == [lengths[last] + 1]
        return start, ends[last + 1] if escape else start + 1

    for start, stop in spans:
        yield place(start)[0], place(stop - 1)[1]


def scrubbed_values(data: Any, secrets: tuple[str, ...]) -> Any:
    """Plain data without secrets in any of its texts, names of fields included."""
    if _forms(secrets) is None:
        return data
    if isinstance(data, str):
        return scrubbed(data, secrets)
    if isinstance(data, list):
        return [scrubbed_values(one, secrets) for one in data]
    if isinstance(data, dict):
        return {scrubbed(key, secrets): scrubbed_values(one, secrets) for key, one in data.items()}
    return data


def scrubbed_reply(reply: Reply, secrets: tuple[str, ...]) -> Reply:
    """A reply without secrets, those included that only come together in it."""
    said = {name: value for name, value in reply if isinstance(value, str | tuple)}
    clean = {
        name: scrubbed(value, secrets)
        if isinstance(value, str)
        else tuple(scrubbed(one, secrets) for one in value)
        for name, value in said.items()
    }
    return reply if clean == said else reply.model_copy(update=clean)
