"""chat.py - the generating endpoints: /v1/chat/completions and /v1/completions.

Turns a request into one of the engine's generations and its pieces into events, in the shape,
with the usage and with the failure that the settings ask for.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from typing import Any

from dialects import error_reply, json_reply, prompt_of
from engine import Engine, Generation, Piece, output_limit
from http1 import Connection, EventStream, Request
from replies import Failure, Reply

PATHS = ("/v1/chat/completions", "/v1/completions")


def refusal(engine: Engine, body: Any) -> Reply | None:
    """The error this request deserves, if any."""
    settings = engine.settings
    if not isinstance(body, dict):
        return error_reply(400, "the body is not a JSON object", "BadRequestError")
    for name in settings.refuse:
        if name not in body:
            continue
        if settings.refuse_status == 422:
            words = "Extra inputs are not permitted"
            detail = [{"type": "extra_forbidden", "loc": ["body", name], "msg": words}]
            return json_reply({"detail": detail}, 422)
        return error_reply(settings.refuse_status, f"Unrecognized field: {name}", "BadRequestError")
    model = body.get("model")
    if settings.check_model and model not in settings.models:
        return error_reply(404, f"The model `{model}` does not exist.", "NotFoundError")
    limit = settings.max_model_len
    asked = output_limit(body) or 1
    prompt = engine.count_prompt(prompt_of(body))
    if limit and prompt + asked > limit:
        words = (
            f"This model's maximum context length is {limit} tokens. However, you requested "
            f"{asked} output tokens and your prompt contains {prompt} input tokens."
        )
        return error_reply(400, words, "BadRequestError")
    return None


class Shape:
    """The JSON of one request's events."""

    def __init__(self, engine: Engine, request: Request, generation: Generation) -> None:
        self.settings = engine.settings
        self.generation = generation
        self.chat = request.path.endswith("/chat/completions")
        body = request.body
        options = body.get("stream_options") or {}
        self.asked = bool(options.get("include_usage"))
        self.continuous = self.asked and bool(options.get("continuous_usage_stats"))
        self.model = str(body.get("model"))

    def usage(self, dips: bool = False) -> dict[str, Any]:
        generation = self.generation
        tokens = self.settings.counted or generation.tokens
        tokens = 1 if dips else tokens
        usage: dict[str, Any] = {
            "prompt_tokens": generation.prompt_tokens,
            "completion_tokens": tokens,
            "total_tokens": generation.prompt_tokens + tokens,
        }
        if self.settings.cached == "reported":
            usage["prompt_tokens_details"] = {"cached_tokens": generation.cached}
        return usage

    def timings(self) -> dict[str, Any]:
        """llama-server's own clock, in its last event."""
        one = self.generation
        return {
            "cache_n": one.cached,
            "prompt_n": one.prompt_tokens - one.cached,
            "prompt_ms": round(one.prefill_s * 1000, 3),
            "predicted_n": one.tokens,
            "predicted_ms": round(one.decode_s * 1000, 3),
        }

    def _event(self, choices: list[Any], usage: dict[str, Any] | None) -> dict[str, Any]:
        event: dict[str, Any] = {}
        if not self.settings.lean:
            event["id"] = self.generation.id
            event["object"] = "chat.completion.chunk" if self.chat else "text_completion"
            event["created"] = int(time.time())
            event["model"] = self.model
        event["choices"] = choices
        if usage is not None:
            event["usage"] = usage
        return event

    def _usage_now(self) -> dict[str, Any] | None:
        if not self.continuous or self.settings.usage != "stream":
            return None
        dip, now = self.settings.usage_dip, self.generation.tokens
        return self.usage(dips=dip > 0 and dip < now <= dip + self.settings.per_event)

    def _choice(self, delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
        if self.chat:
            return {"index": 0, "delta": delta, "finish_reason": finish}
        return {"index": 0, "text": delta.get("content", ""), "finish_reason": finish}

    def opener(self) -> str:
        content = "" if self.settings.opener == "role" else None
        delta = {"role": "assistant", "content": content}
        return json.dumps(self._event([self._choice(delta, None)], self._usage_now()))

    def piece(self, piece: Piece) -> str:
        channel = "reasoning" if piece.thinking else self.settings.channel
        names = ["reasoning", "reasoning_content"] if channel == "both" else [channel]
        delta = {name: piece.text for name in names}
        event = self._event([self._choice(delta, None)], self._usage_now())
        return json.dumps(event, ensure_ascii=False)

    def finish(self, reason: str) -> str:
        event = self._event([self._choice({}, reason)], self._usage_now())
        if self.settings.engine == "llamacpp":
            event["timings"] = self.timings()
        return json.dumps(event)

    def last_usage(self) -> str | None:
        wanted = self.asked and self.settings.usage in ("final", "stream")
        if not wanted and self.settings.usage != "unasked":
            return None
        return json.dumps(self._event([], self.usage()))

    def whole(self, text: str, reason: str) -> dict[str, Any]:
        """The answer to a request without `stream`."""
        delta = {"role": "assistant", "content": text}
        choice = self._choice(delta, reason)
        if self.chat:
            choice["message"] = choice.pop("delta")
        event = self._event([choice], self.usage() if self.settings.usage != "none" else None)
        if self.chat and "object" in event:
            event["object"] = "chat.completion"
        return event


async def answer(engine: Engine, connection: Connection, request: Request, one: Generation) -> bool:
    """Generate and send. True when the connection may be used again."""
    shape = Shape(engine, request, one)
    if engine.settings.disconnect == "ignored":
        follow = None
    else:
        follow = asyncio.ensure_future(_follow(connection, one))
    try:
        if request.body.get("stream"):
            return await _stream(engine, connection, shape, one)
        text = "".join([piece.text async for piece in engine.pieces(one)])
        await connection.reply(json_reply(shape.whole(text, one.finish)), False)
        return engine.settings.reuse
    finally:
        if follow:
            follow.cancel()


async def _follow(connection: Connection, one: Generation) -> None:
    await connection.gone.wait()
    one.gone.set()


async def _stream(engine: Engine, connection: Connection, shape: Shape, one: Generation) -> bool:
    settings = engine.settings
    stream = EventStream(connection, settings, one.number)
    await stream.begin()
    if settings.opener != "none" and shape.chat:
        await stream.event(shape.opener())
    chatter = None
    if settings.comments != "none":
        chatter = asyncio.ensure_future(_comments(stream, one, settings.comments == "between"))
    try:
        async with contextlib.aclosing(engine.pieces(one)) as pieces:
            async for piece in pieces:
                failure = _due(engine, one)
                if failure:
                    one.finish = f"broken: {failure.how}"
                    return await _fail(failure, stream, shape, settings.fail_body)
                await stream.event(shape.piece(piece))
    finally:
        if chatter:
            chatter.cancel()
    if one.finish:  # else the client has gone
        if settings.finish:
            await stream.event(shape.finish(one.finish))
        usage = shape.last_usage()
        if usage:
            await stream.event(usage)
        if settings.done:
            await stream.event("[DONE]")
        await stream.end()
    return stream.keep


def _due(engine: Engine, one: Generation) -> Failure | None:
    """The failure of the settings, when this generation's turn has come."""
    failure = engine.settings.fail
    if failure is None or one.tokens <= failure.tokens:
        return None
    if not failure.hits(one.number, len(engine.open)):
        return None
    if failure.scope == "once" and engine.has_failed:
        return None
    engine.has_failed = True
    return failure


async def _comments(stream: EventStream, one: Generation, always: bool) -> None:
    while always or one.tokens == 0:
        await stream.comment("keepalive")
        await asyncio.sleep(0.02)


async def _fail(failure: Failure, stream: EventStream, shape: Shape, body: str) -> bool:
    connection = stream.connection
    if failure.how in ("object", "event"):
        await stream.event(body, "error" if failure.how == "event" else "")
        await stream.event("[DONE]")
    elif failure.how == "stray":
        await stream.text(body + stream.eol)
    elif failure.how == "finish":
        await stream.event(shape.finish("abort"))
        await stream.event("[DONE]")
    elif failure.how == "done":
        await stream.event("[DONE]")
    elif failure.how == "cut":
        await stream.cut()
        return False
    elif failure.how == "reset":
        connection.reset()
        return False
    elif failure.how == "stall":
        await connection.gone.wait()
        return False
    await stream.end()  # "close" as well
    return stream.keep
