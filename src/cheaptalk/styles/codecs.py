"""The codecs that a style can name."""

from cheaptalk.styles.codec import Codec, JsonCodec
from cheaptalk.styles.tagged import TaggedCodec

CODECS: dict[str, Codec] = {
    "json": JsonCodec(),
    "tagged": TaggedCodec(text="message", numbers="propose"),
}
