"""Programs behind ``command:`` that misbehave, each in one way: ``python misbehaving_workers.py NAME``."""

import json
import os
import signal
import subprocess
import sys
import time


def send(**message):
    print(json.dumps(message), flush=True)


def ready(**more):
    send(type="ready", protocol=1, **more)


def receive():
    return json.loads(sys.stdin.readline())


def another_protocol():
    """Has version 2 of the protocol."""
    send(type="ready", protocol=2)
    sys.stdin.read()


def no_protocol():
    """Writes a greeting instead of the protocol."""
    print("hello", flush=True)
    sys.stdin.read()


def silent_death():
    """Exits before it writes anything."""
    sys.exit(7)


def poet():
    """Wants a language that does not exist."""
    ready(wants="poetry")
    sys.stdin.read()


def no_json():
    """Writes no JSON."""
    ready()
    while receive():
        print("nonsense", flush=True)


def sends_twice():
    """Sends every message twice."""
    ready()
    while True:
        number = receive()["id"]
        print(f'{{"id": {number}, "type": "unable", "message": "no"}}\n' * 2, end="", flush=True)


def dies_later():
    """Dies after its message is sent."""
    ready()
    send(id=receive()["id"], type="unable", message="no")
    time.sleep(0.3)
    sys.exit(7)


def closes_stdin():
    """Sends one message, and closes its stdin."""
    ready()
    send(id=receive()["id"], type="unable", message="no")
    os.close(0)
    time.sleep(600)


def closes_stdout():
    """Sends one message, and closes its stdout."""
    ready()
    send(id=receive()["id"], type="unable", message="no")
    os.close(1)
    time.sleep(600)


def no_outputs():
    """Gives a list where outputs have names."""
    ready()
    while True:
        send(id=receive()["id"], type="result", outputs=[1])


def too_deep():
    """Nests deeper than the reader allows."""
    ready()
    while receive():
        print("[" * 200_000, flush=True)


def no_dtype():
    """Has an incomplete dtype."""
    ready()
    while True:
        send(id=receive()["id"], type="result", outputs={"Y": {"dtype": "(", "shape": [0], "data": ""}})


def negative_shape():
    """Has a negative size."""
    ready()
    while True:
        send(id=receive()["id"], type="result", outputs={"Y": {"dtype": "float32", "shape": [-1], "data": "AAAAAA=="}})


def endless_nothing():
    """Has an array of objects with 10^12 cells."""
    ready()
    while True:
        send(
            id=receive()["id"], type="result", outputs={"Y": {"dtype": "object", "shape": [10**6, 10**6], "data": None}}
        )


def providers_by_number():
    """Sends a number where providers have names."""
    ready(providers=5)
    sys.stdin.read()


def no_object():
    """Sends a list."""
    ready()
    while receive():
        print("[1]", flush=True)


def another_id():
    """Sends the id of another request."""
    ready()
    while receive():
        send(id=99, type="unable", message="")


def true_id():
    """Sends true as the id."""
    ready()
    while receive():
        send(id=True, type="unable", message="")


def short_data():
    """Sends fewer bytes than its shape has."""
    ready()
    while True:
        send(id=receive()["id"], type="result", outputs={"Y": {"dtype": "float32", "shape": [9], "data": "AAAA"}})


def unknown_dtype():
    """Has an unknown dtype."""
    ready()
    while True:
        send(id=receive()["id"], type="result", outputs={"Y": {"dtype": "posit", "shape": [0], "data": ""}})


def unknown_type():
    """Sends an unknown type of message."""
    ready()
    while True:
        send(id=receive()["id"], type="shrug")


def deaf():
    """Ignores SIGTERM, starts a child that does too, and never returns."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen([sys.executable, __file__, "sleeper"])
    ready()
    time.sleep(600)


def sleeper():
    """Does not end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def dies():
    """Dies of every request."""
    ready()
    receive()
    sys.exit(9)


def panics():
    """Dies with a long backtrace."""
    ready()
    receive()
    print("panicked: the window is empty", *(f"  {i}: frame\n      at /somewhere/x.c:{i}" for i in range(200)),
          "x" * 2000, "note: that is all", sep="\n", file=sys.stderr, flush=True)  # fmt: skip
    sys.exit(101)


def endless():
    """Never ends its line."""
    while True:
        sys.stdout.write("x" * 4096)


if __name__ == "__main__":
    if sys.argv[1] not in ("sleeper", "endless"):
        receive()
    globals()[sys.argv[1]]()
