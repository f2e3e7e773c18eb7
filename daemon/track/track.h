/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracker: which process had which code mapped where. Fed by per-CPU perf events (MMAP2 with
 * build-id, COMM, FORK, EXIT), opened before the running processes are scanned, so nothing falls
 * between; where perf_event_open is refused, by /proc alone.
 *
 * Workload: thousands of processes, hundreds of mappings each, a few thousand look-ups a second;
 * and neighbours that map, fork and exec as fast as they can. Memory is bounded, and so is CPU time
 * (pace.h): work beyond that is dropped and counted, and a process that somebody asks
 * about is then read from /proc. What ended is forgotten after a grace time, so late bursts still
 * resolve.
 * Not thread-safe: the event loop owns it. Pointers handed out are valid until the next dispatch.
 */
#ifndef PP_TRACK_H
#define PP_TRACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "pathprof/build_id.h"
#include "pathprof/error.h"
#include "pathprof/profile.h"

struct pp_track;

struct pp_track_config {
	pid_t only_pid; /* 0: the whole system; else this process and its descendants */
	bool no_perf;   /* as if perf_event_open were refused (tests) */
	/* nobody is looked at before pp_track_begin: the caller still has rights to give up */
	bool begin_later;
};

struct pp_track_process {
	pid_t pid;
	uint64_t start_time; /* clock ticks since boot, as in /proc/PID/stat */
	uint32_t exec_cnt;
	uint32_t change_cnt; /* another number: something else lies where code was */
	char comm[16];
	char container[128]; /* from its cgroup; "" for none */
	char exe[256];       /* path of its executable as first mapped, "" unknown */
	struct pathprof_build_id exe_id;
	struct pathprof_file exe_from;
	int is_64bit; /* 1 yes, 0 no, -1 unknown */
};

/* The place of an address in a file: the key of everything stored. */
struct pp_location {
	struct pathprof_build_id id;
	uint64_t offset;           /* file offset; for JIT code the address itself */
	struct pathprof_file from; /* whose file; owner 0 where it is none */
	const char *name;          /* mapped path, container-relative: for people, never a key */
	uint64_t start, end;       /* addresses [start, end) that lie in one piece with it */
};

/* Why something is not known that was told, or could have been read. */
enum pp_track_drop {
	PP_TRACK_DROP_CPU_TIME,  /* records: there was no CPU time left for them */
	PP_TRACK_DROP_MAP_RATE,  /* mappings of a process that makes too many a second */
	PP_TRACK_DROP_SCAN,      /* reads of /proc: put off or given up for the time they take */
	PP_TRACK_DROP_PROCESSES, /* processes beyond what there may be */
	PP_TRACK_DROP_MAPPINGS,  /* mappings and names beyond what there may be */
	PP_TRACK_DROP_FORGOTTEN, /* address spaces given up for the memory they take */
	PP_TRACK_DROP_MEMORY,    /* no memory */
	PP_TRACK_DROP_SILENT,    /* reads of what puts the reader to sleep (track_reader.h) */
	PP_TRACK_DROP_CNT
};
/* A name such as "cpu-time"; lives for ever. */
const char *pp_track_drop_name(enum pp_track_drop drop);

struct pp_track_stats {
	uint64_t processes, mappings; /* known now */
	uint64_t events, lost;        /* perf records seen, lost by the kernel */
	uint64_t repairs;             /* look-ups that needed a fresh read of /proc/PID/maps */
	uint64_t drops[PP_TRACK_DROP_CNT];
	uint64_t cpu_ns; /* CPU time of tracking since the start, without its children */
	uint64_t child_cpu_ns;
	uint64_t space_bytes; /* of address spaces, as of the last second; names come beside */
	uint64_t name_bytes;
	uint64_t jit_bytes;     /* of memory, for names of generated code */
	uint64_t jit_postponed; /* times that reading them had to wait: see track_jit.h */
	uint64_t jit_refused;   /* times that there was no memory for them */
	bool perf;              /* false: /proc only */
	int perf_code;          /* 0, or -errno: why events were refused, at the start or later */
};

int pp_track_new(struct pp_track **ret_track, const struct pp_track_config *config,
		 struct pathprof_error *error);
/* With begin_later, once: reads what runs already. */
int pp_track_begin(struct pp_track *track);
/* NULL-safe. */
void pp_track_free(struct pp_track *track);
/* An epoll descriptor: readable when dispatch has work. */
int pp_track_fd(struct pp_track *track);
/*
 * Applies the events that are there, in the order of time, for as long as a slice of CPU time
 * lasts; the descriptor stays readable while some are left. Call before resolving a burst.
 */
int pp_track_dispatch(struct pp_track *track);
/* Whether pid is one of those this tracker was made for, as far as events have told. */
bool pp_track_in_view(struct pp_track *track, pid_t pid);
/*
 * The kernel says that the process which began at start_time (clock ticks since boot) was in the
 * groups with these ids, of the unified hierarchy and of the memory controller's own (0: not told).
 * Taken for its container when /proc could not be asked any more.
 */
void pp_track_in_cgroup(struct pp_track *track, pid_t pid, uint64_t start_time, uint64_t cgroup,
			uint64_t cgroup_v1);
/* NULL when unknown even to /proc. */
const struct pp_track_process *pp_track_process(struct pp_track *track, pid_t pid);
/* The process that pid was at time_ns (CLOCK_MONOTONIC; 0: now), also before an exec or its end.
 */
const struct pp_track_process *pp_track_process_at(struct pp_track *track, pid_t pid,
						   uint64_t time_ns);
/*
 * The mapping of pid that held address at time_ns (CLOCK_MONOTONIC; 0: now). -ESRCH unknown
 * process, -ENOENT no such mapping (after a repair was tried).
 */
int pp_track_resolve(struct pp_track *track, pid_t pid, uint64_t time_ns, uint64_t address,
		     struct pp_location *ret_location);
/*
 * Symbol of generated code from /tmp/perf-PID.map (read in the target's mount namespace). code: the
 * identity that pp_track_resolve() gave, by which each program that pid ran has names of its own.
 * -ENOENT.
 */
int pp_track_jit_symbol(struct pp_track *track, pid_t pid, const struct pathprof_build_id *code,
			uint64_t address, char *name, size_t name_size, uint64_t *ret_start,
			uint64_t *ret_len_bytes);
/*
 * The kernel's function at an address; its offset is where it begins: kernel_names.h. -ENOENT:
 * no such function; -EACCES: the kernel hides its addresses.
 */
int pp_track_resolve_kernel(struct pp_track *track, uint64_t address,
			    struct pp_location *ret_location);
/* Name and length of what was resolved. -ENOENT. */
int pp_track_kernel_symbol(struct pp_track *track, uint64_t offset, char *name, size_t name_size,
			   uint64_t *ret_start, uint64_t *ret_len_bytes);
void pp_track_stats(const struct pp_track *track, struct pp_track_stats *ret_stats);

#endif
