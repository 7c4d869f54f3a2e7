/* replay_main.c - runs the files and folders given as arguments through one fuzz target, without a
 * fuzzer: each corpus is an ordinary test. Prints how many inputs there were. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

enum { INPUT_MAX = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    struct buf input;
    struct err err;
    buf_init(&input, INPUT_MAX);
    if (!file_read(path, &input, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    /* an exact copy, so that a sanitizer sees a read past the end */
    uint8_t *copy = mem_array(input.len, 1);
    memcpy(copy, input.p, input.len);
    LLVMFuzzerTestOneInput(copy, input.len);
    free(copy);
    buf_release(&input);
    return 1;
}

static int replay_folder(const char *path)
{
    int count = 0;
    DIR *folder = opendir(path);
    if (!folder) {
        perror(path);
        exit(1);
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        char name[4096];
        if (entry->d_name[0] == '.')
            continue;
        if (snprintf(name, sizeof name, "%s/%s", path, entry->d_name) < (int)sizeof name)
            count += replay_file(name);
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) != 0) {
            perror(argv[i]);
            return 1;
        }
        count += S_ISDIR(st.st_mode) ? replay_folder(argv[i]) : replay_file(argv[i]);
    }
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
