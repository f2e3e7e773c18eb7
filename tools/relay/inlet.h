/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The relay's side of pathprofd's socket (outlet.h): hears of news, asks for figures. While
 * pathprofd is away it is looked for every few seconds.
 *
 * Workload: news a few times an hour, a question every few seconds, one at a time. One owner, the
 * event loop.
 */
#ifndef PP_INLET_H
#define PP_INLET_H

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-event.h>

struct pp_inlet;

struct pp_inlet_config {
	const char *database;
	const char *notes; /* an absolute directory, for pathprofd to know; NULL: not told */
	/* There may be messages to read: pathprofd said so, came or went, or it is time to look
	 * since nobody may have said so. */
	void (*on_news)(void *context);
	/* The answer to pp_inlet_ask(), valid during the call; NULL: pathprofd gave none in time.
	 */
	void (*on_figures)(void *context, const char *text, size_t len_bytes);
	void *context;
};

/* -ENAMETOOLONG, -ENOMEM. */
int pp_inlet_new(struct pp_inlet **ret_inlet, sd_event *event,
		 const struct pp_inlet_config *config);
void pp_inlet_free(struct pp_inlet *inlet);
/* on_figures is called, from inside this function or later. If an answer is awaited already, it is
 * for this question too. */
void pp_inlet_ask(struct pp_inlet *inlet);
/* Whether pathprofd is there. */
bool pp_inlet_is_up(const struct pp_inlet *inlet);

#endif
