/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel module's device: opened, its rings mapped, its calls made, and every refusal put into
 * a sentence that says what to do.
 *
 * Workload: opened once, emptied some times a second. One thread. The mappings and the descriptor
 * belong to the struct.
 */
#ifndef PP_KMOD_DEVICE_H
#define PP_KMOD_DEVICE_H

#include "kmod_ring.h"
#include "pathprof/error.h"

struct pp_kmod_device {
	int fd; /* readable when a quarter of a ring is written */
	struct pathprof_kmod_info info;
	struct pp_kmod_ring *rings;
	uint32_t ring_cnt;
};

/* Maps every ring there is. -ENOENT no module, -EBUSY, -EPERM, -EACCES, -EPROTO another version. */
int pp_kmod_device_open(struct pp_kmod_device *ret_device, struct pathprof_error *error);
void pp_kmod_device_close(struct pp_kmod_device *device);

/* Opens the device, asks for its info, closes it. Errors as of open. */
int pp_kmod_device_probe(uint32_t source, struct pathprof_kmod_info *ret_info,
			 struct pathprof_error *error);

/* -EOPNOTSUPP, -ENOENT, -EINVAL and what else perf says of an event. */
int pp_kmod_device_start(struct pp_kmod_device *device, const struct pathprof_kmod_start *start,
			 struct pathprof_error *error);
int pp_kmod_device_stop(struct pp_kmod_device *device);
/* Writes out what is being counted; the session goes on. */
int pp_kmod_device_flush(struct pp_kmod_device *device);
/* Sets another budget; the session goes on. -ENOTTY: a module that cannot change it under way. */
int pp_kmod_device_set_budget(struct pp_kmod_device *device, uint32_t budget_ppm);
int pp_kmod_device_stats(struct pp_kmod_device *device, struct pathprof_collector_stats *ret_stats);

/* Drains every ring by pp_kmod_ring_drain; each is tried, the first error is returned. */
int pp_kmod_device_drain(struct pp_kmod_device *device, pp_chain_record_fn *fn, void *context);

#endif
