/* screen.h - the live screen: a thread that draws a run in progress until it is stopped.
 *
 * The only curses in the tree. The thread reads copies out of the progress box and draws a few
 * times a second; it blocks all signals, so that Ctrl-C and the like reach the thread that handles
 * them. There is one screen at a time. Ctrl-Z does nothing while it is up: a stopped client would
 * ruin the measurement. */
#ifndef TOKGRID_TUI_SCREEN_H
#define TOKGRID_TUI_SCREEN_H

#include <stdbool.h>

#include "base/err.h"
#include "model/progress.h"

enum screen_key { SCREEN_FINISH = 'q', SCREEN_SKIP = 's' };

struct screen_options {
    bool mono;                                      /* no colours (NO_COLOR) */
    void (*on_key)(void *ctx, enum screen_key key); /* called on the screen's thread */
    void *ctx;
};

/* Switches to the alternate screen and starts drawing. NULL where that cannot be (not a terminal,
 * in the background, TERM=dumb): the caller then prints plain lines. The box must outlive the
 * screen. */
struct screen;
struct screen *screen_start(struct progress_box *box, const struct screen_options *options,
                            struct err *err) ATTR_CHECK;

/* Ends the thread and gives the terminal back as it was. NULL is fine. */
void screen_stop(struct screen *s);

/* The same for handlers of fatal signals: only calls that are safe there, nothing is freed. Does
 * nothing when no screen is up. */
void screen_emergency_restore(void);

#endif
