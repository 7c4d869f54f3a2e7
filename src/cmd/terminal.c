/* terminal.c - asks the environment once for each question. */
#include "cmd/terminal.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"

/* Columns; 80 when that is unknown. */
static size_t terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

bool terminal_is_mono(void)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    return (no_colour && *no_colour) || !term || strcmp(term, "dumb") == 0;
}

static bool locale_is_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

const struct lang *lang_of_locale(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        const char *value = getenv(variables[i]);
        if (value && *value)
            return lang_find(value) ? lang_find(value) : langs[0];
    }
    return langs[0];
}

struct table_options terminal_table_options(const struct lang *lang, bool redirected)
{
    bool terminal = isatty(STDOUT_FILENO) && !redirected;
    bool ascii = !locale_is_utf8() && !lang;
    if (!lang)
        lang = ascii ? langs[0] : lang_of_locale();
    return (struct table_options){
        .width = terminal ? terminal_width() : 0,
        .ascii = ascii,
        .colour = terminal && !terminal_is_mono(),
        .lang = lang,
    };
}
