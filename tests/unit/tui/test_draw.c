/* test_draw.c - pictures compared with files in tests/golden/tui, and properties at every size.
 *
 * A golden file has the characters, a line of dashes, then one letter for the style of each cell.
 * TOKGRID_GOLDEN_UPDATE=1 in the environment writes them anew; review the difference. Runs in the
 * source folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"
#include "base/text.h"
#include "tui/draw.h"
#include "tui/draw_parts.h"

/* ---- scenes ---- */

static void set_plan(struct plan *plan, int contexts, int levels)
{
    static const int64_t sizes[] = {0, 16384, 32768, 57344, 65536, 98304, 131072, 262144};
    *plan = (struct plan){.context_count = (size_t)contexts,
                          .level_count = (size_t)levels,
                          .prefill_count = 4,
                          .prefill = {8192, 16384, 32768, 57344},
                          .duration_ns = 30 * NS_PER_S};
    for (int i = 0; i < contexts; i++)
        plan->contexts[i] = i < (int)ARRAY_LEN(sizes) ? sizes[i] : sizes[7] * (i - 6);
    for (int i = 0; i < levels; i++)
        plan->levels[i] = 1 << (i < 14 ? i : 14);
}

static void set_done(struct progress *p, size_t i, size_t j, double rate)
{
    p->cells[i][j] = (struct progress_cell){.state = CELL_DONE, .total_tok_s = rate};
}

static void set_status(struct progress *p, size_t i, size_t j, enum cell_status status)
{
    p->cells[i][j] = (struct progress_cell){.state = CELL_DONE, .status = status};
}

static void scene_start(struct progress *p)
{
    progress_init(p);
    snprintf(p->url, sizeof p->url, "http://127.0.0.1:8000");
    p->phase = PHASE_PROBE;
    p->run_started_at = p->phase_started_at = 100 * NS_PER_S;
}

/* Second row of the matrix, eighth column to come. */
static void scene_window(struct progress *p)
{
    static const double first_row[] = {34.2, 66.1, 128.9, 243, 402.5, 701, 1104, 1398};
    scene_start(p);
    set_plan(&p->plan, 4, 8);
    snprintf(p->model, sizeof p->model, "Qwen/Qwen3.5-27B-AWQ-4bit");
    snprintf(p->engine, sizeof p->engine, "vllm 0.32.0");
    snprintf(p->hardware, sizeof p->hardware, "NVIDIA GeForce RTX 3090 24 GB");
    p->phase = PHASE_WINDOW;
    p->phase_started_at = p->run_started_at + 712 * NS_PER_S;
    p->phase_length_ns = 30 * NS_PER_S;
    p->eta_ns = 1099 * NS_PER_S;
    p->context_tokens = 16384;
    p->concurrency = 16;
    p->streams_with_token = 16;
    p->running = 16;
    p->waiting = 0;
    p->tok_s = 412.4;
    p->client_cpu_pct = 12.3;
    p->client_lag_ms = 0.24;
    for (size_t j = 0; j < 8; j++)
        set_done(p, 0, j, first_row[j]);
    for (size_t j = 0; j < 4; j++)
        set_done(p, 1, j, first_row[j] * 0.94);
    for (size_t i = 2; i < 4; i++)
        set_done(p, i, 0, first_row[0] * (1 - 0.06 * (double)i));
    p->cells[0][6].marks = MARK_UNSTEADY;
    p->cells[1][4].state = CELL_RUNNING;
    for (int i = 0; i < 70; i++)
        p->trace[i] = i < 6 ? i * 60 : 380 + (i * 37 % 50);
    p->trace_count = 70;
    for (int i = 0; i < 3; i++) {
        static const double rates[] = {1804, 1501, 1141}, ttfts[] = {4540, 10808, 28309};
        p->prefill_tok_s[i] = rates[i];
        p->prefill_ttft_ms[i] = ttfts[i];
    }
    progress_add_event(p, "12:02:11 context 64K dropped: the model's limit is 65,536 tokens");
    progress_add_event(p, "12:08:40 0 x 64: first and second half of the window differ by 7 %");
    progress_add_event(p, "12:13:02 16K x 8 done: 228.4 tok/s");
}

/* Every word of the matrix; nothing running. */
static void scene_words(struct progress *p)
{
    scene_window(p);
    p->phase = PHASE_IDLE;
    p->phase_length_ns = 0;
    p->cells[1][4].state = CELL_PENDING;
    set_done(p, 1, 4, 398.2);
    set_status(p, 1, 5, STATUS_QUEUED);
    set_status(p, 1, 6, STATUS_LOOPED);
    set_status(p, 1, 7, STATUS_ERROR);
    for (size_t j = 1; j < 8; j++)
        set_status(p, 2, j, j < 4 ? STATUS_SKIPPED : STATUS_OVER_CAPACITY);
    set_done(p, 3, 1, 12345.6);
    set_done(p, 3, 2, 123456.7);
    p->running = p->waiting = NAN;
    p->client_cpu_pct = 92;
    p->context_tokens = 57344;
    p->concurrency = 8;
    p->streams_with_token = 0;
    p->tok_s = 0;
}

/* Larger than any screen it is shown on, and the running cell far from the first. */
static void scene_large(struct progress *p)
{
    scene_window(p);
    set_plan(&p->plan, 20, 15);
    for (size_t i = 0; i < 20; i++)
        for (size_t j = 0; j < 15; j++)
            set_done(p, i, j, 30.0 * pow(1.6, (double)j) / (1 + (double)i));
    for (size_t j = 12; j < 15; j++)
        p->cells[14][j] = (struct progress_cell){.state = CELL_PENDING};
    p->cells[14][11].state = CELL_RUNNING;
    p->context_tokens = p->plan.contexts[14];
    p->concurrency = p->plan.levels[11];
    p->waiting = 9;
}

/* Text that comes from elsewhere: wide characters, escapes, far too long. */
static void scene_foreign(struct progress *p)
{
    scene_window(p);
    snprintf(p->model, sizeof p->model,
             "通义千问/Qwen3.5-27B-指令微调-四比特量化-超长名字的模型-测试版本");
    snprintf(p->engine, sizeof p->engine, "엔진 1.0\033[31m");
    snprintf(p->hardware, sizeof p->hardware, "e\xCC\x81t\xC3\xA9 \xFF\xFE \xE2\x80\xAE gpu");
    p->concurrency = 16000;
    p->event_count = 0;
    progress_add_event(p,
                       "错误：连接被拒绝 connection refused by the server, 一二三四五六七八九十");
}

static void scene_done(struct progress *p)
{
    scene_window(p);
    p->phase = PHASE_DONE;
    p->phase_length_ns = 0;
    p->eta_ns = 0;
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 8; j++)
            set_done(p, i, j, 34.0 * (double)(1 << j) / (1 + (double)i));
}

static const int64_t scene_now = (100 + 712 + 18) * NS_PER_S;

static const struct scene {
    const char *name;
    void (*set)(struct progress *p);
    int cols, rows;
    bool ascii, mono, help;
} scenes[] = {
    {"start-80x24", scene_start, 80, 24, false, false, false},
    {"window-40x12", scene_window, 40, 12, false, false, false},
    {"window-50x15", scene_window, 50, 15, false, false, false},
    {"window-80x24", scene_window, 80, 24, false, false, false},
    {"window-120x40", scene_window, 120, 40, false, false, false},
    {"window-200x60", scene_window, 200, 60, false, false, false},
    {"window-ascii-80x24", scene_window, 80, 24, true, true, false},
    {"words-50x15", scene_words, 50, 15, false, false, false},
    {"words-100x30", scene_words, 100, 30, false, false, false},
    {"large-80x24", scene_large, 80, 24, false, false, false},
    {"large-120x40", scene_large, 120, 40, false, false, false},
    {"foreign-60x20", scene_foreign, 60, 20, false, false, false},
    {"done-80x24", scene_done, 80, 24, false, false, false},
    {"help-80x24", scene_window, 80, 24, false, false, true},
    {"help-40x12", scene_window, 40, 12, false, false, true},
};

static void draw_scene(const struct scene *s, struct canvas *g)
{
    struct progress *p = mem_alloc(sizeof *p);
    s->set(p);
    canvas_init(g, s->cols, s->rows);
    g->ascii = s->ascii;
    g->mono = s->mono;
    draw_progress(g, p, scene_now);
    if (s->help)
        draw_help(g);
    free(p);
}

/* ---- golden files ---- */

static char style_letter(enum style style)
{
    static const char letters[] = " .SATRWqoles";
    return style >= STYLE_HEAT ? (char)('0' + (int)(style - STYLE_HEAT)) : letters[style];
}

static void add_trimmed_line(struct buf *out, size_t start)
{
    while (out->len > start && out->p[out->len - 1] == ' ')
        out->len--;
    buf_addc(out, '\n');
}

static void dump(const struct canvas *g, struct buf *out)
{
    for (int row = 0; row < g->rows; row++) {
        size_t start = out->len;
        for (int col = 0; col < g->cols; col++) {
            char one[4];
            const struct canvas_cell *cell = canvas_at(g, row, col);
            if (cell->cp != 0)
                buf_add(out, one, text_utf8_encode(cell->cp, one));
        }
        add_trimmed_line(out, start);
    }
    buf_add_repeat(out, '-', (size_t)g->cols);
    buf_addc(out, '\n');
    for (int row = 0; row < g->rows; row++) {
        size_t start = out->len;
        for (int col = 0; col < g->cols; col++)
            buf_addc(out, style_letter(canvas_at(g, row, col)->style));
        add_trimmed_line(out, start);
    }
}

static void compare_with_file(const struct scene *s, const struct buf *drawn)
{
    char path[256];
    struct buf expected;
    struct err err;
    snprintf(path, sizeof path, "tests/golden/tui/%s.txt", s->name);
    if (getenv("TOKGRID_GOLDEN_UPDATE")) {
        assert_true(file_write_atomic(path, drawn->p, drawn->len, &err));
        return;
    }
    buf_init(&expected, 1 << 20);
    if (!file_read(path, &expected, &err))
        fail_msg("%s", err.text);
    if (strcmp(drawn->p, expected.p) != 0)
        fail_msg("%s differs; drawn:\n%s", path, drawn->p);
    buf_release(&expected);
}

static void scenes_look_like_their_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
        struct canvas g;
        struct buf drawn;
        buf_init(&drawn, 1 << 20);
        draw_scene(&scenes[i], &g);
        dump(&g, &drawn);
        compare_with_file(&scenes[i], &drawn);
        buf_release(&drawn);
        canvas_release(&g);
    }
}

/* ---- properties ---- */

/* Every right half follows a wide character, and no wide character lacks it. */
static void check_halves(const struct canvas *g)
{
    for (int row = 0; row < g->rows; row++) {
        bool expect_half = false;
        for (int col = 0; col < g->cols; col++) {
            const struct canvas_cell *cell = canvas_at(g, row, col);
            char one[4];
            assert_int_equal(cell->cp == 0, expect_half);
            assert_false(cell->cp != 0 && text_is_unsafe(cell->cp));
            assert_true(cell->style < STYLE_COUNT);
            expect_half = cell->cp != 0 && text_width(one, text_utf8_encode(cell->cp, one)) == 2;
        }
        assert_false(expect_half);
    }
}

static void every_size_holds_together(void **state)
{
    (void)state;
    struct progress *p = mem_alloc(sizeof *p);
    struct canvas g;
    canvas_init(&g, 1, 1);
    for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
        scenes[i].set(p);
        for (int cols = 1; cols <= 200; cols += cols < 50 ? 1 : 13)
            for (int rows = 1; rows <= 60; rows += rows < 30 ? 1 : 10) {
                canvas_resize(&g, cols, rows);
                draw_progress(&g, p, scene_now);
                if (cols % 2 == 0)
                    draw_help(&g);
                check_halves(&g);
            }
    }
    canvas_release(&g);
    free(p);
}

static void odd_numbers_do_no_harm(void **state)
{
    (void)state;
    static const double odd[] = {NAN, INFINITY, -INFINITY, -1, 0, 1e300, 4e-320};
    struct progress *p = mem_alloc(sizeof *p);
    struct canvas g;
    canvas_init(&g, 120, 40);
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        scene_window(p);
        p->tok_s = p->running = p->waiting = p->client_cpu_pct = p->client_lag_ms = odd[i];
        for (size_t j = 0; j < 8; j++)
            set_done(p, 0, j, j % 2 ? odd[i] : 100);
        for (int j = 0; j < PROGRESS_TRACE; j++)
            p->trace[j] = odd[i];
        p->trace_count = PROGRESS_TRACE + 1;
        p->event_count = PROGRESS_EVENTS + 1;
        p->prefill_tok_s[0] = p->prefill_ttft_ms[1] = odd[i];
        draw_progress(&g, p, i % 2 ? INT64_MAX : INT64_MIN / 2);
        check_halves(&g);
    }
    canvas_release(&g);
    free(p);
}

static void a_grid_without_colours_says_no_less(void **state)
{
    (void)state;
    struct canvas ascii;
    const struct scene s = {"", scene_words, 100, 30, true, true, true};
    draw_scene(&s, &ascii);
    for (int i = 0; i < ascii.rows * ascii.cols; i++)
        assert_in_range(ascii.cells[i].cp, 0x20, 0x7E);
    canvas_release(&ascii);
}

static void rates_fit_their_room(void **state)
{
    (void)state;
    static const struct {
        double rate;
        int room;
        const char *text;
    } rows[] = {
        {0, 6, "0.0"},
        {34.24, 6, "34.2"},
        {839, 6, "839.0"},
        {999.94, 6, "999.9"},
        {999.96, 6, "1,000"},
        {1804, 6, "1,804"},
        {1804, 5, "1,804"},
        {1804, 4, "1.8K"},
        {12345.6, 6, "12,346"},
        {12345.6, 5, "12.3K"},
        {123456.7, 6, "123.5K"},
        {123456.7, 5, "123K"},
        {839, 4, "839"},
        {2.5e6, 6, "2,500K"},
        {2.5e6, 5, "2.5M"},
        {NAN, 6, "–"},
        {-1, 6, "–"},
        {1e300, 6, "–"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[NUM_TEXT_MAX];
        assert_string_equal(rate_text(text, rows[i].rate, rows[i].room), rows[i].text);
    }
}

static void expect_row(const struct canvas *g, int row, const char *expected)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    dump(g, &out);
    char *line = out.p;
    for (int i = 0; i < row; i++)
        line = strchr(line, '\n') + 1;
    line[strcspn(line, "\n")] = '\0';
    assert_string_equal(line, expected);
    buf_release(&out);
}

static void text_is_cut_at_whole_characters(void **state)
{
    (void)state;
    struct canvas g;
    canvas_init(&g, 10, 6);
    assert_int_equal(canvas_text(&g, 0, 0, 10, STYLE_PLAIN, "0123456789"), 10);
    expect_row(&g, 0, "0123456789");
    assert_int_equal(canvas_text(&g, 1, 0, 99, STYLE_PLAIN, "0123456789a"), 10);
    expect_row(&g, 1, "012345678…");
    assert_int_equal(canvas_text(&g, 2, 0, 6, STYLE_PLAIN, "模型名字"), 5); /* 2 + 2 + … */
    expect_row(&g, 2, "模型…");
    assert_int_equal(canvas_text(&g, 3, 9, 10, STYLE_PLAIN, "模"), 1);
    expect_row(&g, 3, "         …");
    assert_int_equal(canvas_text_right(&g, 4, 0, 10, STYLE_PLAIN, "模型"), 10);
    expect_row(&g, 4, "      模型");
    assert_int_equal(canvas_text(&g, 5, 0, 0, STYLE_PLAIN, "x"), 0);
    assert_int_equal(canvas_text(&g, 6, 0, 5, STYLE_PLAIN, "below"), 5);
    assert_int_equal(canvas_text(&g, -1, 0, 5, STYLE_PLAIN, "above"), 5);
    canvas_fill(&g, 5, -3, 99, STYLE_PLAIN, 'f');
    expect_row(&g, 5, "ffffffffff");
    canvas_text(&g, 2, 1, 1, STYLE_PLAIN, "x"); /* right half of the first, then left half */
    expect_row(&g, 2, " x型…");
    canvas_text(&g, 2, 2, 1, STYLE_PLAIN, "y");
    expect_row(&g, 2, " xy …");
    check_halves(&g);
    g.ascii = true;
    assert_int_equal(canvas_width(&g, "模型·×…"), 5);
    canvas_clear(&g);
    canvas_text(&g, 0, 0, 10, STYLE_PLAIN, "模型·×–é");
    expect_row(&g, 0, "\?\?|x-?");
    canvas_release(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scenes_look_like_their_files),
        cmocka_unit_test(every_size_holds_together),
        cmocka_unit_test(odd_numbers_do_no_harm),
        cmocka_unit_test(a_grid_without_colours_says_no_less),
        cmocka_unit_test(rates_fit_their_room),
        cmocka_unit_test(text_is_cut_at_whole_characters),
    };
    return cmocka_run_group_tests_name("draw", tests, NULL, NULL);
}
