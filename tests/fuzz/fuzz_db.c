// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The store on hostile database files. An input is a list of edits to a sound database made at the
 * start (random bytes alone would never get past SQLite's header): each 8 bytes are an offset
 * (little-endian 32 bits, modulo the size), an operation and three operands. An input that begins
 * with 0xff is taken as the file itself, one that begins with 0xfe edits a database of the first
 * schema, which is read through a migrated copy.
 */
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "pathprof/parcel_store.h"
#include "pathprof/schema.h"
#include "pathprof/store.h"

#define EDIT_BYTES 8

static char file[64];
struct bytes {
	uint8_t *at;
	size_t len;
};

static struct bytes sound, older;
static struct pathprof_profile window;
static struct pathprof_parcel early, late; /* of one slot of another store */

static void must(int good, const char *what)
{
	if (!good) {
		fprintf(stderr, "fuzz_db: %s\n", what);
		abort();
	}
}

static void remove_files(void)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", ".lock"};
	char name[80];

	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "%s%s", file, suffixes[i]);
		unlink(name);
	}
}

static void add_names(void)
{
	char comm[] = "fuzzed", container[] = "box";

	for (uint32_t i = 0; i < 3; i++) {
		const struct pathprof_build_id id = {{(uint8_t)(0xab + i)}, 20, PATHPROF_ID_JIT};
		const struct pathprof_process process = {.pid = i + 1,
							 .start_time = i,
							 .comm = comm,
							 .container = container,
							 .binary = i};

		pathprof_profile_binary(&window, &id, "/bin/fuzzed");
		pathprof_profile_process(&window, &process);
	}
}

static void fill_window(uint32_t k)
{
	pathprof_profile_clear(&window);
	window.begin_ns = k;
	window.end_ns = k + 1;
	window.source = PATHPROF_SOURCE_STEP;
	window.basis = PATHPROF_BASIS_TIME;
	window.totals.ends[k % PATHPROF_END_CNT] = 1;
	window.totals.drops[k % PATHPROF_DROP_CNT] = 1;
	add_names();
	window.is_ordered = k % 2;
	window.segments_lost = k % 2;
	for (uint32_t i = 0; i < 20; i++) {
		const struct pathprof_segment_count segment = {
			.first = {.binary = i % 3, .start = i, .length = i},
			.second = {.process = i % 3,
				   .binary = 1,
				   .start = (uint64_t)i << k,
				   .length = 32 - i,
				   .samples = i,
				   .weight = i * 2.5,
				   .burst = 1 + i % 4},
		};

		if (window.is_ordered)
			pathprof_profile_add_segment(&window, &segment);
		pathprof_profile_add_path(&window, &(struct pathprof_path_count){
							   .process = i % 3,
							   .binary = i % 3,
							   .start = (uint64_t)i << k,
							   .length = i,
							   .outcomes = i * k,
							   .samples = i,
							   .weight = i * 1.5,
						   });
		pathprof_profile_add_edge(&window, &(struct pathprof_edge_count){
							   .process = i % 3,
							   .from_binary = i % 3,
							   .to_binary = 1,
							   .from = i,
							   .to = (uint64_t)i << k,
							   .count = i,
						   });
	}
}

static void add_values(struct pathprof_store *store, int64_t id)
{
	static const struct pathprof_value_count values[] = {{UINT64_MAX, 9}, {7, 5}};
	const struct pathprof_value_drop drop = {"busy", 3};
	const struct pathprof_value_row row = {
		.binary_id = {{0xcd}, 20, PATHPROF_ID_BUILD_ID},
		.binary_name = "/bin/values",
		.start = UINT64_MAX,
		.function = "f",
		.argument = 6,
		.sampler = "P1",
		.entry_max = 16,
		.executed = 20,
		.same = 4,
		.profiled = 15,
		.values = values,
		.value_cnt = 2,
	};

	must(pathprof_store_add_values(store, id, &row, 1, &drop, 1, NULL) == 0, "values");
}

static void add_run(struct pathprof_store *store, int64_t id)
{
	const struct pathprof_piece piece = {.binary_id = {{0xce}, 20, PATHPROF_ID_BUILD_ID},
					     .binary_name = "/bin/run"};
	const struct pathprof_piece_row pieces[] = {{piece, 3}};
	const struct pathprof_segment_row segments[] = {
		{.first = piece, .second = piece, .count = 2}};
	const struct pathprof_run run = {.note = "run",
					 .pieces = pieces,
					 .piece_cnt = 1,
					 .segments = segments,
					 .segment_cnt = 1};

	must(pathprof_store_add_run(store, id, &run, NULL) == 0, "run");
}

/* An alert that fires, and one that resolved, with their messages. */
static void add_alerts(struct pathprof_store *store)
{
	const struct pathprof_alert_row states[] = {{.rule = "fast",
						     .binary = "/bin/a",
						     .container = "",
						     .baseline = "rolling",
						     .state = {.phase = PATHPROF_ALERT_FIRING,
							       .since_ns = 3,
							       .fired_ns = 3,
							       .seen_ns = 9},
						     .json = "{}"}};
	struct pathprof_message_row messages[] = {{.time_ns = 3,
						   .fired = true,
						   .rule = "fast",
						   .binary = "/bin/a",
						   .container = "",
						   .baseline = "rolling",
						   .metric = "kl",
						   .value = 0.5,
						   .threshold = 0.25,
						   .begin_ns = 3,
						   .summary = "otherwise",
						   .json = "{}"},
						  {0}};

	messages[1] = messages[0];
	messages[1].fired = false;
	messages[1].binary = "/bin/b";
	must(pathprof_store_set_alerts(store, states, 1, messages, 2, NULL) == 0, "alerts");
}

/* The slot of the first windows, before and after there were more. */
static void make_parcels(void)
{
	struct pathprof_store *store = NULL;

	must(pathprof_store_open(&store, file, PATHPROF_STORE_WRITE, NULL) == 0, "parcels: open");
	fill_window(1);
	must(pathprof_store_add_window(store, &window, NULL, NULL) == 0, "parcels: add");
	must(pathprof_store_parcel(store, 0, &early, NULL) == 0, "parcels: early");
	fill_window(2);
	must(pathprof_store_add_window(store, &window, NULL, NULL) == 0, "parcels: add");
	must(pathprof_store_parcel(store, 0, &late, NULL) == 0, "parcels: late");
	pathprof_store_free(store);
	remove_files();
}

static void make_sound(void)
{
	enum pathprof_parcel_added added;
	const struct pathprof_build_id jit = {{0xab}, 20, PATHPROF_ID_JIT};
	const struct pathprof_jit_symbol symbol = {&jit, 1, 9, "f"};
	struct pathprof_store *store = NULL;

	must(pathprof_store_open(&store, file, PATHPROF_STORE_WRITE, NULL) == 0, "open");
	for (uint32_t k = 1; k <= 8; k++) {
		fill_window(k);
		must(pathprof_store_add_window(store, &window, NULL, NULL) == 0, "add");
		add_values(store, k);
	}
	add_run(store, 8);
	must(pathprof_store_set_status(store, "{\"a\": 1}", NULL) == 0, "status");
	must(pathprof_store_add_jit_symbols(store, &symbol, 1, NULL) == 0, "symbol");
	add_alerts(store);
	must(pathprof_store_add_parcel(store, &early, &added, NULL) == 0, "parcel");
	pathprof_store_free(store);
}

/* A database as the first version wrote it, with one path and one count. */
static void make_older(void)
{
	static const char rows[] =
		"PRAGMA application_id=0x50505246; PRAGMA user_version=1;"
		"INSERT INTO boots VALUES (1, 'boot');"
		"INSERT INTO binaries VALUES (1, x'abcd', 1, '/bin/fuzzed', 1);"
		"INSERT INTO processes VALUES (1, 1, 42, 1, 0, 'fuzzed', 'box', 1, 1);"
		"INSERT INTO windows VALUES (1, 1, 2, 1, 1, 32, 3, 30, 20, 90, 7, 0, 0);"
		"INSERT INTO window_processes VALUES (1, 1);"
		"INSERT INTO paths VALUES (1, 1, 4096, 2, 1, 1);"
		"INSERT INTO path_counts VALUES (1, 1, 1, 7, 7.0);"
		"INSERT INTO edges VALUES (1, 1, 1, 1, 2, 1);"
		"INSERT INTO edge_counts VALUES (1, 1, 1, 5, 1);";
	sqlite3 *db = NULL;

	must(sqlite3_open(file, &db) == SQLITE_OK, "older: open");
	must(sqlite3_exec(db, pathprof_schema_sqlite[0], NULL, NULL, NULL) == SQLITE_OK,
	     "older: schema");
	must(sqlite3_exec(db, rows, NULL, NULL, NULL) == SQLITE_OK, "older: rows");
	sqlite3_close(db);
}

static struct bytes read_back(void)
{
	struct bytes bytes = {malloc(4 << 20), 0};
	FILE *in = fopen(file, "re");

	must(in && bytes.at, "read back");
	bytes.len = fread(bytes.at, 1, 4 << 20, in);
	fclose(in);
	remove_files();
	return bytes;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	/* In memory where there is such a place: thousands of files a second. */
	const char *dir = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

	snprintf(file, sizeof(file), "%s/fuzz_db.%ld", dir, (long)getpid());
	atexit(remove_files);
	must(pathprof_profile_init(&window, 1 << 20) == 0, "profile");
	make_parcels();
	make_sound();
	sound = read_back();
	make_older();
	older = read_back();
	return 0;
}

/* ---------------------------------------------------------------- making the file */

static void edit(uint8_t *bytes, size_t *len, const uint8_t *by)
{
	size_t at = ((uint32_t)by[0] | (uint32_t)by[1] << 8 | (uint32_t)by[2] << 16 |
		     (uint32_t)by[3] << 24) %
		    *len;

	switch (by[4] % 5) {
	case 0:
		bytes[at] = by[5];
		break;
	case 1:
		bytes[at] ^= (uint8_t)(1u << (by[5] % 8));
		break;
	case 2:
		for (size_t i = 0; i < 3 && at + i < *len; i++)
			bytes[at + i] = by[5 + i];
		break;
	case 3:
		memset(bytes + at, by[5], by[6] < *len - at ? by[6] : *len - at);
		break;
	case 4:
		/* Seldom: most cut files end at the first look. */
		if (by[5] == 0 && at)
			*len = at;
		break;
	}
}

static void write_file(const struct bytes *base, const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(base->len);
	size_t len = base->len;

	must(bytes != NULL, "memory");
	memcpy(bytes, base->at, len);
	for (; size >= EDIT_BYTES; data += EDIT_BYTES, size -= EDIT_BYTES)
		edit(bytes, &len, data);
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	must(fd >= 0 && write(fd, bytes, len) == (ssize_t)len, "write");
	close(fd);
	free(bytes);
}

static void write_raw(const uint8_t *data, size_t size)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size, "write");
	close(fd);
}

/* ---------------------------------------------------------------- using it */

static int take_path(void *context, const struct pathprof_path_row *row)
{
	must(row->length <= 32 && row->binary_id.len_bytes <= PATHPROF_BUILD_ID_MAX, "path row");
	*(size_t *)context += strlen(row->binary_name);
	return 0;
}

static void must_be_piece(const struct pathprof_piece *piece)
{
	must(piece->length <= 32 && piece->binary_id.len_bytes <= PATHPROF_BUILD_ID_MAX, "piece");
}

static int take_piece(void *context, const struct pathprof_piece_row *row)
{
	must_be_piece(&row->piece);
	*(size_t *)context += strlen(row->piece.binary_name);
	return 0;
}

static int take_segment(void *context, const struct pathprof_segment_row *row)
{
	must_be_piece(&row->first);
	must_be_piece(&row->second);
	must(row->weight >= 0 && row->squares >= 0 && row->weight_squares >= 0, "segment");
	*(size_t *)context += strlen(row->first.binary_name) + strlen(row->second.binary_name);
	return 0;
}

static int take_edge(void *context, const struct pathprof_edge_row *row)
{
	*(size_t *)context += strlen(row->from_name) + strlen(row->to_name);
	return 0;
}

static int take_binary(void *context, const struct pathprof_binary_row *row)
{
	*(size_t *)context += strlen(row->name);
	return 0;
}

static int take_process(void *context, const struct pathprof_process_row *row)
{
	*(size_t *)context += strlen(row->comm) + strlen(row->container) + strlen(row->binary_name);
	return 0;
}

static int take_window(void *context, const struct pathprof_window_row *row)
{
	must(row->basis == PATHPROF_BASIS_TIME || row->basis == PATHPROF_BASIS_BRANCHES, "basis");
	*(size_t *)context += row->totals.bursts != 0;
	return 0;
}

static int take_value(void *context, const struct pathprof_value_row *row)
{
	must(row->argument >= 1 && row->argument <= 6 && row->value_cnt <= row->entry_max &&
		     row->entry_max <= 255,
	     "value row");
	*(size_t *)context += strlen(row->function) + strlen(row->sampler);
	for (uint32_t i = 0; i < row->value_cnt; i++)
		*(size_t *)context += row->values[i].count & 1;
	return 0;
}

static int take_value_drop(void *context, const struct pathprof_value_drop *drop)
{
	*(size_t *)context += strlen(drop->reason);
	return 0;
}

static int take_clock(void *context, const struct pathprof_clock_row *row)
{
	*(size_t *)context += strlen(row->binary_name) + (size_t)row->place;
	return 0;
}

static int take_clock_process(void *context, const struct pathprof_clock_process_row *row)
{
	*(size_t *)context += row->samples != 0;
	return 0;
}

static int take_alert(void *context, const struct pathprof_alert_row *row)
{
	*(size_t *)context += strlen(row->rule) + strlen(row->json);
	must(pathprof_alert_state_check(&row->state) == 0, "an alert's state");
	return 0;
}

static int take_message(void *context, const struct pathprof_message_row *row)
{
	*(size_t *)context += strlen(row->rule) + strlen(row->binary) + strlen(row->container) +
			      strlen(row->baseline) + strlen(row->metric) + strlen(row->summary) +
			      strlen(row->json);
	must(row->id > 0 && isfinite(row->value) && isfinite(row->threshold), "a message");
	return 0;
}

static void query_alerts(struct pathprof_store *store, struct pathprof_error *error)
{
	char identity[PATHPROF_STORE_IDENTITY_LEN];
	size_t seen = 0;
	int64_t newest;

	pathprof_store_alerts(store, take_alert, &seen, error);
	pathprof_store_messages(store, 0, take_message, &seen, error);
	pathprof_store_firing(store, take_message, &seen, error);
	if (pathprof_store_newest_message(store, &newest, identity, error) == 0)
		must(newest >= 0 && strlen(identity) == 32, "identity");
}

static void query_segments(struct pathprof_store *store, const struct pathprof_filter *filter,
			   struct pathprof_error *error)
{
	size_t seen = 0;
	char *note;

	pathprof_store_pieces(store, filter, take_piece, &seen, error);
	pathprof_store_segments(store, filter, take_segment, &seen, error);
	pathprof_store_segment_samples(store, filter, take_segment, &seen, error);
	if (pathprof_store_window_note(store, 8, &note, error) == 0)
		free(note);
}

static int take_slot(void *context, const struct pathprof_slot_row *row)
{
	*(size_t *)context += row->window_cnt;
	return 0;
}

/* A parcel read from a database can be packed, unless it is too large. */
static void query_parcels(struct pathprof_store *store, struct pathprof_error *error)
{
	struct pathprof_parcel parcel;
	uint8_t *bytes = NULL;
	size_t seen = 0, len;
	bool is_here;
	int code;

	pathprof_store_slots(store, NULL, take_slot, &seen, error);
	pathprof_store_is_of_this_boot(store, &is_here, error);
	if (pathprof_store_parcel(store, 0, &parcel, error))
		return;
	code = pathprof_parcel_write(&parcel, &bytes, &len, error);
	must(code == 0 || error->text[0], "a parcel without a word");
	free(bytes);
	pathprof_parcel_release(&parcel);
}

static void query(struct pathprof_store *store, const struct pathprof_filter *filter)
{
	const struct pathprof_build_id jit = {{0xab}, 20, PATHPROF_ID_JIT};
	struct pathprof_error error = {""};
	enum pathprof_window_kind newest;
	unsigned int kinds;
	size_t seen = 0;
	uint64_t start;
	char *json = NULL, name[16];

	pathprof_store_paths(store, filter, take_path, &seen, &error);
	query_segments(store, filter, &error);
	pathprof_store_edges(store, filter, take_edge, &seen, &error);
	pathprof_store_binaries(store, filter, take_binary, &seen, &error);
	pathprof_store_processes(store, filter, take_process, &seen, &error);
	pathprof_store_windows(store, filter, take_window, &seen, &error);
	pathprof_store_clocks(store, filter, take_clock, &seen, &error);
	pathprof_store_clock_processes(store, filter, take_clock_process, &seen, &error);
	pathprof_store_kinds(store, filter, &kinds, &newest, &error);
	pathprof_store_values(store, filter, take_value, &seen, &error);
	pathprof_store_value_drops(store, filter, take_value_drop, &seen, &error);
	pathprof_store_jit_symbol(store, &jit, 4, name, sizeof(name), &start);
	query_alerts(store, &error);
	if (pathprof_store_status(store, &json, &error) == 0)
		free(json);
	must(!strchr(error.text, '\n'), "an error of two lines");
}

static void use(struct pathprof_store *store)
{
	const struct pathprof_filter narrow = {.since_ns = 2,
					       .until_ns = 9,
					       .comm = "fuzzed",
					       .container = "b",
					       .binary = "abac",
					       .kind = PATHPROF_KIND_TAKEN};
	struct pathprof_error error = {""};

	query(store, NULL);
	query(store, &narrow);
	query_parcels(store, &error);
	must(pathprof_store_check(store, &error) == 0 || error.text[0], "check without a word");
	must(!strchr(error.text, '\n'), "an error of two lines");
}

static void change(struct pathprof_store *store)
{
	struct pathprof_error error = {""};
	enum pathprof_parcel_added added;

	pathprof_store_add_parcel(store, &late, &added, &error);
	pathprof_store_add_parcel(store, &early, &added, &error);
	fill_window(9);
	pathprof_store_add_window(store, &window, NULL, &error);
	pathprof_store_set_status(store, "{}", &error);
	pathprof_store_retain(store, &(struct pathprof_retention){.max_bytes = 190000}, NULL,
			      &error);
	pathprof_store_retain(store, &(struct pathprof_retention){.max_age_ns = 1}, NULL, &error);
	pathprof_store_forget_values(store, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pathprof_store *store = NULL;
	struct pathprof_error error = {""};

	remove_files();
	if (size && data[0] == 0xff)
		write_raw(data + 1, size - 1);
	else if (size && data[0] == 0xfe)
		write_file(&older, data + 1, size - 1);
	else
		write_file(&sound, data, size);
	if (pathprof_store_open(&store, file, PATHPROF_STORE_READ, &error) == 0)
		use(store);
	pathprof_store_free(store);
	store = NULL;
	if (pathprof_store_open(&store, file, PATHPROF_STORE_WRITE, &error) == 0) {
		use(store);
		change(store);
	}
	pathprof_store_free(store);
	return 0;
}
