"""Distribution of work over the machines of a Ray cluster, which may join and leave at any time.

Clusters require the extra ``[ray]``. Ray is imported when a cluster is first used.
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
CONNECT_TIMEOUT = 10.0
"""Timeout of the connection to a cluster's head node, in seconds."""
MINIMAL_RESERVATION: dict[str, Any] = {"memory": 1}
"""Resources that an object reserves, because Ray only spreads reservations over machines."""
QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
"""Options that keep the output of workers in the cluster's logs."""


class MachineLost(CheaptalkError):
    """Raised if a machine of the cluster was lost during a call."""


class Cluster:
    """Machines that work in parallel; if one is lost, another machine repeats its work."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._groups = import_module("ray.util.placement_group")
        self._reservations: list[Any] = []
        self._task = ray.remote(_call).options(max_retries=-1, num_cpus=1)

    @property
    def cpus(self) -> int:
        """The current number of the cluster's processors, at least 1."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 0)))

    @property
    def machines(self) -> int:
        """The current number of the cluster's machines."""
        return sum(node["Alive"] for node in self._ray.nodes())

    def pickle(self, value: Any) -> bytes:
        """Pickle an object as for a call on one of the machines."""
        data: bytes = import_module("ray.cloudpickle").dumps(value)
        return data

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a module-level function on one of the machines."""
        future: Future[T] = self._task.remote(__version__, work, args, kwargs).future()
        return future

    def actors(self, kind: Callable[P, Any], *args: P.args, **kwargs: P.kwargs) -> list[Any]:
        """Create a Ray actor on each machine; actors of lost machines are recreated elsewhere."""
        reservations = [MINIMAL_RESERVATION] * self.machines
        group = self._groups.placement_group(reservations, strategy="SPREAD")
        self._reservations.append(group)
        strategy = import_module("ray.util.scheduling_strategies").PlacementGroupSchedulingStrategy
        remote = self._ray.remote(_versioned(kind))
        return [
            remote.options(
                max_restarts=-1,
                max_concurrency=1_000,
                num_cpus=0,
                **MINIMAL_RESERVATION,
                scheduling_strategy=strategy(group, index),
            ).remote(__version__, *args, **kwargs)
            for index in range(len(group.bundle_specs))
        ]

    def leave(self) -> None:
        """Release the cluster's reservations."""
        for group in self._reservations:
            self._groups.remove_placement_group(group)

    async def answer(self, result: Awaitable[T]) -> T:
        """Return the result of an actor's method; MachineLost if its effect is unknown."""
        errors = self._ray.exceptions
        try:
            return await result
        except errors.RayTaskError as error:
            raise error.cause from error
        except errors.RayError as error:
            raise MachineLost("a machine of the cluster was lost") from error


def _check_version(expected: str) -> None:
    if expected != __version__:
        raise CheaptalkError(
            f"this machine has cheaptalk {__version__}, but the caller has {expected}; install the "
            "same version on all machines of the cluster"
        )


def _call(version: str, work: Callable[..., T], args: Any, kwargs: Any) -> T:
    _check_version(version)
    return work(*args, **kwargs)


def _versioned(kind: Callable[..., Any]) -> type:
    """Return a subclass that checks the version of cheaptalk before it creates an object."""

    class Remote(kind):  # type: ignore[misc, valid-type]
        def __init__(self, version: str, *args: Any, **kwargs: Any) -> None:
            _check_version(version)
            super().__init__(*args, **kwargs)

    return Remote


def check_address(cluster_address: str) -> None:
    """Check a cluster's address and, if the port is known, that a server listens there.

    The address is ``ray``, or ``ray://HOST:PORT``. Raises CheaptalkError, also if Ray is not
    installed.
    """
    host, _, port = cluster_address.removeprefix("ray://").rpartition(":")
    remote = cluster_address.startswith("ray://") and host and port.isdecimal()
    if cluster_address != "ray" and not remote:
        raise CheaptalkError(
            f"{cluster_address}: not a cluster address; write ray (the cluster in RAY_ADDRESS, a "
            "cluster on this machine, or a new one) or ray://HOST:10001"
        )
    if find_spec("ray") is None:
        raise CheaptalkError(f"clusters require Ray, which is not installed; run: {EXTRA}")
    address = os.environ.get("RAY_ADDRESS", "") if cluster_address == "ray" else cluster_address
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        _check_listening(cluster_address, host, int(port))


@contextmanager
def cluster(on: str) -> Iterator[Cluster]:
    """Connect to a cluster, and disconnect at the end.

    ``ray://HOST:PORT`` connects as a client; ``ray`` is the cluster in ``RAY_ADDRESS``, otherwise a
    cluster on this machine, which is started if necessary. Raises CheaptalkError if the cluster is
    unavailable, if Ray is not installed, or if work failed on a machine of the cluster.
    """
    check_address(on)
    ray = import_module("ray")
    joined = not ray.is_initialized()
    if joined:
        try:
            _join(ray, on)
        except (ConnectionError, RuntimeError, ValueError) as error:
            reason = first_line(error)
            raise CheaptalkError(
                f"{on}: cannot reach the cluster ({reason}); check that the head node is running, "
                "and set RAY_AUTH_MODE=token if the cluster requires a token"
            ) from error
    machines = Cluster(ray)
    try:
        yield machines
    except ray.exceptions.RayTaskError as error:
        raise CheaptalkError(f"on a machine of the cluster: {_cause(error)}") from error
    except ray.exceptions.RayError as error:
        raise CheaptalkError(
            f"the cluster failed ({first_line(error)}); completed matches are saved: resume the run"
        ) from error
    finally:
        if joined:
            ray.shutdown()
        else:
            machines.leave()


def _join(ray: Any, on: str) -> None:
    """Connect to a cluster; the address ``ray`` starts one on this machine if none is running."""
    if on != "ray" or os.environ.get("RAY_ADDRESS"):
        ray.init(None if on == "ray" else on, **QUIET)
        return
    try:
        ray.init("auto", **QUIET)
    except ConnectionError:
        _start(ray)


def _start(ray: Any) -> None:
    """Start a cluster on this machine, accessible only through the loopback interface.

    The restriction is necessary because anyone with access to a cluster's ports can run programs.
    """
    try:
        with loopback_only():
            ray.init("local", include_dashboard=False, **QUIET)
    except Exception as error:  # Ray raises no more specific class
        ray.shutdown()
        raise CheaptalkError(
            f"ray: cannot start a cluster on this machine ({first_line(error)}); Ray's processes "
            "must start within 15 seconds, so try again when the machine is less busy"
        ) from error
    addresses = [node["NodeManagerAddress"] for node in ray.nodes()]
    if not all(ip_address(address).is_loopback for address in addresses):
        ray.shutdown()
        raise CheaptalkError(
            f"ray: the new cluster would listen on {', '.join(addresses)}, so others could run "
            "programs on it; start a cluster with: ray start --head, and set RAY_ADDRESS"
        )


@contextmanager
def loopback_only() -> Iterator[None]:
    """Make clusters that Ray starts on this machine listen only on the loopback interface.

    On Linux, Ray replaces loopback addresses unless clusters of several machines are disabled.
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
    """Yield a pool of processes on this machine, or of a cluster's machines (:func:`cluster`)."""
    if on is None:
        with processes(count, lost) as pool:
            yield pool
    else:
        with cluster(on) as machines:
            yield machines


def _check_listening(on: str, host: str, port: int) -> None:
    """Check within seconds that a server is listening; Ray's own timeout takes minutes."""
    try:
        create_connection((host.strip("[]"), port), CONNECT_TIMEOUT).close()
    except (OSError, OverflowError) as error:
        address = "RAY_ADDRESS" if on == "ray" else "the address of the client server"
        raise CheaptalkError(
            f"{on}: cannot reach a cluster at {host}:{port} ({error}); check {address} and that "
            "the head node is running"
        ) from error


def _cause(error: Any) -> str:
    cause = error.cause
    return str(cause) if isinstance(cause, CheaptalkError) else f"{type(cause).__name__}: {cause}"
