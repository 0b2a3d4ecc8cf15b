"""Programs behind ``command:`` that misbehave, each in one way: ``python neighbours.py NAME``."""

import json
import signal
import subprocess
import sys
import time


def say(**message):
    print(json.dumps(message), flush=True)


def ready(**more):
    say(type="ready", protocol=1, **more)


def hear():
    return json.loads(sys.stdin.readline())


def another_protocol():
    """Speaks version 2."""
    say(type="ready", protocol=2)
    sys.stdin.read()


def no_protocol():
    """Greets people."""
    print("hello", flush=True)
    sys.stdin.read()


def silent_death():
    """Never says a word."""
    sys.exit(7)


def poet():
    """Wants what nobody speaks."""
    ready(wants="poetry")
    sys.stdin.read()


def no_json():
    """Answers nonsense."""
    ready()
    while hear():
        print("nonsense", flush=True)


def talks_too_much():
    """Says every answer twice."""
    ready()
    while True:
        question = hear()["id"]
        print(f'{{"id": {question}, "type": "unable", "message": "no"}}\n' * 2, end="", flush=True)


def no_object():
    """Answers a list."""
    ready()
    while hear():
        print("[1]", flush=True)


def another_id():
    """Answers another question."""
    ready()
    while hear():
        say(id=99, type="unable", message="")


def short_data():
    """Sends fewer bytes than its shape has."""
    ready()
    while True:
        say(id=hear()["id"], type="answer", outputs={"Y": {"dtype": "float32", "shape": [9], "data": "AAAA"}})


def unknown_dtype():
    """Has a type of its own."""
    ready()
    while True:
        say(id=hear()["id"], type="answer", outputs={"Y": {"dtype": "posit", "shape": [0], "data": ""}})


def unknown_reply():
    """Shrugs."""
    ready()
    while True:
        say(id=hear()["id"], type="shrug")


def deaf():
    """Ignores SIGTERM, starts a child that does too, and never answers."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen([sys.executable, __file__, "sleeper"])
    ready()
    time.sleep(600)


def sleeper():
    """Stays."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def dies():
    """Dies of every question."""
    ready()
    hear()
    sys.exit(9)


def panics():
    """Dies with a long backtrace."""
    ready()
    hear()
    print("panicked: the window is empty", *(f"  {i}: frame\n      at /somewhere/x.c:{i}" for i in range(200)),
          "x" * 2000, "note: that is all", sep="\n", file=sys.stderr, flush=True)  # fmt: skip
    sys.exit(101)


def endless():
    """Never ends its line."""
    while True:
        sys.stdout.write("x" * 4096)


if __name__ == "__main__":
    if sys.argv[1] not in ("sleeper", "endless"):
        hear()
    globals()[sys.argv[1]]()
