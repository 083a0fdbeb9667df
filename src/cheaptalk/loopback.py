"""Ports of this machine that nobody reaches from elsewhere, unless told otherwise."""

import errno
import socket

from cheaptalk.rules import CheaptalkError

HOST = "127.0.0.1"


def listening(port: int, host: str = HOST) -> socket.socket:
    """A socket that listens at a port of this machine; port 0 takes any that is free.

    Args:
        host: at which of its addresses.

    Raises:
        CheaptalkError: the port is taken, or the address is none of this machine's.
    """
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen()
    except OSError as error:
        made.close()
        why = error.strerror or str(error)
        if host != HOST and error.errno != errno.EADDRINUSE:
            raise CheaptalkError(f"{host} is no address to listen at here ({why})") from error
        raise CheaptalkError(
            f"port {port} cannot be used ({why}); choose another with --port"
        ) from error
    return made
