"""The part of a script that runs the rest of it in a child process, where the runtime dies or hangs."""

from maxpool_check.results.outcomes import Crashed, Outcome, TimedOut

_RUN = 'subprocess.run([sys.executable, __file__, "child"])'


def child_process(outcome: Outcome, expects: str, seconds: float) -> list[str]:
    """The lines; ``expects`` is what the document requires, ``seconds`` how long the child may take if it hangs."""
    end = "hang" if isinstance(outcome, TimedOut) else "crash"
    lines = [f'if sys.argv[1:] != ["child"]:  # The runtime may {end}, so it runs in a child process.']
    if isinstance(outcome, TimedOut):
        lines += [
            "    try:",
            f"        child = {_RUN[:-1]}, timeout={seconds:g})",
            "    except subprocess.TimeoutExpired:",
            f'        print("expected {expects}, but there was no result within {seconds:g} s")',
            "        sys.exit(1)",
        ]
    else:
        lines.append(f"    child = {_RUN}")
    if isinstance(outcome, Crashed) and not outcome.how.startswith("killed"):
        lines += [
            "    if child.returncode not in (0, 1, 125):",
            f'        print("expected {expects}, but the process ended with exit code", child.returncode)',
        ]
    else:
        lines += [
            "    if child.returncode < 0:",
            f'        print("expected {expects}, but the process was killed by", signal.Signals(-child.returncode).name)',
        ]
    return [*lines, "        sys.exit(1)", "    sys.exit(child.returncode)", ""]
