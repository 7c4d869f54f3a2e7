/* selftest_record.c - rows to JSON, and where that is kept. */
#include "cmd/selftest_record.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/version.h"
#include "load/hardware.h"
#include "model/machine.h"

enum { RECORD_MAX_BYTES = 256 << 10 };

/* The figures of a row under the names of the document. */
static const struct {
    const char *name;
    size_t offset;
} figures[] = {
#define FIGURE(name)                                                                               \
    {                                                                                              \
#name, offsetof(struct selftest_row, name)                                                 \
    }
    FIGURE(ttft_error_ms_p50),  FIGURE(ttft_error_ms_p99), FIGURE(itl_error_ms_p99),
    FIGURE(lateness_us_p50),    FIGURE(lateness_us_p99),   FIGURE(kernel_lateness_us_p99),
    FIGURE(cpu_us_per_event),   FIGURE(events_per_s),      FIGURE(rss_mb),
    FIGURE(server_late_us_p99),
#undef FIGURE
};

static json_t *row_document(const struct selftest_row *r)
{
    json_t *row = json_pack("{s:i}", "concurrency", r->load.concurrency);

    for (size_t i = 0; i < ARRAY_LEN(figures); i++) {
        double v = *(const double *)((const char *)r + figures[i].offset);
        json_object_set_new(row, figures[i].name, isfinite(v) ? json_real(v) : json_null());
    }
    json_t *load = json_pack(
        "{s:I, s:i, s:b, s:I, s:I, s:I, s:b}", "gap_ms", (json_int_t)r->load.gap_ms, "bundle",
        r->load.bundle, "split", r->load.split, "requests", (json_int_t)r->requests, "events",
        (json_int_t)r->events, "failed", (json_int_t)r->failed, "held", selftest_held(r));
    json_object_update(row, load);
    json_decref(load);
    return row;
}

json_t *selftest_document(const struct selftest_row *rows, size_t count, const char *transport,
                          bool realtime)
{
    struct machine host;
    char at[CLOCK_TEXT_MAX];
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, row_document(&rows[i]));
    hardware_detect(NULL, &host);
    json_t *document = json_pack("{s:s, s:s, s:s, s:b, s:{s:s?, s:i, s:s?}, s:o}", "version",
                                 TOKGRID_VERSION, "at", clock_utc_text(at), "transport", transport,
                                 "realtime", realtime, "host", "cpu", host.cpu, "cpus_allowed",
                                 host.cpus_allowed, "kernel", host.kernel, "rows", list);
    machine_release(&host);
    return document;
}

/* False where there is no home to keep it in. */
static bool record_path(char *out, size_t size)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n;

    if (state && state[0] == '/')
        n = snprintf(out, size, "%s/tokgrid/selftest.json", state);
    else if (home && home[0] == '/')
        n = snprintf(out, size, "%s/.local/state/tokgrid/selftest.json", home);
    else
        return false;
    return n > 0 && (size_t)n < size;
}

bool selftest_record_write(json_t *document, struct err *err)
{
    struct buf text;
    char path[4096];

    if (!record_path(path, sizeof path))
        return err_set(err, ERR_SYSTEM, "HOME is not set");
    buf_init(&text, RECORD_MAX_BYTES);
    bool ok = json_write(document, &text) && file_make_parent(path, err) &&
              file_write_atomic(path, text.p, text.len, err);
    buf_release(&text);
    return ok;
}

static bool same(json_t *document, const char *path, const char *here)
{
    const char *there = json_string_at(document, path);
    return there && here ? strcmp(there, here) == 0 : there == here;
}

char *selftest_record_read(void)
{
    struct buf text;
    struct machine host;
    char path[4096], *kept = NULL;

    if (!record_path(path, sizeof path))
        return NULL;
    buf_init(&text, RECORD_MAX_BYTES);
    json_t *document =
        file_read(path, &text, NULL) ? json_parse(text.p, text.len, path, NULL) : NULL;
    hardware_detect(NULL, &host);
    if (document && same(document, "version", TOKGRID_VERSION) &&
        same(document, "host.cpu", host.cpu) && same(document, "host.kernel", host.kernel))
        kept = buf_detach(&text);
    machine_release(&host);
    json_decref(document);
    buf_release(&text);
    return kept;
}
