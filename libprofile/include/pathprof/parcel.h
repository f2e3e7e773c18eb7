/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Parcels: what one store saw in one slot of five minutes, as bytes that travel. Parcels of many
 * hosts add up: a key is (store, slot), and of two parcels with the same key one mostly has all the
 * windows of the other, whose place it takes. Windows are known by their keys, so sending again,
 * late or twice changes nothing, and a store that was cloned loses nothing either.
 *
 * Bytes: one zstd frame, with a checksum, that holds a message of schema/wire/parcel.proto,
 * which says how counts become columns. Version 2 codes these as fewer bits, and says the same.
 * A read parcel differs from the written one by rounding only, and never in a count. A weight of
 * a weighed part that was looked at n times is off by at most 1/8 of itself, divided by the
 * square root of n, and on the average by a twentieth; sums of them stay. Other weights are off
 * by 2^-24, instructions of a run by 2^-23, and the looks that weight_squares stands for
 * (weight^2 / weight_squares) by 1/32 and 1/512.
 *
 * Units: a slot is the seconds since 1970 (UTC) at its begin. In weighed windows a weight counts
 * microseconds of CPU time, so weights of hosts add up whatever each host sampled. The user-mode
 * and kernel CPU time of other windows is their clock samples divided by clock_hz (profile.h).
 *
 * Ownership: a parcel owns all that it points to; pathprof_parcel_release() frees it.
 * Errors: negative errno with one line in `error`: -EBADMSG damaged or malformed, -EPROTO of a
 * newer version, -E2BIG beyond a limit, -ENOMEM. Limits hold for what is written, too.
 * Safe on bytes of an enemy: every length, count, index and sum is checked, and memory is bounded.
 */
#ifndef PATHPROF_PARCEL_H
#define PATHPROF_PARCEL_H

#include <stddef.h>
#include <stdint.h>

#include "pathprof/error.h"
#include "pathprof/labels.h"
#include "pathprof/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The newest version that is read and written. */
#define PATHPROF_PARCEL_VERSION     2
#define PATHPROF_PARCEL_SLOT_S      300
#define PATHPROF_PARCEL_STORE_BYTES 16
/* Bytes that travel, and the message in them. */
#define PATHPROF_PARCEL_PACKED_MAX   (4u << 20)
#define PATHPROF_PARCEL_UNPACKED_MAX (64u << 20)
/* Limits of a whole parcel: paths, edges and clock places; binaries and workloads; windows; parts.
 */
#define PATHPROF_PARCEL_ROWS_MAX    1000000u
#define PATHPROF_PARCEL_NAMES_MAX   65536u
#define PATHPROF_PARCEL_WINDOWS_MAX 4096u
#define PATHPROF_PARCEL_PARTS_MAX   64u
/* A binary's name, a comm or a container; a text about the host, its end included. */
#define PATHPROF_PARCEL_NAME_BYTES 4096u
#define PATHPROF_PARCEL_HOST_BYTES 256u
/* Limits of a whole parcel: functions, and as many portable paths; keys of functions; the length of
 * a function's name. */
#define PATHPROF_PARCEL_FUNCTIONS_MAX  65536u
#define PATHPROF_PARCEL_KEYS_MAX       (1u << 18)
#define PATHPROF_PARCEL_FUNCTION_BYTES 1024u

/* The machine, as the writer describes it; a member that is "" or 0 is not known. */
struct pathprof_parcel_host {
	char name[PATHPROF_PARCEL_HOST_BYTES];
	char model[PATHPROF_PARCEL_HOST_BYTES];  /* of the CPUs */
	char kernel[PATHPROF_PARCEL_HOST_BYTES]; /* release */
	char os[PATHPROF_PARCEL_HOST_BYTES];     /* "Debian GNU/Linux 12 (bookworm)" */
	uint32_t cpus;
	int64_t sent_ns;                    /* CLOCK_REALTIME when the parcel was written */
	char labels[PATHPROF_LABELS_BYTES]; /* as the operator of the host says: labels.h */
};

struct pathprof_parcel_window {
	int64_t id; /* in its store */
	int64_t begin_ns, end_ns;
	struct pathprof_totals totals;
};

/*
 * Windows that were taken alike (source, basis, length of bursts, clock), so that their counts add
 * up. The profile has the counts and the totals of all of them, and spans their time. Its processes
 * are workloads: pid and exec_cnt are 0, start_time is pathprof_parcel_workload()'s.
 */
struct pathprof_parcel_part {
	struct pathprof_profile profile;
	struct pathprof_parcel_window *windows; /* ascending by id */
	uint32_t window_cnt;
};

/* A function in which rows lie, as far as they do: [start, start + len_bytes) of the file. */
struct pathprof_parcel_function {
	uint64_t start, len_bytes;
	char *name; /* as the linker calls it */
};

/* A path of this build, and what of it outlives the build: see portable.h. */
struct pathprof_parcel_portable {
	uint64_t start;
	uint32_t length, outcomes;
	uint64_t function, place;
};

/* Words of a parcel about a build, for those who have no file of it. All of them may be missing. */
struct pathprof_parcel_names {
	struct pathprof_build_id id;
	struct pathprof_parcel_function *functions;
	struct pathprof_parcel_portable *portables;
	uint64_t *keys; /* of all functions that it has, strictly ascending */
	uint32_t function_cnt, function_room, portable_cnt, portable_room, key_cnt;
};

struct pathprof_parcel {
	/* The version that it is read of or written as; 0: the first, which all programs read. */
	uint32_t version;
	uint8_t store[PATHPROF_PARCEL_STORE_BYTES];
	int64_t slot_s;
	struct pathprof_parcel_host host;
	struct pathprof_parcel_part *parts;
	uint32_t part_cnt;
	struct pathprof_parcel_names *names; /* each build once: pathprof/parcel_names.h */
	uint32_t name_cnt, name_room;
	uint32_t function_cnt, portable_cnt; /* of all names */
};

/* Describes this machine as it is now. */
void pathprof_parcel_this_host(struct pathprof_parcel_host *ret_host);

/*
 * A number that stands for a recorded window, wherever it went: two windows of one id that were
 * recorded at different times, as those of a cloned store, have different ones.
 */
uint64_t pathprof_parcel_window_key(const struct pathprof_parcel_window *window);

/* The slot of a window that ended then. */
int64_t pathprof_parcel_slot(int64_t end_ns);
/* Windows of all parts: how full it is. */
uint32_t pathprof_parcel_window_cnt(const struct pathprof_parcel *parcel);

/*
 * A number that workloads have in place of a start time: the same on every host for the same comm,
 * container and binary (NULL: not known). Below 2^63.
 */
uint64_t pathprof_parcel_workload(const char *comm, const char *container,
				  const struct pathprof_build_id *binary);

/*
 * The name of a container or service in parcels. Ids in it become "*", so that all instances of a
 * service add up. An id is 12 hex digits or more with a decimal one among them, and what
 * systemd-run makes up (run-*.service). text holds size bytes. Returns text.
 */
char *pathprof_parcel_container(const char *container, char *text, size_t size);

/*
 * Adds a part with an empty profile, whose tables take max_bytes at most; the caller fills it. The
 * part lies where it is until the next one is added. NULL: out of memory.
 */
struct pathprof_parcel_part *pathprof_parcel_add_part(struct pathprof_parcel *parcel,
						      size_t max_bytes);
/*
 * Adds a window and its totals, which the profile's span and totals then include, but for clock
 * samples: those come with their places. -ENOMEM.
 */
int pathprof_parcel_add_window(struct pathprof_parcel_part *part,
			       const struct pathprof_parcel_window *window);

/*
 * The version to send it as, to a hub that reads all up to the newest one. Version 2 is a fifth
 * smaller, and takes three times as long to read: few rows are not worth it.
 */
uint32_t pathprof_parcel_version_to_send(const struct pathprof_parcel *parcel, uint32_t newest);
/* The caller frees *ret_bytes. -EINVAL: it holds what no parcel can. */
int pathprof_parcel_write(const struct pathprof_parcel *parcel, uint8_t **ret_bytes,
			  size_t *ret_len_bytes, struct pathprof_error *error);
int pathprof_parcel_read(struct pathprof_parcel *ret_parcel, const void *bytes, size_t len_bytes,
			 struct pathprof_error *error);
/* Safe on one that is all zero. */
void pathprof_parcel_release(struct pathprof_parcel *parcel);

#ifdef __cplusplus
}
#endif

#endif
