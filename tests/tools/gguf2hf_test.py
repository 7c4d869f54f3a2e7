#!/usr/bin/env python3
"""gguf2hf_test.py MKMODEL GGUF2HF - TAP test of tools/gguf2hf: a whole folder that says of the
model what the GGUF says, the same weights in it, and one line about what it does not understand."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

LAYERS = 3
ENDS = 4
FILES = {
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
}

count = 0


def check(name: str, holds: bool) -> None:
    global count
    count += 1
    print(f"{'ok' if holds else 'not ok'} {count} - {name}")


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def tensors(path: Path) -> tuple[dict[str, Any], bytes]:
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def check_tensors(folder: Path, gguf: bytes, config: dict[str, Any]) -> None:
    header, data = tensors(folder / "model.safetensors")
    says = header.pop("__metadata__")
    check("the weights call themselves random", "Random weights" in says["description"])
    check("three tensors and nine for each layer", len(header) == 3 + 9 * LAYERS)
    ends = sorted(tensor["data_offsets"] for tensor in header.values())
    joined = all(before[1] == after[0] for before, after in zip(ends, ends[1:]))
    whole = ends[0][0] == 0 and ends[-1][1] == len(data)
    check("one after the other, to the end", joined and whole)
    width, vocabulary = config["hidden_size"], config["vocab_size"]
    shapes = {
        "model.embed_tokens.weight": [vocabulary, width],
        "lm_head.weight": [vocabulary, width],
        "model.norm.weight": [width],
        "model.layers.2.mlp.down_proj.weight": [width, config["intermediate_size"]],
        "model.layers.0.self_attn.k_proj.weight": [
            config["num_key_value_heads"] * config["head_dim"],
            width,
        ],
    }
    check("shapes", all(header[name]["shape"] == shape for name, shape in shapes.items()))
    first, last = header["lm_head.weight"]["data_offsets"]
    check("weights as they lie in the GGUF", data[first:last] in gguf)


def check_tokenizer(folder: Path, config: dict[str, Any]) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    vocabulary, merges = tokenizer["model"]["vocab"], tokenizer["model"]["merges"]
    numbers = [*vocabulary.values(), *(token["id"] for token in tokenizer["added_tokens"])]
    check("every token once", sorted(numbers) == list(range(config["vocab_size"])))
    check("every merge makes a token", all(a + b in vocabulary for a, b in merges))
    check("a chat template", "add_generation_prompt" in settings["chat_template"])
    names = {token["id"]: token["content"] for token in tokenizer["added_tokens"]}
    check("the end token", names[config["eos_token_id"]] == settings["eos_token"] == "<|end|>")


def check_ends(
    gguf2hf: str, model: Path, plain: Path, folder: Path, config: dict[str, Any]
) -> None:
    run(gguf2hf, "--end-every", str(ENDS), model, folder)
    ends = json.loads((folder / "generation_config.json").read_text())["eos_token_id"]
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    words = [token for token in tokenizer["model"]["vocab"] if token[0] == "\u0120" and token[1:]]
    check("each fourth word ends an answer", len(ends) == 1 + -(-len(words) // ENDS))
    check("the end token still does", ends[0] == config["eos_token_id"])
    same = all(
        (plain / name).read_bytes() == (folder / name).read_bytes()
        for name in FILES - {"generation_config.json"}
    )
    check("all else is the same, to the byte", same)


def check_refused(name: str, gguf2hf: str, *arguments: str | Path) -> None:
    got = run(gguf2hf, *arguments)
    check(f"refuses {name}", got.returncode == 1 and got.stderr.count("\n") == 1)


def main(mkmodel: str, gguf2hf: str, root: Path) -> None:
    model, folder = root / "m.gguf", root / "hf"
    run(mkmodel, "--layers", str(LAYERS), "-o", model)
    print("1..16")
    got = run(gguf2hf, model, folder)
    check("converts a model of mkmodel", got.returncode == 0)
    check("writes a whole folder", {path.name for path in folder.iterdir()} == FILES)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    check_tensors(folder, model.read_bytes(), config)
    check_tokenizer(folder, config)
    check_ends(gguf2hf, model, folder, root / "ends", config)
    run(mkmodel, "--type", "q8_0", "-o", root / "q8.gguf")
    check_refused("packed weights", gguf2hf, root / "q8.gguf", root / "x")
    check_refused("what is no GGUF", gguf2hf, mkmodel, root / "x")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(sys.argv[1], sys.argv[2], Path(name))
