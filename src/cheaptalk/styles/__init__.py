"""Words: what all games share in telling players what happened and reading what they answer."""

from cheaptalk.styles.codec import Codec, Illegal, JsonCodec
from cheaptalk.styles.codecs import CODECS
from cheaptalk.styles.finding import Unreadable
from cheaptalk.styles.quoting import disarmed, quoted
from cheaptalk.styles.style import (
    Style,
    block_name,
    dollars,
    number,
    percent,
    style,
    style_in,
)
from cheaptalk.styles.tagged import TaggedCodec

__all__ = [
    "CODECS", "Codec", "Illegal", "JsonCodec", "Style", "TaggedCodec", "Unreadable", "block_name",
    "disarmed", "dollars", "number", "percent", "quoted", "style", "style_in",
]  # fmt: skip
