/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fake tracker for windows: two processes of three mappings each, the last of them generated
 * code, and a hole between.
 */
#ifndef UNIT_WINDOW_FAKE_H
#define UNIT_WINDOW_FAKE_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "../../daemon/window/window.h"

#define BASE          UINT64_C(0x400000)
#define SPAN          UINT64_C(0x1000)
#define MAPS          UINT64_C(3)
#define PIDS          2
#define START_OF(pid) (1000u + (pid))

static inline struct pathprof_build_id id_of(pid_t pid, uint64_t map)
{
	struct pathprof_build_id id = {.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};

	id.bytes[0] = (uint8_t)map;
	if (map == MAPS - 1) {
		id.kind = PATHPROF_ID_JIT;
		id.bytes[1] = (uint8_t)pid;
	}
	return id;
}

/* Mapping i lies at BASE + 2 * i * SPAN; generated code has its address for an offset. */
static inline int locate(pid_t pid, uint64_t address, struct pp_location *ret_location)
{
	uint64_t map = (address - BASE) / (2 * SPAN), rest = (address - BASE) % (2 * SPAN);

	if (address < BASE || map >= MAPS || rest >= SPAN)
		return -ENOENT;
	*ret_location = (struct pp_location){
		.id = id_of(pid, map),
		.offset = map == MAPS - 1 ? address : rest + 0x40,
		.name = map == MAPS - 1 ? "jit" : "/bin/x",
	};
	return 0;
}

struct fake {
	unsigned int dispatches, jit_lookups;
	bool gone;                  /* no process is known */
	uint8_t programs[PIDS + 1]; /* which program each process runs */
};

static inline int fake_dispatch(void *context)
{
	((struct fake *)context)->dispatches++;
	return 0;
}

static inline const struct pp_track_process *fake_process(void *context, pid_t pid,
							  uint64_t time_ns)
{
	static struct pp_track_process p;

	if (((struct fake *)context)->gone || pid < 1 || pid > PIDS)
		return NULL;
	p = (struct pp_track_process){.pid = pid, .start_time = START_OF((unsigned int)pid)};
	snprintf(p.comm, sizeof(p.comm), "p%d", pid);
	p.exe_id = id_of(pid, 0);
	p.exe_id.bytes[2] = ((struct fake *)context)->programs[pid];
	return &p;
}

static inline int fake_resolve(void *context, pid_t pid, uint64_t time_ns, uint64_t address,
			       struct pp_location *ret_location)
{
	return locate(pid, address, ret_location);
}

/* A symbol every 256 bytes; the first has none. */
static inline int fake_jit(void *context, pid_t pid, const struct pathprof_build_id *code,
			   uint64_t address, char *name, size_t name_size, uint64_t *ret_start,
			   uint64_t *ret_len_bytes)
{
	((struct fake *)context)->jit_lookups++;
	if ((address & 0xf00) == 0)
		return -ENOENT;
	snprintf(name, name_size, "f_%llx", (unsigned long long)(address & ~UINT64_C(0xff)));
	*ret_start = address & ~UINT64_C(0xff);
	*ret_len_bytes = 256;
	return 0;
}

#endif
