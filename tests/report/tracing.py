"""Chromium's own performance trace, in which tasks have the processor time that they took."""

import json
from contextlib import contextmanager
from urllib.request import urlopen

CATEGORIES = ["devtools.timeline", "disabled-by-default-devtools.timeline"]


@contextmanager
def traced(driver):
    """Trace what happens within, and yield a list that the milliseconds of the page's tasks come to."""
    import websocket  # comes with selenium

    place = driver.capabilities["goog:chromeOptions"]["debuggerAddress"]
    with urlopen(f"http://{place}/json/version", timeout=10) as answer:
        address = json.load(answer)["webSocketDebuggerUrl"]
    line = websocket.create_connection(address, suppress_origin=True, timeout=60)
    tasks = []
    try:
        config = {"transferMode": "ReportEvents", "traceConfig": {"includedCategories": CATEGORIES}}
        line.send(json.dumps({"id": 1, "method": "Tracing.start", "params": config}))
        while json.loads(line.recv()).get("id") != 1:
            pass
        yield tasks
        line.send(json.dumps({"id": 2, "method": "Tracing.end"}))
        events, message = [], {}
        while message.get("method") != "Tracing.tracingComplete":
            message = json.loads(line.recv())
            if message.get("method") == "Tracing.dataCollected":
                events += message["params"]["value"]
    finally:
        line.close()
    mains = {(each["pid"], each["tid"]) for each in events if each["name"] == "FunctionCall"}
    tasks += [
        each["tdur"] / 1000
        for each in events
        if each["name"] == "RunTask" and "tdur" in each and (each["pid"], each["tid"]) in mains
    ]
