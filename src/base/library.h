/* library.h - shared libraries that are opened when they are first needed.
 *
 * Of a library that few commands use, linking makes every command pay: libcurl, libpq and
 * libmicrohttpd bring some thirty others with them, which the loader maps and binds before main.
 * Such a library has a struct of function pointers instead, filled by name. What is opened stays so
 * until the process ends. */
#ifndef TOKGRID_BASE_LIBRARY_H
#define TOKGRID_BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Where in the struct a function's address goes. */
struct library_call {
    size_t offset;
    const char *name;
    const char *older; /* what earlier versions of the library call it; NULL: the same */
};

/* Open `file` ("libpq.so.5", or a path) and fill in the calls; NULL for those it lacks. The handle
 * is dlopen's. NULL: it cannot be opened; dlerror() says why. */
void *library_open(const char *file, const struct library_call *calls, size_t count,
                   void *table) ATTR_CHECK;

/* A library without which its callers cannot go on. Static; the rows below the line are its own. */
struct library {
    const char *file, *package; /* the package that has it, for the error */
    const struct library_call *calls;
    size_t count;
    void *table;
    bool (*start)(struct err *err); /* called once, when it has been opened; NULL: nothing to do */
    /* --- */
    bool ready;
};

/* Open it if that was not done yet, from any thread; every call must be there. */
bool library_need(struct library *library, struct err *err) ATTR_CHECK;

#endif
