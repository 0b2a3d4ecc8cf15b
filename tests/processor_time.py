"""Shows after the tests where the processor time went: ``python -m pytest -p tests.processor_time PATH...``.

The time of a test is that of its process and of the processes that it has started and that have ended, with its fixtures.
``--write-slow FILE`` writes the functions of those tests that take long, which ``make test`` leaves out.
"""

import resource
from collections import Counter
from pathlib import Path

import pytest

from tests import forked_workers

SHOWN = 40
SLOW_SECONDS = 1.2
_NAME, _USED = "processor seconds", pytest.StashKey()


def pytest_addoption(parser):
    parser.addoption("--write-slow", type=Path, metavar="FILE")


def _used():
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages) + forked_workers.seconds()


def pytest_collection_finish(session):
    session.config.stash[_USED] = _used()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "teardown":
        before, item.config.stash[_USED] = item.config.stash[_USED], _used()
        report.user_properties.append((_NAME, item.config.stash[_USED] - before))
    return report


def pytest_terminal_summary(terminalreporter):
    of_tests = Counter()
    for report in (each for reports in terminalreporter.stats.values() for each in reports):
        of_tests[getattr(report, "nodeid", "")] += dict(getattr(report, "user_properties", ())).get(_NAME, 0)
    if (file := terminalreporter.config.getoption("--write-slow")) is not None:
        slow = {name.partition("[")[0] for name, seconds in of_tests.items() if seconds > SLOW_SECONDS}
        file.write_text("".join(f"{name}\n" for name in sorted(slow)))
    terminalreporter.section(f"processor time: {of_tests.total():.0f} s")
    for name, seconds in of_tests.most_common(SHOWN):
        terminalreporter.write_line(f"{seconds:7.1f} s  {name}")
