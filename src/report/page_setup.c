/* page_setup.c - what was measured and with what: the blocks and the launch command. */
#include <stdlib.h>
#include <string.h>

#include "report/page_parts.h"
#include "report/plain.h"
#include "report/setup.h"

static void write_block(const struct page *p, const struct setup_block *block)
{
    bool any = false;
    for (size_t i = 0; i < block->count; i++) {
        block->rows[i].add(p->r, p->l, html_scratch(p->h));
        if (!p->h->scratch.len)
            continue;
        if (!any) {
            html_raw(p->h, "<div class=\"block\"><h3>");
            html_text(p->h, word(p->l, block->title));
            html_raw(p->h, "</h3><dl>");
        }
        any = true;
        html_raw(p->h, "<div><dt>");
        html_text(p->h, word(p->l, block->rows[i].label));
        html_raw(p->h, "</dt><dd>");
        html_text_scratch(p->h);
        html_raw(p->h, "</dd></div>");
    }
    if (any)
        html_raw(p->h, "</dl></div>\n");
}

/* No line ends inside the name of an option, a word that begins with "-", unless it is longer than
 * a line may be. */
static void write_options(const struct page *p, const char *line)
{
    enum { OPTION_MOST = 40 };
    static const char letters[] =
        "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    while (*line) {
        size_t n = *line == '-' ? strspn(line, letters) : 0;
        bool option = n > 0 && n <= OPTION_MOST;
        if (!option) {
            n = strcspn(line, " ");
            n += strspn(line + n, " ");
        }
        char *part = mem_strndup(line, n);
        if (option)
            html_raw(p->h, "<span class=\"option\">");
        html_text(p->h, part);
        if (option)
            html_raw(p->h, "</span>");
        free(part);
        line += n;
    }
}

/* Comment lines are set apart by eye, and copied with the command all the same. */
static void write_command_lines(const struct page *p, char *command)
{
    for (char *line = command, *end; line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (end)
            *end = '\0';
        bool comment = line[strspn(line, " ")] == '#';
        if (comment) {
            html_raw(p->h, "<span class=\"comment\">");
            html_text(p->h, line);
            html_raw(p->h, "</span>");
        } else {
            write_options(p, line);
        }
        if (end)
            html_raw(p->h, "\n");
    }
}

static void write_command(const struct page *p)
{
    struct buf command;
    if (!p->r->engine.launch_command)
        return;
    buf_init(&command, 2 * (size_t)PLAIN_COMMAND_MAX);
    plain_add_command(&command, p->r->engine.launch_command);
    html_raw(p->h, "<div class=\"command\"><h3 id=\"command\">");
    html_text(p->h, word(p->l, WORD_SETUP_LAUNCH_COMMAND));
    html_raw(p->h, "</h3><button type=\"button\" class=\"copy\" hidden");
    html_attr(p->h, "data-done", word(p->l, WORD_PAGE_COPIED));
    html_raw(p->h, ">");
    html_text(p->h, word(p->l, WORD_PAGE_COPY));
    html_raw(p->h,
             "</button><pre tabindex=\"0\" aria-labelledby=\"command\" role=\"group\"><code>");
    write_command_lines(p, command.p);
    html_raw(p->h, "</code></pre></div>\n");
    buf_release(&command);
}

void page_setup(const struct page *p)
{
    html_raw(p->h, "<section aria-labelledby=\"setup\">");
    page_heading(p, "setup", WORD_SETUP_TITLE);
    html_raw(p->h, "<div class=\"blocks\">\n");
    for (size_t i = 0; i + 1 < SETUP_BLOCKS; i++)
        write_block(p, &setup_blocks[i]);
    html_raw(p->h, "</div>\n");
    write_command(p);
    html_raw(p->h, "</section>\n");
}

void page_conditions(const struct page *p)
{
    const struct setup_block *block = &setup_blocks[SETUP_BLOCKS - 1];
    html_raw(p->h, "<section class=\"conditions\" aria-labelledby=\"conditions\">");
    page_heading(p, "conditions", WORD_SETUP_CONDITIONS);
    html_raw(p->h, "<dl>");
    for (size_t i = 0; i < block->count; i++) {
        block->rows[i].add(p->r, p->l, html_scratch(p->h));
        if (!p->h->scratch.len)
            continue;
        html_raw(p->h, "<div><dt>");
        html_text(p->h, word(p->l, block->rows[i].label));
        html_raw(p->h, "</dt><dd>");
        write_options(p, p->h->scratch.p);
        html_raw(p->h, "</dd></div>\n");
    }
    html_raw(p->h, "</dl></section>\n");
}
