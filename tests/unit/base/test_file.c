/* test_file.c - what is there when a file is written: a file, a link, a pipe, a folder, nothing. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"

struct rig {
    char folder[64], path[96], beside[96];
    struct err err;
};

static int set_up(void **state)
{
    struct rig *r = mem_alloc(sizeof *r);
    snprintf(r->folder, sizeof r->folder, "%s", "/tmp/tokgrid-file-XXXXXX");
    assert_non_null(mkdtemp(r->folder));
    snprintf(r->path, sizeof r->path, "%s/path", r->folder);
    snprintf(r->beside, sizeof r->beside, "%s/beside", r->folder);
    *state = r;
    return 0;
}

/* That rmdir works says that nothing temporary is left. */
static int tear_down(void **state)
{
    struct rig *r = *state;
    unlink(r->path);
    unlink(r->beside);
    assert_int_equal(rmdir(r->folder), 0);
    free(r);
    return 0;
}

static void assert_holds(const char *path, const char *text)
{
    struct buf b;
    struct err err;
    buf_init(&b, 1000);
    assert_true(file_read(path, &b, &err));
    assert_string_equal(b.len ? b.p : "", text);
    buf_release(&b);
}

static void test_replaces_a_file(void **state)
{
    struct rig *r = *state;
    assert_true(file_can_write(r->path, &r->err));
    assert_int_equal(access(r->path, F_OK), -1);
    assert_true(file_write_atomic(r->path, "first one", 9, &r->err));
    assert_true(file_write_atomic(r->path, "second", 6, &r->err));
    assert_holds(r->path, "second");
}

static void test_follows_a_link(void **state)
{
    struct rig *r = *state;
    struct stat st;
    assert_true(file_write_atomic(r->beside, "old", 3, &r->err));
    assert_int_equal(symlink(r->beside, r->path), 0);
    assert_true(file_write_atomic(r->path, "new", 3, &r->err));
    assert_holds(r->beside, "new");
    assert_int_equal(lstat(r->path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

/* As /dev/stdout, /dev/null and >(command) are. */
static void test_writes_to_a_pipe(void **state)
{
    struct rig *r = *state;
    struct stat st;
    char text[16] = "";
    assert_int_equal(mkfifo(r->path, 0600), 0);
    int fd = open(r->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(file_can_write(r->path, &r->err));
    assert_true(file_write_atomic(r->path, "text", 4, &r->err));
    assert_int_equal(read(fd, text, sizeof text), 4);
    assert_string_equal(text, "text");
    close(fd);
    assert_int_equal(stat(r->path, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
}

static void test_refuses_a_folder(void **state)
{
    struct rig *r = *state;
    assert_false(file_can_write(r->folder, &r->err));
    assert_non_null(strstr(r->err.text, "folder"));
    assert_false(file_write_atomic(r->folder, "x", 1, &r->err));
    assert_non_null(strstr(r->err.text, r->folder));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_replaces_a_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_follows_a_link, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_writes_to_a_pipe, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refuses_a_folder, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
