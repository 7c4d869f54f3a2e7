#!/usr/bin/env python3
"""server.py - the scripted server of a case: `server.py CASE [--port N] [--log FILE]`.

Prints its URL on the first line of stdout and serves until stdin ends, so that it never outlives
whoever started it. Everything it sees goes into the log, one JSON object a line:

    {"event":"connection", "connection":3}
    {"event":"request", "number":7, "connection":3, "at_s":0.31, "method":…, "path":…, …}
    {"event":"open", "open":2}                     generations open after one began
    {"event":"end", "number":7, "status":200, "finish":"length", "tokens":32, "at_s":0.62}
    {"event":"bad", "connection":3, "why":…}       bytes that are no HTTP request
    {"event":"died"}
    {"event":"fault", "why":…}                     this server's own mistake

By hand: `server.py cases/100-plain-matrix.case --log /dev/stderr` and curl in another window.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import socket
import ssl
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

sys.dont_write_bytecode = True

import chat
import dialects
from casefile import CaseError, read_case
from engine import Engine, Generation
from http1 import BadRequest, Connection, Request
from replies import Moment, Plan, read_plan, settings_manual


class Server:
    """One listener, its connections, its engine and its log."""

    def __init__(self, plan: Plan, log: IO[str]) -> None:
        self.plan = plan
        self.engine = Engine(plan.settings)
        self.log = log
        self.start = time.monotonic()
        self.connections: set[Connection] = set()
        self.tasks: set[asyncio.Future[None]] = set()
        self.connection_count = 0
        self.request_count = 0
        self.dying = False
        self.listener: asyncio.base_events.Server | None = None
        self.deaf: list[socket.socket] = []

    # ---- log and moments ----------------------------------------------------------------------

    def note(self, event: str, **what: Any) -> None:
        line = {"event": event, "at_s": round(time.monotonic() - self.start, 6), **what}
        self.log.write(json.dumps(line, ensure_ascii=False) + "\n")
        self.log.flush()

    def check_death(self) -> None:
        """Die when the moment has come; called whenever something happened."""
        when = self.plan.settings.die
        if when is None or self.dying:
            return
        engine = self.engine
        if when.reached(self.request_count, engine.started, engine.most_open):
            self.dying = True
            asyncio.get_running_loop().call_later(when.delay_s, self.die)

    def die(self) -> None:
        self.note("died")
        if self.listener:
            self.listener.close()
        for connection in list(self.connections):
            connection.reset()

    async def stop(self) -> None:
        if self.listener:
            self.listener.close()
        for sock in self.deaf:
            sock.close()
        for connection in list(self.connections):
            connection.reset()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    # ---- connections --------------------------------------------------------------------------

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self.serve(reader, writer))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connection_count += 1
        connection = Connection(self.connection_count, reader, writer)
        self.connections.add(connection)
        self.note("connection", connection=connection.number)
        try:
            while await self.serve_one(connection):
                pass
        except BadRequest as error:
            self.note("bad", connection=connection.number, why=str(error))
        except OSError:
            pass  # the client went away
        except Exception:  # a fault of this server fails the case, whatever the client did
            self.note("fault", why=traceback.format_exc())
        finally:
            self.connections.discard(connection)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def serve_one(self, connection: Connection) -> bool:
        """One request and its reply. True when another may follow."""
        waiting_since = time.monotonic()
        try:
            request = await asyncio.wait_for(connection.read_request(), self.plan.settings.idle)
        except asyncio.TimeoutError:
            return False
        if request is None:
            return False
        forgotten = self.plan.settings.forgotten
        if forgotten is not None and time.monotonic() - waiting_since > forgotten:
            connection.reset()
            return False
        self.request_count += 1
        number = self.request_count
        self.note("request", number=number, connection=connection.number, **_described(request))
        self.check_death()
        watcher = asyncio.ensure_future(connection.watch())
        try:
            again = await self.answer(connection, request, number)
        finally:
            watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watcher
        close = request.headers.get("connection", "").lower() == "close"
        return again and not close and not connection.gone.is_set()

    async def answer(self, connection: Connection, request: Request, number: int) -> bool:
        settings = self.plan.settings
        outside = not request.path.startswith(settings.prefix)
        request = replace(request, path=request.path.removeprefix(settings.prefix))
        seconds = time.monotonic() - self.start
        moment = Moment(seconds, len(self.engine.open), request.body, request.query)
        route = self.plan.route(request.method, request.path, moment)
        if route and route.reply is None:
            await connection.play(route.script)
            self.note("end", number=number, status=None, finish="script")
            return False
        if route and route.reply:
            reply = route.reply
        elif outside:
            reply = dialects.json_reply({"detail": "Not Found"}, 404)
        elif settings.api_key and not self.has_key(request):
            reply = dialects.error_reply(401, "Incorrect API key provided", "AuthenticationError")
        elif request.method == "POST" and request.path in chat.PATHS:
            refused = chat.refusal(self.engine, request.body)
            if refused is None:
                return await self.generate(connection, request, number)
            reply = refused
        else:
            handler = dialects.find(self.engine, request.method, request.path)
            reply = dialects.json_reply({"detail": "Not Found"}, 404)
            if handler:
                reply = handler(self.engine, request.body)
        await connection.reply(reply, settings.keepalive == "off")
        self.note("end", number=number, status=reply.status, finish="reply")
        return settings.reuse

    def has_key(self, request: Request) -> bool:
        return request.headers.get("authorization") == f"Bearer {self.plan.settings.api_key}"

    async def generate(self, connection: Connection, request: Request, number: int) -> bool:
        one: Generation = self.engine.admit(dialects.prompt_of(request.body), request.body)
        self.note("open", open=len(self.engine.open), number=number)
        self.check_death()
        try:
            again = await chat.answer(self.engine, connection, request, one)
        finally:
            self.engine.release(one)
        self.note(
            "end",
            number=number,
            status=200,
            finish=one.finish or "gone",
            tokens=one.tokens,
            prompt_tokens=one.prompt_tokens,
            cached_tokens=one.cached,
        )
        return again


def _described(request: Request) -> dict[str, Any]:
    body = request.body
    text = request.raw.decode("utf-8", "replace") if body is None and request.raw else None
    return {
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "version": request.version,
        "headers": request.headers,
        "body": body,
        "text": text,
    }


# ---- listening -------------------------------------------------------------------------------


def deaf_sockets() -> list[socket.socket]:
    """A listener that accepts nothing, first, and connections that fill its queue."""
    sockets = [socket.socket()]
    sockets[0].bind(("127.0.0.1", 0))
    sockets[0].listen(0)
    for _ in range(8):
        waiting = socket.socket()
        waiting.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            waiting.connect(sockets[0].getsockname())
        sockets.append(waiting)
    return sockets


async def listen(server: Server, options: argparse.Namespace) -> str:
    """Open the listener; returns the URL."""
    kind = server.plan.settings.listen
    if kind == "refused":
        with socket.socket() as sock:  # a port that was free a moment ago
            sock.bind(("127.0.0.1", 0))
            return f"http://127.0.0.1:{sock.getsockname()[1]}"
    if kind == "unix":
        path = os.path.join(options.dir, "server.sock")
        server.listener = await asyncio.start_unix_server(server.accept, path)
        return f"unix:{path}"
    if kind == "deaf":
        server.deaf = deaf_sockets()
        return f"http://127.0.0.1:{server.deaf[0].getsockname()[1]}"
    context = None
    if kind == "tls":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.cert, options.key)
    host = "::1" if kind == "ipv6" else "127.0.0.1"
    family = socket.AF_INET6 if kind == "ipv6" else socket.AF_INET
    sock = socket.socket(family)  # bound: the port is ours, and refuses until somebody listens
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, options.port))
    port = sock.getsockname()[1]

    async def listen_late() -> None:
        await asyncio.sleep(server.plan.settings.late)
        server.listener = await asyncio.start_server(server.accept, sock=sock, ssl=context)

    if server.plan.settings.late:
        task = asyncio.ensure_future(listen_late())
        server.tasks.add(task)
        task.add_done_callback(server.tasks.discard)
    else:
        await listen_late()
    scheme = "https" if kind == "tls" else "http"
    return f"{scheme}://[{host}]:{port}" if kind == "ipv6" else f"{scheme}://{host}:{port}"


async def serve(plan: Plan, log: IO[str], options: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()

    def hear() -> None:
        if not os.read(sys.stdin.fileno(), 1):
            stopped.set()

    loop.add_reader(sys.stdin.fileno(), hear)
    server = Server(plan, log)
    print(await listen(server, options), flush=True)
    server.check_death()
    await stopped.wait()
    loop.remove_reader(sys.stdin.fileno())
    await server.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description="the scripted server of one end-to-end case")
    parser.add_argument("case", nargs="?", type=Path)
    parser.add_argument("--settings", action="store_true", help="print the settings' manual")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--dir", default=".", help="where a unix socket goes")
    parser.add_argument("--cert", help="for `listen = tls`")
    parser.add_argument("--key")
    parser.add_argument("--log", default=os.devnull)
    options = parser.parse_args()
    if options.settings:
        print(settings_manual(), end="")
        return 0
    if options.case is None:
        parser.error("which case?")
    try:
        plan = read_plan(read_case(options.case).single.get("server", []))
    except CaseError as error:
        print(f"server.py: {error}", file=sys.stderr)
        return 2
    with open(options.log, "a", encoding="utf-8") as log, contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(plan, log, options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
