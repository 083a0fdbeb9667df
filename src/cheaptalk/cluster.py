"""Work on the machines of a Ray cluster, which may come and go meanwhile.

Ray is loaded when a cluster is first asked for; it needs ``[ray]``.
"""

import os
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from ipaddress import ip_address
from socket import create_connection
from typing import Any, ParamSpec, TypeVar

from cheaptalk import __version__
from cheaptalk.processes import Pool, processes
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.errors import first_line

P = ParamSpec("P")
T = TypeVar("T")

EXTRA = "pip install 'cheaptalk[ray]'"
KNOCK = 10.0
"""Seconds for which a cluster's head may take to let one in."""
A_BYTE: dict[str, Any] = {"memory": 1}
"""What an object reserves on its machine, since only reservations are spread for sure."""
QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
"""Whatever goes wrong on a worker comes back as an error; its prints are the cluster's to keep."""


class MachineLost(CheaptalkError):
    """A machine of the cluster was lost while it worked."""


class Cluster:
    """Machines that work at the same time: what one does when it is lost, another does again."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._groups = import_module("ray.util.placement_group")
        self._held: list[Any] = []
        self._task = ray.remote(_called).options(max_retries=-1, num_cpus=1)

    @property
    def cpus(self) -> int:
        """How many processors there are now, and at least one."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 0)))

    @property
    def machines(self) -> int:
        """How many there are now."""
        return sum(node["Alive"] for node in self._ray.nodes())

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a function of a module called on one of them."""
        future: Future[T] = self._task.remote(__version__, work, args, kwargs).future()
        return future

    def actors(self, kind: Callable[P, Any], *args: P.args, **kwargs: P.kwargs) -> list[Any]:
        """An object of a kind on each machine, made anew elsewhere when its machine is lost.

        Its methods are called as Ray's are, many at once.
        """
        group = self._groups.placement_group([A_BYTE] * self.machines, strategy="SPREAD")
        self._held.append(group)
        at = import_module("ray.util.scheduling_strategies").PlacementGroupSchedulingStrategy
        remote = self._ray.remote(_versioned(kind))
        return [
            remote.options(
                max_restarts=-1, max_concurrency=1_000, num_cpus=0, **A_BYTE,
                scheduling_strategy=at(group, place),
            ).remote(__version__, *args, **kwargs)
            for place in range(len(group.bundle_specs))
        ]  # fmt: skip

    def leave(self) -> None:
        """Give back what it reserved there."""
        for group in self._held:
            self._groups.remove_placement_group(group)

    async def answer(self, asked: Awaitable[T]) -> T:
        """What a method of an actor brings.

        Raises:
            MachineLost: its machine was lost meanwhile, and nobody knows what it did.
        """
        errors = self._ray.exceptions
        try:
            return await asked
        except errors.RayTaskError as error:
            raise error.cause from error
        except errors.RayError as error:
            raise MachineLost("a machine of the cluster was lost meanwhile") from error


def _check_version(wanted: str) -> None:
    if wanted != __version__:
        raise CheaptalkError(
            f"it has cheaptalk {__version__}, and {wanted} asks it to work; install the same "
            "version on all machines of the cluster"
        )


def _called(version: str, work: Callable[..., T], args: Any, kwargs: Any) -> T:
    _check_version(version)
    return work(*args, **kwargs)


def _versioned(kind: Callable[..., Any]) -> type:
    """A class for Ray to make objects of, where the version is right."""

    class Remote(kind):  # type: ignore[misc, valid-type]
        def __init__(self, version: str, *args: Any, **kwargs: Any) -> None:
            _check_version(version)
            super().__init__(*args, **kwargs)

    return Remote


def check_address(on: str) -> None:
    """See that somebody may be asked to work there, and listens where an address is known.

    Args:
        on: ``ray``, or ``ray://HOST:PORT``.

    Raises:
        CheaptalkError: it is neither, nobody listens there, or Ray is not installed.
    """
    if on != "ray" and not on.startswith("ray://"):
        raise CheaptalkError(
            f"{on}: no cluster; write ray (the one of RAY_ADDRESS or of this machine, or a new one "
            "here) or ray://HOST:10001"
        )
    host, _, port = on.removeprefix("ray://").rpartition(":")
    if on != "ray" and not (host and port.isdecimal()):
        raise CheaptalkError(f"{on}: no cluster's address; write ray://HOST:10001")
    if find_spec("ray") is None:
        raise CheaptalkError(f"work on a cluster needs Ray, which is not installed: {EXTRA}")
    address = os.environ.get("RAY_ADDRESS", "") if on == "ray" else on
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        _see_that_somebody_listens(on, host, int(port))


@contextmanager
def cluster(on: str) -> Iterator[Cluster]:
    """A cluster, which is left at the end.

    Args:
        on: ``ray`` for the cluster that ``RAY_ADDRESS`` names, or else one that runs on this
            machine, or else a new one here; or ``ray://HOST:PORT`` for a client of one.

    Raises:
        CheaptalkError: there is none, Ray is not installed, or work failed on one of its machines.
    """
    check_address(on)
    ray = import_module("ray")
    joined = not ray.is_initialized()
    if joined:
        try:
            _join(ray, on)
        except (ConnectionError, RuntimeError, ValueError) as error:
            said = first_line(error)
            raise CheaptalkError(
                f"{on}: no cluster can be reached ({said}); see that its head runs, and set "
                "RAY_AUTH_MODE=token where it wants a token"
            ) from error
    machines = Cluster(ray)
    try:
        yield machines
    except ray.exceptions.RayTaskError as error:
        raise CheaptalkError(f"on a machine of the cluster: {_cause(error)}") from error
    except ray.exceptions.RayError as error:
        said = first_line(error)
        raise CheaptalkError(
            f"the cluster failed ({said}); what was played is kept: resume"
        ) from error
    finally:
        if joined:
            ray.shutdown()
        else:
            machines.leave()


def _join(ray: Any, on: str) -> None:
    """Connect to a cluster; with ``ray``, start a new one here if none runs.

    Raises:
        CheaptalkError: none could be started here.
    """
    if on != "ray" or os.environ.get("RAY_ADDRESS"):
        ray.init(None if on == "ray" else on, **QUIET)
        return
    try:
        ray.init("auto", **QUIET)
    except ConnectionError:
        _start(ray)


def _start(ray: Any) -> None:
    """Start a cluster of this machine that listens on loopback only.

    Anyone who reaches a cluster's ports may run programs on it.

    Raises:
        CheaptalkError: it does not start, or listens beyond this machine.
    """
    try:
        with loopback_only():
            ray.init("local", include_dashboard=False, **QUIET)
    except Exception as error:  # Ray raises it bare
        ray.shutdown()
        raise CheaptalkError(
            f"ray: no cluster could be started here ({first_line(error)}); Ray gives its own "
            "processes 15 seconds to start, so try again when this machine is less busy"
        ) from error
    addresses = [node["NodeManagerAddress"] for node in ray.nodes()]
    if not all(ip_address(address).is_loopback for address in addresses):
        ray.shutdown()
        raise CheaptalkError(
            f"ray: the new cluster would listen on {', '.join(addresses)}, where others may run "
            "programs on it; start one yourself with: ray start --head, and set RAY_ADDRESS"
        )


@contextmanager
def loopback_only() -> Iterator[None]:
    """Let a cluster that Ray starts meanwhile listen on loopback, as it does on Windows and macOS.

    Ray replaces a loopback address that it is given with one that others can reach, unless
    clusters of several machines are switched off.
    """
    constants: Any = import_module("ray._private.ray_constants")
    before = constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before


@contextmanager
def working(count: int, on: str | None, lost: str) -> Iterator[Pool]:
    """Processes of this machine, or the machines of a cluster where one is named.

    Args:
        count: of processes.
        on: as :func:`cluster` takes it.
        lost: as :func:`~cheaptalk.processes.processes` takes it.

    Raises:
        CheaptalkError: as these do.
    """
    if on is None:
        with processes(count, lost) as pool:
            yield pool
    else:
        with cluster(on) as machines:
            yield machines


def _see_that_somebody_listens(on: str, host: str, port: int) -> None:
    """Find out in seconds what Ray would find out in minutes, or never."""
    try:
        create_connection((host.strip("[]"), port), KNOCK).close()
    except (OSError, OverflowError) as error:
        where = "RAY_ADDRESS is that of its head" if on == "ray" else "its client server is there"
        raise CheaptalkError(
            f"{on}: no cluster can be reached at {host}:{port} ({error}); see that its head runs, "
            f"and that {where}"
        ) from error


def _cause(error: Any) -> str:
    cause = error.cause
    return str(cause) if isinstance(cause, CheaptalkError) else f"{type(cause).__name__}: {cause}"
