/* fuzz_api.c - any request to the site, on a store with a moderator, a user and a run: each is
 * answered, never by 500; answers of the API are JSON, its errors have a code and a line.
 *
 * The first line of the input is method and target ("POST /api/v1/keys"), the second the content
 * type, the third an Idempotency-Key or nothing, the rest the body. "%u" in the target stands for
 * the run. The user's key is sent along. What a request changed is rolled back. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "site/publish.h"
#include "site/site_assets.h"
#include "site/visit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/tokgrid-fuzz-XXXXXX", path[64], bearer[STORE_KEY_TEXT_MAX + 8];
static char uid[UUID_TEXT_MAX];
static struct store *store;
static struct site_assets assets;

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void end(void)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char file[80];
    store_close(store);
    site_assets_release(&assets);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        snprintf(file, sizeof file, "%s%s", path, ends[i]);
        unlink(file);
    }
    rmdir(folder);
}

static void publish_one(int64_t owner, struct arena *a)
{
    struct publication p = {0};
    struct buf document;
    struct err err = {0};
    buf_init(&document, RESULT_MAX_BYTES);
    must(file_read("tests/data/measured/example.json", &document, &err));
    must(publication_read(&p, document.p, document.len, a, &err));
    must(publication_store(store, &p, owner, false, uid, &err));
    publication_release(&p);
    buf_release(&document);
}

static void begin(void)
{
    static const struct store_options options = {
        .create = true, .migrate = true, .cheap_passwords = true};
    struct store_user moderator, user;
    struct arena a = {0};
    struct err err = {0};
    char key[STORE_KEY_TEXT_MAX];
    if (store)
        return;
    must(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/fuzz.db", folder);
    must(store_open(path, &options, &store, &err));
    must(store_user_create(store, "mod", "correct horse", true, &a, &moderator, &err));
    must(store_user_create(store, "ada", "correct horse", true, &a, &user, &err));
    must(store_key_create(store, user.id, "fuzz", key, &err));
    publish_one(user.id, &a);
    snprintf(bearer, sizeof bearer, "Bearer %s", key);
    site_assets_init(&assets);
    atexit(end);
    arena_release(&a);
}

static char *take_line(const char **p, size_t *n)
{
    const char *line_end = memchr(*p, '\n', *n);
    size_t length = line_end ? (size_t)(line_end - *p) : *n;
    char *line = mem_strndup(*p, length);
    *p += length + (line_end != NULL);
    *n -= length + (line_end != NULL);
    return line;
}

static enum request_method take_method(char **line)
{
    static const struct {
        const char *name;
        enum request_method method;
    } rows[] = {{"GET ", METHOD_GET},
                {"POST ", METHOD_POST},
                {"PATCH ", METHOD_PATCH},
                {"DELETE ", METHOD_DELETE}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n = strlen(rows[i].name);
        if (strncmp(*line, rows[i].name, n) != 0)
            continue;
        *line += n;
        return rows[i].method;
    }
    return METHOD_OTHER;
}

static void check(const struct request *r, const struct response *answer)
{
    struct err err = {0};
    must(answer->status >= 200 && answer->status < 500);
    must(answer->header_count < RESPONSE_MAX_HEADERS && !answer->body.overflow);
    must(answer->status != 204 || answer->body.len == 0);
    if (strcmp(answer->type, "application/json") != 0)
        return;
    json_t *document = json_parse(answer->body.p, answer->body.len, "answer", &err);
    must(document != NULL);
    must(answer->status < 400 ||
         (json_string_at(document, "error.code") && json_string_at(document, "error.message")));
    must(r->path_count > 0);
    json_decref(document);
}

static void send(const char *target, enum request_method method, char *type, char *once,
                 const char *body, size_t n)
{
    const struct site_context context = {.assets = &assets, .store = store};
    struct request r;
    struct response answer;
    struct err err = {0};
    request_init(&r);
    response_init(&answer);
    r.method = method;
    r.header[HEADER_CONTENT_TYPE] = type;
    r.header[HEADER_IDEMPOTENCY_KEY] = *once ? once : NULL;
    r.header[HEADER_AUTHORIZATION] = mem_strdup(bearer);
    r.header[HEADER_HOST] = mem_strdup("site.example");
    snprintf(r.address, sizeof r.address, "192.0.2.1");
    if (method != METHOD_GET)
        buf_add(&r.body, body, n);
    bool parsed = request_parse_target(&r, target, &err);
    must(store_begin(store, &err));
    visit_answer(&context, &r, parsed ? 0 : 400, parsed ? NULL : err.text, &answer);
    check(&r, &answer);
    store_rollback(store);
    response_release(&answer);
    if (!*once)
        free(once);
    request_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *p = (const char *)data;
    struct buf target;
    begin();
    char *line = take_line(&p, &size), *rest = line;
    char *type = take_line(&p, &size), *once = take_line(&p, &size);
    enum request_method method = take_method(&rest);
    const char *run = strstr(rest, "%u");
    buf_init(&target, REQUEST_MAX_TARGET * 2);
    if (run) {
        buf_add(&target, rest, (size_t)(run - rest));
        buf_adds(&target, uid);
    }
    buf_adds(&target, run ? run + 2 : rest);
    send(target.p ? target.p : "", method, type, once, p, size);
    buf_release(&target);
    free(line);
    return 0;
}
