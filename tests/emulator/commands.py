"""commands.py - the commands themselves: options, signals, one line when something is wrong."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

from emulator import Bench, expect

USAGE = [
    ("engine --fault explode", "'explode' is no fault"),
    ("engine --fault stall:when=3", "'when' is no key of stall"),
    ("engine --faults no-such-file", "no-such-file"),
    ("engine --profile nothing", "nothing"),
    ("engine --profile rtx3090-24gb --from r.json", "exclude each other"),
    ("engine --from no-such-file.json", "no-such-file.json"),
    ("engine --speed 0", "--speed wants a number"),
    ("engine --face tgi", "--face: 'tgi' is none of"),
    ("engine --max-model-len 8k --kv-tokens 4k", "does not fit"),
    ("engine --port 70000", "--port must be from"),
    ("engine --api-key=", "--api-key is empty"),
    ("engine --served-model=", "--served-model wants a name"),
    ("engine --served-model " + 160 * "m", "--served-model wants a name"),
    ("engine --served-model a\x1b[2J", "--served-model wants a name"),
]


def test_wrong_usage(bench: Bench) -> None:
    for arguments, words in USAGE:
        finished = bench.command(arguments)
        lines = finished.stderr.strip().splitlines()
        expect(finished.code in (1, 2), f"{arguments}: exit code {finished.code}")
        expect(len(lines) == 1 and lines[0].startswith("tokgrid: "), f"{arguments}: {lines}")
        expect(words in lines[0], f"{arguments}: {lines[0]}")
        expect(finished.stdout == "", f"{arguments}: {finished.stdout}")


def test_port_in_use(bench: Bench) -> None:
    engine = bench.emulator("")
    finished = bench.command(f"engine --port {engine.port}")
    lines = finished.stderr.strip().splitlines()
    expect(finished.code == 1 and len(lines) == 1, f"{finished.code}: {lines}")
    expect(str(engine.port) in lines[0] and "use; end what listens" in lines[0], lines[0])


def test_signals(bench: Bench) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        engine = bench.emulator("")
        engine.stream(max_tokens=2)
        engine.program.signal(number)
        code = engine.program.process.wait(10)
        said = engine.program.stderr.read_text()
        expect(code == 0, f"{number.name}: exit code {code}")
        expect(said.startswith("tokgrid: served 1 requests (1 complete"), said)


def test_profiles(bench: Bench) -> None:
    listed = bench.command("engine --list-profiles").stdout.splitlines()
    names = [line.split()[0] for line in listed]
    expect("rtx3090-24gb" in names and len(names) >= 4, f"{names}")
    for name in names:
        shown = json.loads(bench.command(f"engine --profile {name} --print-profile").stdout)
        expect(shown["name"] == name, f"{shown['name']}")
    changed = "engine --print-profile --max-num-seqs 3 --max-model-len 2k --kv-tokens 9k"
    shown = json.loads(bench.command(changed).stdout)
    figures = (shown["max_running"], shown["context_limit"], shown["kv_tokens"])
    expect(figures == (3, 2048, 9216), f"{figures}")


def test_list_of_faults(bench: Bench) -> None:
    listed = bench.command("engine --list-faults").stdout
    for word in ("stall", "keys: token, for", "retry-after", "probability", "cut-prompt"):
        expect(word in listed, f"{word}: {listed}")


def test_faults_file(bench: Bench) -> None:
    path = bench.folder() / "faults.txt"
    path.write_text("# every request\nwrong-usage:factor=2\n\nloop:period=2   # from the start\n")
    stream = bench.emulator(f"--speed 50 --faults {path}").stream(max_tokens=10)
    expect(stream.usage["completion_tokens"] == 20, f"{stream.usage}")
    path.write_text("loop\nloop:period=x\n")
    finished = bench.command(f"engine --faults {path}")
    expect(finished.code == 2 and f"{path}:2: period wants" in finished.stderr, finished.stderr)


def test_from_a_run(bench: Bench) -> None:
    """The engine learned from a run of the emulator gives that run back."""
    options = "--duration 1s --settle 200ms --contexts 0 --concurrency 1,4 --prefill 2k"
    options += " --prefill-samples 1 --max-output 512"
    first = bench.measure(bench.emulator("--speed 8 --face sglang"), options)
    engine = bench.emulator(f"--from {first.result_path}")
    again = bench.measure(engine, options)
    expect(again.result["engine"]["name"] == "sglang", f"{again.result['engine']}")
    for level in (1, 4):
        a, b = first.cell(0, level)["itl_ms"]["p50"], again.cell(0, level)["itl_ms"]["p50"]
        expect(abs(a - b) < 0.1 * a, f"{level}: {a} ms and {b} ms")


def children(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(path.parent.name))
    return found


def test_demo(bench: Bench) -> None:
    """The demo measures its own engine; interrupted, it keeps what it has and leaves nobody."""
    program = bench.start("demo --plain --no-open")
    program.wait_line("[ 1/", 60 * bench.slow)
    engines = children(program.process.pid)
    expect(len(engines) == 1, f"children: {engines}")
    program.signal(signal.SIGINT)
    finished = program.finish(60 * bench.slow)
    expect(finished.code == 130, f"exit code {finished.code}: {finished.stderr}")
    written = list((program.folder / "runs").glob("demo-*.json"))
    expect(len(written) == 1, f"{written}")
    expect(json.loads(written[0].read_text())["kind"] == "simulated", "it is not simulated")
    expect(not Path(f"/proc/{engines[0]}").exists(), "the engine is still there")


def test_demo_killed(bench: Bench) -> None:
    """However it ends, the engine ends with it."""
    program = bench.start("demo --plain --no-open")
    program.wait_line("Plan:", 60 * bench.slow)
    (engine,) = children(program.process.pid)
    program.signal(signal.SIGKILL)
    program.process.wait()
    give_up_at = time.monotonic() + 10
    while Path(f"/proc/{engine}").exists():
        expect(time.monotonic() < give_up_at, "the engine outlives it")
        time.sleep(0.05)


TESTS = [
    ("commands: wrong usage", test_wrong_usage),
    ("commands: a port in use", test_port_in_use),
    ("commands: signals", test_signals),
    ("commands: profiles", test_profiles),
    ("commands: the list of faults", test_list_of_faults),
    ("commands: a file of faults", test_faults_file),
    ("commands: learned from a run", test_from_a_run),
    ("commands: demo", test_demo),
    ("commands: demo killed", test_demo_killed),
]
