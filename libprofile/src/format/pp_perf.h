/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Declarations that the files that read perf.data share: its wire format as constants, and the
 * parts of a reader.
 *
 *     perf_input.c    bytes of a file or a pipe, front to end
 *     perf_header.c   the file's header, where its sections lie
 *     perf_events.c   attributes, ids and names of events
 *     perf_feature.c  the recording's metadata; build-ids by name
 *     perf_unpack.c   records out of compressed ones
 *     perf_order.c    records in the order of time
 *     perf_task.c     mappings, processes, losses
 *     perf_sample.c   samples and their branch stacks
 *     perf_data.c     which record goes where
 *     perf_parts.c    the files of a directory, side by side
 *
 * Locking: one object, one thread. Ownership: struct pp_perf owns all its parts. Records lie at any
 * address: nothing is read but through pp_perf_u64() and its like, or a struct pp_perf_cursor.
 *
 * Source: include/uapi/linux/perf_event.h, tools/perf/Documentation/perf.data-file-format.txt.
 */
#ifndef PP_PERF_H
#define PP_PERF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <zstd.h>

#include "base/table.h"
#include "pp_recording.h"

/* ---------------------------------------------------------------- wire */

#define PP_PERF_MAGIC_1         0x454c494646524550ull /* PERFFILE: before Linux 3.4 */
#define PP_PERF_MAGIC_2         0x32454c4946524550ull /* PERFILE2 */
#define PP_PERF_MAGIC_2_SWAPPED 0x50455246494c4532ull

/* A record: type (4 bytes), misc (2), size with this header (2), and what the type says. */
#define PP_PERF_HEADER_BYTES 8
#define PP_PERF_RECORD_MAX   65535

enum pp_perf_type {
	PP_PERF_MMAP = 1,
	PP_PERF_LOST = 2,
	PP_PERF_COMM = 3,
	PP_PERF_EXIT = 4,
	PP_PERF_FORK = 7,
	PP_PERF_SAMPLE = 9,
	PP_PERF_MMAP2 = 10,
	PP_PERF_LOST_SAMPLES = 13,
	PP_PERF_USER = 64, /* from here on written by perf, not by the kernel */
	PP_PERF_ATTR = 64,
	PP_PERF_EVENT_TYPE = 65,
	PP_PERF_TRACING_DATA = 66,
	PP_PERF_BUILD_ID = 67,
	PP_PERF_FINISHED_ROUND = 68,
	PP_PERF_ID_INDEX = 69,
	PP_PERF_AUXTRACE = 71,
	PP_PERF_THREAD_MAP = 73,
	PP_PERF_CPU_MAP = 74,
	PP_PERF_EVENT_UPDATE = 78,
	PP_PERF_TIME_CONV = 79,
	PP_PERF_FEATURE = 80,
	PP_PERF_COMPRESSED = 81,
	PP_PERF_FINISHED_INIT = 82,
	PP_PERF_COMPRESSED2 = 83,
};

#define PP_PERF_MISC_MODE           0x0007 /* of the next five */
#define PP_PERF_MODE_KERNEL         1
#define PP_PERF_MODE_USER           2
#define PP_PERF_MODE_GUEST_KERNEL   4
#define PP_PERF_MODE_GUEST_USER     5
#define PP_PERF_MISC_MMAP_DATA      0x2000
#define PP_PERF_MISC_COMM_EXEC      0x2000
#define PP_PERF_MISC_FORK_EXEC      0x2000
#define PP_PERF_MISC_LOST_BY_FILTER 0x8000
#define PP_PERF_MISC_MMAP_BUILD_ID  0x4000
#define PP_PERF_MISC_BUILD_ID_SIZE  0x8000

/* The fields of a sample, in the order of the bits but for the identifier, which comes first. */
#define PP_PERF_SAMPLE_IP         0x00001
#define PP_PERF_SAMPLE_TID        0x00002
#define PP_PERF_SAMPLE_TIME       0x00004
#define PP_PERF_SAMPLE_ADDR       0x00008
#define PP_PERF_SAMPLE_READ       0x00010
#define PP_PERF_SAMPLE_CALLCHAIN  0x00020
#define PP_PERF_SAMPLE_ID         0x00040
#define PP_PERF_SAMPLE_CPU        0x00080
#define PP_PERF_SAMPLE_PERIOD     0x00100
#define PP_PERF_SAMPLE_STREAM_ID  0x00200
#define PP_PERF_SAMPLE_RAW        0x00400
#define PP_PERF_SAMPLE_BRANCHES   0x00800
#define PP_PERF_SAMPLE_IDENTIFIER 0x10000

#define PP_PERF_BRANCH_ANY        0x00008
#define PP_PERF_BRANCH_IN_TX      0x00100 /* beside ANY: those in transactions only */
#define PP_PERF_BRANCH_NO_TX      0x00200 /* beside ANY: those outside of them only */
#define PP_PERF_BRANCH_SOME       0x037f0 /* calls, returns, conditional ones, ... */
#define PP_PERF_BRANCH_CALL_STACK 0x00800
#define PP_PERF_BRANCH_HW_INDEX   0x20000
#define PP_PERF_BRANCH_COUNTERS   0x80000
#define PP_PERF_BRANCH_BYTES      24

#define PP_PERF_READ_ENABLED 0x01
#define PP_PERF_READ_RUNNING 0x02
#define PP_PERF_READ_ID      0x04
#define PP_PERF_READ_GROUP   0x08
#define PP_PERF_READ_LOST    0x10

enum pp_perf_feature {
	PP_PERF_FEATURE_BUILD_ID = 2,
	PP_PERF_FEATURE_HOSTNAME = 3,
	PP_PERF_FEATURE_OSRELEASE = 4,
	PP_PERF_FEATURE_ARCH = 6,
	PP_PERF_FEATURE_CPUDESC = 8,
	PP_PERF_FEATURE_CMDLINE = 11,
	PP_PERF_FEATURE_EVENT_DESC = 12,
	PP_PERF_FEATURE_SAMPLE_TIME = 21,
	PP_PERF_FEATURE_DIR_FORMAT = 24,
	PP_PERF_FEATURE_CLOCK_DATA = 29,
	PP_PERF_FEATURE_CNT = 256,
};

static inline uint16_t pp_perf_u16(const uint8_t *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static inline uint32_t pp_perf_u32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static inline uint64_t pp_perf_u64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* A record whose size is known to lie in memory. */
static inline uint32_t pp_perf_type(const uint8_t *record)
{
	return pp_perf_u32(record);
}

static inline uint16_t pp_perf_misc(const uint8_t *record)
{
	return pp_perf_u16(record + 4);
}

static inline uint16_t pp_perf_size(const uint8_t *record)
{
	return pp_perf_u16(record + 6);
}

/* Reads on as long as there is something; `bad` once there was not, and then only zeros. */
struct pp_perf_cursor {
	const uint8_t *at, *end;
	bool bad;
};

static inline const uint8_t *pp_perf_take(struct pp_perf_cursor *cursor, uint64_t len_bytes)
{
	static const uint8_t zeros[8];
	const uint8_t *at = cursor->at;

	if (cursor->bad || len_bytes > (uint64_t)(cursor->end - at)) {
		cursor->bad = true;
		return zeros;
	}
	cursor->at = at + len_bytes;
	return at;
}

static inline uint64_t pp_perf_take_u64(struct pp_perf_cursor *cursor)
{
	return pp_perf_u64(pp_perf_take(cursor, 8));
}

/* A time that a record tells; all ones are perf's word for none, and become 0. */
static inline uint64_t pp_perf_told_time(uint64_t word)
{
	return word == UINT64_MAX ? 0 : word;
}

static inline uint32_t pp_perf_take_u32(struct pp_perf_cursor *cursor)
{
	return pp_perf_u32(pp_perf_take(cursor, 4));
}

static inline uint64_t pp_perf_left(const struct pp_perf_cursor *cursor)
{
	return cursor->bad ? 0 : (uint64_t)(cursor->end - cursor->at);
}

/* A string of len_bytes at most that ends before them; NULL if it does not. */
static inline const char *pp_perf_text(const uint8_t *bytes, size_t len_bytes)
{
	return memchr(bytes, '\0', len_bytes) ? (const char *)bytes : NULL;
}

/* ---------------------------------------------------------------- perf_input.c */

#define PP_PERF_INPUT_BYTES (1u << 20)

struct pp_perf_input {
	int fd;
	bool seekable;
	uint8_t *bytes;
	size_t room;        /* PP_PERF_RECORD_MAX at least, but for files of a directory */
	size_t at, end;     /* what is read and not yet consumed */
	uint64_t offset;    /* in the file, of bytes[at] */
	uint64_t end_bytes; /* of a seekable file */
};

int pp_perf_input_init(struct pp_perf_input *input, int fd, size_t room);
void pp_perf_input_release(struct pp_perf_input *input);
/* How many of want bytes (at most the room) lie ahead in memory: fewer at the end. */
int pp_perf_input_fill(struct pp_perf_input *input, size_t want, size_t *ret_cnt);
/* The same; mostly they lie there already. */
static inline int pp_perf_input_want(struct pp_perf_input *input, size_t want, size_t *ret_cnt)
{
	if (input->end - input->at < want)
		return pp_perf_input_fill(input, want, ret_cnt);
	*ret_cnt = want;
	return 0;
}
static inline const uint8_t *pp_perf_input_bytes(const struct pp_perf_input *input)
{
	return input->bytes + input->at;
}
/* Moves past bytes that lie in memory. */
static inline void pp_perf_input_consume(struct pp_perf_input *input, size_t cnt)
{
	input->at += cnt;
	input->offset += cnt;
}
/* Copies the next len_bytes of a file without moving past them; they may exceed the buffer. */
int pp_perf_input_copy(const struct pp_perf_input *input, uint8_t *bytes, size_t len_bytes,
		       size_t *ret_cnt);
/* Passes over so many bytes; *ret_whole false: the end came first. */
int pp_perf_input_skip(struct pp_perf_input *input, uint64_t cnt, bool *ret_whole);
/* Goes to an offset: -ESPIPE when that has gone by in a pipe. */
int pp_perf_input_seek(struct pp_perf_input *input, uint64_t offset, bool *ret_whole);
/*
 * Copies a section that lies wherever it can be had: anywhere in a file, in memory or ahead in a
 * pipe. -ESPIPE: gone by; -ENODATA: beyond the end; -EFBIG: more than max bytes.
 */
int pp_perf_input_section(struct pp_perf_input *input, uint64_t offset, uint64_t len_bytes,
			  size_t max_bytes, uint8_t **ret_bytes);

/* ---------------------------------------------------------------- perf_events.c */

#define PP_PERF_EVENTS_MAX 4096
#define PP_PERF_IDS_MAX    (1u << 17)

struct pp_perf_event {
	uint32_t type;
	uint64_t config, sample_type, read_format, branch_type, flags;
	uint64_t period; /* of each sample; 0: samples tell, or nobody */
	char *name;      /* as told, or what perf would call it */
};

struct pp_perf_events {
	struct pp_perf_event *events;
	uint32_t cnt;
	struct pp_map ids;   /* of samples: their event */
	bool undecided;      /* more than one, and their records do not say which */
	bool asks_build_ids; /* some event wants them in mappings */
	bool is_realtime;    /* its clock is CLOCK_REALTIME */
	int sample_id_at;    /* words from a sample's start; -1: there is none */
	int trailer_id_at;   /* words from a record's end */
};

void pp_perf_events_release(struct pp_perf_events *events);
/* An attribute as the file has it; *ret_event its index. -EBADMSG -EPROTO -ENOMEM */
int pp_perf_events_add(struct pathprof_recording *recording, struct pp_perf_events *events,
		       const uint8_t *attr, size_t len_bytes, uint32_t *ret_event,
		       struct pathprof_error *error);
int pp_perf_events_add_ids(struct pathprof_recording *recording, struct pp_perf_events *events,
			   uint32_t event, const uint8_t *ids, size_t cnt,
			   struct pathprof_error *error);
int pp_perf_events_set_name(struct pp_perf_events *events, uint32_t event, const char *name,
			    size_t len_bytes);
/* By id; 0 is the first event's. NULL: of none. */
struct pp_perf_event *pp_perf_events_by_id(const struct pp_perf_events *events, uint64_t id);
/* The event that a record belongs to, and the time in it (0: none). NULL: no event of ours. */
const struct pp_perf_event *pp_perf_events_of(const struct pp_perf_events *events,
					      const uint8_t *record, uint64_t *ret_time_ns);
/* Bytes at the end of every record but samples. */
size_t pp_perf_trailer_bytes(const struct pp_perf_event *event);

/* ---------------------------------------------------------------- perf_feature.c */

#define PP_PERF_NAMES_MAX   (1u << 15)
#define PP_PERF_SECTION_MAX (6u << 20)

struct pp_perf_told {
	char *hostname, *arch, *release, *cpu, *command;
	int64_t realtime_offset_ns;
	uint64_t last_ns;              /* of the last sample; 0: not told */
	struct pp_texts names;         /* of files */
	struct pathprof_build_id *ids; /* [names.table.cnt] */
	uint32_t id_room;
	size_t name_bytes;
};

void pp_perf_told_release(struct pp_perf_told *told);
struct pp_perf;
/* A feature's section, or what a record of its kind holds. Features that are not read pass. */
int pp_perf_feature(struct pp_perf *perf, uint64_t feature, const uint8_t *bytes, size_t len_bytes,
		    struct pathprof_error *error);
/* A table beside the records contradicts itself: it is told by name, and done without. */
void pp_perf_feature_damaged(struct pp_perf *perf, uint64_t feature);
/* A record PP_PERF_BUILD_ID, or an entry of the section. */
int pp_perf_build_id(struct pp_perf *perf, const uint8_t *record, struct pathprof_error *error);
bool pp_perf_told_build_id(const struct pp_perf_told *told, const char *name,
			   struct pathprof_build_id *ret_id);

/* ---------------------------------------------------------------- perf_unpack.c */

#define PP_PERF_UNPACK_BYTES (1u << 18)

/* The decompressor of one file. */
struct pp_perf_unpack {
	ZSTD_DCtx *context; /* NULL before the first compressed record */
	uint8_t *rest;      /* the start of a record that goes on in the next compressed one */
	size_t rest_cnt, rest_room;
	uint64_t out_bytes; /* all that came out */
	bool wide;          /* its zstd window exceeds the limit, so out_bytes is limited to that */
};

void pp_perf_unpack_release(struct pp_perf_unpack *unpack);

/* ---------------------------------------------------------------- perf_order.c */

#define PP_PERF_BLOCK_BYTES (1u << 16)
#define PP_PERF_BLOCKS      160
#define PP_PERF_QUEUE_MAX   (192u << 10)

struct pp_perf_queued {
	uint64_t time_ns;
	uint64_t place; /* block << 16 | offset in it; or PP_PERF_IN_FILE | size << 47 | offset */
};
#define PP_PERF_IN_FILE     (1ull << 63)
#define PP_PERF_NOT_IN_FILE UINT64_MAX

/* The cache for records read again: PP_PERF_PIECES of PP_PERF_PIECE_BYTES, least recently used out.
 */
#define PP_PERF_PIECE_BYTES (1u << 15)
#define PP_PERF_PIECES      128
#define PP_PERF_NO_PIECE    UINT64_MAX

struct pp_perf_pieces {
	uint64_t numbers[PP_PERF_PIECES]; /* offset in the file / PP_PERF_PIECE_BYTES */
	uint64_t used_at[PP_PERF_PIECES], now;
	uint32_t len_bytes[PP_PERF_PIECES]; /* less at the file's end only */
	uint8_t bytes[PP_PERF_PIECES][PP_PERF_PIECE_BYTES];
};

/* Records wait in blocks; a block is used again when the last of its records has gone. */
struct pp_perf_block {
	uint8_t *bytes;
	uint32_t used_bytes, live_cnt;
};

struct pp_perf_order {
	int fd; /* -1: what does not fit into memory cannot be read again */
	struct pp_perf_block blocks[PP_PERF_BLOCKS];
	uint32_t block;                 /* that is being filled */
	uint32_t blocks_kept_back;      /* not to be used */
	struct pp_perf_pieces *pieces;  /* NULL before anything was read again */
	uint8_t *again;                 /* a record out of two pieces */
	struct pp_perf_queued *queue;   /* room for PP_PERF_QUEUE_MAX */
	struct pp_perf_queued *scratch; /* for half of them */
	size_t cnt, room;
	uint64_t newest_ns; /* that was put in */
	uint64_t limit_ns;  /* up to which nothing older can come any more */
	uint64_t last_ns;   /* that was handed on */
	uint64_t late_cnt;  /* handed on after a newer one */
};

typedef int (*pp_perf_deliver)(void *context, const uint8_t *record, struct pathprof_error *error);

void pp_perf_order_release(struct pp_perf_order *order);
/*
 * offset: of the record in the file, or PP_PERF_NOT_IN_FILE. -ENOBUFS: no room, have something
 * delivered first.
 */
int pp_perf_order_put(struct pp_perf_order *order, uint64_t time_ns, const uint8_t *record,
		      uint64_t offset);
/* A round of the writer ended: what came before the end of the one before it is complete. */
int pp_perf_order_round(struct pp_perf_order *order, pp_perf_deliver deliver, void *context,
			struct pathprof_error *error);
/* The older half; and if no block came free by that, all. */
int pp_perf_order_half(struct pp_perf_order *order, pp_perf_deliver deliver, void *context,
		       struct pathprof_error *error);
/* Delivers the records that are not newer than limit_ns. */
int pp_perf_order_until(struct pp_perf_order *order, uint64_t limit_ns, pp_perf_deliver deliver,
			void *context, struct pathprof_error *error);
int pp_perf_order_all(struct pp_perf_order *order, pp_perf_deliver deliver, void *context,
		      struct pathprof_error *error);

/* ---------------------------------------------------------------- perf_parts.c */

#define PP_PERF_PARTS_MAX        1024
#define PP_PERF_PACKED_PARTS_MAX 32

#define PP_PERF_BYTES_A_READ (1u << 20)

/* A file that records are read from: the recording itself, or one of a directory's. */
struct pp_perf_file {
	struct pp_perf_input input;
	struct pp_perf_unpack unpack;
	uint64_t data_end;  /* offset in the file; UINT64_MAX: where the file ends */
	uint64_t newest_ns; /* of the records that came out of it */
};

/* One that is not yet read to its end. */
struct pp_perf_turn {
	uint64_t newest_ns; /* as the part's when it had its turn */
	uint32_t part;
};

/* The files that perf record --threads wrote beside the one with the header: one a CPU. */
struct pp_perf_parts {
	int main_fd; /* -1: the recording is no directory */
	struct pp_perf_file *files;
	uint32_t cnt;
	struct pp_perf_turn *turns; /* a heap, the oldest on top */
	uint32_t turn_cnt;
	uint64_t limit_ns; /* up to which every part had been read some time ago */
	uint64_t done_bytes;
};

struct pp_perf;
/* The directory's file with the header. */
int pp_perf_parts_open_main(struct pp_perf *perf, struct pathprof_error *error);
/* All others, once the header is read. */
int pp_perf_parts_open(struct pp_perf *perf, struct pathprof_error *error);
void pp_perf_parts_release(struct pp_perf_parts *parts);
/* Some more of them. 1: there is more. */
int pp_perf_parts_read(struct pp_perf *perf, struct pathprof_error *error);

/* ---------------------------------------------------------------- the reader */

struct pp_perf_lost {
	uint64_t in_buffers;  /* that overflowed, told as it happened */
	uint64_t in_all;      /* the same, told at the end */
	uint64_t in_hardware; /* before the kernel had them */
};

struct pp_perf {
	struct pathprof_recording *recording;
	struct pp_perf_file main;
	struct pp_perf_file *file; /* at hand: main, or one of the parts */
	struct pp_perf_parts parts;
	bool is_pipe;   /* its header says so: all the rest is records */
	bool main_read; /* to its end */
	bool traced;    /* holds a trace of the processor's, not decoded */
	uint64_t features[PP_PERF_FEATURE_CNT / 64];
	bool features_read;
	bool is_parted; /* its header says so: a directory holds the rest */
	struct pp_perf_events events;
	struct pp_perf_told told;
	uint8_t *unpacked; /* PP_PERF_UNPACK_BYTES; NULL before the first compressed record */
	struct pp_perf_order order;
	struct pp_perf_lost lost;
	uint64_t record_at;   /* of the record at hand, in main; or PP_PERF_NOT_IN_FILE */
	uint8_t *long_record; /* that does not fit into a part's room */
	struct pathprof_recorded_branch branches[PATHPROF_RECORDED_BRANCHES_MAX];
};

/* perf_header.c: up to the first record. */
int pp_perf_read_header(struct pp_perf *perf, struct pathprof_error *error);
/* perf_header.c: a file's features, at its end. */
int pp_perf_read_features(struct pp_perf *perf, struct pathprof_error *error);
/* perf_data.c: "FILE: what errno says". */
int pp_perf_failed(struct pp_perf *perf, int r, struct pathprof_error *error);
/* perf_data.c: one record of the file at hand. 1: there may be more in it. */
int pp_perf_next(struct pp_perf *perf, struct pathprof_error *error);
/* perf_data.c: one whole record that lies in memory; payload that follows it is not its. */
int pp_perf_record(struct pp_perf *perf, const uint8_t *record, struct pathprof_error *error);
/* perf_data.c: a record whose turn has come in the order of time; context is the reader. */
int pp_perf_deliver_record(void *context, const uint8_t *record, struct pathprof_error *error);
/* perf_unpack.c: the records in a compressed one. */
int pp_perf_unpack_record(struct pp_perf *perf, const uint8_t *record,
			  struct pathprof_error *error);
/* perf_sample.c, perf_task.c: in the order of time. */
int pp_perf_sample(struct pp_perf *perf, const struct pp_perf_event *event, const uint8_t *record,
		   struct pathprof_error *error);
int pp_perf_task(struct pp_perf *perf, const struct pp_perf_event *event, uint64_t time_ns,
		 const uint8_t *record, struct pathprof_error *error);

#endif
