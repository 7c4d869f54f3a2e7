/* publish_review.c - read, redact, write anew where that changed something, read again. */
#include "cmd/publish_review.h"

#include <pwd.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"
#include "base/text.h"
#include "site/gzip.h"
#include "site/publish.h"

/* ---- reading --------------------------------------------------------------------------------- */

/* Whose machine this is: what of it stands in a result is taken out. */
static struct redact_names own_names(char host[256])
{
    const struct passwd *user = getpwuid(geteuid());

    if (gethostname(host, 256) != 0 || strcmp(host, "localhost") == 0)
        host[0] = '\0';
    host[255] = '\0';
    return (struct redact_names){.user = user ? user->pw_name : NULL,
                                 .hosts = {*host ? host : NULL}};
}

static bool is_changed(const struct review *r)
{
    return r->note || r->hardware || r->redactions.n > 0;
}

/* What a document that is written anew reads as: result_check and the whole schema once more. */
static bool write_anew(struct review *r, struct err *err)
{
    struct result again;

    buf_reset(&r->document);
    if (!result_write_json(&r->result, &r->document))
        return err_set(err, ERR_LIMIT, "%s: larger than the %d bytes that a site takes", r->path,
                       RESULT_MAX_BYTES);
    if (!result_read_json(r->document.p, r->document.len, r->path, &again, err))
        return err_prefix(err, "without what was taken out");
    result_release(&again);
    return true;
}

/* Better said before it is sent. */
static bool judge(struct review *r, struct err *err)
{
    struct publication p;
    bool ok = publication_read(&p, r->document.p, r->document.len, r->arena, err) ||
              err_prefix(err, "%s", r->path);

    r->doubt_count = ok ? p.flag_count : 0;
    r->doubts = arena_array(r->arena, r->doubt_count, sizeof *r->doubts);
    for (size_t i = 0; i < r->doubt_count; i++)
        r->doubts[i] = arena_printf(r->arena, "%lld x %d: %s", (long long)p.flags[i].context_tokens,
                                    p.flags[i].concurrency, p.flags[i].text);
    publication_release(&p);
    return ok;
}

/* What a run on another machine could not know. */
static bool add_hardware(struct review *r, const char *path, struct err *err)
{
    struct machine given, *there = &r->result.hardware;
    struct buf text;

    if (there->gpu_count > 0 || there->cpu)
        return err_set(err, ERR_USAGE, "%s says already what it was measured on: no --hardware",
                       r->path);
    buf_init(&text, 1 << 20);
    bool ok = file_read(path, &text, err) && machine_read_json(text.p, text.len, path, &given, err);
    buf_release(&text);
    if (!ok)
        return false;
    machine_release(there);
    *there = given;
    r->hardware = path;
    return true;
}

static void take_digest(struct review *r)
{
    unsigned char hash[crypto_generichash_BYTES];
    crypto_generichash(hash, sizeof hash, (const unsigned char *)r->document.p, r->document.len,
                       NULL, 0);
    sodium_bin2hex(r->digest, sizeof r->digest, hash, sizeof hash);
}

bool review_read(struct review *r, const char *path, const struct review_options *options,
                 struct arena *a, struct err *err)
{
    char host[256];

    *r = (struct review){.path = path, .note = options->note, .arena = a};
    buf_init(&r->document, RESULT_MAX_BYTES);
    buf_init(&r->packed, RESULT_MAX_BYTES + (RESULT_MAX_BYTES >> 4));
    r->read = file_read(path, &r->document, err) &&
              result_read_json(r->document.p, r->document.len, path, &r->result, err);
    if (!r->read || (options->hardware && !add_hardware(r, options->hardware, err)))
        return false;
    if (options->note)
        result_add_note(&r->result, "%s", options->note);
    const struct redact_names names = own_names(host);
    redact_result(&r->result, options->keep_names ? NULL : &names, a, &r->redactions);
    if ((is_changed(r) && !write_anew(r, err)) || !judge(r, err))
        return false;
    take_digest(r);
    return gzip_pack(r->document.p, r->document.len, &r->packed) ||
           err_set(err, ERR_SYSTEM, "%s: cannot be compressed", path);
}

void review_release(struct review *r)
{
    if (r->read)
        result_release(&r->result);
    buf_release(&r->document);
    buf_release(&r->packed);
}

/* ---- for a person ---------------------------------------------------------------------------- */

static const char *printable(const struct review *r, const char *text, size_t n)
{
    char *out = arena_alloc(r->arena, n + 1);
    text_printable(out, n + 1, text, n);
    return out;
}

/* Line by line, each with the mark in front. */
static void add_text(const struct review *r, const char *mark, const char *text, struct buf *out)
{
    for (;;) {
        size_t n = strcspn(text, "\n");
        buf_addf(out, "    %s %s\n", mark, printable(r, text, n));
        if (text[n] == '\0' || text[n + 1] == '\0')
            return;
        text += n + 1;
    }
}

static void add_count(struct buf *out, const char *comma, size_t n, const char *what)
{
    if (n > 0)
        buf_addf(out, "%s%zu %s%s", comma, n, what, n == 1 ? "" : "s");
}

static void add_redaction(const struct review *r, const struct redaction *one, struct buf *out)
{
    buf_addf(out, "  %s: ", one->field);
    add_count(out, "", one->secrets, "secret");
    add_count(out, one->secrets > 0 ? ", " : "", one->names, "name");
    buf_adds(out, " taken out\n");
    add_text(r, "-", one->before, out);
    add_text(r, "+", one->after, out);
}

static void add_title(const struct review *r, struct buf *out)
{
    const struct result *result = &r->result;
    const char *model =
        result->subject.model ? result->subject.model : result->subject.served_model;
    struct buf machine;

    buf_init(&machine, 4096);
    machine_title(&result->hardware, &machine);
    buf_addf(out, "%s: %s", printable(r, r->path, strlen(r->path)),
             model ? printable(r, model, strlen(model)) : "no model is named");
    if (machine.len > 0)
        buf_addf(out, " on %s", printable(r, machine.p, machine.len));
    buf_addf(out, ", %s, %zu of %zu cells valid\n", result->kind ? result->kind : "of no kind",
             result_count_status(result, STATUS_VALID), result->decode_count);
    buf_release(&machine);
}

void review_write(const struct review *r, const struct review_target *to, struct buf *out)
{
    char bytes[NUM_TEXT_MAX], packed[NUM_TEXT_MAX];

    add_title(r, out);
    for (size_t i = 0; i < r->redactions.n; i++)
        add_redaction(r, &r->redactions.v[i], out);
    if (r->note) {
        buf_addf(out, "  notes[%zu]: added\n", r->result.note_count - 1);
        add_text(r, "+", r->result.notes[r->result.note_count - 1], out);
    }
    if (r->hardware)
        buf_addf(out, "  hardware: added from %s\n",
                 printable(r, r->hardware, strlen(r->hardware)));
    buf_adds(out, is_changed(r) ? "  Everything else is as it stands in the file.\n"
                                : "  It is sent as it stands in the file, byte for byte.\n");
    for (size_t i = 0; i < r->doubt_count; i++)
        buf_addf(out, "  would be flagged: %s\n", r->doubts[i]);
    if (to->site)
        buf_addf(out, "site    %s\n", to->site);
    if (to->user)
        buf_addf(out, "user    %s\n", printable(r, to->user, strlen(to->user)));
    buf_addf(out, "as      %s\n", to->draft ? "a draft that only its user sees" : "a public run");
    buf_addf(out, "size    %s bytes, %s compressed\n",
             num_grouped(bytes, (double)r->document.len, 0),
             num_grouped(packed, (double)r->packed.len, 0));
    buf_addf(out, "blake2b %s\n", r->digest);
}

/* ---- for a program --------------------------------------------------------------------------- */

json_t *review_json(const struct review *r)
{
    json_t *list = json_array(), *doubts = json_array();

    for (size_t i = 0; i < r->doubt_count; i++)
        json_array_append_new(doubts, json_string(r->doubts[i]));
    for (size_t i = 0; i < r->redactions.n; i++) {
        const struct redaction *one = &r->redactions.v[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:I, s:I, s:s, s:s}", "field", one->field, "secrets",
                                        (json_int_t)one->secrets, "names", (json_int_t)one->names,
                                        "before", one->before, "after", one->after));
    }
    return json_pack("{s:s, s:I, s:I, s:s, s:s?, s:s?, s:o, s:o}", "run", r->path, "bytes",
                     (json_int_t)r->document.len, "packed_bytes", (json_int_t)r->packed.len,
                     "blake2b", r->digest, "note", r->note, "hardware", r->hardware, "redactions",
                     list, "doubts", doubts);
}
