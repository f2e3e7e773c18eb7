/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The store of one host: closed profile windows in SQLite (WAL, one writer, many readers). The
 * schema is schema/sqlite/; migrations only go forward and carry a version.
 *
 * Crash safety: a window is written in one transaction when it closes. A process killed at any
 * moment loses at most the open window, never the file.
 *
 * A reader without the right to write to the directory, where nobody writes, reads the file as it
 * lies: if a writer begins meanwhile, what is read then is -ESTALE, and opening it again helps.
 *
 * One connection, one thread. Errors: negative errno with one line in `error`; a file that is no
 * database or is damaged is -EBADMSG, a newer schema -EPROTO, a second writer -EBUSY.
 */
#ifndef PATHPROF_STORE_H
#define PATHPROF_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/alert.h"
#include "pathprof/error.h"
#include "pathprof/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pathprof_store;

enum pathprof_store_mode {
	/*
	 * Must exist; sees closed windows while a daemon writes. A file of an older schema is read
	 * through a private copy in this one, as it was when it was opened: in memory up to 64 MiB,
	 * the rest in a temporary file (TMPDIR, else /var/tmp). The file itself is never changed.
	 */
	PATHPROF_STORE_READ,
	PATHPROF_STORE_WRITE, /* created and migrated when needed; one writer at a time (flock) */
	/* The same as READ, to follow what a daemon writes: an older schema is -EPROTO. */
	PATHPROF_STORE_FOLLOW,
};

int pathprof_store_open(struct pathprof_store **ret_store, const char *file,
			enum pathprof_store_mode mode, struct pathprof_error *error);
/* NULL-safe. */
void pathprof_store_free(struct pathprof_store *store);
/* The same, after which a database that this opening made is gone if it has no window. */
void pathprof_store_free_unused(struct pathprof_store *store);
/* The schema that the file had when it was opened; ret_known: the one that this library writes. */
unsigned int pathprof_store_schema(const struct pathprof_store *store, unsigned int *ret_known);

/* Writes one closed window, all of it or nothing. ret_id: its window id. */
int pathprof_store_add_window(struct pathprof_store *store, const struct pathprof_profile *profile,
			      int64_t *ret_id, struct pathprof_error *error);

/*
 * The daemon's own state, for `pathprofctl status`: one row, overwritten. text is a JSON object.
 */
int pathprof_store_set_status(struct pathprof_store *store, const char *json,
			      struct pathprof_error *error);
/* Caller frees *ret_json. -ENOENT when no daemon ever wrote one. */
int pathprof_store_status(struct pathprof_store *store, char **ret_json,
			  struct pathprof_error *error);

/* The kind of a window's bursts: figures of different kinds mean different things (shares.h). */
enum pathprof_window_kind {
	PATHPROF_KIND_ANY,
	PATHPROF_KIND_BRANCHES, /* sampled on branches */
	PATHPROF_KIND_HORIZON,  /* sampled on a clock, as long as a number of instructions */
	PATHPROF_KIND_TAKEN,    /* sampled on a clock, as long as a number of taken branches: their
				   shares lean towards code with many branches. Written by versions
				   before 0.2, or recorded by another tool */
	PATHPROF_KIND_WEIGHED, /* as HORIZON, and each burst counts by the CPU time it stands for */
};
#define PATHPROF_KIND_CNT (PATHPROF_KIND_WEIGHED + 1)

/* The kind of a window with this basis and horizon; weighed as in profile.h. */
enum pathprof_window_kind pathprof_window_kind(enum pathprof_basis basis, uint32_t horizon,
					       bool weighed);
/* "any", "branches", "horizon", "taken", "weighed"; NULL when out of range. */
const char *pathprof_window_kind_name(enum pathprof_window_kind kind);

/* For people: "counted in instructions"; "" for any and when out of range. */
const char *pathprof_window_kind_text(enum pathprof_window_kind kind);

#define PATHPROF_OWNERS_MAX 4

/*
 * A selection; zero or NULL: no restriction. Times, window, kind, host and labels select
 * windows, pid, comm, container and workload processes.
 */
struct pathprof_filter {
	int64_t since_ns, until_ns; /* CLOCK_REALTIME; windows that overlap [since, until) */
	uint32_t pid;
	const char *comm;
	const char *binary;    /* path, file name, or build-id prefix in hex (4 digits or more) */
	const char *container; /* name or prefix */
	const char *host;      /* windows that came in parcels of this host (parcel_store.h) */
	const char *labels;    /* of hosts that have all of these: a checked text (labels.h) */
	const char *workload;  /* processes of this container or service, or comm without one */
	int64_t window;        /* one window only */
	/*
	 * Windows of one kind only, for figures that must not mix kinds: how their bursts ended.
	 * PATHPROF_KIND_ANY takes all.
	 */
	enum pathprof_window_kind kind;
	/*
	 * Paths and edges only of windows in which every file behind their binaries belongs to one
	 * of these users, as far as that was recorded; owner_cnt 0: of any owner.
	 */
	uint32_t owners[PATHPROF_OWNERS_MAX];
	uint32_t owner_cnt;
	uint32_t limit; /* rows; 0: all */
};

/* Rows are valid during the callback only. A non-zero return stops the query and is returned. */
struct pathprof_path_row {
	int64_t id; /* PATH-ID: stable in this store */
	struct pathprof_build_id binary_id;
	const char *binary_name;
	uint64_t start; /* file offset */
	uint32_t length, outcomes;
	uint64_t samples;
	double weight;
	double squares;        /* as in profile.h; 0: not known of all that is summed */
	double weight_squares; /* the same */
	double insns;          /* the same */
	double share;          /* of the weight of everything the filter selects, 0..1 */
};
/* Clock samples at one place, summed over processes and windows. */
struct pathprof_clock_row {
	struct pathprof_build_id binary_id; /* kind PATHPROF_ID_NONE: no file, place says what */
	const char *binary_name;
	uint64_t place; /* as in struct pathprof_clock_count */
	uint64_t samples;
};
/* Clock samples of one process, summed over places and windows. */
struct pathprof_clock_process_row {
	int64_t process;                  /* as pathprof_process_row.id */
	uint64_t samples, kernel_samples; /* the latter are part of the former */
};
struct pathprof_edge_row {
	struct pathprof_build_id from_id, to_id;
	const char *from_name, *to_name;
	uint64_t from, to;
	uint64_t count, mispredicted;
	double weight; /* as in profile.h; of those that count once, their count */
	double share;  /* of weight */
};
struct pathprof_binary_row {
	int64_t id;
	struct pathprof_build_id binary_id;
	const char *name;
	int64_t first_seen_ns, last_seen_ns;
	uint64_t samples; /* paths seen whole in it */
	double weight, share;
};
/* A file that was behind a binary in some window (pathprof_file). */
struct pathprof_file_row {
	struct pathprof_build_id binary_id;
	struct pathprof_file file;
	uint64_t windows; /* in which it was */
};
struct pathprof_process_row {
	int64_t id;
	uint32_t pid, exec_cnt;
	uint64_t start_time;
	const char *comm, *container, *binary_name;
	int64_t first_seen_ns, last_seen_ns;
	uint64_t samples;
	double weight, share;
	double insns;     /* as in a path's row */
	const char *boot; /* its machine's; of a workload that came in parcels: parcel_store.h */
};
struct pathprof_window_row {
	int64_t id, begin_ns, end_ns;
	uint32_t source;
	enum pathprof_basis basis;
	uint32_t taken_wanted;
	uint32_t horizon, clock_hz; /* as in profile.h */
	bool clock_kernel, weighed;
	bool has_segments;      /* which piece followed which was counted, all but these: */
	uint64_t segments_lost; /* seen, and found no room */
	struct pathprof_totals totals;
};

typedef int pathprof_path_row_fn(void *context, const struct pathprof_path_row *row);
typedef int pathprof_clock_row_fn(void *context, const struct pathprof_clock_row *row);
typedef int pathprof_clock_process_row_fn(void *context,
					  const struct pathprof_clock_process_row *row);
typedef int pathprof_edge_row_fn(void *context, const struct pathprof_edge_row *row);
typedef int pathprof_binary_row_fn(void *context, const struct pathprof_binary_row *row);
typedef int pathprof_file_row_fn(void *context, const struct pathprof_file_row *row);
typedef int pathprof_process_row_fn(void *context, const struct pathprof_process_row *row);
typedef int pathprof_window_row_fn(void *context, const struct pathprof_window_row *row);

/*
 * A caller (struct pathprof_caller): a function, which itself was called by parent (0: nobody).
 * Without a name of its binary: callers that could not be found out. By id.
 */
struct pathprof_caller_row {
	int64_t id, parent;
	struct pathprof_build_id binary_id;
	const char *binary_name;
	uint64_t function; /* file offset */
};
typedef int pathprof_caller_row_fn(void *context, const struct pathprof_caller_row *row);
int pathprof_store_callers(struct pathprof_store *store, pathprof_caller_row_fn *fn, void *context,
			   struct pathprof_error *error);
/* Counts of a path under this caller of its function; not all of its runs need have a caller. */
struct pathprof_caller_count_row {
	int64_t caller, path;
	uint64_t samples;
	double weight; /* of the path's */
};
typedef int pathprof_caller_count_row_fn(void *context,
					 const struct pathprof_caller_count_row *row);
/* By path. The filter's limit is ignored. */
int pathprof_store_caller_counts(struct pathprof_store *store, const struct pathprof_filter *filter,
				 pathprof_caller_count_row_fn *fn, void *context,
				 struct pathprof_error *error);

/* Heaviest first. Paths are summed over processes and windows. */
int pathprof_store_paths(struct pathprof_store *store, const struct pathprof_filter *filter,
			 pathprof_path_row_fn *fn, void *context, struct pathprof_error *error);
int pathprof_store_edges(struct pathprof_store *store, const struct pathprof_filter *filter,
			 pathprof_edge_row_fn *fn, void *context, struct pathprof_error *error);
/* Whether anything was stored of the build with this id, all of it. */
int pathprof_store_knows_build(struct pathprof_store *store, const struct pathprof_build_id *id,
			       bool *ret_knows, struct pathprof_error *error);
int pathprof_store_binaries(struct pathprof_store *store, const struct pathprof_filter *filter,
			    pathprof_binary_row_fn *fn, void *context,
			    struct pathprof_error *error);
/* Only the filter's binary and its members that select windows apply. Rows are ordered by binary;
 * of one binary, the file that is in the most windows comes first. */
int pathprof_store_files(struct pathprof_store *store, const struct pathprof_filter *filter,
			 pathprof_file_row_fn *fn, void *context, struct pathprof_error *error);
int pathprof_store_processes(struct pathprof_store *store, const struct pathprof_filter *filter,
			     pathprof_process_row_fn *fn, void *context,
			     struct pathprof_error *error);
/* The filter's limit is ignored. In no order. */
int pathprof_store_clocks(struct pathprof_store *store, const struct pathprof_filter *filter,
			  pathprof_clock_row_fn *fn, void *context, struct pathprof_error *error);
int pathprof_store_clock_processes(struct pathprof_store *store,
				   const struct pathprof_filter *filter,
				   pathprof_clock_process_row_fn *fn, void *context,
				   struct pathprof_error *error);
/* How many counts of paths a window has. */
int pathprof_store_count_paths(struct pathprof_store *store, int64_t window, uint64_t *ret_cnt,
			       struct pathprof_error *error);
/* Newest first; behind them those that end later than now, since the clock was set back after them.
 */
int pathprof_store_windows(struct pathprof_store *store, const struct pathprof_filter *filter,
			   pathprof_window_row_fn *fn, void *context, struct pathprof_error *error);
/*
 * The kinds of the windows that the filter selects, bit 1 << kind each, and the kind of the newest.
 * Without windows 0 and PATHPROF_KIND_ANY.
 */
int pathprof_store_kinds(struct pathprof_store *store, const struct pathprof_filter *filter,
			 unsigned int *ret_kinds, enum pathprof_window_kind *ret_newest,
			 struct pathprof_error *error);

/*
 * Every path that is known of one binary, its samples, weight and share 0: from keys of events back
 * to places. In no order.
 */
int pathprof_store_known_paths(struct pathprof_store *store, const struct pathprof_build_id *id,
			       pathprof_path_row_fn *fn, void *context,
			       struct pathprof_error *error);

/*
 * Names of one build's paths that outlive it (match.h), so that another build can be compared with
 * what this one did when its file is gone. They go with their paths, and into profile files.
 */
struct pathprof_portable_row {
	int64_t path_id; /* filled by the query */
	uint64_t start;
	uint32_t length, outcomes;
	uint64_t function, place;  /* key_hi and key_lo of the event; function 0: it has no name */
	const char *function_name; /* for people; "" if none */
};
/* One transaction. Paths that the store does not know are passed over. */
int pathprof_store_add_portable(struct pathprof_store *store, const struct pathprof_build_id *id,
				const struct pathprof_portable_row *rows, size_t cnt,
				struct pathprof_error *error);
typedef int pathprof_portable_row_fn(void *context, const struct pathprof_portable_row *row);
/* In no order. */
int pathprof_store_portable(struct pathprof_store *store, const struct pathprof_build_id *id,
			    pathprof_portable_row_fn *fn, void *context,
			    struct pathprof_error *error);

#define PATHPROF_FUNCTION_KEYS_MAX (1u << 18)
/*
 * The key_hi of every function of a build, strictly ascending, whether it ran or not. -EINVAL: out
 * of order; -E2BIG: more than PATHPROF_FUNCTION_KEYS_MAX; -ENOENT: the store does not know the
 * build, or has none of it. The caller frees *ret_keys.
 */
int pathprof_store_set_function_keys(struct pathprof_store *store,
				     const struct pathprof_build_id *id, const uint64_t *keys,
				     size_t cnt, struct pathprof_error *error);
int pathprof_store_function_keys(struct pathprof_store *store, const struct pathprof_build_id *id,
				 uint64_t **ret_keys, size_t *ret_cnt,
				 struct pathprof_error *error);

/* A build that was first seen before another one, under the same name. */
struct pathprof_earlier_build_row {
	struct pathprof_build_id binary_id;
	/* The end of the last window that had it lies in [last_from_ns, last_until_ns]. */
	int64_t last_from_ns, last_until_ns;
};
typedef int pathprof_earlier_build_row_fn(void *context,
					  const struct pathprof_earlier_build_row *row);
/* The one seen last comes first. None when the store does not know the build itself. */
int pathprof_store_earlier_builds(struct pathprof_store *store, const struct pathprof_build_id *id,
				  const char *name, pathprof_earlier_build_row_fn *fn,
				  void *context, struct pathprof_error *error);

/* The name of a piece of generated code, valid for one JIT identity. */
struct pathprof_jit_symbol {
	const struct pathprof_build_id *id;
	uint64_t start, len_bytes;
	const char *name;
};
/* Adds all of them or none, in one transaction. One that starts where another did replaces it. */
int pathprof_store_add_jit_symbols(struct pathprof_store *store,
				   const struct pathprof_jit_symbol *symbols, size_t cnt,
				   struct pathprof_error *error);
/*
 * -ENOENT when offset has none. If ranges are nested, the innermost; up to 16 that begin before
 * offset are looked at. name holds name_size bytes.
 */
int pathprof_store_jit_symbol(struct pathprof_store *store, const struct pathprof_build_id *id,
			      uint64_t offset, char *name, size_t name_size, uint64_t *ret_start);

/*
 * A profile file: a store with one window, made of everything a filter selects, processes and
 * containers kept, written beside and renamed so that a reader sees all of it or none. Baselines
 * are such files, and `file:` selectors read them. replace false: -EEXIST when the file is there;
 * -ENODATA when nothing is selected; -EINVAL when the windows are of several kinds: the filter's
 * kind then says which to keep; -E2BIG when more is selected than fits into memory, or note is
 * longer than 64 KiB. note goes with it (pathprof_store_note()), and so do the names of paths that
 * outlive their build.
 */
int pathprof_store_extract(struct pathprof_store *store, const struct pathprof_filter *filter,
			   const char *file, const char *note, bool replace,
			   struct pathprof_error *error);
/*
 * The same, and the new file is handed to fill, open for writing, before it takes its name. An
 * error of fill's leaves no file.
 */
typedef int pathprof_store_fill_fn(void *context, struct pathprof_store *copy,
				   struct pathprof_error *error);
int pathprof_store_extract_filled(struct pathprof_store *store,
				  const struct pathprof_filter *filter, const char *file,
				  const char *note, bool replace, pathprof_store_fill_fn *fill,
				  void *context, struct pathprof_error *error);
/*
 * A profile file of what fill writes into an empty store: several windows, or what comes from no
 * store. Written beside and renamed as above. An error of fill's leaves no file.
 */
int pathprof_store_make(const char *file, bool replace, pathprof_store_fill_fn *fill, void *context,
			struct pathprof_error *error);
/* Caller frees *ret_note. -ENOENT: none. */
int pathprof_store_note(struct pathprof_store *store, char **ret_note,
			struct pathprof_error *error);

/* Counts by container and program, not summed over processes of different ones: for baselines. */
struct pathprof_container_path_row {
	struct pathprof_build_id binary_id;
	struct pathprof_build_id
		program; /* the processes' executable; PATHPROF_ID_NONE: not known */
	const char *binary_name, *container;
	uint64_t start; /* file offset */
	uint32_t length, outcomes;
	uint64_t samples;
	double weight;
	double squares;        /* as in profile.h; 0: not known of all that is summed */
	double weight_squares; /* the same */
};
typedef int pathprof_container_path_row_fn(void *context,
					   const struct pathprof_container_path_row *row);
/* Ordered by binary, then container. */
int pathprof_store_container_paths(struct pathprof_store *store,
				   const struct pathprof_filter *filter,
				   pathprof_container_path_row_fn *fn, void *context,
				   struct pathprof_error *error);

/*
 * Drift as the daemon measured it: a row a window, binary, container and baseline. Goes with its
 * window when that is retired. Strings are borrowed.
 */
struct pathprof_drift_row {
	int64_t window, begin_ns, end_ns; /* times: filled by the query */
	struct pathprof_build_id binary_id;
	const char *binary_name, *container;
	const char *baseline; /* "rolling", "previous", or a name */
	double window_samples, baseline_samples;
	double kl_bits, kl_corrected_bits, kl_low_bits, kl_high_bits;
	double overlap, angle_degrees, coverage_static, coverage_dynamic;
	double matched; /* share of the window compared, 0..1: below 1 across builds */
};
/* One transaction. */
int pathprof_store_add_drift(struct pathprof_store *store, const struct pathprof_drift_row *rows,
			     size_t cnt, struct pathprof_error *error);
typedef int pathprof_drift_row_fn(void *context, const struct pathprof_drift_row *row);
/*
 * Newest first; the filter's times, binary, container, window, kind and limit count. baseline NULL:
 * all.
 */
int pathprof_store_drift(struct pathprof_store *store, const struct pathprof_filter *filter,
			 const char *baseline, pathprof_drift_row_fn *fn, void *context,
			 struct pathprof_error *error);

/* An alert's state, kept over restarts; one row a rule, binary and container. */
struct pathprof_alert_row {
	const char *rule;   /* its name in the configuration */
	const char *binary; /* path of the binary: outlives its builds */
	const char *container;
	const char *baseline;
	struct pathprof_alert_state state;
	const char *json; /* what was told last, as the exec hook gets it; "" if nothing */
};
/* A change of an alert that is to be told: what sinks tell. */
struct pathprof_message_row {
	int64_t id;      /* filled by the query: they grow by one a message */
	int64_t time_ns; /* when it was written */
	bool fired;      /* else it resolved */
	const char *rule, *binary, *container, *baseline;
	const char *metric; /* "" when the rule is no more */
	double value, threshold;
	int64_t begin_ns, end_ns; /* since when it fires; 0, or when it resolved */
	const char *summary;      /* a line for people */
	const char *json;         /* as the exec hook gets it */
};
/*
 * Writes all rows in one transaction, and the messages of what changed with them: nobody sees one
 * without the other. A row in phase quiet that never fired is removed. The newest 1024 messages are
 * kept, and those of alerts that fire; pathprof_store_retain() drops others by age as well.
 */
int pathprof_store_set_alerts(struct pathprof_store *store, const struct pathprof_alert_row *rows,
			      size_t cnt, const struct pathprof_message_row *messages,
			      size_t message_cnt, struct pathprof_error *error);
typedef int pathprof_alert_row_fn(void *context, const struct pathprof_alert_row *row);
/* Firing first, then pending, then by time. Rows whose state cannot be are passed over. */
int pathprof_store_alerts(struct pathprof_store *store, pathprof_alert_row_fn *fn, void *context,
			  struct pathprof_error *error);

typedef int pathprof_message_row_fn(void *context, const struct pathprof_message_row *row);
/* Those with an id above `after`, in order. Rows that cannot be are passed over. */
int pathprof_store_messages(struct pathprof_store *store, int64_t after,
			    pathprof_message_row_fn *fn, void *context,
			    struct pathprof_error *error);
/* The newest message of each alert that fires now, in order. */
int pathprof_store_firing(struct pathprof_store *store, pathprof_message_row_fn *fn, void *context,
			  struct pathprof_error *error);
#define PATHPROF_STORE_IDENTITY_LEN 33
/* The id of the newest message there ever was, 0 for none; and which store ids belong to: random,
 * in hex digits. */
int pathprof_store_newest_message(struct pathprof_store *store, int64_t *ret_id,
				  char ret_identity[PATHPROF_STORE_IDENTITY_LEN],
				  struct pathprof_error *error);

/*
 * Values that a function's parameter had (VP 3), where somebody asked for them: they can be
 * secrets. They go with their windows, and into no profile file.
 */
struct pathprof_value_count {
	uint64_t value, count;
};
struct pathprof_value_row {
	struct pathprof_build_id binary_id;
	const char *binary_name;
	uint64_t start;       /* file offset of the function */
	const char *function; /* its name */
	uint32_t argument;    /* 1 to 6 */
	const char *sampler;  /* in the notation of compress.h; read: "several" */
	uint32_t entry_max;   /* N: values that its table holds, 1 to 255 */
	uint64_t executed;    /* times that the function was entered: exact */
	uint64_t same;        /* of these, with the value of the time before on that CPU */
	uint64_t profiled;    /* executions that came as messages; the table was made of them */
	const struct pathprof_value_count *values; /* highest count first when read */
	uint32_t value_cnt;
};
/* Executions that are in no message, by reason. */
struct pathprof_value_drop {
	const char *reason;
	uint64_t cnt;
};
/* Belongs to a window that the store has; one transaction. -EINVAL: counts that cannot be. */
int pathprof_store_add_values(struct pathprof_store *store, int64_t window,
			      const struct pathprof_value_row *rows, size_t row_cnt,
			      const struct pathprof_value_drop *drops, size_t drop_cnt,
			      struct pathprof_error *error);
typedef int pathprof_value_row_fn(void *context, const struct pathprof_value_row *row);
/*
 * Summed over windows, the most executed first. The filter's binary, its limit and all that selects
 * windows count.
 */
int pathprof_store_values(struct pathprof_store *store, const struct pathprof_filter *filter,
			  pathprof_value_row_fn *fn, void *context, struct pathprof_error *error);
typedef int pathprof_value_drop_fn(void *context, const struct pathprof_value_drop *drop);
/* The filter's parts that select windows count. */
int pathprof_store_value_drops(struct pathprof_store *store, const struct pathprof_filter *filter,
			       pathprof_value_drop_fn *fn, void *context,
			       struct pathprof_error *error);
/*
 * All values of all windows, overwritten in the file, and what is left in it of those that went
 * with their windows before. The file is written anew: its directory and TMPDIR need room for a
 * copy each. -EBUSY: somebody reads the file, -ENOSPC: there is no such room; values are deleted,
 * and overwritten by the next call that nothing keeps from it.
 */
int pathprof_store_forget_values(struct pathprof_store *store, struct pathprof_error *error);

/*
 * Pieces and segments, beside paths: of an exact profile, and of samples (docs/untested.md). A
 * piece is what one procedure runs between its calls, keyed as a path is; a segment is a piece and
 * the one that followed it over a call or a return. Both go with their window, and into no profile
 * file that pathprof_store_extract() makes.
 */
struct pathprof_piece {
	struct pathprof_build_id binary_id;
	const char *binary_name;
	uint64_t start; /* file offset */
	uint32_t length, outcomes;
};
struct pathprof_piece_row {
	struct pathprof_piece piece;
	uint64_t count;
};
/* In a run both are among the pieces of their window. */
struct pathprof_segment_row {
	struct pathprof_piece first, second;
	uint64_t count; /* or samples */
	/* As in struct pathprof_path_row for samples; of a run, weight is count, the others 0. */
	double weight, squares, weight_squares;
};
struct pathprof_run {
	const char *note; /* what ran; NULL: nobody said */
	const struct pathprof_piece_row *pieces;
	size_t piece_cnt;
	const struct pathprof_segment_row *segments;
	size_t segment_cnt;
};
/*
 * Belongs to a window that the store has; one transaction. Rows of the same key add up. -EINVAL: a
 * row that cannot be, or a note longer than 64 KiB.
 */
int pathprof_store_add_run(struct pathprof_store *store, int64_t window,
			   const struct pathprof_run *run, struct pathprof_error *error);
/* Caller frees *ret_note. -ENOENT: none. */
int pathprof_store_window_note(struct pathprof_store *store, int64_t window, char **ret_note,
			       struct pathprof_error *error);
typedef int pathprof_piece_row_fn(void *context, const struct pathprof_piece_row *row);
typedef int pathprof_segment_row_fn(void *context, const struct pathprof_segment_row *row);
/*
 * Summed over windows; what of the filter selects windows, its binary (of a segment, its first) and
 * owners count. In no order.
 */
int pathprof_store_pieces(struct pathprof_store *store, const struct pathprof_filter *filter,
			  pathprof_piece_row_fn *fn, void *context, struct pathprof_error *error);
int pathprof_store_segments(struct pathprof_store *store, const struct pathprof_filter *filter,
			    pathprof_segment_row_fn *fn, void *context,
			    struct pathprof_error *error);
/*
 * The same of windows of samples (struct pathprof_window_row: has_segments), by all of the filter
 * but its limit.
 */
int pathprof_store_segment_samples(struct pathprof_store *store,
				   const struct pathprof_filter *filter,
				   pathprof_segment_row_fn *fn, void *context,
				   struct pathprof_error *error);

/*
 * Code that ran straight on from `start`, where a branch at `from` led, up to the branch at `last`,
 * which is in the same binary as start: what branch stacks that were imported say beside the paths.
 * Windows of other sources have none. File offsets.
 *
 * A row of a window without stacks, whose counts were imported as another tool had them, is as it
 * was counted: with `from` in a binary of its own a trace, whose range has a row besides; else a
 * range, behind a call that returned where `from` is not 0.
 */
struct pathprof_range_row {
	const struct pathprof_build_id *from_id, *to_id;
	uint64_t from, start, last, count;
	bool is_counted; /* read: of a window without stacks */
};
struct pathprof_ranges {
	const struct pathprof_range_row *rows;
	size_t cnt;
};
/*
 * All of a window that the store has, with the edges that led to them; one transaction. -EINVAL: a
 * row that cannot be.
 */
int pathprof_store_add_ranges(struct pathprof_store *store, int64_t window,
			      const struct pathprof_ranges *ranges, struct pathprof_error *error);
typedef int pathprof_range_row_fn(void *context, const struct pathprof_range_row *row);
/*
 * Summed over windows; what of the filter selects windows, and its binary (of start) count. In no
 * order. -ENODATA, without an error's line: of some of these windows the ranges are not known.
 */
int pathprof_store_ranges(struct pathprof_store *store, const struct pathprof_filter *filter,
			  pathprof_range_row_fn *fn, void *context, struct pathprof_error *error);

struct pathprof_retention {
	uint64_t max_bytes; /* database and WAL together; 0: no bound */
	int64_t max_age_ns; /* windows that ended earlier go; 0: no bound */
};
/* Drops oldest windows until both bounds hold, and what only they referred to. */
int pathprof_store_retain(struct pathprof_store *store, const struct pathprof_retention *retention,
			  uint64_t *ret_windows_removed, struct pathprof_error *error);
/* Bytes on disk: database, WAL and shared-memory file. */
int pathprof_store_size(struct pathprof_store *store, uint64_t *ret_bytes);
/* Integrity: 0 sound; -EBADMSG and the first trouble in error. */
int pathprof_store_check(struct pathprof_store *store, struct pathprof_error *error);

#ifdef __cplusplus
}
#endif

#endif
