"""Studies on a Ray cluster of two simulated machines."""

import asyncio
import os
import pickle
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from socket import AF_INET6, create_server
from threading import Event
from typing import Any

import pytest
from aiohttp import web

import cheaptalk as ct
from cheaptalk import cluster
from cheaptalk.calls.remote_models import Asker, RemoteModels
from cheaptalk.players import ModelSeat
from cheaptalk.records import Store
from tests.fakes import PATIENCE, Server, essence, study, with_model
from tests.postgres import LACKING, Databases, serving

pytestmark = [
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed"),
    pytest.mark.filterwarnings(r"ignore:os\.fork"),  # of JAX: Ray executes programs after forks
]
CHUNK = "cheaptalk.studies.runs.run.CHUNK"
NODE: dict[str, Any] = {"num_cpus": 1, "include_log_monitor": False}
"""Options of a simulated machine."""


@pytest.fixture(scope="module")
def machines() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")  # niced workers would wait for other tests
        made: Any = import_module("ray.cluster_utils").Cluster(
            initialize_head=True, head_node_args=NODE | {"include_dashboard": False}
        )
        patch.setenv("RAY_ADDRESS", made.address)
        yield made
    made.shutdown()


def essences(store: Path) -> dict[str, Any]:
    with Store.open(store) as opened:
        return {record.id: essence(record) for record in opened.records("small", bodies=True)}


class CallGate:
    """Hold calls until ``held`` are in flight, and record the maximum number in flight."""

    def __init__(self, held: int) -> None:
        self.held = held
        self.now = self.most = 0
        self.full, self.open = Event(), Event()

    def __enter__(self) -> "CallGate":
        return self

    def __exit__(self, *_: object) -> None:
        self.open.set()

    async def __call__(self, request: web.Request, body: dict[str, Any]) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            if self.now >= self.held:
                self.full.set()
            while not self.open.is_set():
                await asyncio.sleep(0.01)
        finally:
            self.now -= 1


def test_losing_a_machine_does_not_change_results(
    machines: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noticed, lose = Event(), RemoteModels._lose

    def losing(models: RemoteModels, asker: Any) -> None:
        noticed.set()
        lose(models, asker)

    monkeypatch.setattr(RemoteModels, "_lose", losing)
    monkeypatch.setattr(CHUNK, 4)
    door, node = CallGate(4), machines.add_node(**NODE)
    with Server(handler=door) as server, ThreadPoolExecutor(1) as pool, door:
        changes = with_model(server.url) | {"instances": 8, "budget": {"calls": 200}}
        changes["players"]["firm"] = {"strategy": "fixed_demand"}
        changes["pairing"].append(["fair", "firm"])
        made = study(**changes)
        run = pool.submit(ct.run, made, tmp_path / "there.sqlite", on="ray", concurrency=4)
        assert door.full.wait(PATIENCE)
        machines.remove_node(node)
        assert noticed.wait(PATIENCE)
        door.open.set()
        ended = run.result(2 * PATIENCE)
        bought = Counter(number.rpartition("/")[0] for number in server.calls)
        assert len(server.calls) == len(set(server.calls))
        ct.run(made, tmp_path / "here.sqlite")
    assert (ended.done, ended.failed, ended.halted) == (24, 0, None)
    assert door.most == 4
    assert essences(tmp_path / "there.sqlite") == essences(tmp_path / "here.sqlite")
    with Store.open(tmp_path / "there.sqlite") as store:
        cost = ct.records.study_cost(store, "small")
    lost = cost.uncounted
    assert 0 < lost <= 8, "only calls in flight on the lost machine"
    assert bought.keys() == {number for number, sent in bought.items() if sent <= 2}
    assert cost.calls - lost == len(bought), "each answer was bought once"
    assert len(bought) < bought.total() <= cost.calls, "calls received are in the ledger"


def test_version_mismatch_on_a_machine_raises_error(
    machines: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "__version__", "9.9")
    with pytest.raises(ct.CheaptalkError, match=r"on a machine .* but the caller has 9\.9"):
        ct.run(study(), tmp_path / "store.sqlite", on="ray")
    with Store.open(tmp_path / "store.sqlite") as store:
        assert store.study("small").counts == {}


def test_missing_dependency_of_a_machine_is_reported_before_first_call() -> None:
    class NoData:
        class missing_models:  # noqa: N801 - as Ray calls methods
            @staticmethod
            async def remote(_: Any) -> str:
                return "hf/tiny needs PyTorch"

    class Machines:
        def actors(self, *_: Any) -> list[NoData]:
            return [NoData()]

        async def answer(self, awaitable: Any) -> Any:
            return await awaitable

    seats = [(ModelSeat(model="vllm/tiny"), ct.games.Bargaining())]
    with pytest.raises(ct.CheaptalkError, match="on a machine of the cluster: hf/tiny needs"):
        asyncio.run(RemoteModels.begun(Machines(), seats))  # type: ignore[arg-type]


def test_provider_settings_and_keys_are_sent_to_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys, variables in URLs, and providers registered only in this process or its files."""
    sent: list[Any] = []

    class Machines:
        def actors(self, _kind: Any, *arguments: Any) -> list[Any]:
            sent.extend(arguments)
            return []

    variables = {
        "AZURE_OPENAI_API_KEY": "key",
        "AZURE_OPENAI_ENDPOINT": "https://lab.openai.azure.com",
        "LAB_KEY": "secret",
        "LAB_HOST": "https://lab.example.org",
    }
    for variable in variables.items():
        monkeypatch.setenv(*variable)
    monkeypatch.setenv("UNRELATED", "stays here")
    ct.register(ct.models.Provider(url="${LAB_HOST}/v1", key="LAB_KEY"), name="lab")
    try:
        game = ct.games.Bargaining()
        seats = [(ModelSeat(model=model), game) for model in ("azure-openai/gpt-4o", "lab/tiny")]
        asyncio.run(RemoteModels.begun(Machines(), seats))  # type: ignore[arg-type]
    finally:
        ct.models.PROVIDERS.remove("lab")
    known, _, providers = sent
    assert known == variables
    assert "lab" not in ct.models.PROVIDERS
    with monkeypatch.context() as machine:
        for name in variables:
            machine.delenv(name)
        machine.setattr(os, "environ", machine_environment := dict[str, str]())
        asker = Asker(known, [], pickle.loads(pickle.dumps(providers)))  # noqa: S301 - our own
        assert machine_environment == variables
    try:
        assert ct.models.PROVIDERS["lab"].key == "LAB_KEY"
        del asker
    finally:
        for name in providers:
            ct.models.PROVIDERS.remove(name)


def test_invalid_or_unreachable_address_raises_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    for on, message in (
        ("ray", r"at 127\.0\.0\.1:9 .* RAY_ADDRESS"),
        ("rays", r"rays: not a cluster address; write ray \(.*\) or ray://HOST:10001"),
        ("ray://127.0.0.1:9", "cannot reach a cluster"),
    ):
        with pytest.raises(ct.CheaptalkError, match=message):
            ct.run(study(), tmp_path / "store.sqlite", on=on)
    assert not any(tmp_path.iterdir())
    with create_server(("::1", 0), family=AF_INET6) as listening:
        cluster.check_address(f"ray://[::1]:{listening.getsockname()[1]}")
    monkeypatch.setattr(cluster, "find_spec", lambda _: None)
    with pytest.raises(ct.CheaptalkError, match=r"pip install 'cheaptalk\[ray\]'"):
        cluster.check_address("ray")


@pytest.mark.kill
@pytest.mark.skipif(LACKING is not None, reason=str(LACKING))
def test_run_survives_lost_machine_and_database_restart(
    machines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All matches end, none is stored twice, and the cost is that of the model's answers."""
    monkeypatch.setattr(CHUNK, 64)
    made = study(
        games=[{"game": "bargaining", "fixed": {"horizon": 12}}],
        players={"tiny": {"strategy": "random"}, "fair": {"strategy": "equal_split"}},
        pairing="all",
        instances=2_000,
    )
    disturbed, door = Event(), CallGate(1)
    with Server(handler=door) as server, serving() as database:
        live = study(**with_model(server.url) | {"instances": 40, "name": "live"})
        url = Databases(database).new()
        for target, scripted in ((made, True), (live, False)):
            node = machines.add_node(**NODE)

            def disturb(progress: ct.Progress, scripted: bool = scripted, node: Any = node) -> None:
                if progress.done > progress.planned / 3 and not disturbed.is_set():
                    disturbed.set()
                    machines.remove_node(node)
                    database.control("restart", "immediate")

            disturbed.clear()
            door.open.set()
            ended = ct.run(target, url, on="ray", progress=disturb)
            assert disturbed.is_set()
            assert (ended.done, ended.failed, ended.left) == (ended.planned, 0, 0)
        answered = len(server.calls)
        with Store.open(url) as store:
            counts = {summary.name: summary.counts for summary in store.studies()}
            cost = ct.records.study_cost(store, "live")
    assert counts == {"small": {"finished": 8_000}, "live": {"finished": 80}}
    assert cost.calls - cost.uncounted == len({call.rpartition("/")[0] for call in server.calls})
    assert cost.calls - cost.uncounted <= answered <= cost.calls


class FakeRay:
    """Ray without a running cluster, which starts one that listens at ``address``."""

    def __init__(self, address: str, problem: str = "") -> None:
        self.address, self.problem = address, problem
        self.addresses: list[str | None] = []
        self.stopped = False

    def init(self, address: str | None, **_: Any) -> None:
        self.addresses.append(address)
        if address == "auto":
            raise ConnectionError("no cluster runs")
        if self.problem:
            raise Exception(self.problem)  # as Ray does
        services: Any = import_module("ray._private.services")
        self.address = self.address or services.get_node_ip_address()

    def nodes(self) -> list[dict[str, str]]:
        return [{"NodeManagerAddress": self.address}]

    def shutdown(self) -> None:
        self.stopped = True


def test_running_cluster_is_joined_and_a_new_one_listens_on_loopback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    constants: Any = import_module("ray._private.ray_constants")
    monkeypatch.setattr(constants, "ENABLE_RAY_CLUSTER", True)
    ray = FakeRay("")
    cluster._join(ray, "ray")
    assert (ray.addresses, ray.address) == (["auto", "local"], "127.0.0.1")
    assert constants.ENABLE_RAY_CLUSTER is True
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    ray = FakeRay("10.0.0.1")
    cluster._join(ray, "ray")
    cluster._join(ray, "ray://host:10001")
    assert (ray.addresses, ray.stopped) == ([None, "ray://host:10001"], False)


@pytest.mark.parametrize(
    ("ray", "message"),
    [
        (FakeRay("192.0.2.2"), r"ray: the new cluster would listen on 192\.0\.2\.2, so others"),
        (
            FakeRay("", "timed out during startup"),
            r"cannot start a cluster on this machine \(timed out during st",
        ),
    ],
)
def test_exposed_or_failed_new_cluster_raises_error(
    ray: FakeRay, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(ct.CheaptalkError, match=message):
        cluster._join(ray, "ray")
    assert ray.stopped
