"""Runs a command; writes its exit code, its seconds, and its processor time and memory as the system counts them.

``python tests/bench/timed.py DESCRIPTOR COMMAND...``. A small process of its own: the system counts the memory of the one
that starts a process as that process's, too.
"""

import json
import os
import subprocess
import sys
import time

start = time.perf_counter()
child = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(child.pid, 0)
seconds = time.perf_counter() - start
child.returncode = os.waitstatus_to_exitcode(status)
processor = usage.ru_utime + usage.ru_stime
os.write(int(sys.argv[1]), json.dumps([child.returncode, seconds, processor, usage.ru_maxrss]).encode())
