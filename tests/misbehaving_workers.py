"""Programs behind ``command:`` that misbehave, each in one way: ``python misbehaving_workers.py NAME``."""

import base64
import json
import os
import signal
import struct
import sys
import time


def send(**message):
    print(json.dumps(message), flush=True)


def ready(**more):
    send(type="ready", protocol=1, **more)


def receive():
    return json.loads(sys.stdin.readline())


def result(**tensor):
    return {"type": "result", "outputs": {"Y": tensor}}


REPLIES = {
    "no_json": "nonsense",
    "no_object": "[1]",
    "too_deep": "[" * 200_000,
    "another_id": {"id": 99, "type": "unable", "message": ""},
    "true_id": {"id": True, "type": "unable", "message": ""},
    "unknown_type": {"type": "shrug"},
    "no_outputs": {"type": "result", "outputs": [1]},
    "no_dtype": result(dtype="(", shape=[0], data=""),
    "unknown_dtype": result(dtype="posit", shape=[0], data=""),
    "negative_shape": result(dtype="float32", shape=[-1], data="AAAAAA=="),
    "short_data": result(dtype="float32", shape=[9], data="AAAA"),
    "endless_nothing": result(dtype="object", shape=[10**6, 10**6], data=None),
}
"""What some send to every request: a line, or the fields of a message beside its id."""


def send_always(reply):
    ready()
    while True:
        number = receive()["id"]
        print(reply if isinstance(reply, str) else json.dumps({"id": number, **reply}), flush=True)


def leaves_out_the_outputs_of_graphs():
    """Executes graphs of several nodes, and returns none of their outputs."""
    ready(graphs=22)
    while True:
        send(id=receive()["id"], type="result", outputs={})


def says_its_name():
    """Has a name and a version, and cannot express anything: it misbehaves in no way."""
    ready(distribution="acme", version="2.1")
    for line in sys.stdin:
        send(id=json.loads(line)["id"], type="unable", message="no")


def says_nothing():
    """Says nothing about itself, and cannot express anything."""
    ready()
    for line in sys.stdin:
        send(id=json.loads(line)["id"], type="unable", message="no")


def another_protocol():
    """Has version 2 of the protocol."""
    send(type="ready", protocol=2)
    sys.stdin.read()


def no_protocol():
    """Writes a greeting instead of the protocol."""
    print("hello", flush=True)
    sys.stdin.read()


def half_a_line():
    """Stalls within its first line."""
    print('{"type": "ready", "pro', end="", flush=True)
    time.sleep(600)


def never_ready():
    """Writes nothing."""
    time.sleep(600)


def silent_death():
    """Exits before it writes anything."""
    sys.exit(7)


def poet():
    """Wants a language that does not exist."""
    ready(wants="poetry")
    sys.stdin.read()


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
    """Closes its stdin, and sends one message."""
    ready()
    number = receive()["id"]
    os.close(0)
    send(id=number, type="unable", message="no")
    time.sleep(600)


def closes_stdout():
    """Sends one message, and closes its stdout."""
    ready()
    send(id=receive()["id"], type="unable", message="no")
    os.close(1)
    time.sleep(600)


def providers_by_number():
    """Sends a number where providers have names."""
    ready(providers=5)
    sys.stdin.read()


def deaf():
    """Ignores SIGTERM, starts a child that does too, and never returns."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork():
        ready()
    time.sleep(600)


def has_a_family():
    """Starts a daemon in a session of its own, and hangs; so does the daemon. Prints their numbers to $FAMILY."""
    family = os.open(os.environ["FAMILY"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        ready()
        receive()
    os.write(family, f"{os.getpid()}\n".encode())
    while True:
        pass


def leaves_a_daemon():
    """Starts a daemon in a session of its own, prints its number to $FAMILY, and does its work."""
    read, write = os.pipe()
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        with open(os.environ["FAMILY"], "w") as family:  # noqa: PTH123
            family.write(f"{os.getpid()}\n")
        os.write(write, b"x")
        time.sleep(600)
    os.read(read, 1)
    send_always({"type": "unable", "message": "no"})


def noisy():
    """Writes to stderr without end, dies, and says how much it wrote."""
    ready()
    receive()
    os.write(2, b"it begins here\n")
    for _ in range(300):
        os.write(2, b"x" * 2**20)
    os.write(2, b"\nit ends here\n")
    sys.exit(9)


def nested():
    """Has session options that are nested too deeply to be written."""
    options = {}
    for _ in range(900):
        options = {"a": options}
    ready(session_options=options)
    sys.stdin.read()


def talkative():
    """Refuses every request at length."""
    send_always({"type": "refusal", "status": "s" * 10**6, "message": "m" * 10**7})


def dies():
    """Dies of every request."""
    ready()
    receive()
    sys.exit(9)


def dies_every_other_time():
    """Dies of an even number, and gives an odd one, in rows of four alike, as the maximum of their windows of two."""
    ready()
    while True:
        request = receive()
        cells = base64.b64decode(request["inputs"]["X"]["data"])
        if int(struct.unpack("<4f", cells)[0]) % 2 == 0:
            sys.exit(1)
        Y = base64.b64encode(cells[:12]).decode()
        send(id=request["id"], **result(dtype="float32", shape=[1, 1, 3], data=Y))


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
    if sys.argv[1] != "endless":
        receive()
    if sys.argv[1] in REPLIES:
        send_always(REPLIES[sys.argv[1]])
    else:
        globals()[sys.argv[1]]()
