#!/usr/bin/env python3
"""receive_clients.py NAME URL STREAMS GAP_MS WARM_MS COUNTED_MS - a Python client of the benchmark.

NAME is aiohttp or httpx. Reads STREAMS event streams of the clockwork server as a measuring client
would: line by line, each event parsed as JSON and stamped when its line is there. Prints one line:
CPU ns per event, events per second, CPU share, lateness p50 and p99 in us, RSS in MB.
"""
import asyncio
import json
import os
import resource
import signal
import sys
import time

NAME, URL = sys.argv[1], sys.argv[2] + "/v1/chat/completions"
STREAMS, GAP_MS, WARM_MS, COUNTED_MS = (int(a) for a in sys.argv[3:7])
BODY = {"max_tokens": 1 << 20, "first_ms": 50, "gap_ms": GAP_MS}

late: list[int] = []
counting = False


def take(line: bytes | str) -> None:
    at = time.monotonic_ns()
    if isinstance(line, bytes):
        line = line.decode()
    if not line.startswith("data: ") or line.startswith("data: [DONE]"):
        return
    choices = json.loads(line[6:])["choices"]
    text = choices[0]["delta"].get("content") if choices else None
    if text and counting:
        late.append(at - int(text.split()[0]))


async def aiohttp_streams() -> list[asyncio.Task]:
    import aiohttp

    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=None))

    async def one() -> None:
        async with session.post(URL, json=BODY) as response:
            async for line in response.content:
                take(line)

    return [asyncio.create_task(one()) for _ in range(STREAMS)]


async def httpx_streams() -> list[asyncio.Task]:
    import httpx

    client = httpx.AsyncClient(timeout=None, limits=httpx.Limits(max_connections=None))

    async def one() -> None:
        async with client.stream("POST", URL, json=BODY) as response:
            async for line in response.aiter_lines():
                take(line)

    return [asyncio.create_task(one()) for _ in range(STREAMS)]


def cpu_ns() -> int:
    return time.process_time_ns()


async def main() -> None:
    global counting
    tasks = await {"aiohttp": aiohttp_streams, "httpx": httpx_streams}[NAME]()
    # a client that cannot keep up is busy here: give it longer than the others to start
    await asyncio.sleep(WARM_MS / 1000 * 3)
    counting, before, started = True, cpu_ns(), time.monotonic_ns()
    await asyncio.sleep(COUNTED_MS / 1000)
    counting, spent, span = False, cpu_ns() - before, time.monotonic_ns() - started
    late.sort()
    n = len(late)
    rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    if n:
        print(spent / n, n * 1e9 / span, spent / span, late[n // 2] / 1e3,
              late[n * 99 // 100] / 1e3, rss_mb, flush=True)
    os._exit(0)  # thousands of streams take longer to cancel than to measure


signal.alarm(20)  # a client that drowns does not come back to its timers
try:
    asyncio.run(main())
except ImportError as missing:
    sys.exit(f"not installed: {missing.name}")
