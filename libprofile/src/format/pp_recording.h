/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Declarations that the readers of src/format share: an open recording, the operations of its
 * format, and the way records are counted and handed on.
 *
 * A reader is one file with one `const struct pp_recording_ops`; pathprof/format.h lists them all.
 *
 * Locking: one object, one thread. Ownership: the recording owns its name and, by ops->free, its
 * reader; the descriptor is the caller's unless the file was packed.
 */
#ifndef PP_RECORDING_H
#define PP_RECORDING_H

#include "pathprof/recording.h"

struct pp_recording_ops {
	/* Sets recording->reader; where it fails free() is called all the same. */
	int (*open)(struct pathprof_recording *recording, struct pathprof_error *error);
	/* About a MB more. 1: there is more; 0: the end, and all is handed on. */
	int (*read)(struct pathprof_recording *recording, struct pathprof_error *error);
	/* recording->reader may be NULL. */
	void (*free)(struct pathprof_recording *recording);
	/* NULL where a format knows nothing of the kind. ret_info says "not told" when called. */
	void (*info)(const struct pathprof_recording *recording,
		     struct pathprof_recording_info *ret_info);
	const char *(*event)(const struct pathprof_recording *recording, uint32_t event);
	/* The basis of an event that has a name; NULL: the format gives the name only. */
	enum pathprof_basis (*event_basis)(const struct pathprof_recording *recording,
					   uint32_t event);
	bool (*build_id)(const struct pathprof_recording *recording, const char *name,
			 struct pathprof_build_id *ret_id);
};

struct pathprof_recording {
	const struct pp_recording_ops *ops;
	void *reader;
	int fd;
	bool unpacked; /* fd is the recording's own */
	char *name;
	struct pathprof_recording_sink sink;
	/* bytes, records, lost, unknown, reordered and truncated are the reader's to keep;
	 * bytes_total is set (0 for what is no regular file). */
	struct pathprof_recording_stats stats;
	char damaged[160]; /* names of side tables that were given up */
	int state;         /* 1: there is more; 0: at the end; else the error it ended with */
};

#define PP_READER_(id, name, addresses, file) extern const struct pp_recording_ops pp_##file##_ops;
PATHPROF_FORMATS(PP_READER_, PATHPROF_FORMAT_SKIP_, PP_READER_)
#undef PP_READER_
/* NULL: it is not read. */
const struct pp_recording_ops *pp_format_reader(enum pathprof_format format);

/* Every failure of a file names it: "FILE: ...". */
#define pp_recording_bad(recording, error, format, ...)                                            \
	pathprof_fail(error, -EBADMSG, "%s: " format, (recording)->name, ##__VA_ARGS__)
/* Notes that a table beside the records is damaged and not used; each name is noted once. */
void pp_recording_damaged(struct pathprof_recording *recording, const char *table);
int pp_recording_no_memory(struct pathprof_error *error);

/* Each counts its argument, hands it to the sink, if that wants it, and returns the sink's result.
 */
int pp_recording_mapping(struct pathprof_recording *recording,
			 const struct pathprof_recorded_mapping *mapping);
int pp_recording_process(struct pathprof_recording *recording,
			 const struct pathprof_recorded_process *process);
int pp_recording_sample(struct pathprof_recording *recording,
			const struct pathprof_recorded_sample *sample);
int pp_recording_count(struct pathprof_recording *recording,
		       const struct pathprof_recorded_count *count);

#endif
