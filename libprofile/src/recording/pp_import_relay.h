/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A recording is read by one thread and counted by another: reading and decoding is some third of
 * the work. What the reader hands on is copied into blocks, in order; a thread of the relay's own
 * calls the sink behind it.
 *
 * Workload: a GB/s of samples, a hand-over each 300 of them; a MB of blocks. While the reader waits
 * for a free block it gives up the recording's lock, which it must hold whenever it reads: the
 * counting thread asks the recording now and then (pp_import_ask.h).
 *
 * Source: none; a bounded queue of blocks.
 */
#ifndef PP_IMPORT_RELAY_H
#define PP_IMPORT_RELAY_H

#include <pthread.h>

#include "pathprof/recording.h"

struct pp_import_relay;

/* Its thread runs from now on, and is the only one to call sink. -ENOMEM, -EAGAIN: no thread. */
int pp_import_relay_new(struct pp_import_relay **ret_relay,
			const struct pathprof_recording_sink *sink);
/* After pp_import_relay_finish(). NULL-safe. */
void pp_import_relay_free(struct pp_import_relay *relay);

/* For the reader: takes mappings, processes and samples. */
struct pathprof_recording_sink pp_import_relay_sink(struct pp_import_relay *relay);
/* Held by who uses the recording. */
pthread_mutex_t *pp_import_relay_lock(struct pp_import_relay *relay);

/*
 * The reader has ended: all of it was handed on, and the thread is gone. What the sink failed with,
 * or 0; a reader is told of it earlier, by what the relay's own functions return. May be called
 * again.
 */
int pp_import_relay_finish(struct pp_import_relay *relay);

#endif
