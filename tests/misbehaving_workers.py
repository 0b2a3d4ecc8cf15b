"""Programs behind ``command:`` that misbehave, each in one way: ``python misbehaving_workers.py NAME``."""

import base64
import json
import os
import signal
import struct
import sys
import time

READY = {"type": "ready", "protocol": 1}
UNABLE = {"type": "unable", "message": "no"}


def send(**message):
    print(json.dumps(message), flush=True)


def ready(**more):
    send(**READY, **more)


def receive():
    return json.loads(sys.stdin.readline())


def result(**tensor):
    return {"type": "result", "outputs": {"Y": tensor}}


FIRST_LINES = {
    "another_protocol": {"type": "ready", "protocol": 2},
    "no_protocol": "hello",
    "nested": {**READY, "session_options": json.loads('{"a":' * 900 + "{}" + "}" * 900)},
}
"""What some write instead of a description, before they wait."""

REPLIES = {
    "no_json": "nonsense",
    "too_deep": "[" * 200_000,
    "true_id": {"id": True, **UNABLE},
    "no_text": {"type": "result", "outputs": {"\ud800": {"dtype": "int8", "shape": [1], "data": "AA=="}}},
    "no_dtype": result(dtype="(", shape=[0], data=""),
    "endless_nothing": result(dtype="object", shape=[10**6, 10**6], data=None),
    "talkative": {"type": "refusal", "status": "s" * 10**6, "message": "m" * 10**7},
    "leaves_out_the_outputs_of_graphs": {"type": "result", "outputs": {}},
    # These misbehave in no way.
    "says_nothing": UNABLE,
    "says_its_name": UNABLE,
}
"""What some send to every request: a line, or the fields of a message beside its id."""

DESCRIPTIONS = {
    "leaves_out_the_outputs_of_graphs": {"graphs": 22},
    "says_its_name": {"distribution": "acme", "version": "2.1"},
}
"""What some of these say of themselves."""


ONCE = {
    "closes_stdin": (lambda: os.close(0), time.time),
    "closes_stdout": (time.time, lambda: os.close(1)),
    "dies_later": (time.time, lambda: time.sleep(0.3) or sys.exit(7)),
}
"""What some do before and after the only message that they send."""


def send_once(before, after):
    number = receive()["id"]
    before()
    send(id=number, **UNABLE)
    after()
    time.sleep(600)


def send_always(reply, times=1):
    for line in sys.stdin:
        text = reply if isinstance(reply, str) else json.dumps({"id": json.loads(line)["id"], **reply})
        print(f"{text}\n" * times, end="", flush=True)


def replies():
    """Replies with the fields of the JSON text that it is started with, and describes itself by those that follow."""
    print('{"type": "ready", "protocol": 1' + sys.argv[3] + "}", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        send(id=request["id"], **json.loads(sys.argv[2].replace("SPEC", str(request.get("spec")))))


def half_a_line():
    """Stalls within its first line."""
    print('{"type": "ready", "pro', end="", flush=True)
    time.sleep(600)


def answers_ahead():
    """Writes the answers to fifty requests before it has read one."""
    ready(decides="acceptance")
    for number in range(50):
        send(id=number + 1, type="accepted")
    time.sleep(600)


def raises():
    """Divides by zero when it is asked for something."""
    ready()
    receive()
    print(1 / 0)


def sends_twice():
    """Sends every message twice."""
    ready()
    send_always(UNABLE, times=2)


def stops_its_guard():
    """Stops the process that guards it, and refuses every request."""
    ready()
    for line in sys.stdin:
        os.kill(os.getppid(), signal.SIGSTOP)
        send(id=json.loads(line)["id"], type="refusal", status="FAIL", message="no")


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
    ready()
    send_always(UNABLE)


def noisy():
    """Writes to stderr without end, dies, and says how much it wrote."""
    ready()
    receive()
    os.write(2, b"it begins here\n")
    for _ in range(30):
        os.write(2, b"x" * 2**20)
    os.write(2, b"\nit ends here\n")
    sys.exit(9)


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
    frames = [
        "  /somewhere/__main__.py:71:4 [<module>]",
        "  <frozen runpy>:88:4 [_run]",
        "   @   0x7f01  tensorflow::Abort",
    ]
    frames += [f"   {number}: tract::pool\n             at /somewhere/x.rs:{number}:1" for number in range(200)]
    lines = ["panicked: the window is empty", *frames, "x" * 2000, "note: that is all [of 2 lines]: 1"]
    print(*lines, sep="\n", file=sys.stderr, flush=True)
    sys.exit(101)


def endless():
    """Never ends its line."""
    while True:
        sys.stdout.write("x" * 4096)


def floods():
    """Writes lines that nobody has asked for, and to $COUNT how many."""
    ready()
    for number in range(3000):
        sys.stdout.write("x" * 2**16 + "\n")
        sys.stdout.flush()
        with open(os.environ["COUNT"], "w") as count:  # noqa: PTH123
            count.write(str(number))


def main(name):
    if name == "silent_death":
        print("no library today", file=sys.stderr)
        sys.exit(7)
    if name != "endless":
        receive()
    if name in FIRST_LINES:
        line = FIRST_LINES[name]
        print(line if isinstance(line, str) else json.dumps(line), flush=True)
        sys.stdin.read()
    elif name in REPLIES:
        ready(**DESCRIPTIONS.get(name, {}))
        send_always(REPLIES[name])
    elif name in ONCE:
        ready()
        send_once(*ONCE[name])
    else:
        globals()[name]()


if __name__ == "__main__":
    main(sys.argv[1])
