"""Sockets that are only reachable from this machine by default."""

import errno
import socket

from cheaptalk.rules import CheaptalkError

HOST = "127.0.0.1"


def listening(port: int, host: str = HOST) -> socket.socket:
    """Return a socket that listens on a port; port 0 picks a free port.

    Args:
        host: the address of this machine to listen on.

    Raises:
        CheaptalkError: the port is in use, or the address does not belong to this machine.
    """
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
        sock.listen()
    except OSError as error:
        sock.close()
        reason = error.strerror or str(error)
        if host != HOST and error.errno != errno.EADDRINUSE:
            raise CheaptalkError(
                f"cannot listen on {host} ({reason}); use an address of this machine"
            ) from error
        raise CheaptalkError(
            f"port {port} cannot be used ({reason}); choose another with --port"
        ) from error
    return sock
