"""dialects.py - what real engines tell about themselves, made up from the pretend engine's state.

One table: (engine, method, path) -> function. Paths and names are those the engines use; values
come from the settings and from engine.py's live counters.
"""

from __future__ import annotations

import json
import time
from typing import Any, Callable

import families
from engine import BLOCK, Engine
from replies import Reply

Handler = Callable[[Engine, Any], Reply]


def json_reply(value: Any, status: int = 200) -> Reply:
    body = json.dumps(value, ensure_ascii=False).encode()
    return Reply(status, [("Content-Type", "application/json")], body)


def error_reply(status: int, message: str, kind: str) -> Reply:
    return json_reply({"error": {"message": message, "type": kind, "code": status}}, status)


# ---- models ----------------------------------------------------------------------------------


def models(engine: Engine, _: Any) -> Reply:
    settings = engine.settings
    cards = []
    for name in settings.models:
        card: dict[str, Any] = {
            "id": name,
            "object": "model",
            "created": int(time.time()),
        }
        if settings.engine in families.OWNERS:
            card["owned_by"] = families.OWNERS[settings.engine]
        if settings.engine in ("vllm", "sglang"):
            card["root"] = name
            card["max_model_len"] = settings.max_model_len or None
        if settings.engine == "llamacpp":
            # The training size, which is not the limit of a request.
            card["meta"] = {"n_ctx_train": 1048576, "n_params": 1000000, "size": 2000000}
        cards.append(families.card(engine, name, card))
    reply = json_reply({"object": "list", "data": cards})
    reply.headers.extend(families.HEADERS.get(settings.engine, []))
    return reply


# ---- vLLM ------------------------------------------------------------------------------------


def vllm_version(_: Engine, __: Any) -> Reply:
    return json_reply({"version": "0.11.0"})


def _series(name: str, kind: str, labels: list[str], values: list[float]) -> list[str]:
    lines = [f"# HELP {name} {name}.", f"# TYPE {name} {kind}"]
    return lines + [f"{name}{{{label}}} {value}" for label, value in zip(labels, values)]


def _kv_share(engine: Engine) -> float:
    used = sum(one.prompt_tokens + one.tokens for one in engine.running)
    return round(used / engine.settings.kv_tokens, 6) if engine.settings.kv_tokens else 0.0


def _gauges(engine: Engine) -> tuple[list[float], list[float]]:
    running = [float(n) for n in engine.by_label(engine.running)]
    running[0] += engine.settings.busy
    waiting = [float(n) for n in engine.by_label([one for one, _ in engine.waiting])]
    return running, waiting


def vllm_metrics(engine: Engine, _: Any) -> Reply:
    settings = engine.settings
    model = settings.models[0].translate({ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n"})
    labels = [f'engine="{n}",model_name="{model}"' for n in range(settings.labels)]
    running, waiting = _gauges(engine)
    share = [_kv_share(engine)] * settings.labels
    old = settings.metric_names == "old"
    kv_name, cache = ("gpu_cache_usage_perc", "gpu_prefix_cache") if old else (
        "kv_cache_usage_perc",
        "prefix_cache",
    )
    lines = _series("vllm:num_requests_running", "gauge", labels, running)
    lines += _series("vllm:num_requests_waiting", "gauge", labels, waiting)
    lines += _series(f"vllm:{kv_name}", "gauge", labels, share)
    for name, values in (
        ("vllm:generation_tokens_total", engine.output_total),
        ("vllm:prompt_tokens_total", engine.prompt_total),
        (f"vllm:{cache}_queries_total", engine.prompt_total),
        (f"vllm:{cache}_hits_total", engine.cached_total),
        ("vllm:num_preemptions_total", [0] * settings.labels),
    ):
        lines += _series(name, "counter", labels, [float(value) for value in values])
    name = "vllm:request_prefill_time_seconds"
    lines += _series(f"{name}_count", "counter", labels, [float(n) for n in engine.prefills])
    lines += _series(f"{name}_sum", "counter", labels, engine.prefill_s_total)
    if settings.kv_tokens:
        each = settings.kv_tokens // settings.labels
        info = [
            f'block_size="{BLOCK}",cache_dtype="auto",enable_prefix_caching="{settings.cache}",'
            f'engine="{n}",kv_cache_size_tokens="{each}",num_gpu_blocks="{each // BLOCK}"'
            for n in range(settings.labels)
        ]
        lines += _series("vllm:cache_config_info", "gauge", info, [1.0] * settings.labels)
    return _prometheus(lines)


def _prometheus(lines: list[str]) -> Reply:
    kind = "text/plain; version=0.0.4; charset=utf-8"
    return Reply(200, [("Content-Type", kind)], ("\n".join(lines) + "\n").encode())


def tokenize(engine: Engine, body: Any) -> Reply:
    """vLLM's: a prompt, or messages with the template around them."""
    body = body if isinstance(body, dict) else {}
    text = body.get("prompt", "")
    count = engine.count_text(text) if isinstance(text, str) else 0
    if "messages" in body:
        count = engine.count_prompt(prompt_of(body))
    limit = engine.settings.max_model_len or None
    tokens = list(range(count))
    return json_reply({"count": count, "max_model_len": limit, "tokens": tokens})


def sglang_tokenize(engine: Engine, body: Any) -> Reply:
    """A prompt only, as in all but the newest versions."""
    if isinstance(body, dict) and isinstance(body.get("prompt"), str):
        return tokenize(engine, {"prompt": body["prompt"]})
    return json_reply({"object": "error", "message": "Field required: body.prompt"}, 400)


def prompt_of(body: Any) -> str:
    """The text a request asks about: `prompt`, or all messages' contents."""
    if not isinstance(body, dict):
        return ""
    if isinstance(body.get("prompt"), str):
        return str(body["prompt"])
    parts = []
    for message in body.get("messages") or []:
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str):
            parts.append(content)
        elif isinstance(content, list):
            parts += [str(p.get("text", "")) for p in content if isinstance(p, dict)]
    return "\n".join(parts)


# ---- SGLang ----------------------------------------------------------------------------------


def sglang_info(engine: Engine, _: Any) -> Reply:
    settings = engine.settings
    return json_reply(
        {
            "version": "0.5.3",
            "model_path": settings.models[0],
            "served_model_name": settings.models[0],
            "tp_size": 1,
            "dp_size": settings.labels,
            "context_length": None,
            "max_total_num_tokens": settings.kv_tokens or None,
            "max_running_requests": settings.slots or None,
            "disable_radix_cache": not settings.cache,
            "internal_states": [{} for _ in range(settings.labels)],
        }
    )


def sglang_model_info(engine: Engine, _: Any) -> Reply:
    return json_reply({"model_path": engine.settings.models[0], "is_generation": True})


def sglang_metrics(engine: Engine, _: Any) -> Reply:
    settings = engine.settings
    model = settings.models[0]
    prefix = "sglang_" if settings.metric_names == "old" else "sglang:"
    labels = [
        f'dp_rank="{n}",model_name="{model}",tp_rank="{rank}"'
        for rank in range(settings.ranks)
        for n in range(settings.labels)
    ]
    running, waiting = (values * settings.ranks for values in _gauges(engine))
    share = [_kv_share(engine)] * len(labels)
    lines = _series(f"{prefix}num_running_reqs", "gauge", labels, running)
    lines += _series(f"{prefix}num_queue_reqs", "gauge", labels, waiting)
    lines += _series(f"{prefix}token_usage", "gauge", labels, share)
    # What it was when something last ran, for as long as nothing does.
    lines += _series(f"{prefix}gen_throughput", "gauge", labels, [812.4] * len(labels))
    for name, values in (
        ("generation_tokens_total", engine.output_ended),
        ("prompt_tokens_total", engine.prompt_ended),
        ("cached_tokens_total", engine.cached_ended),
    ):
        counts = [float(value) for value in values] * settings.ranks
        lines += _series(prefix + name, "counter", labels, counts)
    if settings.realtime:
        decoded = [a - b for a, b in zip(engine.output_total, engine.firsts)]
        fresh = [a - b for a, b in zip(engine.prompt_total, engine.cached_total)]
        modes = {"decode": decoded, "prefill_cache": engine.cached_total, "prefill_compute": fresh}
        lines += _series(
            prefix + "realtime_tokens_total",
            "counter",
            [f'mode="{mode}",{label}' for mode in modes for label in labels],
            [float(v) for values in modes.values() for v in values * settings.ranks],
        )
    return _prometheus(lines)


def sglang_abort(engine: Engine, body: Any) -> Reply:
    rid = body.get("rid") if isinstance(body, dict) else None
    engine.abort(str(rid))
    return Reply(200, [], b"")


# ---- llama.cpp -------------------------------------------------------------------------------


def llamacpp_props(engine: Engine, _: Any) -> Reply:
    settings = engine.settings
    return json_reply(
        {
            "default_generation_settings": {"n_ctx": settings.max_model_len or 4096},
            "total_slots": settings.slots or 4,
            "model_path": f"/models/{settings.models[0]}.gguf",
            "chat_template": "{{ messages }}",
            "build_info": "b6700-0a1b2c3d",
        }
    )


def llamacpp_metrics(engine: Engine, _: Any) -> Reply:
    """No labels at all, and an output counter that moves when a request ends, as llama-server's."""
    running, waiting = _gauges(engine)
    lines = []
    for name, kind, value in (
        ("prompt_tokens_total", "counter", sum(engine.prompt_total) - sum(engine.cached_total)),
        ("tokens_predicted_total", "counter", sum(engine.output_ended)),
        ("n_decode_total", "counter", sum(engine.output_total)),
        ("requests_processing", "gauge", sum(running)),
        ("requests_deferred", "gauge", sum(waiting)),
    ):
        lines += [f"# HELP llamacpp:{name} {name}.", f"# TYPE llamacpp:{name} {kind}"]
        lines.append(f"llamacpp:{name} {value:g}")
    return _prometheus(lines)


def llamacpp_slots(engine: Engine, _: Any) -> Reply:
    """One entry per slot; what its request has decoded so far."""
    slots: list[dict[str, Any]] = []
    for number in range(engine.settings.slots or 4):
        slot: dict[str, Any] = {"id": number, "is_processing": number < len(engine.running)}
        if slot["is_processing"]:
            decoded = engine.running[number].tokens
            slot["next_token"] = [{"has_next_token": True, "n_decoded": decoded}]
        slots.append(slot)
    return json_reply(slots)


def llamacpp_no_metrics(_: Engine, __: Any) -> Reply:
    words = "This server does not support metrics endpoint. Start it with `--metrics`"
    return error_reply(501, words, "not_supported_error")


def llamacpp_tokenize(engine: Engine, body: Any) -> Reply:
    content = body.get("content", "") if isinstance(body, dict) else ""
    return json_reply({"tokens": list(range(engine.count_text(str(content))))})


def llamacpp_template(engine: Engine, body: Any) -> Reply:
    """The template's text has as many characters as its tokens need, so that both counts agree."""
    template = "<t> " * engine.settings.overhead
    return json_reply({"prompt": template + prompt_of(body)})


# ---- the table -------------------------------------------------------------------------------


def healthy(_: Engine, __: Any) -> Reply:
    return json_reply({"status": "ok"})


def empty(_: Engine, __: Any) -> Reply:
    return Reply(200, [], b"")


TABLE: dict[tuple[str, str, str], Handler] = {
    ("vllm", "GET", "/health"): empty,
    ("vllm", "GET", "/version"): vllm_version,
    ("vllm", "GET", "/metrics"): vllm_metrics,
    ("vllm", "POST", "/tokenize"): tokenize,
    ("sglang", "GET", "/health"): empty,
    ("sglang", "GET", "/server_info"): sglang_info,
    ("sglang", "GET", "/get_server_info"): sglang_info,
    ("sglang", "GET", "/model_info"): sglang_model_info,
    ("sglang", "GET", "/get_model_info"): sglang_model_info,
    ("sglang", "GET", "/metrics"): sglang_metrics,
    ("sglang", "POST", "/tokenize"): sglang_tokenize,
    ("sglang", "POST", "/abort_request"): sglang_abort,
    ("llamacpp", "GET", "/health"): healthy,
    ("llamacpp", "GET", "/props"): llamacpp_props,
    ("llamacpp", "GET", "/metrics"): llamacpp_metrics,
    ("llamacpp", "GET", "/slots"): llamacpp_slots,
    ("llamacpp", "POST", "/tokenize"): llamacpp_tokenize,
    ("llamacpp", "POST", "/apply-template"): llamacpp_template,
}


def find(engine: Engine, method: str, path: str) -> Handler | None:
    """The endpoint of the engine that is being played, if it has it."""
    settings = engine.settings
    if (method, path) == ("GET", "/v1/models"):
        return models
    if path in ("/tokenize", "/apply-template") and not settings.tokenize:
        return None
    if path.endswith("/metrics") and not settings.metrics and settings.engine != "trtllm":
        return llamacpp_no_metrics if settings.engine == "llamacpp" else None
    if path.startswith("/prometheus/") and not settings.metrics:
        return None
    key = (settings.engine, method, path)
    return TABLE.get(key) or families.TABLE.get(key)
