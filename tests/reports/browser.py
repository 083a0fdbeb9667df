"""A headless browser, driven over its debugging protocol."""

import asyncio
import base64
import json
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
)
CAPTURE = """window.saved = []; URL.createObjectURL = (blob) => {
    blob.text().then((text) => saved.push(text)); return "#"; }"""
"""Collects the files that a page offers to save in ``saved``."""
KEYS = {
    "Tab": 9, "Enter": 13, "Escape": 27, "Space": 32, "End": 35, "Home": 36,
    "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip
"""The keys that tests press, and their codes."""
TIMEOUT = 60.0
"""Timeout of each wait in seconds."""


class Navigated(AssertionError):
    """The page was replaced before a command returned."""


class Tab:
    """A tab of the browser.

    Attributes:
        fetched: the requested URLs.
        complaints: errors and warnings of the page.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.numbers = count(1)
        self.fetched: list[str] = []
        self.complaints: list[str] = []

    async def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its result; record events in the meantime."""
        number = next(self.numbers)
        await self.socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            message = json.loads((await self.socket.receive(TIMEOUT)).data)
            if message.get("id") == number:
                if "navigated" in message.get("error", {}).get("message", ""):
                    raise Navigated(message)
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self.note(message["method"], message["params"])

    def note(self, method: str, parameters: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.fetched.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(parameters["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.complaints.append(parameters["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.complaints.append(f"dialog: {parameters['message']}")

    async def run(self, code: str) -> Any:
        """Evaluate a JavaScript expression; await it if it is a promise."""
        response = await self.send(
            "Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in response, response
        return response["result"].get("value")

    async def read(self, code: str) -> Any:
        """Evaluate an expression that changes nothing, again if the page reloads meanwhile."""
        while True:
            with suppress(Navigated):
                return await self.run(code)

    async def until(self, code: str) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + TIMEOUT
        while not await self.read(code):
            assert time.monotonic() < deadline, f"never true: {code}"
            await asyncio.sleep(0.05)

    async def visit(self, address: str, width: int = 1280, scheme: str = "light") -> None:
        """Load a page with this window width and colour scheme."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.send(f"{domain}.enable")
        await self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        await self.send(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        await self.send("Page.navigate", url=address)
        await self.until("document.readyState === 'complete'")

    async def press(self, key: str) -> None:
        """Press a key, such as Tab, Shift+Tab, Space or a digit."""
        shift, _, name = key.rpartition("+")
        code = KEYS.get(name) or ord(name)
        pressed: dict[str, Any] = {"key": " " if name == "Space" else name, "code": name}
        pressed |= {"windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        text = {"Enter": "\r", "Space": " "}.get(name, name if len(name) == 1 else "")
        await self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **pressed)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **pressed)

    async def write(self, text: str) -> None:
        """Type into the focused element."""
        await self.send("Input.insertText", text=text)

    async def screenshot(self) -> bytes:
        """Return the whole page as PNG."""
        shot = await self.send("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    async def printed(self) -> bytes:
        """Return the page as PDF."""
        return base64.b64decode((await self.send("Page.printToPDF"))["data"])


class Browser:
    """A browser whose tabs have separate profiles, and so separate cookies.

    Args:
        connect: opens a connection that ends with the browser.
        root: the connection that opens tabs.
        address: the address of the tabs' sockets.
    """

    def __init__(self, connect: Callable[[str], Awaitable[Tab]], root: Tab, address: str) -> None:
        self.connect = connect
        self.root = root
        self.address = address

    async def tab(self) -> Tab:
        """Open another tab."""
        profile = (await self.root.send("Target.createBrowserContext"))["browserContextId"]
        made = await self.root.send(
            "Target.createTarget", url="about:blank", browserContextId=profile, newWindow=True
        )
        return await self.connect(f"{self.address}/devtools/page/{made['targetId']}")


@asynccontextmanager
async def browser(folder: Path) -> AsyncIterator[Browser]:
    """Start a browser whose profile is in a folder."""
    assert CHROMIUM is not None
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            port, path = await _socket(folder / "DevToolsActivePort")
            address = f"ws://127.0.0.1:{port}"
            async with AsyncExitStack() as stack:
                client = await stack.enter_async_context(aiohttp.ClientSession())

                async def connect(url: str) -> Tab:
                    socket = client.ws_connect(url, max_msg_size=0)
                    return Tab(await stack.enter_async_context(socket))

                root = await connect(f"{address}{path}")
                yield Browser(connect, root, address)
                await root.send("Browser.close")  # also ends its child processes
                await asyncio.to_thread(process.wait, TIMEOUT)
        finally:
            process.kill()


async def _socket(file: Path) -> list[str]:
    """Return the port and the path of the browser's socket."""
    deadline = time.monotonic() + TIMEOUT
    while not (file.exists() and file.read_text().count("\n")):
        assert time.monotonic() < deadline, "the browser did not start"
        await asyncio.sleep(0.05)
    return file.read_text().split()


def browse(folder: Path, visit: Callable[[Tab], Any]) -> None:
    """Run a coroutine function on a tab of a new browser whose profile is in a folder."""

    async def work() -> None:
        async with browser(folder) as opened:
            await visit(await opened.tab())

    asyncio.run(work())
