/* calculator_inputs.h - the list of the calculator's inputs, for the tables made of it.
 *
 *     NUMBER(member, name, initial, least, most, whole, unit, group, help)
 *     CHOICE(member, name, words, initial, group, help)
 *
 * Those who include it define both and use CALCULATOR_INPUTS once. */
#ifndef TOKGRID_MODEL_CALCULATOR_INPUTS_H
#define TOKGRID_MODEL_CALCULATOR_INPUTS_H

#include <stddef.h> /* NULL */

/* clang-format off */
#define CALCULATOR_INPUTS(NUMBER, CHOICE) \
    NUMBER(memory_gb, "memory-gb", 128, 0.001, 1e6, false, "GB", "The machine", "Memory of one device.") \
    NUMBER(bandwidth_gb_s, "bandwidth-gb-s", 800, 0.001, 1e6, false, "GB/s", NULL, "Memory bandwidth of one device.") \
    NUMBER(overhead_gb, "overhead-gb", 6, 0, 1e6, false, "GB", NULL, "Memory that neither weights nor KV cache can have: system, activations, graphs.") \
    NUMBER(peak_tflops, "peak-tflops", 0, 0, 1e7, false, "TFLOPS", NULL, "Peak compute of one device in the format of its matrix products; 0 leaves compute out.") \
    NUMBER(devices, "devices", 1, 1, 1024, true, NULL, NULL, "How many such devices there are.") \
    CHOICE(split, "split", calculator_splits, "tensor", NULL, "How the model is spread over several devices.") \
    NUMBER(link_gb_s, "link-gb-s", 0, 0, 1e6, false, "GB/s", NULL, "Bandwidth between the devices, for the tensor split's all-reduces; 0 leaves them out.") \
    CHOICE(kind, "kind", calculator_kinds, "dense", "The model", "All weights for every token, or experts.") \
    NUMBER(params_b, "params-b", 32, 0.000001, 1e6, false, "10^9", NULL, "Parameters.") \
    NUMBER(active_b, "active-b", 32, 0.000001, 1e6, false, "10^9", NULL, "Parameters that one token uses; of a dense model, all.") \
    NUMBER(weight_bits, "weight-bits", 4.5, 0.1, 64, false, "bits", NULL, "Bits of one weight, scales included.") \
    NUMBER(experts, "experts", 256, 2, 65536, true, NULL, NULL, "Experts of a layer.") \
    NUMBER(experts_per_token, "experts-per-token", 8, 1, 65535, true, NULL, NULL, "Experts that a token uses.") \
    CHOICE(routing, "routing", calculator_routings, "expected", NULL, "Sessions of a batch use experts at random, or all the same ones.") \
    NUMBER(hidden, "hidden", 0, 0, 1e6, true, NULL, NULL, "Width of the hidden state, for the tensor split's all-reduces; 0 leaves them out.") \
    NUMBER(global_layers, "global-layers", 64, 0, 10000, true, NULL, "The KV cache", "Layers whose attention sees the whole context.") \
    NUMBER(local_layers, "local-layers", 0, 0, 10000, true, NULL, NULL, "Layers whose attention sees a window.") \
    NUMBER(window, "window", 4096, 1, 1e9, true, "tokens", NULL, "That window.") \
    NUMBER(kv_heads, "kv-heads", 8, 0, 10000, true, NULL, NULL, "Key-value heads.") \
    NUMBER(query_heads, "query-heads", 0, 0, 10000, true, NULL, NULL, "Query heads, for prefill's attention; 0 leaves it out.") \
    NUMBER(head_dim, "head-dim", 128, 1, 100000, true, NULL, NULL, "Width of a head.") \
    NUMBER(store_bits, "store-bits", 16, 0, 64, false, "bits", NULL, "Bits of a stored key or value.") \
    NUMBER(read_bits, "read-bits", 16, 0, 64, false, "bits", NULL, "Bits that a step reads of each.") \
    NUMBER(fixed_store_gb, "fixed-store-gb", 0, 0, 1e6, false, "GB", NULL, "State of a session that does not grow with its context.") \
    NUMBER(fixed_read_gb, "fixed-read-gb", 0, 0, 1e6, false, "GB", NULL, "What a step reads of it.") \
    NUMBER(allocated_context, "allocated-context", 32768, 0, 1e9, true, "tokens", NULL, "Context that a session's memory is kept for.") \
    NUMBER(read_context, "read-context", 16000, 0, 1e9, true, "tokens", NULL, "Context that is there when the step is taken.") \
    CHOICE(decoding, "decoding", calculator_decodings, "standard", "Decoding", "One token a step, or drafted tokens verified together.") \
    NUMBER(draft_tokens, "draft-tokens", 4, 1, 1000, true, NULL, NULL, "Tokens drafted for a pass.") \
    NUMBER(acceptance_pct, "acceptance-pct", 80, 0, 100, false, "%", NULL, "Chance that a drafted token is accepted when those before it were.") \
    NUMBER(draft_resident_gb, "draft-resident-gb", 0, 0, 1e6, false, "GB", NULL, "Memory of the draft model.") \
    NUMBER(draft_traffic_gb, "draft-traffic-gb", 0, 0, 1e6, false, "GB", NULL, "What drafting reads for a pass.") \
    NUMBER(floor_tok_s, "floor-tok-s", 20, 0.001, 1e6, false, "tok/s", NULL, "The least that each session must get.")
/* clang-format on */

#endif
