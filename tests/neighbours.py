"""Programs behind ``command:`` that misbehave, each in one way: ``python neighbours.py NAME``."""

import json
import os
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
        variant = hear()["id"]
        print(f'{{"id": {variant}, "type": "unable", "message": "no"}}\n' * 2, end="", flush=True)


def dies_later():
    """Answers, and dies of it when the answer is out."""
    ready()
    say(id=hear()["id"], type="unable", message="no")
    time.sleep(0.3)
    sys.exit(7)


def closes_stdin():
    """Answers once, and wants to hear nothing more."""
    ready()
    say(id=hear()["id"], type="unable", message="no")
    os.close(0)
    time.sleep(600)


def closes_stdout():
    """Answers once, and says nothing more."""
    ready()
    say(id=hear()["id"], type="unable", message="no")
    os.close(1)
    time.sleep(600)


def no_outputs():
    """Gives a list where outputs have names."""
    ready()
    while True:
        say(id=hear()["id"], type="result", outputs=[1])


def too_deep():
    """Nests deeper than anyone reads."""
    ready()
    while hear():
        print("[" * 200_000, flush=True)


def no_dtype():
    """Has a dtype that is half of one."""
    ready()
    while True:
        say(id=hear()["id"], type="result", outputs={"Y": {"dtype": "(", "shape": [0], "data": ""}})


def negative_shape():
    """Leaves a size to whoever reads it."""
    ready()
    while True:
        say(id=hear()["id"], type="result", outputs={"Y": {"dtype": "float32", "shape": [-1], "data": "AAAAAA=="}})


def endless_nothing():
    """Has no tensor, and that a million times a million times."""
    ready()
    while True:
        say(id=hear()["id"], type="result", outputs={"Y": {"dtype": "object", "shape": [10**6, 10**6], "data": None}})


def providers_by_number():
    """Counts its providers."""
    ready(providers=5)
    sys.stdin.read()


def no_object():
    """Answers a list."""
    ready()
    while hear():
        print("[1]", flush=True)


def another_id():
    """Answers another variant."""
    ready()
    while hear():
        say(id=99, type="unable", message="")


def true_id():
    """Says that it is so, instead of to what."""
    ready()
    while hear():
        say(id=True, type="unable", message="")


def short_data():
    """Sends fewer bytes than its shape has."""
    ready()
    while True:
        say(id=hear()["id"], type="result", outputs={"Y": {"dtype": "float32", "shape": [9], "data": "AAAA"}})


def unknown_dtype():
    """Has a type of its own."""
    ready()
    while True:
        say(id=hear()["id"], type="result", outputs={"Y": {"dtype": "posit", "shape": [0], "data": ""}})


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
    """Dies of every variant."""
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
