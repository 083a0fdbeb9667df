"""A PostgreSQL server for tests: its programs are the system's, its files a folder that goes."""

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

PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
"""Where Debian has the server's programs, which are in nobody's PATH."""
FAST = {"fsync": "off", "full_page_writes": "off"}
"""Settings of a server whose files nobody misses after a power failure."""


def program(name: str) -> str | None:
    """Where one of the server's programs is."""
    return shutil.which(name, path=os.pathsep.join([os.environ["PATH"], *map(str, PLACES)]))


LACKING = None if program("pg_ctl") else "no PostgreSQL server is installed"


def as_its_user() -> Mapping[str, Any]:
    """Who runs the server: it refuses to be root's."""
    return {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}


class Server(NamedTuple):
    """A server that runs.

    Attributes:
        url: of it, without a database.
        folder: where its files are.
    """

    url: str
    folder: Path

    def control(self, order: str, mode: str = "fast") -> None:
        """Start, stop or restart it, and wait until it has done so."""
        more = () if order == "start" else ("-m", mode)
        run("pg_ctl", order, "-D", "data", "-l", "log", "-w", *more, at=self.folder)


@contextmanager
def serving() -> Iterator[Server]:
    """A server on loopback, which is gone in the end with all its files."""
    with TemporaryDirectory(prefix="postgres-") as made:  # where its own user may go
        server = Server(f"postgresql+psycopg://tester@127.0.0.1:{free_port()}", Path(made))
        if os.geteuid() == 0:
            shutil.chown(made, "postgres", "postgres")
        begin = ("-U", "tester", "-A", "trust", "-E", "UTF8", "--locale", "C.UTF-8", "--no-sync")
        run("initdb", "-D", "data", *begin, at=server.folder)
        settings = {
            **FAST, "port": server.url.rpartition(":")[2], "listen_addresses": "127.0.0.1",
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
    found = program(name)
    assert found is not None
    subprocess.run(
        [found, *arguments], cwd=at, check=True, capture_output=name != "pg_ctl",
        stdout=None if name != "pg_ctl" else subprocess.DEVNULL, **as_its_user(),
    )  # fmt: skip


class Databases:
    """New databases of a server."""

    def __init__(self, server: Server, prefix: str = "store") -> None:
        self._server = server
        self._prefix = prefix
        self._numbers = count()

    def new(self) -> str:
        """The URL of a new database."""
        name = f"{self._prefix}_{next(self._numbers)}"
        engine = sa.create_engine(f"{self._server.url}/postgres", isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.exec_driver_sql(f"create database {name}")
        engine.dispose()
        return f"{self._server.url}/{name}"
