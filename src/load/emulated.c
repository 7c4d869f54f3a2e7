/* emulated.c - is the server this project's own emulator? Then the result says so.
 *
 * It gives itself away twice: by its Server header, which a proxy may replace, and by an object in
 * its models list, which tells the profile and the speed. Either makes the result `simulated`; what
 * is told becomes facts of the server (emulator, emulator_profile, emulator_speed), from which
 * every report says it; the hardware is then the profile's and not the machine's that runs the
 * emulator.
 */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "load/session.h"

static const char models_path[] = "/v1/models";

static json_t *emulator_object(const struct session *s)
{
    json_t *object = json_at(pages_json(s->pages, models_path), "emulator");
    const char *name = json_string_at(object, "name");
    return name && strcmp(name, "tokgrid-engine") == 0 ? object : NULL;
}

/* False, and `out` as it was, when the member is no text or an empty one. */
static bool copy(char *out, size_t size, json_t *object, const char *member)
{
    const char *text = json_string_at(object, member);
    if (!text || !*text)
        return false;
    text_printable(out, size, text, strlen(text));
    return true;
}

static void note_facts(struct result *r, json_t *object)
{
    char version[64] = "", name[96] = "tokgrid-engine", profile[96], times[32];
    double speed;

    if (copy(version, sizeof version, object, "version"))
        snprintf(name, sizeof name, "tokgrid-engine %s", version);
    result_add_fact(r, "emulator", name,
                    object ? "GET /v1/models emulator" : "GET /v1/models Server");
    if (copy(profile, sizeof profile, object, "profile"))
        result_add_fact(r, "emulator_profile", profile, "GET /v1/models emulator.profile");
    if (json_number_at(object, "speed", &speed) && speed > 0) {
        snprintf(times, sizeof times, "%.6g", speed);
        result_add_fact(r, "emulator_speed", times, "GET /v1/models emulator.speed");
    }
}

void session_note_emulator(struct session *s)
{
    json_t *object = emulator_object(s);
    const struct page *models = pages_get(s->pages, models_path);

    s->emulated = object != NULL || text_starts(models->server, "tokgrid-engine/");
    if (!s->emulated)
        return;
    mem_set_string(&s->result->kind, "simulated");
    note_facts(s->result, object);
    session_event(s, "info", "the server is tokgrid's emulated engine: the result is simulated");
}

void session_emulated_hardware(const struct session *s, struct machine *ret)
{
    json_t *object = emulator_object(s);
    char gpu[96];
    double vram;

    if (!copy(gpu, sizeof gpu, object, "gpu"))
        return;
    ret->gpu_count = 1;
    ret->gpus[0].name = mem_strdup(gpu);
    if (json_number_at(object, "vram_bytes", &vram) && vram >= 1 && vram < 1e15)
        ret->gpus[0].vram_bytes = (int64_t)vram;
    ret->source = mem_strdup("simulated by the server");
}
