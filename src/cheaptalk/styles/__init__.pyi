from .codec import Codec, Illegal, JsonCodec
from .json_objects import Unreadable
from .quotes import disarmed, quoted
from .tagged import TaggedCodec
from .templates import (
    CODECS,
    Style,
    StyleError,
    block_name,
    dollars,
    number,
    percent,
    style,
    style_in,
)

__all__ = [
    "CODECS",
    "Codec",
    "Illegal",
    "JsonCodec",
    "Style",
    "StyleError",
    "TaggedCodec",
    "Unreadable",
    "block_name",
    "disarmed",
    "dollars",
    "number",
    "percent",
    "quoted",
    "style",
    "style_in",
]
