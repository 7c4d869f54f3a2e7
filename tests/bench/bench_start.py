#!/usr/bin/env python3
"""bench_start.py PROGRAM - how long `PROGRAM --version` takes, from fork to exit.

In turn with `curl --version` where there is one and with `true`, so that a busy machine is busy for
all of them. Prints the best and the median of 200 starts in milliseconds, and the ratio to curl.
"""
import os
import shutil
import statistics
import sys
import time

ROUNDS = 200


def start(argv):
    """Milliseconds of one run."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    begun = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=quiet)
    _, status = os.waitpid(pid, 0)
    taken = (time.perf_counter() - begun) * 1e3
    if status != 0:
        sys.exit(f"{' '.join(argv)}: exit status {status}")
    return taken


def main():
    commands = {"tokgrid": [sys.argv[1], "--version"], "true": [shutil.which("true")]}
    if shutil.which("curl"):
        commands["curl"] = [shutil.which("curl"), "--version"]
    times = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, argv in commands.items():
            times[name].append(start(argv))
    for name, taken in times.items():
        print(f"{name:8} best {min(taken):5.2f} ms, median {statistics.median(taken):5.2f} ms")
    if "curl" in times:
        ratio = statistics.median(times["tokgrid"]) / statistics.median(times["curl"])
        print(f"ratio to curl: {ratio:.2f}")


if __name__ == "__main__":
    main()
