// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl parcel: writes a database in pieces of five minutes, as small files that mean the
 * same on every machine; and adds up those of several hosts in one database.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../ctl.h"
#include "../text/cleanup.h"
#include "../text/output.h"
#include "../text/text.h"
#include "../view/listing.h"
#include "../view/parcel_show.h"
#include "pathprof/parcel_names.h"
#include "pathprof/parcel_store.h"

struct slots {
	int64_t *slots;
	size_t cnt, room;
};

static void release_parcel(struct pathprof_parcel *parcel)
{
	pathprof_parcel_release(parcel);
}
#define _cleanup_parcel_ _cleanup_(release_parcel)

/* ---------------------------------------------------------------- write */

static int take_slot(void *context, const struct pathprof_slot_row *row)
{
	struct slots *slots = context;

	ctl_grow(&slots->slots, slots->cnt, &slots->room);
	slots->slots[slots->cnt++] = row->slot_s;
	return 0;
}

/* "DIRECTORY/0123456789abcdef-20261121T100000Z.parcel". Caller frees. */
static char *name_of(const char *directory, const struct pathprof_parcel *parcel)
{
	char store[PARCEL_STORE_TEXT], slot[32] = "";
	time_t begin = (time_t)parcel->slot_s;
	struct tm utc;

	if (gmtime_r(&begin, &utc))
		strftime(slot, sizeof(slot), "%Y%m%dT%H%M%SZ", &utc);
	return ctl_printf("%s/%.16s-%s.parcel", directory, parcel_store_text(parcel->store, store),
			  slot);
}

static int write_bytes(const char *file, const uint8_t *bytes, size_t len,
		       struct pathprof_error *error)
{
	struct output output;
	int r = output_begin(&output, file, error);

	if (r < 0)
		return r;
	if (fwrite(bytes, 1, len, output.file) != len)
		r = -EIO;
	return output_end(&output, r, error);
}

static void list_written(struct listing *listing, const char *file,
			 const struct pathprof_parcel *parcel, size_t len)
{
	uint32_t windows = pathprof_parcel_window_cnt(parcel);
	char text[32];

	if (listing->json) {
		json_t *object = json_object();

		json_add_text(object, "file", file);
		json_add_ns(object, "slot", parcel->slot_s);
		json_add_count(object, "windows", windows);
		json_add_count(object, "bytes", len);
		json_rows_add(&listing->rows, object);
		return;
	}
	table_row(&listing->table, 0);
	table_cell(&listing->table, CTL_NAME, "%s", file);
	table_cell(&listing->table, CTL_PLAIN, "%s",
		   text_time(text, sizeof(text), parcel->slot_s * CTL_NS_PER_S));
	table_cell(&listing->table, CTL_PLAIN, "%u", windows);
	table_cell(&listing->table, CTL_PLAIN, "%zu", len);
}

static int write_slot(struct listing *listing, const struct ctl_options *options,
		      struct pathprof_store *store, int64_t slot_s,
		      const struct pathprof_parcel_host *host, struct pathprof_namer *namer)
{
	const char *directory = options->output ? options->output : ".";
	_cleanup_parcel_ struct pathprof_parcel parcel = {.slot_s = 0};
	_cleanup_free_ uint8_t *bytes = NULL;
	_cleanup_free_ char *file = NULL;
	struct pathprof_error error = {""};
	size_t len = 0;
	int r = pathprof_store_parcel(store, slot_s, &parcel, &error);

	if (r < 0)
		return ctl_fail_error("parcel", r, &error);
	parcel.host = *host;
	parcel.version = options->old_readers ? 1 : PATHPROF_PARCEL_VERSION;
	if (pathprof_namer_name(namer, &parcel) < 0)
		return ctl_fail("out of memory");
	if (mkdir(directory, 0777) < 0 && errno != EEXIST)
		return ctl_fail("%s: no directory, and it cannot be made: %s", directory,
				strerror(errno));
	file = name_of(directory, &parcel);
	r = pathprof_parcel_write(&parcel, &bytes, &len, &error);
	if (r == 0)
		r = write_bytes(file, bytes, len, &error);
	if (r < 0)
		return ctl_fail_error(file, r, &error);
	pathprof_namer_told(namer, &parcel);
	list_written(listing, file, &parcel, len);
	return CTL_OK;
}

/* A database of another machine, or from before the last boot, must not be described as this
 * host's: its parcels have no host but the name that --name gives. */
static int find_host(struct pathprof_store *store, const struct ctl_options *options,
		     struct pathprof_parcel_host *ret_host)
{
	struct pathprof_error error = {""};
	bool is_here = false;
	int r = pathprof_store_is_of_this_boot(store, &is_here, &error);

	if (r < 0)
		return ctl_fail_error("parcel", r, &error);
	pathprof_parcel_this_host(ret_host);
	if (!is_here)
		*ret_host = (struct pathprof_parcel_host){.sent_ns = ret_host->sent_ns};
	memcpy(ret_host->labels, options->labels, sizeof(ret_host->labels));
	if (options->name)
		snprintf(ret_host->name, sizeof(ret_host->name), "%s", options->name);
	else if (!is_here)
		ctl_note("the database was not recorded here since this machine was booted: its "
			 "parcels have no host's name unless --name gives one");
	return CTL_OK;
}

static const struct table_column written_columns[] = {
	{"FILE", TABLE_SHRINK},
	{"SLOT", 0},
	{"WINDOWS", TABLE_RIGHT},
	{"BYTES", TABLE_RIGHT},
};

static int write_slots(const struct ctl_options *options, struct pathprof_store *store,
		       const struct slots *slots)
{
	struct listing listing = {.json = options->json};
	struct pathprof_namer *namer = NULL;
	struct pathprof_parcel_host host;
	int r = find_host(store, options, &host);

	if (r == CTL_OK && pathprof_namer_new(&namer) < 0)
		r = ctl_fail("out of memory");
	table_init(&listing.table, written_columns, 4);
	listing_begin(&listing);
	for (size_t i = 0; r == CTL_OK && i < slots->cnt; i++)
		r = write_slot(&listing, options, store, slots->slots[i], &host, namer);
	listing_end(&listing, NULL);
	pathprof_namer_free(namer);
	return r;
}

static int cmd_write(const struct ctl_options *options)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct pathprof_error error = {""};
	struct slots slots = {NULL, 0, 0};
	int r;

	if (options->argc != 1)
		return ctl_usage(options, "write takes no operands: -o names the directory");
	r = ctl_db_open(&store, options, PATHPROF_STORE_READ);
	if (r)
		return r;
	r = pathprof_store_slots(store, &options->filter, take_slot, &slots, &error);
	if (r < 0)
		r = ctl_fail_error("parcel", r, &error);
	else if (!slots.cnt)
		r = ctl_fail("no windows are selected: `pathprofctl windows` lists those of the "
			     "database");
	else
		r = write_slots(options, store, &slots);
	free(slots.slots);
	return r;
}

/* ---------------------------------------------------------------- read */

/* Reads a file that may not be a parcel, at most as many bytes as a parcel can have. Caller
 * frees. */
static int read_bytes(const char *file, uint8_t **ret_bytes, size_t *ret_len)
{
	_cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC);
	size_t room = PATHPROF_PARCEL_PACKED_MAX + 1ul, len = 0;
	_cleanup_free_ uint8_t *bytes = NULL;
	ssize_t got;

	if (fd < 0)
		return -errno;
	bytes = ctl_alloc(room);
	while (len < room && (got = read(fd, bytes + len, room - len)) != 0) {
		if (got < 0 && errno != EINTR)
			return -errno;
		len += got > 0 ? (size_t)got : 0;
	}
	*ret_bytes = bytes;
	*ret_len = len;
	bytes = NULL;
	return 0;
}

static int read_parcel(const char *file, struct pathprof_parcel *ret_parcel)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	struct pathprof_error error = {""};
	size_t len = 0;
	int r = read_bytes(file, &bytes, &len);

	if (r < 0)
		return ctl_fail("%s: %s", file, strerror(-r));
	r = pathprof_parcel_read(ret_parcel, bytes, len, &error);
	return r < 0 ? ctl_fail("%s: %s", file, error.text) : CTL_OK;
}

static int read_one(struct listing *listing, const char *file)
{
	_cleanup_parcel_ struct pathprof_parcel parcel = {.slot_s = 0};
	int r = read_parcel(file, &parcel);

	if (r)
		return r;
	if (listing->json)
		json_rows_add(&listing->rows, parcel_json(&parcel));
	else
		parcel_add_cells(&listing->table, &parcel);
	return CTL_OK;
}

/* Parcels that cannot be read are reported, and the others are shown. */
static int cmd_read(const struct ctl_options *options)
{
	struct listing listing = {.json = options->json};
	int r = CTL_OK;

	if (options->argc < 2)
		return ctl_usage(options, "read needs files that `parcel write` wrote");
	parcel_table_init(&listing.table);
	listing_begin(&listing);
	for (int i = 1; i < options->argc; i++)
		if (read_one(&listing, options->argv[i]))
			r = CTL_FAILURE;
	listing_end(&listing, NULL);
	return r;
}

/* ---------------------------------------------------------------- add */

struct tally {
	unsigned int cnt[PATHPROF_PARCEL_KNOWN + 1];
	unsigned int failed;
};

static void add_one(struct tally *tally, struct pathprof_store *store, const char *file)
{
	_cleanup_parcel_ struct pathprof_parcel parcel = {.slot_s = 0};
	enum pathprof_parcel_added added = PATHPROF_PARCEL_KNOWN;
	struct pathprof_error error = {""};
	uint64_t cut = 0;
	int r = read_parcel(file, &parcel);

	if (r == CTL_OK && (pathprof_store_add_parcel(store, &parcel, &added, &error) < 0 ||
			    pathprof_store_add_names(store, &parcel, &cut, &error) < 0))
		r = ctl_fail("%s: %s", file, error.text);
	if (r == CTL_OK)
		tally->cnt[added]++;
	else
		tally->failed++;
}

static void say_tally(const struct ctl_options *options, const struct tally *tally)
{
	unsigned int added = tally->cnt[PATHPROF_PARCEL_ADDED] + tally->cnt[PATHPROF_PARCEL_BESIDE];
	unsigned int replaced = tally->cnt[PATHPROF_PARCEL_REPLACED];
	unsigned int known = tally->cnt[PATHPROF_PARCEL_KNOWN];

	if (options->json) {
		_cleanup_json_ json_t *object = json_object();

		json_add_count(object, "added", added);
		json_add_count(object, "replaced", replaced);
		json_add_count(object, "known", known);
		json_add_count(object, "failed", tally->failed);
		json_dumpf(object, stdout, 0);
		putchar('\n');
		return;
	}
	printf("%u added, %u in the place of emptier ones, %u there already", added, replaced,
	       known);
	if (tally->failed)
		printf(", %u failed", tally->failed);
	putchar('\n');
}

/* Parcels that cannot be added are reported, and the others are added. */
static int cmd_add(const struct ctl_options *options)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct pathprof_error error = {""};
	struct tally tally = {.failed = 0};
	int r;

	if (options->argc < 2 || !options->output)
		return ctl_usage(options,
				 "add needs -o DATABASE, which is made if it is not there, "
				 "and files that `parcel write` wrote");
	r = pathprof_store_open(&store, options->output, PATHPROF_STORE_WRITE, &error);
	if (r < 0)
		return ctl_fail_error(options->output, r, &error);
	for (int i = 1; i < options->argc; i++)
		add_one(&tally, store, options->argv[i]);
	say_tally(options, &tally);
	return tally.failed ? CTL_FAILURE : CTL_OK;
}

int cmd_parcel(const struct ctl_options *options)
{
	const char *what = options->argc ? options->argv[0] : "";

	if (!strcmp(what, "write"))
		return cmd_write(options);
	if (!strcmp(what, "read"))
		return cmd_read(options);
	if (!strcmp(what, "add"))
		return cmd_add(options);
	return ctl_usage(options, "one of: write, read, add");
}
