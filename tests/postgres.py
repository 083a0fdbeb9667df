"""A temporary PostgreSQL server that uses the installed programs."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import sqlalchemy as sa
from docs.blocks import free_port

PROGRAM_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
"""Debian's folders of the server programs, which are not in PATH."""
FAST_SETTINGS = {"fsync": "off", "full_page_writes": "off"}
"""Settings of a server whose files need not survive a power failure."""


def find_program(name: str) -> str | None:
    """Return the path of a server program."""
    folders = [os.environ["PATH"], *map(str, PROGRAM_FOLDERS)]
    return shutil.which(name, path=os.pathsep.join(folders))


LACKING = None if find_program("pg_ctl") else "no PostgreSQL server is installed"


def user_options() -> Mapping[str, Any]:
    """Return the user that runs the server, which refuses to run as root."""
    return {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}


class Server(NamedTuple):
    """A running server.

    Attributes:
        url: its URL without a database.
        folder: the folder of its files.
    """

    url: str
    folder: Path

    def control(self, order: str, mode: str = "fast") -> None:
        """Start, stop or restart the server, and wait for completion."""
        more = () if order == "start" else ("-m", mode)
        run("pg_ctl", order, "-D", "data", "-l", "log", "-w", *more, at=self.folder)


@contextmanager
def serving() -> Iterator[Server]:
    """Run a server at loopback; stop it and delete its files at the end."""
    with TemporaryDirectory(prefix="postgres-") as made:  # accessible to the server's user
        server = Server(f"postgresql+psycopg://tester@127.0.0.1:{free_port()}", Path(made))
        if os.geteuid() == 0:
            shutil.chown(made, "postgres", "postgres")
        begin = ("-U", "tester", "-A", "trust", "-E", "UTF8", "--locale", "C.UTF-8", "--no-sync")
        run("initdb", "-D", "data", *begin, at=server.folder)
        settings = {
            **FAST_SETTINGS, "port": server.url.rpartition(":")[2], "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
        }  # fmt: skip
        with (server.folder / "data" / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
        server.control("start")
        try:
            yield server
        finally:
            server.control("stop", "immediate")


def run(name: str, *arguments: str, at: Path) -> None:
    path = find_program(name)
    assert path is not None
    subprocess.run(
        [path, *arguments], cwd=at, check=True, capture_output=name != "pg_ctl",
        stdout=None if name != "pg_ctl" else subprocess.DEVNULL, **user_options(),
    )  # fmt: skip


class Databases:
    """Creates databases in a server."""

    def __init__(self, server: Server, prefix: str = "store") -> None:
        self._server = server
        self._prefix = prefix
        self._numbers = count()

    def new(self) -> str:
        """Create a database and return its URL."""
        name = f"{self._prefix}_{next(self._numbers)}"
        engine = sa.create_engine(f"{self._server.url}/postgres", isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.exec_driver_sql(f"create database {name}")
        engine.dispose()
        return f"{self._server.url}/{name}"
