/* cmd_db.c - tokgrid db: upkeep of a store, for its operator. */
#include <stdio.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/store_option.h"
#include "store/store.h"

struct db_settings {
    const char *db;
    const char *action, *first, *second;
};

static int wrong(const char *usage)
{
    struct err err = {0};

    err_set(&err, ERR_USAGE, "usage: tokgrid db %s", usage);
    return command_fail(&err);
}

static int say(const char *text)
{
    struct buf out;

    buf_init(&out, 8192);
    buf_addf(&out, "%s\n", text);
    int code = command_print(&out);
    buf_release(&out);
    return code;
}

static int back_up(const struct db_settings *set)
{
    struct err err = {0};
    struct store *s;

    if (!set->first || set->second)
        return wrong("backup FILE [--db FILE]");
    if (!store_option_open(set->db, false, &s, &err))
        return command_fail(&err);
    bool fine = store_backup(s, set->first, &err);
    store_close(s);
    return fine ? EXIT_CODE_DONE : command_fail(&err);
}

static bool copy(const char *from, const char *to, int64_t *ret_rows, struct err *err)
{
    struct store *source, *target;

    if (!store_option_open(from, false, &source, err))
        return false;
    bool fine = store_option_open(to, true, &target, err);
    if (fine) {
        fine = store_copy(source, target, ret_rows, err);
        store_close(target);
    }
    store_close(source);
    return fine;
}

static int migrate(const struct db_settings *set)
{
    struct err err = {0};
    struct buf shown;
    int64_t rows = 0;

    if (!set->first || !set->second)
        return wrong("migrate FROM TO");
    if (!copy(set->first, set->second, &rows, &err))
        return command_fail(&err);
    buf_init(&shown, 4096);
    store_where(set->second, &shown);
    buf_addf(&shown, ": %lld rows copied", (long long)rows);
    int code = say(shown.p);
    buf_release(&shown);
    return code;
}

static int check(const struct db_settings *set)
{
    struct err err = {0};
    struct store *s;
    struct buf out;
    int64_t findings = 0;

    if (set->first)
        return wrong("check [--db FILE|URL]");
    if (!store_option_open(set->db, false, &s, &err))
        return command_fail(&err);
    buf_init(&out, 1 << 20);
    bool fine = store_check(s, &out, &findings, &err);
    store_close(s);
    int code = fine ? command_print(&out) : command_fail(&err);
    buf_release(&out);
    if (code != EXIT_CODE_DONE)
        return code;
    if (findings == 0)
        return say("everything agrees");
    err_set(&err, ERR_SYSTEM, "the check found %lld faults", (long long)findings);
    return command_fail(&err);
}

static const struct {
    const char *name;
    int (*run)(const struct db_settings *set);
} actions[] = {{"backup", back_up}, {"migrate", migrate}, {"check", check}};

static int db(int argc, char **argv)
{
    struct db_settings set = {0};
    int code;

    if (!command_parse(&cmd_db, argc, argv, &set, &code))
        return code;
    for (size_t i = 0; i < ARRAY_LEN(actions); i++)
        if (strcmp(set.action, actions[i].name) == 0)
            return actions[i].run(&set);
    return wrong("backup FILE | migrate FROM TO | check");
}

static const struct option_row rows[] = {STORE_OPTION_ROW(struct db_settings, db), {0}};

static const struct operand_row operands[] = {
    {.name = "ACTION",
     OPERAND_ONE(struct db_settings, action),
     .help = "backup FILE: a consistent copy of an SQLite store in a new file, while the site "
             "goes on using it. migrate FROM TO: everything of one store into another, which must "
             "be empty. check: whether everything in the store agrees; exit code 1 when not."},
    {.name = "FIRST",
     OPERAND_MAYBE(struct db_settings, first),
     .help = "The FILE of backup, or migrate's FROM: a file or URL."},
    {.name = "SECOND",
     OPERAND_MAYBE(struct db_settings, second),
     .help = "What migrate copies TO: a file or URL."},
    {0},
};

static const char *const examples[] = {
    "tokgrid db backup /backup/tokgrid-monday.db",
    "Of tokgrid.db, at any time.",
    "tokgrid db migrate tokgrid.db postgresql://tokgrid@db.example/tokgrid",
    "When one machine is not enough any more; stop the site meanwhile.",
    "tokgrid db check --db tokgrid.db",
    "After a crash of the machine, or of a backup.",
    NULL,
};

const struct command cmd_db = {
    .name = "db",
    .summary = "Back up, move or check the site's store",
    .about = "For the operator of a site. Opening a store with a newer version of this program "
             "brings its schema up to date; an older version then refuses it. A PostgreSQL store "
             "is backed up with PostgreSQL's own pg_dump.",
    .options = rows,
    .operands = operands,
    .examples = examples,
    .run = db,
};
