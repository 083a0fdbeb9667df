"""Words: what all games share in telling players what happened and reading what they answer."""

from cheaptalk.styles.codec import Codec, Illegal, JsonCodec
from cheaptalk.styles.json_objects import Unreadable
from cheaptalk.styles.quotes import disarmed, quoted
from cheaptalk.styles.style import (
    CODECS,
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
