/* cmd_serve.c - tokgrid serve: the site, until a signal. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "site/site.h"
#include "store/store.h"

struct serve_settings {
    const char *db, *listen;
    int64_t threads;
    bool trust_proxy;
};

/* A URL holds a password, which other users of the machine would see. */
static char *take_db(const char *db)
{
    if (!db || !*db)
        return mem_strdup("tokgrid.db");
    return store_is_url(db) ? command_take_secret(db, "TOKGRID_DB") : mem_strdup(db);
}

static void print_fault(const char *line)
{
    fprintf(stderr, "tokgrid: %s\n", line);
}

/* Blocked before threads are made, so that none of them gets the signal: it waits to be taken. */
static void block_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

static int run(int argc, char **argv)
{
    struct serve_settings s = {0};
    struct err err = {0};
    sigset_t signals;
    int exit_code, number;

    if (!command_parse(&cmd_serve, argc, argv, &s, &exit_code))
        return exit_code;
    char *db = take_db(s.db);
    const struct site_options options = {
        .db = db,
        .listen = s.listen,
        .threads = (int)s.threads,
        .trust_proxy = s.trust_proxy,
        .log = print_fault,
    };
    block_signals(&signals);
    struct site *site = site_new(&options, &err);
    bool ok = site != NULL;
    if (ok && (printf("listening on %s\n", site_url(site)) < 0 || fflush(stdout) != 0))
        ok = err_set(&err, ERR_SYSTEM, "cannot write to standard output: %s", strerror(errno));
    while (ok && sigwait(&signals, &number) != 0)
        ;
    site_free(site);
    free(db);
    return ok ? EXIT_CODE_DONE : command_fail(&err);
}

#define S struct serve_settings

static const struct option_row rows[] = {
    {.name = "db",
     OPTION_STRING(S, db),
     .value = "FILE|URL",
     .otherwise = "tokgrid.db",
     .env = "TOKGRID_DB",
     .group = "Where",
     .help = "What is published is kept in this SQLite file, which is made when it is missing, or "
             "in a PostgreSQL database, as `postgresql://user:password@host/name`."},
    {.name = "listen",
     OPTION_STRING(S, listen),
     .value = "HOST:PORT",
     .initial = "127.0.0.1:8080",
     .help = "Where to listen; port 0 picks one."},
    {.name = "trust-proxy",
     OPTION_FLAG(S, trust_proxy),
     .group = "Behind a reverse proxy",
     .help = "Visitors' addresses and whether they came by https are what the proxy in front says "
             "in X-Forwarded-For and X-Forwarded-Proto. Only where nobody can pass it by."},
    {.name = "threads",
     OPTION_INT(S, threads),
     .min = 0,
     .max = 256,
     .value = "N",
     .initial = "0",
     .group = "Resources",
     .help = "Threads that answer; 0: as many as there are CPUs."},
    {0},
};

static const char *const examples[] = {
    "tokgrid serve",
    "The site on this machine, kept in tokgrid.db.",
    "tokgrid serve --db postgresql://tokgrid@db/tokgrid --listen 127.0.0.1:8080 --trust-proxy",
    "Behind nginx or Caddy; any number of such processes may share a database.",
    NULL,
};

const struct command cmd_serve = {
    .name = "serve",
    .summary = "Serve the site where runs are published, found and compared",
    .about = "Pages in English and Chinese, and a JSON API under /api/v1. The first account that "
             "signs up is the moderator.\n"
             "\n"
             "It prints 'listening on URL' when it is ready, and ends at SIGINT or SIGTERM. TLS is "
             "the business of a reverse proxy in front: docs/site.md has configurations.",
    .options = rows,
    .examples = examples,
    .run = run,
};
