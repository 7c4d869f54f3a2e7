/* cmd_version.c - tokgrid version: which build this is, for bug reports. */
#include <jansson.h>
#include <openssl/crypto.h>

#include "base/version.h"
#include "cmd/commands.h"
#include "model/result.h"
#include "net/libcurl.h"

struct settings {
    bool all;
};

static const struct option_row options[] = {
    {.name = "all",
     .letter = 'a',
     OPTION_FLAG(struct settings, all),
     .help = "Also the libraries in use and the result format that is written."},
    {0},
};

static int run(int argc, char **argv)
{
    struct settings set = {0};
    struct err err;
    struct buf text;
    int code;

    if (!command_parse(&cmd_version, argc, argv, &set, &code))
        return code;
    buf_init(&text, 4096);
    buf_addf(&text, "tokgrid %s\n", TOKGRID_VERSION);
    if (set.all) {
        buf_addf(&text, "results: %s\n", RESULT_SCHEMA);
        buf_addf(&text, "%s\n", OpenSSL_version(OPENSSL_VERSION));
        buf_addf(&text, "%s\n", libcurl_open(&err) ? curl_version() : err.text);
        buf_addf(&text, "jansson %s\n", jansson_version_str());
    }
    code = command_print(&text);
    buf_release(&text);
    return code;
}

const struct command cmd_version = {
    .name = "version",
    .summary = "Print the version",
    .about = "Prints the version of tokgrid, as `tokgrid --version` does.",
    .options = options,
    .run = run,
};
