"""Firefox by its own protocol, Marionette, which needs no driver."""

import base64
import json
import shutil
import socket
import subprocess
import time
from itertools import count

import pytest

TAB, ENTER, RIGHT, DOWN = "\ue004", "\ue007", "\ue014", "\ue015"


class Firefox:
    """A window of Firefox without a screen, which can open pages, run scripts and press keys."""

    def __init__(self, profile):
        program = shutil.which("firefox-esr") or shutil.which("firefox")
        if program is None:
            pytest.fail("install Firefox; on Debian: apt-get install firefox-esr")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        wishes = {
            "marionette.port": port,
            "browser.shell.checkDefaultBrowser": False,
            "ui.prefersReducedMotion": 1,
        }
        lines = [f'user_pref("{name}", {json.dumps(value)});\n' for name, value in wishes.items()]
        (profile / "user.js").write_text("".join(lines))
        self.process = subprocess.Popen(
            [program, "--headless", "--marionette", "--no-remote", "--profile", str(profile)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.socket = self._connect(port)
        self.numbers = count(1)
        self._receive()
        self.send("WebDriver:NewSession", acceptInsecureCerts=False)
        self.send("WebDriver:SetTimeouts", script=120_000)

    def _connect(self, port):
        for _ in range(600):
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=120)
            except OSError:
                time.sleep(0.1)
        raise AssertionError("Firefox did not start")

    def _receive(self):
        """Read a message: its length, a colon, and JSON."""
        length = b""
        while not length.endswith(b":"):
            length += self.socket.recv(1)
        content = b""
        while len(content) < int(length[:-1]):
            content += self.socket.recv(2**16)
        return json.loads(content)

    def send(self, command, **parameters):
        """Give a command, and return what comes of it."""
        number = next(self.numbers)
        content = json.dumps([0, number, command, parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(content), content))
        _, answered, error, result = self._receive()
        assert answered == number
        assert error is None, error
        return result.get("value") if isinstance(result, dict) else result

    def open(self, path, width=1440):
        self.send("WebDriver:SetWindowRect", width=width, height=1000)
        self.send("WebDriver:Navigate", url=path.as_uri())

    def run(self, script, *arguments):
        return self.send(
            "WebDriver:ExecuteScript", script=f"return {script}", args=list(arguments), sandbox=None
        )

    def wait(self, script, *arguments):
        """Run a script that calls its last argument, and return with what."""
        return self.send("WebDriver:ExecuteAsyncScript", script=script, args=list(arguments), sandbox=None)

    def until(self, script, seconds=20):
        """Wait until an expression holds, and return it."""
        for _ in range(int(seconds / 0.1)):
            found = self.run(script)
            if found:
                return found
            time.sleep(0.1)
        raise AssertionError(f"{script} did not come to hold")

    def press(self, *keys):
        steps = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.send("WebDriver:PerformActions", actions=[{"type": "key", "id": "keys", "actions": steps}])

    def picture(self):
        return base64.b64decode(self.send("WebDriver:TakeScreenshot", full=False))

    def quit(self):
        self.send("Marionette:Quit", flags=["eForceQuit"])
        self.socket.close()
        self.process.wait(timeout=30)
