/* sse.c - cuts the bytes into lines, gives each line to its field, dispatches at a blank one.
 *
 * A line that lies whole in the fed bytes is read in place; only what is left over at the end of a
 * call is kept, in `line`. Likewise an event's first data line stays where it was fed (`fed`) and
 * moves to `data` only when a second one comes or the call ends. Whether something is too long
 * depends on lines and events alone, never on calls, so the splits cannot show. */
#include "net/sse.h"

#include <string.h>
#include <strings.h>

/* A line may hold an event's longest data and what stands in front of it: "data: ". */
enum { FIELD_ROOM = 6 };

void sse_init(struct sse *s, size_t max_event, sse_event_fn *on_event, void *ctx)
{
    *s = (struct sse){.on_event = on_event, .ctx = ctx};
    buf_init(&s->data, max_event);
    buf_init(&s->line, max_event + FIELD_ROOM);
    buf_init(&s->stray, SSE_STRAY_MAX);
}

void sse_reset(struct sse *s)
{
    buf_reset(&s->data);
    buf_reset(&s->line);
    buf_reset(&s->stray);
    s->fed = NULL;
    s->type[0] = '\0';
    s->has_data = s->after_cr = s->too_long = s->started = false;
    s->events = s->comments = s->strays = 0;
}

void sse_release(struct sse *s)
{
    buf_release(&s->data);
    buf_release(&s->line);
    buf_release(&s->stray);
}

/* The caller's bytes are about to go away, or another data line came: move `fed` to `data`. */
static void keep_fed(struct sse *s)
{
    if (s->fed && !buf_add(&s->data, s->fed, s->fed_len))
        s->too_long = true;
    s->fed = NULL;
}

static void dispatch(struct sse *s)
{
    if (s->has_data) {
        struct sse_event event = {s->type, s->data.p, s->data.len};
        if (s->fed) {
            event.data = s->fed;
            event.len = s->fed_len;
        }
        s->events++;
        s->on_event(s->ctx, &event);
    }
    s->has_data = false;
    s->fed = NULL;
    s->type[0] = '\0';
    buf_reset(&s->data);
}

/* `in_place`: the value lies in the fed bytes. */
static void add_data(struct sse *s, const char *value, size_t n, bool in_place)
{
    if (!s->has_data && in_place && n <= s->data.max) {
        s->fed = value;
        s->fed_len = n;
    } else {
        keep_fed(s);
        if ((s->has_data && !buf_addc(&s->data, '\n')) || !buf_add(&s->data, value, n))
            s->too_long = true;
    }
    s->has_data = true;
}

static void set_type(struct sse *s, const char *value, size_t n)
{
    if (n > sizeof s->type - 1)
        n = sizeof s->type - 1;
    memcpy(s->type, value, n);
    s->type[n] = '\0';
}

static void add_stray(struct sse *s, const char *p, size_t n)
{
    size_t blanks = 0;
    while (blanks < n && (p[blanks] == ' ' || p[blanks] == '\t'))
        blanks++;
    if (blanks == n)
        return; /* says nothing, though it is not empty */
    s->strays++;
    if (s->stray.len > 0 && s->stray.len < s->stray.max)
        buf_addc(&s->stray, '\n');
    size_t room = s->stray.max - s->stray.len;
    buf_add(&s->stray, p, n < room ? n : room);
}

static bool is_name(const char *name, size_t n, const char *wanted)
{
    return n == strlen(wanted) && memcmp(name, wanted, n) == 0;
}

static bool looks_like_name(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !(c >= '0' && c <= '9') && c != '-' && c != '_')
            return false;
    }
    return n > 0;
}

/* A line that is neither blank nor a comment: "name: value", "name:value", "name", or no field. */
static void read_field(struct sse *s, const char *p, size_t n, bool in_place)
{
    const char *colon = memchr(p, ':', n);
    size_t name = colon ? (size_t)(colon - p) : n;
    size_t skip = name + (colon ? 1 : 0);
    if (skip < n && p[skip] == ' ')
        skip++;

    if (is_name(p, name, "data"))
        add_data(s, p + skip, n - skip, in_place);
    else if (is_name(p, name, "event"))
        set_type(s, p + skip, n - skip);
    else if (is_name(p, name, "id") || is_name(p, name, "retry"))
        return; /* for reconnecting, which a measuring client must not do by itself */
    else if (colon && name == 5 && strncasecmp(p, "error", name) == 0)
        add_stray(s, p + skip, n - skip);
    else if (!colon || !looks_like_name(p, name))
        add_stray(s, p, n);
}

static void read_line(struct sse *s, const char *p, size_t n, bool in_place)
{
    bool too_long = n > s->line.max;
    if (!s->started && n >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0) {
        p += 3;
        n -= 3;
    }
    s->started = true;
    if (too_long)
        s->too_long = true;
    else if (n == 0)
        dispatch(s);
    else if (p[0] == ':')
        s->comments++;
    else
        read_field(s, p, n, in_place);
}

/* The bytes up to a line's end, which may have begun in an earlier call. */
static void end_line(struct sse *s, const char *p, size_t n)
{
    if (s->line.len == 0) {
        read_line(s, p, n, true);
    } else if (buf_add(&s->line, p, n)) {
        read_line(s, s->line.p, s->line.len, false);
        buf_reset(&s->line);
    } else {
        s->too_long = true;
    }
}

/* Each kind of line end is searched for once per stretch: the next LF and the next CR are kept
 * until the cursor passes them, so bytes with only one kind cost two passes, not one per line. */
static const char *find_from(const char *known, const char *p, const char *end, char c)
{
    if (known && known >= p)
        return known;
    const char *found = memchr(p, c, (size_t)(end - p));
    return found ? found : end;
}

void sse_feed(struct sse *s, const char *p, size_t n)
{
    if (n == 0)
        return;
    const char *end = p + n, *lf = NULL, *cr = NULL;
    if (s->after_cr) {
        s->after_cr = false;
        p += *p == '\n';
    }
    while (p < end && !s->too_long) {
        lf = find_from(lf, p, end, '\n');
        cr = find_from(cr, p, end, '\r');
        const char *stop = lf < cr ? lf : cr;
        if (stop == end)
            break;
        end_line(s, p, (size_t)(stop - p));
        p = stop + 1;
        if (stop == cr && p < end)
            p += *p == '\n';
        else if (stop == cr)
            s->after_cr = true;
    }
    if (s->too_long)
        return;
    keep_fed(s);
    if (p < end && !buf_add(&s->line, p, (size_t)(end - p)))
        s->too_long = true;
}

void sse_finish(struct sse *s)
{
    if (s->line.len > 0 && !s->too_long)
        end_line(s, "", 0);
    if (!s->too_long)
        dispatch(s);
}
