/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures in Prometheus' text format 0.0.4, a line at a time. Any thread; keeps nothing.
 */
#ifndef PP_METRICS_TEXT_H
#define PP_METRICS_TEXT_H

#include <stdio.h>

/* # HELP and # TYPE ("counter", "gauge"); once a name, before its samples. */
void pp_metrics_head(FILE *to, const char *name, const char *type, const char *help);
/* labels: name, value, name, value, ..., NULL; values are escaped here. */
void pp_metrics_sample(FILE *to, const char *name, const char *const *labels, double value);

/* Both, of a figure that has no labels. */
void pp_metrics_one(FILE *to, const char *name, const char *type, const char *help, double value);

#endif
