"""Words: what all games share in telling players what happened and reading what they answer."""

from cheaptalk.styles.codec import Codec, Illegal, JsonCodec, Unreadable
from cheaptalk.styles.codecs import CODECS
from cheaptalk.styles.style import (
    Style,
    block_name,
    dollars,
    number,
    percent,
    quoted,
    style,
    style_in,
)
from cheaptalk.styles.tagged import TaggedCodec

__all__ = [
    "CODECS", "Codec", "Illegal", "JsonCodec", "Style", "TaggedCodec", "Unreadable", "block_name",
    "dollars", "number", "percent", "quoted", "style", "style_in",
]  # fmt: skip
