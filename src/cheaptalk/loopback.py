"""Ports of this machine that nobody reaches from elsewhere."""

import socket

from cheaptalk.rules import CheaptalkError

HOST = "127.0.0.1"


def listening(port: int) -> socket.socket:
    """A socket that listens at a port of this machine; port 0 takes any that is free.

    Raises:
        CheaptalkError: the port is taken.
    """
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((HOST, port))
        made.listen()
    except OSError as error:
        made.close()
        raise CheaptalkError(
            f"port {port} cannot be used ({error.strerror}); choose another with --port"
        ) from error
    return made
