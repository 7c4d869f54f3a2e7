"""replies.py - what the [server] section of a case says: settings and routes.

A setting is `name = value`; together they describe the pretend engine of engine.py. A route answers
certain requests by itself, before the engine sees them: `reply` with a status and a body, `script`
with exact bytes. The first route that fits wins. The table of settings below is their manual as
well: `server.py --settings` prints it.
"""

from __future__ import annotations

import fnmatch
import json
import re
import textwrap
from dataclasses import dataclass, field, fields
from typing import Any, Callable

from casefile import CaseError, Line, Trigger, duration, key_value, trigger

Parser = Callable[[str, str], Any]


# ---- the values of settings ------------------------------------------------------------------


def number(text: str, where: str) -> int:
    if not text.isdigit():
        raise CaseError(f"{where}: expected a whole number, found: {text}")
    return int(text)


def signed_number(text: str, where: str) -> int:
    digits = text.removeprefix("-")
    return number(digits, where) * (1 if digits == text else -1)


def number_or_none(text: str, where: str) -> int | None:
    return None if text == "none" else number(text, where)


def duration_or_none(text: str, where: str) -> float | None:
    return None if text == "none" else duration(text, where)


def switch(text: str, where: str) -> bool:
    if text not in ("on", "off"):
        raise CaseError(f"{where}: expected on or off, found: {text}")
    return text == "on"


def one_of(*words: str) -> Parser:
    """A parser that accepts these words, and has them as its `words`."""

    def parse(text: str, where: str) -> str:
        if text not in words:
            raise CaseError(f"{where}: expected one of {', '.join(words)}, found: {text}")
        return text

    parse.words = words  # type: ignore[attr-defined]
    return parse


def text_value(text: str, where: str) -> str:
    """Plain, or a JSON string when it begins with a quote."""
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text))
    except ValueError as error:
        raise CaseError(f"{where}: bad JSON string: {error}") from None


def text_list(text: str, where: str) -> list[str]:
    return [text_value(part.strip(), where) for part in text.split(",")]


@dataclass(frozen=True)
class Write:
    """How the bytes of a stream are cut into writes."""

    kind: str  # whole, byte, split, glue
    count: int = 1


def write_style(text: str, where: str) -> Write:
    match = re.fullmatch(r"whole|byte|(split|glue) ([1-9][0-9]*)", text)
    if not match:
        raise CaseError(f"{where}: expected whole, byte, split N or glue N, found: {text}")
    return Write(match[1], int(match[2])) if match[1] else Write(text)


@dataclass(frozen=True)
class Text:
    """What the model says."""

    kind: str  # words, unicode, control, loop, fixed
    value: str = ""


def text_style(text: str, where: str) -> Text:
    if text in ("words", "unicode", "control"):
        return Text(text)
    loop = re.fullmatch(r"loop ([1-9][0-9]*)", text)
    if loop:
        return Text("loop", loop[1])
    if text.startswith("fixed "):
        return Text("fixed", text_value(text[len("fixed ") :].strip(), where))
    raise CaseError(f"{where}: expected words, unicode, control, loop N or fixed TEXT: {text}")


FAILURES = ("object", "event", "stray", "finish", "done", "close", "cut", "reset", "stall")


@dataclass(frozen=True)
class Failure:
    """A generation that breaks: how, after how many tokens, and which ones."""

    how: str
    tokens: int
    # "", "open" (while N or more are open), "once" (the first that comes so far while N or more
    # are open), "chat" (the N-th and later), "only" (the N-th)
    scope: str = ""
    count: int = 0

    def hits(self, chat: int, most_open: int) -> bool:
        if self.scope == "only":
            return chat == self.count
        if self.scope == "chat":
            return chat >= self.count
        return most_open >= self.count


def failure(text: str, where: str) -> Failure:
    match = re.fullmatch(r"([a-z]+) after ([0-9]+)(?: (open|once|chat|only) ([0-9]+))?", text)
    if not match or match[1] not in FAILURES:
        raise CaseError(
            f"{where}: expected `HOW after TOKENS [open N | once N | chat N | only N]` with HOW "
            f"one of {', '.join(FAILURES)}, found: {text}"
        )
    return Failure(match[1], int(match[2]), match[3] or "", int(match[4] or 0))


# ---- the settings ----------------------------------------------------------------------------


def setting(default: Any, parse: Parser, words: str) -> Any:
    metadata = {"parse": parse, "words": words}
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass
class Settings:
    """Every setting with its default and its manual."""

    # Where it listens, and who may come in.
    listen: str = setting(
        "tcp",
        one_of("tcp", "ipv6", "unix", "tls", "refused", "deaf"),
        "127.0.0.1, [::1], a unix socket, https on 127.0.0.1, a port nobody listens on, a port "
        "where connecting never ends",
    )
    keepalive: str = setting(
        "on",
        one_of("on", "off", "silent"),
        "connections stay open after a complete reply, are closed, or are closed unannounced",
    )
    idle: float | None = setting(
        None, duration_or_none, "a connection without a request for this long is closed"
    )
    forgotten: float | None = setting(
        None, duration_or_none, "it is forgotten, so that the next request meets a reset"
    )
    prefix: str = setting("", text_value, "what stands before every path, as behind a proxy")
    api_key: str = setting("", text_value, "wanted as `Authorization: Bearer`, else 401")
    late: float = setting(
        0.0, duration, "connections are refused until so long after the server's start"
    )
    die: Trigger | None = setting(
        None, trigger, "stop listening and reset every connection at this moment"
    )

    # What it says about itself.
    engine: str = setting(
        "plain",
        one_of(
            "plain",
            "vllm",
            "sglang",
            "llamacpp",
            "ollama",
            "lmstudio",
            "tgi",
            "trtllm",
            "lmdeploy",
            "mlx",
            "koboldcpp",
            "tabby",
            "textgen",
            "litellm",
            "openrouter",
        ),
        "whose endpoints and metric names it has; plain has /v1/models and nothing else",
    )
    models: list[str] = setting(["tiny"], text_list, "names in /v1/models, comma separated")
    check_model: bool = setting(True, switch, "404 for a model that is not in the list")
    max_model_len: int = setting(
        0, number, "limit of prompt + output in tokens, published; 0: none"
    )
    kv_tokens: int = setting(0, number, "KV cache size in tokens, published; 0: none")
    tokenize: bool = setting(True, switch, "has /tokenize (not the plain engine)")
    metrics: bool = setting(True, switch, "has /metrics (not the plain engine)")
    metric_names: str = setting(
        "new",
        one_of("new", "old"),
        "vLLM's before its renames, SGLang's behind its gateway, trtllm-serve's without prefix",
    )
    realtime: bool = setting(True, switch, "has SGLang's counters that move with every token")
    ranks: int = setting(1, number, "tensor-parallel ranks that all tell the same (SGLang)")
    labels: int = setting(1, number, "over how many label sets each metric is spread")
    busy: int = setting(0, number, "somebody else's running requests, for ever, in the metrics")

    # How prompts are counted.
    count: str = setting("chars", one_of("chars", "words"), "(characters + 3) / 4, or words")
    stretch: int = setting(
        0, signed_number, "per cent more, or fewer (-20), tokens beyond a prompt's first 1,000"
    )
    overhead: int = setting(7, number, "tokens of the chat template")
    truncate: int = setting(0, number, "longer prompts are cut to this many tokens; 0: never")
    cache: bool = setting(False, switch, "prefix cache, in blocks of 16 tokens")
    cached: str = setting("reported", one_of("reported", "hidden"), "cached_tokens in the usage")
    cached_always: int = setting(0, number, "per cent of each prompt said to come from the cache")

    # How fast it is.
    slots: int = setting(0, number, "streams decoded at once, the others wait; 0: no limit")
    first: float = setting(0.005, duration, "time to first token of an empty prompt")
    prefill: int = setting(50000, number, "prompt tokens per second; 0: no time at all")
    token: float = setting(0.01, duration, "time between tokens of one stream")
    crowd: int = setting(
        0, number, "per cent that a token takes longer for every other stream being decoded"
    )
    per_event: int = setting(1, number, "tokens in one event")
    easy: int = setting(
        0,
        number,
        "tokens in one event where the prompt asks to count, which is easy to guess; 0: as others",
    )

    # When a generation ends.
    max_tokens: str = setting("obeyed", one_of("obeyed", "ignored"), "the request's limit")
    eos: int | None = setting(None, number_or_none, "tokens after which the model would stop")
    ignore_eos: str = setting("obeyed", one_of("obeyed", "ignored"), "the request's ignore_eos")
    min_tokens: str = setting(
        "ignored", one_of("obeyed", "ignored"), "the request's min_tokens: no end before them"
    )
    disconnect: str = setting(
        "stops", one_of("stops", "ignored"), "whether a closed connection ends the work"
    )
    fail: Failure | None = setting(
        None,
        failure,
        "`HOW after TOKENS [open N | once N | chat N | only N]`: generations break, all of them, "
        "while N or more are open, one of them then, from the N-th on, or the N-th alone. HOW: "
        "object (an error object as "
        "an event), event (the same under `event: error`), stray (the same without `data:`), "
        "finish (finish_reason abort), done ([DONE] without a finish_reason), close (a clean end "
        "without either), cut (in the middle of an event), reset, stall",
    )
    fail_body: str = setting(
        '{"error":{"message":"the engine died","type":"server_error","code":500}}',
        text_value,
        "the error object of `fail`",
    )

    # What the stream looks like.
    usage: str = setting(
        "final",
        one_of("none", "final", "stream", "unasked"),
        "usage at the end when asked for, in every event as well when asked for, or at the end "
        "although nobody asked",
    )
    counted: int = setting(
        0, number, "completion_tokens of every usage; 0: what was generated"
    )
    usage_dip: int = setting(
        0, number, "the usage of the event after this many tokens says 1; 0: none does"
    )
    opener: str = setting(
        "role",
        one_of("role", "null", "none"),
        "first event: role with empty content, with null, or none; sent at once",
    )
    channel: str = setting(
        "content",
        one_of("content", "reasoning", "reasoning_content", "both"),
        "field of the text; both: the two reasoning fields with the same text",
    )
    think: int = setting(0, number, "this many tokens of reasoning before the channel's text")
    hidden: int = setting(0, number, "first tokens, which are counted and not shown")
    text: Text = setting(
        Text("words"),
        text_style,
        "words, unicode, control (escape sequences), loop N (a period of N characters, a period "
        "per token) or fixed TEXT (each token)",
    )
    finish: bool = setting(True, switch, "finish_reason at the end")
    done: bool = setting(True, switch, "data: [DONE] at the end")
    lean: bool = setting(False, switch, "events without id, object, created and model")

    # How it travels.
    eol: str = setting("lf", one_of("lf", "crlf", "cr"), "line ends of the event stream")
    framing: str = setting(
        "chunked",
        one_of("chunked", "length", "close", "http10", "ornate"),
        "length buffers all of it; ornate: an interim answer, lower-case headers, extensions of "
        "chunks, trailers",
    )
    type: str = setting(
        "text/event-stream; charset=utf-8", text_value, "Content-Type of the stream"
    )
    encoding: str = setting("none", one_of("none", "gzip"), "content coding of the stream")
    write: Write = setting(
        Write("whole"),
        write_style,
        "whole (an event a write), byte, split N (pieces of an event), glue N (events a write)",
    )
    comments: str = setting(
        "none",
        one_of("none", "before", "between"),
        "`: keepalive` until the first token, or always",
    )

    # What it refuses.
    refuse: list[str] = setting([], text_list, "fields of the request that are an error")
    refuse_status: int = setting(400, number, "400 in OpenAI's shape or 422 in FastAPI's")

    @property
    def reuse(self) -> bool:
        return self.keepalive == "on"


def settings_manual() -> str:
    """The table above as text: default, what else it may be, what it means."""
    blank = Settings()
    rows = []
    for item in fields(Settings):
        rows.append(f"{item.name} = {_as_written(getattr(blank, item.name))}".rstrip())
        choices = getattr(item.metadata["parse"], "words", None)
        words = item.metadata["words"] + (f" ({', '.join(choices)})" if choices else "")
        rows.append(textwrap.fill(words, 96, initial_indent="    ", subsequent_indent="    "))
    return "\n".join(rows) + "\n"


def _as_written(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value * 1000:g}ms"
    if isinstance(value, list):
        return ", ".join(value)
    if isinstance(value, (Text, Write)):
        return value.kind
    return "none" if value is None else str(value)


# ---- routes ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moment:
    """What a route's conditions may look at."""

    seconds: float  # since the server started
    most_open: int  # generations open now
    body: Any  # the request's JSON, or None
    query: str = ""  # behind the path


def has_field(body: Any, name: str) -> bool:
    """Is `a.b` in the body? A value that says no is none."""
    for part in name.split("."):
        if not isinstance(body, dict) or part not in body:
            return False
        body = body[part]
    return body is not False and body is not None


@dataclass
class Conditions:
    """When a route applies. A route that is skipped or used up counts what it saw."""

    until_s: float | None = None
    since_s: float = 0.0
    times: int | None = None
    skip: int = 0
    open_at_least: int = 0
    query: str | None = None
    has: list[str] = field(default_factory=list)
    lacks: list[str] = field(default_factory=list)
    seen: int = 0

    def hold(self, moment: Moment) -> bool:
        body = moment.body if isinstance(moment.body, dict) else {}
        if not self.since_s <= moment.seconds < (self.until_s or float("inf")):
            return False
        if moment.most_open < self.open_at_least:
            return False
        if self.query is not None and self.query not in moment.query:
            return False
        if not all(has_field(body, name) for name in self.has):
            return False
        if any(has_field(body, name) for name in self.lacks):
            return False
        self.seen += 1
        past = self.seen - self.skip
        return past > 0 and (self.times is None or past <= self.times)


@dataclass(frozen=True)
class Reply:
    """A complete answer."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


@dataclass(frozen=True)
class Op:
    """One step of a script: bytes to write, or something to do."""

    kind: str  # bytes, pause, drip, close, shut, reset, stall; while reading: repeat, end, count
    data: bytes = b""
    seconds: float = 0.0
    times: int = 0


@dataclass
class Route:
    """A line `reply` or `script` with what stands under it."""

    method: str
    path: str
    conditions: Conditions
    reply: Reply | None = None
    script: list[Op] = field(default_factory=list)

    def fits(self, method: str, path: str, moment: Moment) -> bool:
        if self.method not in ("*", method) or not fnmatch.fnmatchcase(path, self.path):
            return False
        return self.conditions.hold(moment)


ESCAPES = {"r": b"\r", "n": b"\n", "t": b"\t", "0": b"\0", "\\": b"\\", "~": b"~", "s": b" "}


def unescape(text: str, where: str) -> bytes:
    r"""Bytes of \r \n \t \0 \s (space) \\ \~ \xHH; the rest as UTF-8."""
    out = bytearray()
    at = 0
    while at < len(text):
        if text[at] != "\\":
            out += text[at].encode()
            at += 1
            continue
        code = text[at + 1 : at + 2]
        if code == "x" and re.fullmatch(r"[0-9a-fA-F]{2}", text[at + 2 : at + 4]):
            out.append(int(text[at + 2 : at + 4], 16))
            at += 4
        elif code in ESCAPES and code:
            out += ESCAPES[code]
            at += 2
        else:
            raise CaseError(f"{where}: unknown escape \\{code}")
    return bytes(out)


def script_line(line: Line) -> list[Op]:
    """`text ~20ms~ text ~drip 1ms~ text ~reset~`. Spaces beside a ~ are not sent: write \\s."""
    ops: list[Op] = []
    for position, part in enumerate(re.split(r"(?<!\\)~", line.text.strip())):
        if position % 2 == 0:
            if part.strip():
                ops.append(Op("bytes", unescape(part.strip(), line.where)))
        elif part in ("close", "shut", "reset", "stall", "end"):
            ops.append(Op(part))
        elif part == "n":
            ops.append(Op("count"))
        elif part.startswith("repeat "):
            ops.append(Op("repeat", times=number(part[len("repeat ") :], line.where)))
        elif part.startswith("drip "):
            ops.append(Op("drip", seconds=duration(part[len("drip ") :], line.where)))
        else:
            ops.append(Op("pause", seconds=duration(part, line.where)))
    if len(re.findall(r"(?<!\\)~", line.text)) % 2:
        raise CaseError(f"{line.where}: a ~ without its partner (write \\~ for the character)")
    return ops


STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    b"Cache-Control: no-cache\r\nConnection: close\r\n\r\n"
)


def unrolled(ops: list[Op], where: str) -> list[Op]:
    """`~repeat N~ ... ~end~` written out, `~n~` being which time it is; bytes next to each other
    become one write."""
    out: list[Op] = []
    run = bytearray()  # bytes that are not in `out` yet

    def flush() -> None:
        if run:
            out.append(Op("bytes", bytes(run)))
            run.clear()

    def block(position: int, turn: int, inner: bool) -> int:
        """Add the ops from there on; where they end."""
        while position < len(ops) and ops[position].kind != "end":
            op = ops[position]
            position += 1
            if op.kind == "bytes":
                run.extend(op.data)
            elif op.kind == "count":
                run.extend(str(turn).encode())
            elif op.kind == "repeat":
                ends = {block(position, again, True) for again in range(1, op.times + 1)}
                position = max(ends, default=len(ops)) + 1
            else:
                flush()
                out.append(op)
        if inner != (position < len(ops)):
            raise CaseError(f"{where}: ~repeat N~ and ~end~ come in pairs")
        return position

    block(0, 0, False)
    flush()
    return out


def _condition(words: list[str], conditions: Conditions, where: str) -> bool:
    """Take one condition off the front of `words`; False when there is none."""
    if len(words) < 2:
        return False
    name, value = words[0], words[1]
    if name == "for":
        conditions.until_s = duration(value, where)
    elif name == "after":
        conditions.since_s = duration(value, where)
    elif name == "times":
        conditions.times = number(value, where)
    elif name == "skip":
        conditions.skip = number(value, where)
    elif name == "open":
        conditions.open_at_least = number(value, where)
    elif name == "query":
        conditions.query = value
    elif name == "when":
        conditions.has.append(value)
    elif name == "unless":
        conditions.lacks.append(value)
    else:
        return False
    del words[:2]
    return True


def _guess_type(body: bytes) -> str:
    start = body.lstrip()[:1]
    if start in (b"{", b"["):
        return "application/json"
    return "text/html" if start == b"<" else "text/plain"


def _parse_reply(words: list[str], where: str) -> Reply:
    if not words or not re.fullmatch(r"[1-5][0-9][0-9]", words[0]):
        raise CaseError(f"{where}: expected a status after the conditions, found: {words[:1]}")
    status = int(words.pop(0))
    headers: list[tuple[str, str]] = []
    while words and re.fullmatch(r"[A-Za-z-]+:\S+", words[0]):
        name, _, value = words.pop(0).partition(":")
        headers.append((name, value))
    body = " ".join(words).encode()  # as it is: JSON has escapes of its own
    if body and not any(name.lower() == "content-type" for name, _ in headers):
        headers.append(("Content-Type", _guess_type(body)))
    return Reply(status, headers, body)


@dataclass
class Plan:
    """The whole [server] section."""

    settings: Settings = field(default_factory=Settings)
    routes: list[Route] = field(default_factory=list)

    def route(self, method: str, path: str, moment: Moment) -> Route | None:
        for route in self.routes:
            if route.fits(method, path, moment):
                return route
        return None


def _parse_route(line: Line) -> Route:
    words = line.text.split(" ")
    kind = words.pop(0)
    if len(words) < 2:
        raise CaseError(f"{line.where}: expected `{kind} METHOD PATH …`")
    route = Route(words.pop(0), words.pop(0), Conditions())
    if kind == "stream":
        route.script.append(Op("bytes", STREAM_HEAD))
    while _condition(words, route.conditions, line.where):
        pass
    if kind == "reply":
        route.reply = _parse_reply(words, line.where)
    elif words:
        raise CaseError(f"{line.where}: a script's bytes stand indented on the next lines: {words}")
    return route


def read_plan(lines: list[Line]) -> Plan:
    """Settings, `reply` lines, `script` and `stream` lines with their indented bytes."""
    plan = Plan()
    table = {item.name: item.metadata["parse"] for item in fields(Settings)}
    script: Route | None = None
    for line in lines:
        if line.text[:1].isspace():
            if script is None:
                raise CaseError(f"{line.where}: an indented line outside a script")
            script.script += script_line(line)
            continue
        script = None
        if line.text.startswith(("reply ", "script ", "stream ")):
            route = _parse_route(line)
            plan.routes.append(route)
            script = route if route.reply is None else None
            continue
        name, value = key_value(line)
        if name not in table:
            raise CaseError(f"{line.where}: unknown setting: {name}")
        setattr(plan.settings, name, table[name](value, line.where))
    for route in plan.routes:
        name = f"script {route.method} {route.path}"
        if route.reply is None and not route.script:
            raise CaseError(f"{name}: nothing stands under it")
        route.script = unrolled(route.script, name)
    return plan
