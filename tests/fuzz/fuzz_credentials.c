/* fuzz_credentials.c - any bytes as the file of keys: refused in one line, or entries whose keys
 * may stand in a header, which are written and read again as they were. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/credentials.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/tokgrid-fuzz-XXXXXX", path[64];

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void remove_folder(void)
{
    char inner[64];
    unlink(path);
    snprintf(inner, sizeof inner, "%s/tokgrid", folder);
    rmdir(inner);
    rmdir(folder);
}

static void begin(void)
{
    struct err err;
    if (*path)
        return;
    must(mkdtemp(folder) && setenv("XDG_CONFIG_HOME", folder, 1) == 0);
    snprintf(path, sizeof path, "%s/tokgrid/credentials.json", folder);
    must(file_make_parent(path, &err));
    atexit(remove_folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct credentials known, again;
    struct err err = {0};

    begin();
    must(file_write_private(path, data, size, &err));
    if (credentials_read(&a, &known, &err)) {
        must(known.n <= CREDENTIALS_MAX);
        for (size_t i = 0; i < known.n; i++)
            must(credential_key_valid(known.v[i].key));
        must(credentials_write(&known, &err) && credentials_read(&a, &again, &err));
        must(again.n == known.n);
        for (size_t i = 0; i < known.n; i++)
            must(strcmp(known.v[i].site, again.v[i].site) == 0 &&
                 strcmp(known.v[i].user, again.v[i].user) == 0 &&
                 strcmp(known.v[i].key, again.v[i].key) == 0);
    } else {
        must(err.text[0] && !strchr(err.text, '\n'));
    }
    arena_release(&a);
    return 0;
}
