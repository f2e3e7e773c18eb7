/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A profile being taken: what was counted since its window began. Paths and edges are keyed by
 * (binary, file offset), processes by (pid, start time, exec count). Everything is in memory and
 * bounded; the store writes it in one transaction when the window closes.
 *
 * Ownership: the profile copies all strings. Indices are stable until clear. Not thread-safe: one
 * owner. Allocation failure and a full table are counted in `drops`, never fatal.
 */
#ifndef PATHPROF_PROFILE_H
#define PATHPROF_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/abi.h"
#include "pathprof/build_id.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why something that was seen is not in the profile; each has a counter. */
enum pathprof_drop {
	PATHPROF_DROP_UNRESOLVED, /* branch outside every known mapping */
	PATHPROF_DROP_TABLE_FULL, /* the profile's memory bound was reached */
	PATHPROF_DROP_QUEUE_FULL, /* the daemon did not read in time */
	PATHPROF_DROP_MALFORMED,  /* a record that cannot be */
	PATHPROF_DROP_TRACED,     /* target already has a tracer */
	PATHPROF_DROP_32BIT,      /* target is not 64-bit code */
	PATHPROF_DROP_SECCOMP,    /* target runs under strict seccomp */
	PATHPROF_DROP_GONE,    /* target ended, blocked or left user space before it was stopped */
	PATHPROF_DROP_DENIED,  /* no right to trace the target */
	PATHPROF_DROP_STOPPED, /* target was in a group stop */
	PATHPROF_DROP_BUDGET,  /* sample passed over: the overhead budget was spent */
	PATHPROF_DROP_TRACKER_LOST, /* mapping events lost by the kernel */
	PATHPROF_DROP_BUSY,         /* the source was at work on another just then, or when another
				       length was set; of exact counts, runs whose threads
				       shared counters: some counts may be missing */
	PATHPROF_DROP_REFUSED,      /* windows of taken branches that do not fit their code */
	PATHPROF_DROP_KERNEL,   /* target was in a system call when it was stopped: its window would
				   not begin where the sample was taken */
	PATHPROF_DROP_REALTIME, /* target has a real-time policy */
	PATHPROF_DROP_ISOLATED, /* target runs on an isolated or nohz_full CPU */
	PATHPROF_DROP_OWN,      /* the daemon's own work, or that of a child of it */
	PATHPROF_DROP_INIT,     /* target is process 1, which is never stopped */
	PATHPROF_DROP_SILENT,   /* target, or its user, put whoever stops it to sleep */
	PATHPROF_DROP_STARTING, /* target has hardly run: it may be about to execute a set-user-id
				   program, and lose the new user by a tracer without rights */
	PATHPROF_DROP_CNT,
};
/* Short fixed names ("unresolved", "table-full", ...), NULL when out of range. */
const char *pathprof_drop_name(enum pathprof_drop drop);

enum pathprof_basis {
	PATHPROF_BASIS_TIME = 1,     /* samples on a clock: where time goes */
	PATHPROF_BASIS_BRANCHES = 2, /* samples on a branch count: how often it runs */
};
const char *pathprof_basis_name(enum pathprof_basis basis);
/* "step", "swlbr", "lbr", "import", "trace" for PATHPROF_SOURCE_*. */
const char *pathprof_source_name(uint32_t source);
/* "full", "syscall", ... for PATHPROF_END_*. */
const char *pathprof_end_name(uint32_t end);

/* A file that code was run from: anybody can write a build-id into one of theirs. */
struct pathprof_file {
	uint32_t owner;         /* user id, or PATHPROF_OWNER_UNKNOWN */
	uint64_t device, inode; /* 0: not known */
};
#define PATHPROF_OWNER_UNKNOWN UINT32_MAX
#define PATHPROF_FILES_MAX     4

struct pathprof_binary {
	struct pathprof_build_id id;
	char *name; /* path as the profiled process names it, or "[vdso]", "jit:PID",
			PATHPROF_KERNEL_NAME */
	/* The files that the code came from; none if not known. If there are too many, one of each
	 * owner is kept. */
	struct pathprof_file files[PATHPROF_FILES_MAX];
	uint32_t file_cnt;
};

struct pathprof_process {
	uint32_t pid;
	uint64_t start_time; /* clock ticks since boot */
	uint32_t exec_cnt;
	char *comm;
	char *container; /* cgroup or container name, "" for none */
	uint32_t binary; /* index of its executable, UINT32_MAX when unknown */
};

struct pathprof_path_count {
	uint32_t process, binary;
	uint64_t start; /* file offset */
	uint32_t length, outcomes;
	uint64_t samples; /* times seen whole */
	/*
	 * Sum of the weights: see pathprof_path_seen. In a weighed profile each counts by the
	 * microseconds of CPU time that its burst stands for, too.
	 */
	double weight;
	/*
	 * Sum over bursts of the square of how often each saw it, which says how many independent
	 * looks its samples are worth: samples^2 / squares. 0: not known.
	 */
	uint64_t squares;
	/*
	 * The same of its weight: weight^2 / weight_squares looks. That the weights of a slice rest
	 * on some clock samples only is in it: the square of what the slice adds, divided by them.
	 */
	double weight_squares;
	/*
	 * Instructions that its runs stand for: sum of weight * instructions of the path's own.
	 * TIME is worked out from this sum (shares.h). 0: not known.
	 */
	double insns;
	uint64_t burst;         /* adding: a number of its burst, rising; 0: squares as given */
	uint64_t slice;         /* adding: of its slice, rising; 0: its weight rests on no clock */
	double slice_samples;   /* adding: clock samples of the slice, above zero */
	uint64_t burst_samples; /* private: of the last burst, as its weight is */
	double burst_weight, slice_weight; /* private: of the last burst and slice */
};

/*
 * A caller: a function, which itself was called in `parent`. Number 0 is nobody: what is not
 * known, or a function that none called. Callers have lower numbers than those they call.
 */
struct pathprof_caller {
	uint32_t parent;
	uint32_t binary;   /* PATHPROF_NO_INDEX: callers that could not be found out */
	uint64_t function; /* file offset where it begins, or of a place in it */
};

/* How often a path ran in a context; the rest of its runs have none that is known. */
struct pathprof_caller_count {
	uint32_t path, context; /* numbers in the profile */
	uint64_t samples;
	double weight; /* as the path's */
};

/* A piece is what one procedure runs between its calls: keyed as a path is, of one process. */
struct pathprof_piece_key {
	uint32_t binary;
	uint32_t length, outcomes;
	uint64_t start; /* file offset */
};

/* A piece and the one that followed it over a call or a return. */
struct pathprof_segment_count {
	struct pathprof_piece_key first;
	/* The second piece; its process and figures are the segment's, but for insns. */
	struct pathprof_path_count second;
};

struct pathprof_edge_count {
	uint32_t process;
	uint32_t from_binary, to_binary;
	uint64_t from, to; /* file offsets */
	uint64_t count, mispredicted;
	double weight; /* as a path's, in a weighed profile; 0: each counts once */
};

/*
 * Clock samples: a timer that strikes evenly in CPU time found the process at this place. Every
 * sample is counted, whether or not a branch window was taken there.
 */
struct pathprof_clock_count {
	uint32_t process;
	uint32_t binary; /* PATHPROF_NO_INDEX: in no file that is known, or in the kernel */
	uint64_t place;  /* file offset of the instruction that was to run next; without a binary
			    PATHPROF_PLACE_UNKNOWN or PATHPROF_PLACE_KERNEL */
	uint64_t samples;
};
#define PATHPROF_PLACE_UNKNOWN 0
#define PATHPROF_PLACE_KERNEL  16

/* If the names of its functions can be read, the kernel is a binary, of PATHPROF_ID_JIT, and places
 * are the starts of its functions. */
#define PATHPROF_KERNEL_NAME "[kernel]"
bool pathprof_is_kernel(const struct pathprof_build_id *id, const char *name);

/* Totals of one window. */
struct pathprof_totals {
	uint64_t bursts, branches, taken, steps, paths;
	uint64_t insns;                  /* instructions that the bursts cover; 0: not known */
	uint64_t pathless;               /* bursts that show no whole path */
	uint64_t clock_samples;          /* all of struct pathprof_clock_count */
	uint64_t stopped_ns;             /* time targets were held */
	uint64_t source_cpu_ns;          /* CPU time of the source itself */
	uint64_t ends[PATHPROF_END_CNT]; /* bursts by PATHPROF_END_* */
	uint64_t drops[PATHPROF_DROP_CNT];
};

struct pathprof_profile {
	int64_t begin_ns, end_ns; /* CLOCK_REALTIME; end 0 while open */
	uint32_t source;          /* PATHPROF_SOURCE_* */
	enum pathprof_basis basis;
	uint32_t taken_wanted; /* taken branches asked for in a burst; unused with a horizon */
	uint32_t horizon;      /* instructions asked for in a burst; 0: counted in taken branches */
	uint32_t clock_hz;     /* clock samples a second and CPU; 0: no clock ran */
	bool clock_kernel;     /* they include time in the kernel */
	bool weighed;          /* each burst counts by the CPU time that it stands for */
	bool is_ordered;       /* its segments were counted, all but these: */
	uint64_t segments_lost; /* seen, and found no room */
	struct pathprof_totals totals;

	struct pathprof_binary *binaries;
	struct pathprof_process *processes;
	struct pathprof_path_count *paths;
	struct pathprof_edge_count *edges;
	struct pathprof_clock_count *clocks;
	struct pathprof_caller *contexts; /* number 0, once there are any, is nobody */
	struct pathprof_caller_count *context_counts;
	struct pathprof_segment_count *segments;
	uint32_t binary_cnt, process_cnt, path_cnt, edge_cnt, clock_cnt, context_cnt,
		context_count_cnt, segment_cnt;
	struct pathprof_profile_index *index; /* private */
};

#define PATHPROF_NO_INDEX UINT32_MAX

/*
 * Adds to each figure of sum that of add; sums stay below 2^63. All but clock_samples, which
 * pathprof_profile_add_clock() counts.
 */
void pathprof_totals_add(struct pathprof_totals *sum, const struct pathprof_totals *add);

/* max_bytes bounds the tables' memory. -ENOMEM. */
int pathprof_profile_init(struct pathprof_profile *p, size_t max_bytes);
/* Empties it for the next window, keeps the bound, and the memory up to half the bound. */
void pathprof_profile_clear(struct pathprof_profile *p);
void pathprof_profile_release(struct pathprof_profile *p);

/* Index of the entry, added when new; PATHPROF_NO_INDEX when the table is full (and counted). */
uint32_t pathprof_profile_binary(struct pathprof_profile *p, const struct pathprof_build_id *id,
				 const char *name);
/* Code of this file is counted for the binary; the same again changes nothing. */
void pathprof_profile_add_file(struct pathprof_profile *p, uint32_t binary,
			       const struct pathprof_file *file);
uint32_t pathprof_profile_process(struct pathprof_profile *p,
				  const struct pathprof_process *process);
void pathprof_profile_add_path(struct pathprof_profile *p, const struct pathprof_path_count *add);
/* The same of a path that was called in a context of pathprof_profile_context(); 0: not known. */
void pathprof_profile_add_called_path(struct pathprof_profile *p,
				      const struct pathprof_path_count *add, uint32_t context);
/* Segments take a quarter of the memory at most; what finds no room is in segments_lost. */
void pathprof_profile_add_segment(struct pathprof_profile *p,
				  const struct pathprof_segment_count *add);
void pathprof_profile_add_edge(struct pathprof_profile *p, const struct pathprof_edge_count *add);
/*
 * The number of a caller that was called in context `parent` (0: by nobody, as far as is known);
 * 0 when there is no room for it.
 */
uint32_t pathprof_profile_context(struct pathprof_profile *p, uint32_t parent, uint32_t binary,
				  uint64_t function);
/*
 * Multiplies what paths, segments and edges of each process weigh; factors[p->process_cnt] are
 * above zero. Counts of samples stay.
 */
void pathprof_profile_scale(struct pathprof_profile *p, const double *factors);
/* Also adds to totals.clock_samples. */
void pathprof_profile_add_clock(struct pathprof_profile *p, const struct pathprof_clock_count *add);

#ifdef __cplusplus
}
#endif

#endif
