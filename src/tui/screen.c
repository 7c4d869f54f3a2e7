/* screen.c - one thread owns curses: it waits for a key or the next frame, draws into a grid, and
 * hands the rows that changed to curses. Keys are read without curses, whose input functions draw
 * as well and cannot be woken. */
#include "tui/screen.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <term.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "tui/canvas.h"
#include "tui/draw.h"

enum { FRAME_MS = 200, KEY_REDRAW = 'L' - '@' };

struct screen {
    struct progress_box *box;
    struct screen_options options;
    pthread_t thread;
    int stop_fd; /* eventfd: written once, by screen_stop */
    SCREEN *terminal;
    locale_t locale; /* the user's, for this thread only */

    /* of the thread */
    struct progress progress;
    struct canvas grid, shown; /* the new picture, and what curses was told last */
    wchar_t *line;             /* one row for curses */
    bool colours, help, deaf;  /* deaf: the terminal gives no more keys */
};

/* ---- what a signal handler needs ---- */

/* Written before `up` is set and not changed until it is cleared again. */
static struct {
    atomic_bool up;
    struct termios modes; /* as they were before */
    char leave[160];      /* bytes that undo what curses did to the terminal */
    size_t leave_len;
} emergency;

/* Somebody may have stopped the program and taken the terminal. */
static bool in_foreground(void)
{
    return tcgetpgrp(STDOUT_FILENO) == getpgrp();
}

/* Without the padding that terminfo may ask for ("$<5>"): no terminal needs it here. */
static void remember_sequence(const char *capability)
{
    const char *p = tigetstr(capability);
    if (!p || p == (const char *)-1)
        return;
    while (*p && emergency.leave_len < sizeof emergency.leave) {
        if (p[0] == '$' && p[1] == '<')
            p += strcspn(p, ">") + (strchr(p, '>') != NULL);
        else
            emergency.leave[emergency.leave_len++] = *p++;
    }
}

static void write_leave(void)
{
    ssize_t ignored = write(STDOUT_FILENO, emergency.leave, emergency.leave_len);
    (void)ignored;
}

void screen_emergency_restore(void)
{
    if (!atomic_exchange(&emergency.up, false))
        return;
    write_leave();
    if (in_foreground()) /* from the background this would stop the program instead */
        tcsetattr(STDIN_FILENO, TCSANOW, &emergency.modes);
}

/* ---- looks ---- */

/* Colours of the 256; the heat runs from dark blue to yellow, told apart by lightness alone, so
 * that it reads with any kind of colour vision. -1 is the terminal's own. */
static const struct look {
    attr_t attributes; /* of curses, with 256 colours */
    attr_t plain;      /* with fewer, or none */
    short fg, bg;      /* of 256 */
    short fg8, bg8;    /* of 8 */
} looks[STYLE_COUNT] = {
    [STYLE_PLAIN] = {A_NORMAL, A_NORMAL, -1, -1, -1, -1},
    [STYLE_DIM] = {A_NORMAL, A_DIM, 245, -1, -1, -1},
    [STYLE_STRONG] = {A_BOLD, A_BOLD, -1, -1, -1, -1},
    [STYLE_ACCENT] = {A_NORMAL, A_NORMAL, 37, -1, COLOR_CYAN, -1},
    [STYLE_TRACE] = {A_NORMAL, A_NORMAL, 66, -1, COLOR_CYAN, -1},
    [STYLE_RUNNING] = {A_BOLD | A_REVERSE, A_REVERSE, -1, -1, -1, -1},
    [STYLE_WARNING] = {A_BOLD, A_BOLD, 172, -1, COLOR_YELLOW, -1},
    [STYLE_QUEUED] = {A_NORMAL, A_NORMAL, 172, -1, COLOR_YELLOW, -1},
    [STYLE_OVER_CAPACITY] = {A_NORMAL, A_DIM, 103, -1, COLOR_BLUE, -1},
    [STYLE_LOOPED] = {A_NORMAL, A_NORMAL, 133, -1, COLOR_MAGENTA, -1},
    [STYLE_ERROR] = {A_BOLD, A_BOLD, 167, -1, COLOR_RED, -1},
    [STYLE_SKIPPED] = {A_NORMAL, A_DIM, 245, -1, -1, -1},
    [STYLE_HEAT + 0] = {A_NORMAL, A_NORMAL, 255, 54, COLOR_WHITE, COLOR_BLUE},
    [STYLE_HEAT + 1] = {A_NORMAL, A_NORMAL, 255, 60, COLOR_WHITE, COLOR_BLUE},
    [STYLE_HEAT + 2] = {A_NORMAL, A_NORMAL, 255, 24, COLOR_WHITE, COLOR_BLUE},
    [STYLE_HEAT + 3] = {A_NORMAL, A_NORMAL, 255, 30, COLOR_BLACK, COLOR_CYAN},
    [STYLE_HEAT + 4] = {A_NORMAL, A_NORMAL, 16, 36, COLOR_BLACK, COLOR_CYAN},
    [STYLE_HEAT + 5] = {A_NORMAL, A_NORMAL, 16, 71, COLOR_BLACK, COLOR_GREEN},
    [STYLE_HEAT + 6] = {A_NORMAL, A_NORMAL, 16, 149, COLOR_BLACK, COLOR_YELLOW},
    [STYLE_HEAT + 7] = {A_NORMAL, A_NORMAL, 16, 221, COLOR_BLACK, COLOR_YELLOW},
};

static bool set_up_colours(bool mono)
{
    if (mono || !has_colors() || start_color() != OK || use_default_colors() != OK ||
        COLOR_PAIRS <= STYLE_COUNT)
        return false;
    for (int i = 0; i < STYLE_COUNT; i++) {
        const struct look *l = &looks[i];
        bool many = COLORS >= 256;
        init_pair((short)(i + 1), many ? l->fg : l->fg8, many ? l->bg : l->bg8);
    }
    return true;
}

/* ---- grid to curses ---- */

/* A character for which the C library has another width than ours would move the rest of the row.
 */
static wchar_t safe_char(const struct canvas *g, int row, int col)
{
    uint32_t cp = canvas_at(g, row, col)->cp;
    bool is_wide = col + 1 < g->cols && canvas_at(g, row, col + 1)->cp == 0;
    return wcwidth((wchar_t)cp) == (is_wide ? 2 : 1) ? (wchar_t)cp : is_wide ? 0xFF1F : L'?';
}

static void show_row(struct screen *s, int row)
{
    const struct canvas *g = &s->grid;
    for (int col = 0; col < g->cols;) {
        enum style style = canvas_at(g, row, col)->style;
        int start = col, n = 0;
        for (; col < g->cols && canvas_at(g, row, col)->style == style; col++)
            if (canvas_at(g, row, col)->cp != 0)
                s->line[n++] = safe_char(g, row, col);
        attr_set(s->colours && COLORS >= 256 ? looks[style].attributes : looks[style].plain,
                 s->colours ? (short)(style + 1) : 0, NULL);
        mvaddnwstr(row, start, s->line, n);
    }
}

static void show_grid(struct screen *s, bool all)
{
    struct canvas *g = &s->grid;
    size_t row_bytes = (size_t)g->cols * sizeof *g->cells;
    for (int row = 0; row < g->rows; row++)
        if (all || memcmp(canvas_at(g, row, 0), canvas_at(&s->shown, row, 0), row_bytes) != 0)
            show_row(s, row);
    memcpy(s->shown.cells, g->cells, row_bytes * (size_t)g->rows);
    refresh();
}

/* Follow the terminal's size. True when it changed. */
static bool fit_grid(struct screen *s)
{
    enum { MOST = 1000 };
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
        size = (struct winsize){.ws_row = 24, .ws_col = 80};
    int cols = size.ws_col < MOST ? size.ws_col : MOST,
        rows = size.ws_row < MOST ? size.ws_row : MOST;
    if (s->line && cols == s->grid.cols && rows == s->grid.rows)
        return false;
    resizeterm(rows, cols);
    canvas_resize(&s->grid, cols, rows);
    canvas_resize(&s->shown, cols, rows);
    s->line = mem_resize(s->line, (size_t)cols, sizeof *s->line);
    return true;
}

static void draw_frame(struct screen *s, bool all)
{
    if (fit_grid(s))
        all = true;
    if (all)
        clearok(stdscr, TRUE);
    progress_get(s->box, &s->progress);
    draw_progress(&s->grid, &s->progress, clock_now());
    if (s->help)
        draw_help(&s->grid);
    show_grid(s, all);
}

/* ---- keys ---- */

/* Length of the escape sequence at p: a key that has no meaning here, whatever letters it holds. */
static size_t escape_length(const char *p, size_t n)
{
    size_t i = 2;
    if (n < 2 || p[1] != '[')
        return n > 2 && p[1] == 'O' ? 3 : n;
    while (i < n && (p[i] < '@' || p[i] > '~'))
        i++;
    return i < n ? i + 1 : n;
}

/* True when the whole screen is to be drawn again. */
static bool take_keys(struct screen *s)
{
    char keys[64];
    bool redraw = false;
    ssize_t got = read(STDIN_FILENO, keys, sizeof keys);
    size_t n = got > 0 ? (size_t)got : 0;

    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN && in_foreground()))
        s->deaf = true;
    for (size_t i = 0; i < n; i++) {
        if (keys[i] == '\033')
            i += escape_length(keys + i, n - i) - 1;
        else if (keys[i] == '?')
            s->help = !s->help;
        else if (keys[i] == KEY_REDRAW)
            redraw = true;
        else if ((keys[i] == SCREEN_FINISH || keys[i] == SCREEN_SKIP) && s->options.on_key)
            s->options.on_key(s->options.ctx, (enum screen_key)keys[i]);
    }
    return redraw;
}

static void *run_screen(void *arg)
{
    struct screen *s = arg;
    bool redraw = false, away = false;
    int64_t drawn_at = clock_now();

    uselocale(s->locale ? s->locale : LC_GLOBAL_LOCALE);
    set_term(s->terminal);
    while (atomic_load(&emergency.up)) {
        if (in_foreground()) {
            bool back = away || clock_now() - drawn_at > NS_PER_S; /* it was stopped */
            if (back)
                reset_prog_mode();
            draw_frame(s, back || redraw);
            away = redraw = false;
        } else {
            away = true;
        }
        drawn_at = clock_now();
        struct pollfd fds[] = {{.fd = s->stop_fd, .events = POLLIN},
                               {.fd = s->deaf || away ? -1 : STDIN_FILENO, .events = POLLIN}};
        poll(fds, ARRAY_LEN(fds), FRAME_MS);
        if (fds[0].revents)
            break;
        if (fds[1].revents)
            redraw = take_keys(s);
    }
    return NULL;
}

/* ---- life cycle ---- */

static bool check_terminal(struct err *err)
{
    const char *term = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return err_set(err, ERR_SYSTEM, "no live screen: this is not a terminal");
    if (!term || !*term || strcmp(term, "dumb") == 0)
        return err_set(err, ERR_SYSTEM, "no live screen: TERM is %s",
                       term && *term ? term : "not set");
    if (!in_foreground())
        return err_set(err, ERR_SYSTEM, "no live screen: the program runs in the background");
    return true;
}

/* Curses catches signals where nobody else does; here that is not its business. */
static SCREEN *open_terminal(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
    struct sigaction saved[ARRAY_LEN(signals)];
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        sigaction(signals[i], NULL, &saved[i]);
    use_env(FALSE); /* the size is the terminal's, not that of LINES and COLUMNS */
    use_tioctl(TRUE);
    SCREEN *terminal = newterm(NULL, stdout, stdin);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        sigaction(signals[i], &saved[i], NULL);
    return terminal;
}

static void set_up_terminal(struct screen *s)
{
    struct termios modes;
    cbreak(); /* not raw: Ctrl-C must still be a signal */
    noecho();
    if (tcgetattr(STDIN_FILENO, &modes) == 0) {
        modes.c_cc[VSUSP] = _POSIX_VDISABLE;
        tcsetattr(STDIN_FILENO, TCSADRAIN, &modes);
        def_prog_mode();
    }
    curs_set(0);
    leaveok(stdscr, TRUE);
    s->colours = set_up_colours(s->options.mono);
}

/* The thread blocks all signals but those that its own mistakes would raise. */
static bool start_thread(struct screen *s, struct err *err)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int failed = pthread_create(&s->thread, NULL, run_screen, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0 || err_set(err, ERR_SYSTEM, "no live screen: %s", strerror(failed));
}

static void screen_free(struct screen *s)
{
    canvas_release(&s->grid);
    canvas_release(&s->shown);
    free(s->line);
    if (s->terminal)
        delscreen(s->terminal);
    if (s->locale)
        freelocale(s->locale);
    if (s->stop_fd >= 0)
        close(s->stop_fd);
    free(s);
}

/* Curses asks the C library about characters, so it needs the user's locale; the rest of the
 * program keeps its own. */
static bool open_in_locale(struct screen *s, struct err *err)
{
    locale_t before = s->locale ? uselocale(s->locale) : (locale_t)0;
    bool ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
    s->terminal = open_terminal();
    if (s->terminal) {
        emergency.leave_len = 0;
        remember_sequence("sgr0");
        remember_sequence("cnorm");
        remember_sequence("rmcup");
        atomic_store(&emergency.up, true);
        set_up_terminal(s);
        canvas_init(&s->grid, 1, 1);
        canvas_init(&s->shown, 1, 1);
        s->grid.ascii = ascii;
        s->grid.mono = !s->colours;
    }
    if (s->locale)
        uselocale(before);
    return s->terminal ||
           err_set(err, ERR_SYSTEM, "no live screen: terminal type %s is unknown", getenv("TERM"));
}

static void leave_terminal(void)
{
    if (!atomic_exchange(&emergency.up, false))
        return;
    if (in_foreground())
        endwin();
    else
        write_leave();
}

struct screen *screen_start(struct progress_box *box, const struct screen_options *options,
                            struct err *err)
{
    if (!check_terminal(err))
        return NULL;
    tcgetattr(STDIN_FILENO, &emergency.modes);
    struct screen *s = mem_alloc(sizeof *s);
    s->box = box;
    s->options = *options;
    s->locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0); /* none: ASCII only */
    s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->stop_fd < 0)
        err_set(err, ERR_SYSTEM, "no live screen: %s", strerror(errno));
    else if (open_in_locale(s, err) && start_thread(s, err))
        return s;
    leave_terminal();
    screen_free(s);
    return NULL;
}

void screen_stop(struct screen *s)
{
    static const uint64_t one = 1;
    if (!s)
        return;
    ssize_t ignored = write(s->stop_fd, &one, sizeof one);
    (void)ignored;
    pthread_join(s->thread, NULL);
    leave_terminal();
    screen_free(s);
}
