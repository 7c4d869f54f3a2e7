/* assets.h - what a page brings along: its style sheets and its script.
 *
 * Built from page/ by tools/make-asset. Each has a hash by which a page's Content-Security-Policy
 * allows exactly this text. */
#ifndef TOKGRID_REPORT_ASSETS_H
#define TOKGRID_REPORT_ASSETS_H

struct asset {
    const char *text;
    const char *csp; /* "sha256-..." */
};

extern const struct asset page_style;  /* page.css and chart.css */
extern const struct asset page_script; /* page.js */
extern const struct asset chart_style; /* chart.css, for a chart in a file of its own */

#endif
