"""Sockets that by default can only be reached from this machine."""

import errno
import socket

from cheaptalk.rules import CheaptalkError

HOST = "127.0.0.1"


def listening(port: int, host: str = HOST) -> socket.socket:
    """Return a socket that listens on a port of this machine; port 0 picks a free port.

    Raises:
        CheaptalkError: the port is in use, or ``host`` is not an address of this machine.
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
        problem = f"port {port} cannot be used ({reason}); choose another port"
        raise CheaptalkError(problem) from error
    return sock
