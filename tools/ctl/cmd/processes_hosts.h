/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host on which a process ran, in a database of a fleet. Parcels have no process ids, so
 * workloads of two hosts may be alike in everything else. The host is known by the store that the
 * process came from; a store of which several hosts sent (one was renamed or cloned) has each
 * workload once for them all.
 *
 * Workload: some thousand look-ups among as many hosts, once a command. Ownership: names are the
 * list's.
 */
#ifndef CTL_PROCESSES_HOSTS_H
#define CTL_PROCESSES_HOSTS_H

#include <stdint.h>

#include "pathprof/error.h"
#include "pathprof/store.h"

struct process_hosts;

struct process_host {
	const char *name; /* NULL: recorded in this database, or not known to be one host's */
	uint32_t cnt;     /* hosts; 0: not known */
};

/* *ret_hosts NULL: the filter selects no host. -errno, error filled. */
int process_hosts_new(struct process_hosts **ret_hosts, struct pathprof_store *store,
		      const struct pathprof_filter *filter, struct pathprof_error *error);
/* NULL-safe. */
void process_hosts_free(struct process_hosts *hosts);

/* The hosts that may have run a process of this boot. */
struct process_host process_hosts_of(const struct process_hosts *hosts, const char *boot);

/* Compares by name; unknown hosts come first. */
int process_host_compare(const struct process_host *a, const struct process_host *b);
/* Counts the next process of a sum. Processes come in the order of process_host_compare():
 * sum->name is the last name. */
void process_host_add(struct process_host *sum, const struct process_host *next);

#endif
