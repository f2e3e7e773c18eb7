/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of a held thread, read without ever waiting for a page.
 *
 * To read a page that is not there would have the kernel fetch it, and whoever reads sleeps until
 * it has come: from a file server that is gone, or from a handler of page faults that never
 * answers, or that is the very thread being held. No signal ends that sleep, and the target would
 * be held as long. So a page is looked up in the target's page map first, and what is not there is
 * not read. (Between the two another thread of the target may take the page away:
 * docs/stepping.md.)
 *
 * Workload: once or twice a stop; 0.6 us a look on top of 2 us a read, 5 us to open it once a
 * burst. One thread is held at a time; its stepper owns the state. No allocation. Source: proc(5),
 * /proc/PID/pagemap (bit 63: the page is present).
 */
#ifndef PP_STEP_MEMORY_H
#define PP_STEP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pp_step_memory {
	pid_t tid;
	int map_fd;      /* -1: it could not be opened; nothing is there then, but for: */
	bool is_mapless; /* the kernel has, or gives, no page maps, and nothing is looked up */
};

void pp_step_memory_open(struct pp_step_memory *memory, pid_t tid);
/* A pp_step_read_fn; context is the memory. Bytes read from the address on, as far as they go. */
size_t pp_step_memory_read(void *context, uint64_t address, void *to, size_t len_bytes);
void pp_step_memory_close(struct pp_step_memory *memory);

#endif
