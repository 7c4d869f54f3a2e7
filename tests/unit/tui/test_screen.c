/* test_screen.c - the live screen on a pseudo-terminal. A child process shows it; the parent plays
 * the terminal: reads what is drawn, types, changes the size. Nothing sleeps: each side waits for
 * what the other does, with a limit that only a failure reaches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/num.h"
#include "tui/screen.h"

enum { LIMIT_MS = 20000 };

static const char enter[] = "\033[?1049h", leave[] = "\033[?1049l";

/* ---- the child ---- */

enum { CHILD_OK = 10, CHILD_NO_SCREEN, CHILD_OTHER_MODES, CHILD_WRONG_KEYS };

static sem_t woken;
static volatile sig_atomic_t interrupts;
static int skips;

static void on_key(void *ctx, enum screen_key key)
{
    (void)ctx;
    if (key == SCREEN_SKIP)
        skips++; /* read after sem_wait: ordered by the semaphore */
    else
        sem_post(&woken);
}

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupts++;
    sem_post(&woken);
}

static bool same_modes(const struct termios *a, const struct termios *b)
{
    return a->c_lflag == b->c_lflag && a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag &&
           memcmp(a->c_cc, b->c_cc, sizeof a->c_cc) == 0;
}

/* Shows a run until `q` or Ctrl-C, then leaves in the ordinary way or that of a fatal signal. */
static int child(bool mono, bool crash)
{
    static struct progress_box box;
    struct screen_options options = {.mono = mono, .on_key = on_key};
    struct termios before, after;
    struct err err;

    progress_box_init(&box);
    snprintf(box.now.model, sizeof box.now.model, "someone/some-model");
    box.now.run_started_at = box.now.phase_started_at = clock_now();
    sem_init(&woken, 0, 0);
    signal(SIGINT, on_interrupt);
    tcgetattr(STDIN_FILENO, &before);
    struct screen *s = screen_start(&box, &options, &err);
    if (!s) {
        printf("%s\n", err.text);
        fflush(stdout);
        return CHILD_NO_SCREEN;
    }
    while (sem_wait(&woken) != 0)
        ;
    if (crash)
        screen_emergency_restore();
    else
        screen_stop(s);
    tcgetattr(STDIN_FILENO, &after);
    if (!same_modes(&before, &after))
        return CHILD_OTHER_MODES;
    return skips == 1 || interrupts == 1 ? CHILD_OK : CHILD_WRONG_KEYS;
}

/* ---- the terminal ---- */

struct terminal {
    int fd;
    pid_t pid;
    struct buf seen;
};

static void terminal_open(struct terminal *t, const char *term, bool mono, bool crash)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    buf_init(&t->seen, 1 << 22);
    t->pid = forkpty(&t->fd, NULL, NULL, &size);
    assert_true(t->pid >= 0);
    if (t->pid == 0) {
        setenv("TERM", term, 1);
        setenv("LC_ALL", "C.UTF-8", 1);
        _exit(child(mono, crash));
    }
}

/* Reads what the child writes; false at its end. */
static bool terminal_read(struct terminal *t)
{
    char block[4096];
    struct pollfd pfd = {.fd = t->fd, .events = POLLIN};
    if (poll(&pfd, 1, LIMIT_MS) != 1)
        fail_msg("the child neither writes nor ends");
    ssize_t n = read(t->fd, block, sizeof block);
    if (n <= 0)
        return false;
    assert_true(buf_add(&t->seen, block, (size_t)n));
    return true;
}

static void wait_for(struct terminal *t, const char *text)
{
    int64_t limit = clock_now() + LIMIT_MS * NS_PER_MS;
    while (!strstr(t->seen.p, text))
        if (!terminal_read(t) || clock_now() > limit)
            fail_msg("\"%s\" was not drawn", text);
}

static void type(const struct terminal *t, const char *keys)
{
    assert_int_equal(write(t->fd, keys, strlen(keys)), (ssize_t)strlen(keys));
}

static void expect_exit(struct terminal *t, int code)
{
    int status;
    while (terminal_read(t))
        ;
    assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
    close(t->fd);
}

/* ---- tests ---- */

static void keys_arrive_and_the_terminal_comes_back(void **state)
{
    (void)state;
    struct terminal t;
    terminal_open(&t, "xterm-256color", false, false);
    wait_for(&t, enter);
    wait_for(&t, "some-model");
    type(&t, "\033Os\033[1;5s?"); /* two function keys, not an s */
    wait_for(&t, "close this help");
    type(&t, "?xs");
    type(&t, "q");
    expect_exit(&t, CHILD_OK);
    assert_non_null(strstr(strstr(t.seen.p, "some-model"), leave));
    assert_non_null(strstr(t.seen.p, "38;5;"));
    buf_release(&t.seen);
}

static void ctrl_c_is_a_signal_and_ctrl_z_is_nothing(void **state)
{
    (void)state;
    struct terminal t;
    terminal_open(&t, "xterm", false, false);
    wait_for(&t, "some-model");
    type(&t, "\032\003");
    expect_exit(&t, CHILD_OK);
    assert_non_null(strstr(t.seen.p, leave));
    buf_release(&t.seen);
}

static void the_picture_follows_the_size(void **state)
{
    (void)state;
    struct terminal t;
    struct winsize size = {.ws_row = 40, .ws_col = 120};
    terminal_open(&t, "xterm", false, false);
    wait_for(&t, "some-model");
    assert_null(strstr(t.seen.p, "Streams"));
    assert_int_equal(ioctl(t.fd, TIOCSWINSZ, &size), 0);
    wait_for(&t, "Streams"); /* the tall form, on wide screens only */
    type(&t, "sq");
    expect_exit(&t, CHILD_OK);
    buf_release(&t.seen);
}

static void no_colours_when_asked(void **state)
{
    (void)state;
    struct terminal t;
    terminal_open(&t, "xterm-256color", true, false);
    wait_for(&t, "some-model");
    type(&t, "sq");
    expect_exit(&t, CHILD_OK);
    assert_null(strstr(t.seen.p, "38;5;"));
    assert_null(strstr(t.seen.p, "48;5;"));
    buf_release(&t.seen);
}

static void a_fatal_signal_can_restore_it(void **state)
{
    (void)state;
    struct terminal t;
    terminal_open(&t, "xterm", false, true);
    wait_for(&t, "some-model");
    type(&t, "sq");
    expect_exit(&t, CHILD_OK);
    const char *left = strstr(t.seen.p, leave);
    assert_non_null(left);
    assert_null(strstr(left, "some-model"));
    buf_release(&t.seen);
    screen_emergency_restore(); /* here no screen is up: nothing happens */
}

static void poor_terminals_are_refused(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"dumb", "TERM is dumb"},
        {"", "TERM is not set"},
        {"no-such-terminal", "terminal type no-such-terminal is unknown"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct terminal t;
        terminal_open(&t, rows[i][0], false, false);
        expect_exit(&t, CHILD_NO_SCREEN);
        assert_non_null(strstr(t.seen.p, rows[i][1]));
        assert_null(strstr(t.seen.p, "\033"));
        buf_release(&t.seen);
    }
}

static void a_pipe_is_not_a_terminal(void **state)
{
    (void)state;
    struct progress_box box;
    struct screen_options options = {0};
    struct err err = {0};
    int ends[2], before = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
    progress_box_init(&box);
    assert_null(screen_start(&box, &options, &err));
    assert_non_null(strstr(err.text, "not a terminal"));
    screen_stop(NULL);
    progress_box_release(&box);
    assert_true(dup2(before, STDIN_FILENO) >= 0);
    close(before);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_arrive_and_the_terminal_comes_back),
        cmocka_unit_test(ctrl_c_is_a_signal_and_ctrl_z_is_nothing),
        cmocka_unit_test(the_picture_follows_the_size),
        cmocka_unit_test(no_colours_when_asked),
        cmocka_unit_test(a_fatal_signal_can_restore_it),
        cmocka_unit_test(poor_terminals_are_refused),
        cmocka_unit_test(a_pipe_is_not_a_terminal),
    };
    return cmocka_run_group_tests_name("screen", tests, NULL, NULL);
}
