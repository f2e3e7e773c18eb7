/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Reading the recordings of other tools: perf.data, `perf script` text, and counted branches as
 * BOLT, llvm-profgen and AutoFDO write them. One reader for all: it hands on mappings, processes
 * and samples in the order of the recording, or counts of branches, and keeps nothing.
 *
 *     pathprof_recording_open(&recording, format, fd, "perf.data", &sink, &error);
 *     while ((r = pathprof_recording_read(recording, &error)) > 0)
 *             ... show progress: pathprof_recording_stats() ...
 *
 *     samples    perf.data, perf-script, profgen-perfscript (no mappings: addresses of one binary)
 *     counts     bolt-preagg, bolt-fdata, profgen-raw, autofdo-text
 *
 * Workload: files of any size, read once from front to end (a pipe will do), some hundred MB/s; at
 * most PATHPROF_RECORDING_MEMORY_MAX bytes of memory whatever the file. One object, one thread.
 *
 * Files come from outside: what contradicts itself is -EBADMSG with one line that names file and
 * line (or offset), what is of a version or kind that is not read -EPROTO; what came before was
 * handed on. Nothing is skipped without being counted.
 *
 * Sources: tools/perf/Documentation/perf.data-file-format.txt, include/uapi/linux/perf_event.h;
 * docs/formats.md says of each format who defines it and what of it is read.
 */
#ifndef PATHPROF_RECORDING_H
#define PATHPROF_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/build_id.h"
#include "pathprof/error.h"
#include "pathprof/format.h"
#include "pathprof/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PATHPROF_RECORDING_MEMORY_MAX (32u << 20)
/* More than any hardware has (Intel 32, AMD 16, Arm 64); a longer stack is -EBADMSG. */
#define PATHPROF_RECORDED_BRANCHES_MAX 1024

/* Kernel code has this pid, as in perf.data. */
#define PATHPROF_RECORDED_KERNEL UINT32_MAX

/*
 * From time_ns on [start, end) of the process is the file's content from offset on. Strings are
 * valid during the call only.
 */
struct pathprof_recorded_mapping {
	uint64_t time_ns; /* the recording's clock; 0: before everything */
	uint32_t pid;
	uint64_t start, end, offset;
	struct pathprof_build_id id; /* kind PATHPROF_ID_NONE: the recording does not say (yet) */
	const char *name;
	bool executable; /* true where it is not known */
};

enum pathprof_recorded_change {
	PATHPROF_RECORDED_COMM = 1, /* a new name */
	PATHPROF_RECORDED_EXEC,     /* a new program: no mapping is left */
	PATHPROF_RECORDED_FORK,     /* of parent; has its mappings (0: ran before, has none yet) */
	PATHPROF_RECORDED_EXIT,     /* of its first thread; others may run on */
};
struct pathprof_recorded_process {
	uint64_t time_ns;
	uint32_t pid, parent;
	enum pathprof_recorded_change change;
	const char *comm; /* COMM and EXEC; else NULL */
};

/* Flags of a recorded branch. */
#define PATHPROF_RECORDED_MISPREDICTED 0x01
#define PATHPROF_RECORDED_PREDICTED    0x02 /* neither: the hardware does not tell */
#define PATHPROF_RECORDED_IN_TX        0x04
#define PATHPROF_RECORDED_ABORT        0x08
#define PATHPROF_RECORDED_NOT_TAKEN    0x10 /* perf's "not taken" hint; never seen of LBR */

struct pathprof_recorded_branch {
	uint64_t from, to;
	uint16_t cycles;  /* 0: not told */
	uint8_t flags;    /* PATHPROF_RECORDED_* */
	uint8_t kind;     /* PERF_BR_*, PERF_BR_UNKNOWN where the recording does not say */
	uint8_t new_kind; /* PERF_BR_NEW_* when kind is PERF_BR_EXTEND_ABI */
	uint8_t spec;     /* PERF_BR_SPEC_*; PERF_BR_SPEC_NA when not told */
	uint8_t priv;     /* PERF_BR_PRIV_* */
};

/* More repeats than any recording holds; a text that tells of more is refused. */
#define PATHPROF_RECORDED_REPEATS_MAX (UINT64_C(1) << 40)

struct pathprof_recorded_sample {
	uint64_t time_ns;       /* 0: not told */
	uint64_t ip;            /* 0: not told */
	uint32_t pid, tid, cpu; /* UINT32_MAX: not told */
	uint32_t event;         /* index in the recording, see pathprof_recording_event() */
	uint64_t period;        /* 1 when not told */
	uint64_t repeats;       /* seen so often more, in an aggregated text; else 0 */
	bool user;              /* false: the sample was taken in the kernel or a hypervisor */
	int64_t hw_idx;         /* index of the newest entry in the hardware; -1: not told */
	bool filtered; /* of some kinds of branches only, or a call stack: between them others ran
			*/
	uint32_t branch_cnt;
	const struct pathprof_recorded_branch *branches; /* newest first, as recorded */
};

/* The place in code of a count of an aggregated format. */
struct pathprof_recorded_place {
	struct pathprof_build_id id; /* PATHPROF_ID_NONE: of the one binary that was profiled */
	const char *symbol;          /* fdata: address is an offset from it; else NULL */
	bool every;                  /* each local function that the symbol names is meant */
	uint64_t address;            /* see pathprof_format_addresses() */
	bool outside;                /* of no binary of the profile; the rest is void */
};
enum pathprof_recorded_count_kind {
	PATHPROF_RECORDED_BRANCH = 1, /* from -> to, taken */
	PATHPROF_RECORDED_RANGE,      /* executed from `from` to `to` (its last instruction)
					 without a taken branch */
	PATHPROF_RECORDED_TRACE,      /* from -> to taken, then on to `end` as a range */
	PATHPROF_RECORDED_ADDRESS,    /* sample at `from` */
};
struct pathprof_recorded_count {
	enum pathprof_recorded_count_kind kind;
	struct pathprof_recorded_place from, to, end;
	uint64_t count, mispredicted;
	bool after_call; /* a range that a call's return, from elsewhere, may have begun */
};

/* NULL: not wanted. A negative return stops the reading and is returned. */
struct pathprof_recording_sink {
	void *context;
	int (*mapping)(void *context, const struct pathprof_recorded_mapping *mapping);
	int (*process)(void *context, const struct pathprof_recorded_process *process);
	int (*sample)(void *context, const struct pathprof_recorded_sample *sample);
	int (*count)(void *context, const struct pathprof_recorded_count *count);
};

struct pathprof_recording_stats {
	uint64_t bytes, bytes_total; /* read of the file; total 0: not known (a pipe) */
	uint64_t records;            /* or lines */
	uint64_t samples, branches, mappings, counts;
	uint64_t lost;      /* events and samples that the recording itself says were lost */
	uint64_t unknown;   /* records of kinds that say nothing to us, passed over */
	uint64_t reordered; /* handed on late: memory did not reach for the recording's order */
	bool truncated;     /* the file ends in the middle of a record: its writer was killed */
};

/* The recording's description of itself; strings live as long as it. NULL or 0: not told. */
struct pathprof_recording_info {
	const char *hostname, *arch, *release, *cpu, *command;
	/* Tables beside the records that contradict themselves, by name, with commas between them:
	 * they are done without. */
	const char *damaged;
	int64_t realtime_offset_ns; /* add to time_ns to get CLOCK_REALTIME; INT64_MIN: not known */
	uint64_t last_ns;           /* time of the last sample, by the recording's own clock */
	uint32_t event_cnt;
};

struct pathprof_recording;

/*
 * fd is borrowed; perf.data may be a directory (perf record --threads).
 * -errno, -EBADMSG, -EPROTO, -ENOMEM. -EOPNOTSUPP: the format is not read.
 */
int pathprof_recording_open(struct pathprof_recording **ret_recording, enum pathprof_format format,
			    int fd, const char *name, const struct pathprof_recording_sink *sink,
			    struct pathprof_error *error);
/* NULL-safe. */
void pathprof_recording_free(struct pathprof_recording *recording);
/* Some more of it, about a MB. 1: there is more; 0: the end. */
int pathprof_recording_read(struct pathprof_recording *recording, struct pathprof_error *error);
void pathprof_recording_stats(const struct pathprof_recording *recording,
			      struct pathprof_recording_stats *ret_stats);
/* In a pipe some of it is known at the end only. */
void pathprof_recording_info(const struct pathprof_recording *recording,
			     struct pathprof_recording_info *ret_info);
/* The event's name ("cycles:u", ...); NULL when out of range. */
const char *pathprof_recording_event(const struct pathprof_recording *recording, uint32_t event);
/*
 * Whether the event counts branches: by the numbers of its attribute, and by its name where the
 * format has nothing else (a text). Events that are not known are taken for a clock.
 */
enum pathprof_basis pathprof_recording_event_basis(const struct pathprof_recording *recording,
						   uint32_t event);
/* The build-id of the file of that name by perf.data's build-id table; false: not known so far. */
bool pathprof_recording_build_id(const struct pathprof_recording *recording, const char *name,
				 struct pathprof_build_id *ret_id);

#ifdef __cplusplus
}
#endif

#endif
