"""families.py - what the smaller engine families and proxies tell about themselves.

The same kind of table as in dialects.py: (engine, method, path) -> function. Paths and names are
those the engines use; values come from the settings and from engine.py's live counters. Engines
that load a model by its first request tell more once one has come.
"""

from __future__ import annotations

import json
from typing import Any, Callable

from engine import Engine
from replies import Reply

Handler = Callable[[Engine, Any], Reply]

# The owner of every card in /v1/models; engines that name none are missing.
OWNERS = {
    "plain": "owner",
    "vllm": "vllm",
    "sglang": "sglang",
    "llamacpp": "llamacpp",
    "ollama": "library",
    "lmstudio": "organization_owner",
    "tgi": "tiny",
    "trtllm": "tensorrt_llm",
    "lmdeploy": "lmdeploy",
    "koboldcpp": "koboldcpp",
    "tabby": "tabbyAPI",
    "textgen": "user",
    "litellm": "openai",
}
HEADERS = {
    "mlx": [("Server", "BaseHTTP/0.6 Python/3.12.4")],
    "litellm": [("x-litellm-version", "1.80.0"), ("Server", "uvicorn")],
}
# running, waiting, output tokens, prompt tokens, share of the KV cache; None: not offered.
METRICS = {
    "tgi": (
        "tgi_batch_current_size",
        "tgi_queue_size",
        None,
        "tgi_request_input_length_sum",
        None,
    ),
    "trtllm": (
        "trtllm_num_requests_running",
        "trtllm_num_requests_waiting",
        "trtllm_generation_tokens_total",
        "trtllm_prompt_tokens_total",
        "trtllm_kv_cache_utilization",
    ),
    "lmdeploy": (
        "lmdeploy:num_requests_running",
        "lmdeploy:num_requests_waiting",
        "lmdeploy:generation_tokens_total",
        "lmdeploy:prompt_tokens_total",
        "lmdeploy:gpu_cache_usage_perc",
    ),
}
TRAINED = 131072  # what the models could do, which is no limit of a server


def _json(value: Any) -> Reply:
    return Reply(200, [("Content-Type", "application/json")], json.dumps(value).encode())


def card(engine: Engine, name: str, plain: dict[str, Any]) -> dict[str, Any]:
    """A card of /v1/models as this family writes it."""
    if engine.settings.engine == "openrouter":
        plain["context_length"] = TRAINED
        plain["top_provider"] = {"context_length": TRAINED, "is_moderated": False}
    return plain


def metrics(engine: Engine, _: Any) -> Reply:
    settings = engine.settings
    names = METRICS[settings.engine]
    if settings.metric_names == "old":
        names = tuple(name and name.removeprefix("trtllm_") for name in names)
    values = (
        len(engine.running) + settings.busy,
        len(engine.waiting),
        sum(engine.output_total),
        sum(engine.prompt_total),
        0.25,
    )
    lines = [f'{name}{{model_name="tiny"}} {value}' for name, value in zip(names, values) if name]
    return Reply(200, [("Content-Type", "text/plain")], ("\n".join(lines) + "\n").encode())


# ---- Ollama ----------------------------------------------------------------------------------


def ollama_ps(engine: Engine, _: Any) -> Reply:
    settings = engine.settings
    loaded = {
        "name": f"{settings.models[0]}:latest",
        "model": f"{settings.models[0]}:latest",
        "size": 4000000,
        "digest": "0a1b2c3d",
        "details": {"quantization_level": "Q4_K_M"},
        "context_length": settings.max_model_len or 4096,
    }
    return _json({"models": [loaded] if engine.started else []})


# ---- LM Studio -------------------------------------------------------------------------------


def lmstudio_models(engine: Engine, _: Any) -> Reply:
    settings = engine.settings
    one: dict[str, Any] = {
        "id": settings.models[0],
        "type": "llm",
        "compatibility_type": "gguf",
        "quantization": "Q4_K_M",
        "state": "loaded" if engine.started else "not-loaded",
        "max_context_length": TRAINED,
    }
    if engine.started:
        one["loaded_context_length"] = settings.max_model_len or 4096
    return _json({"object": "list", "data": [one]})


# ---- TGI -------------------------------------------------------------------------------------


def tgi_info(engine: Engine, _: Any) -> Reply:
    settings = engine.settings
    info: dict[str, Any] = {
        "model_id": "acme/tiny",
        "model_sha": "feedc0de",
        "max_concurrent_requests": 128,
        "max_total_tokens": settings.max_model_len or 4096,
        "max_input_tokens": (settings.max_model_len or 4096) - 1,
        "version": "3.3.4",
        "sha": "abc",
        "docker_label": None,
    }
    if settings.kv_tokens:
        info["max_batch_total_tokens"] = settings.kv_tokens
    return _json(info)


def tgi_tokenize(engine: Engine, body: Any) -> Reply:
    tokens = [{"id": n} for n in range(engine.count_prompt(_text_of(body)))]
    return _json({"tokenize_response": tokens, "templated_text": ""})


def _text_of(body: Any) -> str:
    """The text of a tokenizing request, wherever this family wants it."""
    body = body if isinstance(body, dict) else {}
    for name in ("input", "prompt", "text", "messages"):
        value = body.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return str(value[0].get("content", ""))
    return ""


# ---- trtllm-serve ----------------------------------------------------------------------------


def trtllm_iterations(engine: Engine, _: Any) -> Reply:
    """JSON, and read once: what was read is gone."""
    fresh = engine.started > getattr(engine, "iterations_read", 0)
    setattr(engine, "iterations_read", engine.started)
    one = {
        "iter": engine.started,
        "maxNumActiveRequests": engine.settings.slots or 64,
        "kvCacheStats": {"maxNumBlocks": engine.settings.kv_tokens // 32, "tokensPerBlock": 32},
    }
    return _json([one] if fresh else [])


# ---- KoboldCpp, TabbyAPI, text-generation-webui ----------------------------------------------


def koboldcpp_perf(engine: Engine, _: Any) -> Reply:
    idle = 0 if engine.running or engine.settings.busy else 1
    return _json({"total_gens": engine.started, "queue": len(engine.waiting), "idle": idle})


def tabby_model(engine: Engine, _: Any) -> Reply:
    settings = engine.settings
    parameters = {
        "max_seq_len": settings.max_model_len or 4096,
        "cache_size": settings.kv_tokens or None,
        "max_batch_size": settings.slots or None,
    }
    return _json({"id": "tiny-exl3", "object": "model", "parameters": parameters})


def counted(name: str) -> Handler:
    """Tokens of a text without the template, under that name."""
    return lambda engine, body: _json({name: engine.count_text(_text_of(body))})


def with_template(name: str) -> Handler:
    return lambda engine, body: _json({name: engine.count_prompt(_text_of(body))})


def said(value: Any) -> Handler:
    return lambda _, __: _json(value)


def limit(name: str) -> Handler:
    return lambda engine, _: _json({name: engine.settings.max_model_len or 4096})


def llama_like_props(engine: Engine, _: Any) -> Reply:
    settings = engine.settings
    return _json(
        {
            "default_generation_settings": {"n_ctx": settings.max_model_len or 4096},
            "total_slots": settings.slots or 1,
        }
    )


TABLE: dict[tuple[str, str, str], Handler] = {
    ("ollama", "GET", "/api/version"): said({"version": "0.12.3"}),
    ("ollama", "GET", "/api/ps"): ollama_ps,
    ("lmstudio", "GET", "/api/v0/models"): lmstudio_models,
    ("tgi", "GET", "/info"): tgi_info,
    ("tgi", "GET", "/metrics"): metrics,
    ("tgi", "POST", "/chat_tokenize"): tgi_tokenize,
    ("trtllm", "GET", "/version"): said({"version": "1.2.0"}),
    ("trtllm", "GET", "/metrics"): trtllm_iterations,
    ("trtllm", "GET", "/prometheus/metrics"): metrics,
    ("lmdeploy", "GET", "/metrics"): metrics,
    ("lmdeploy", "POST", "/v1/encode"): with_template("length"),
    ("koboldcpp", "GET", "/api/extra/version"): said({"result": "KoboldCpp", "version": "1.99"}),
    ("koboldcpp", "GET", "/api/v1/model"): said({"result": "koboldcpp/tiny-q4"}),
    ("koboldcpp", "GET", "/api/extra/true_max_context_length"): limit("value"),
    ("koboldcpp", "GET", "/api/extra/perf"): koboldcpp_perf,
    ("koboldcpp", "GET", "/api/version"): said({"version": "0.7.0"}),
    ("koboldcpp", "GET", "/props"): llama_like_props,
    ("koboldcpp", "POST", "/api/extra/tokencount"): counted("value"),
    ("tabby", "GET", "/v1/model"): tabby_model,
    ("tabby", "GET", "/props"): llama_like_props,
    ("tabby", "POST", "/v1/token/encode"): with_template("length"),
    ("textgen", "GET", "/v1/internal/model/info"): said({"model_name": "tiny-textgen"}),
    ("textgen", "POST", "/v1/internal/token-count"): counted("length"),
    ("litellm", "GET", "/health/readiness"): said({"status": "healthy", "litellm_version": "1.80"}),
}
