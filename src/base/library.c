/* library.c - dlopen and dlsym, by table. */
#include "base/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

void *library_open(const char *file, const struct library_call *calls, size_t count, void *table)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; handle && i < count; i++) {
        void *found = dlsym(handle, calls[i].name);
        if (!found && calls[i].older)
            found = dlsym(handle, calls[i].older);
        /* C has no cast from object to function pointer; POSIX says they look alike */
        memcpy((char *)table + calls[i].offset, &found, sizeof found);
    }
    return handle;
}

static bool open_whole(const struct library *l, struct err *err)
{
    if (!library_open(l->file, l->calls, l->count, l->table))
        return err_set(err, ERR_SYSTEM, "%s cannot be opened (%s): install the package %s", l->file,
                       dlerror(), l->package);
    for (size_t i = 0; i < l->count; i++) {
        void *found;
        memcpy(&found, (char *)l->table + l->calls[i].offset, sizeof found);
        if (!found)
            return err_set(err, ERR_SYSTEM, "%s has no %s: install a newer package %s", l->file,
                           l->calls[i].name, l->package);
    }
    return !l->start || l->start(err);
}

bool library_need(struct library *library, struct err *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    if (!library->ready)
        library->ready = open_whole(library, err);
    bool ready = library->ready;
    pthread_mutex_unlock(&lock);
    return ready;
}
