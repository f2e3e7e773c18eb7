// SPDX-License-Identifier: GPL-2.0-or-later
/* A window's surroundings in the daemon: the tracker to ask, the store to write to. */
#include "window.h"

#include "pathprof/store.h"

static int dispatch(void *context)
{
	return pp_track_dispatch(context);
}

static const struct pp_track_process *process(void *context, pid_t pid, uint64_t time_ns)
{
	return pp_track_process_at(context, pid, time_ns);
}

static int resolve(void *context, pid_t pid, uint64_t time_ns, uint64_t address,
		   struct pp_location *ret_location)
{
	return pp_track_resolve(context, pid, time_ns, address, ret_location);
}

static int jit_symbol(void *context, pid_t pid, const struct pathprof_build_id *code,
		      uint64_t address, char *name, size_t name_size, uint64_t *ret_start,
		      uint64_t *ret_len_bytes)
{
	return pp_track_jit_symbol(context, pid, code, address, name, name_size, ret_start,
				   ret_len_bytes);
}

static bool in_view(void *context, pid_t pid)
{
	return pp_track_in_view(context, pid);
}

static void in_cgroup(void *context, pid_t pid, uint64_t start_time, uint64_t cgroup,
		      uint64_t cgroup_v1)
{
	pp_track_in_cgroup(context, pid, start_time, cgroup, cgroup_v1);
}

static int resolve_kernel(void *context, uint64_t address, struct pp_location *ret_location)
{
	return pp_track_resolve_kernel(context, address, ret_location);
}

static int kernel_symbol(void *context, uint64_t offset, char *name, size_t name_size,
			 uint64_t *ret_start, uint64_t *ret_len_bytes)
{
	return pp_track_kernel_symbol(context, offset, name, name_size, ret_start, ret_len_bytes);
}

struct pp_resolver pp_window_track_resolver(struct pp_track *track)
{
	return (struct pp_resolver){track,   dispatch,  process,        resolve,      jit_symbol,
				    in_view, in_cgroup, resolve_kernel, kernel_symbol};
}

static int add_window(void *context, const struct pathprof_profile *profile,
		      struct pathprof_error *error)
{
	int64_t id;

	return pathprof_store_add_window(context, profile, &id, error);
}

static int add_jit_symbols(void *context, const struct pathprof_jit_symbol *symbols, size_t cnt,
			   struct pathprof_error *error)
{
	return pathprof_store_add_jit_symbols(context, symbols, cnt, error);
}

struct pp_window_sink pp_window_store_sink(struct pathprof_store *store)
{
	return (struct pp_window_sink){store, add_window, add_jit_symbols};
}
