// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hosts that send to a hub, as many as are wanted, on one machine. Each host's parcels are real
 * ones, read from files, whose counts are multiplied by numbers that follow from the seed, the host
 * and the slot alone. So the counts that the hub must hold in the end are known, whatever happens
 * to hub, connections and answers on the way.
 *
 *     fleet_load [--option VALUE]... PARCEL...
 *
 *     hub URL         where they send
 *     certs DIR       hostN.pem and hostN-key.pem of each, N from 1 on, and ca.pem
 *     hosts, slots    how many
 *     end N           where the last slot ends, in seconds since 1970 (the present slot's begin)
 *     first N         the first of the slots that are sent, the others are told only (0)
 *     seed N          another fleet
 *     connections N   hosts that send at once (16)
 *     lose, cut, again, early PERCENT    of the parcels whose answer is lost, whose body ends half
 *                     way, which are sent twice, and which a parcel with fewer windows precedes
 *     patience S      how long a hub that does not answer is asked again (60)
 *
 * On standard output comes what the hub must hold, a line a parcel: store, slot, windows, samples
 * of paths, counts of edges, samples of the clock. On standard error: how fast it was.
 */
#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/vector.h"
#include "pathprof/parcel.h"

#define TEMPLATES_MAX 64
#define FACTOR_MAX    5
#define PAUSE_US      50000

struct parcel {
	uint8_t *bytes, *early; /* NULL: it is not sent */
	size_t len, early_len;
	uint64_t windows, paths, edges, clocks; /* sums */
	double answer_s;                        /* of the one that was taken */
};

static struct load {
	const char *hub, *certs;
	uint64_t hosts, slots, first, seed, connections, patience_s, end_s;
	uint64_t lose, cut, again, early; /* percent */
	char **templates;
	size_t template_cnt;
	struct parcel *parcels;
	atomic_ullong next_host, taken, known, failed, lost, cut_off, tried_again;
	atomic_bool gave_up;
} load = {.connections = 16, .patience_s = 60};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "fleet_load: %s: %s\n", what, why);
	exit(1);
}

/* splitmix64 of all that a number depends on. */
static uint64_t chance(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t x = load.seed * 0x9e3779b97f4a7c15 + a * 0xbf58476d1ce4e5b9 +
		     b * 0x94d049bb133111eb + c * 0xd6e8feb86659fd93;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static bool happens(uint64_t percent, uint64_t host, uint64_t slot, uint64_t what)
{
	return chance(host, slot, what) % 100 < percent;
}

enum { FACTORS, TEMPLATE = 1 << 20, STORE, LOSE, CUT, AGAIN, EARLY };

/* ---------------------------------------------------------------- what hosts saw */

static void multiply_counts(struct pathprof_profile *p, uint64_t host, uint64_t slot,
			    struct parcel *sums)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < p->path_cnt; i++) {
		struct pathprof_path_count *path = &p->paths[i];
		uint64_t k = 1 + chance(host, slot, n++) % FACTOR_MAX;

		path->samples *= k;
		path->squares *= k * k;
		path->weight *= (double)k;
		path->insns *= (double)k;
		path->weight_squares *= (double)(k * k);
		sums->paths += path->samples;
	}
	for (uint32_t i = 0; i < p->edge_cnt; i++) {
		p->edges[i].count *= 1 + chance(host, slot, n++) % FACTOR_MAX;
		sums->edges += p->edges[i].count;
	}
	for (uint32_t i = 0; i < p->clock_cnt; i++)
		sums->clocks += p->clocks[i].samples;
}

static void move_windows(struct pathprof_parcel_part *part, int64_t move_ns)
{
	part->profile.begin_ns += move_ns;
	part->profile.end_ns += move_ns;
	for (uint32_t i = 0; i < part->window_cnt; i++) {
		part->windows[i].begin_ns += move_ns;
		part->windows[i].end_ns += move_ns;
	}
}

static void pack(const struct pathprof_parcel *parcel, uint8_t **ret_bytes, size_t *ret_len)
{
	struct pathprof_error error = {""};

	if (pathprof_parcel_write(parcel, ret_bytes, ret_len, &error) < 0)
		fail("a parcel", error.text);
}

/* Packs an early parcel of a slot that is not over: it has one window fewer, and smaller counts. */
static void pack_early(struct pathprof_parcel *parcel, struct parcel *to)
{
	struct pathprof_parcel_part *part = &parcel->parts[0];
	struct pathprof_parcel_window later = part->windows[part->window_cnt - 1];

	pack(parcel, &to->early, &to->early_len);
	later.id++;
	later.totals = (struct pathprof_totals){.bursts = 0};
	if (pathprof_parcel_add_window(part, &later) < 0)
		fail("a window", "out of memory");
}

static void read_template(const char *path, struct pathprof_parcel *ret_parcel)
{
	static uint8_t bytes[PATHPROF_PARCEL_PACKED_MAX];
	struct pathprof_error error = {""};
	FILE *file = fopen(path, "r");
	size_t len;

	if (!file)
		fail(path, strerror(errno));
	len = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	if (pathprof_parcel_read(ret_parcel, bytes, len, &error) < 0)
		fail(path, error.text);
	ret_parcel->version = pathprof_parcel_version_to_send(ret_parcel, ret_parcel->version);
}

static int64_t slot_s_of(uint64_t slot)
{
	return (int64_t)(load.end_s - (load.slots - slot) * PATHPROF_PARCEL_SLOT_S);
}

static void store_of(uint64_t host, uint8_t store[PATHPROF_PARCEL_STORE_BYTES])
{
	uint64_t id[2] = {chance(host, 0, STORE), chance(host, 1, STORE)};

	memcpy(store, id, sizeof(id));
}

static void make_parcel(uint64_t host, uint64_t slot, struct parcel *to)
{
	struct pathprof_parcel parcel = {.slot_s = 0};
	uint64_t which = chance(host, slot, TEMPLATE) % load.template_cnt;
	int64_t move_ns;

	read_template(load.templates[which], &parcel);
	move_ns = (slot_s_of(slot) - parcel.slot_s) * 1000000000;
	parcel.slot_s = slot_s_of(slot);
	parcel.host.sent_ns = pp_realtime_ns();
	store_of(host, parcel.store);
	for (uint32_t i = 0; i < parcel.part_cnt; i++)
		move_windows(&parcel.parts[i], move_ns);
	if (happens(load.early, host, slot, EARLY))
		pack_early(&parcel, to);
	for (uint32_t i = 0; i < parcel.part_cnt; i++)
		multiply_counts(&parcel.parts[i].profile, host, slot, to);
	to->windows = pathprof_parcel_window_cnt(&parcel);
	if (slot >= load.first)
		pack(&parcel, &to->bytes, &to->len);
	pathprof_parcel_release(&parcel);
}

static struct parcel *parcel_of(uint64_t host, uint64_t slot)
{
	return &load.parcels[host * load.slots + slot];
}

static void make_parcels(void)
{
	for (uint64_t host = 0; host < load.hosts; host++)
		for (uint64_t slot = 0; slot < load.slots; slot++)
			make_parcel(host, slot, parcel_of(host, slot));
}

/* ---------------------------------------------------------------- a request, and how it may end */

enum trick { HONEST, LOSE_ANSWER, CUT_BODY };

struct body {
	const uint8_t *bytes;
	size_t len, at;
	enum trick trick;
	char answer[4096];
	size_t answer_len;
};

static size_t give_body(char *to, size_t size, size_t cnt, void *context)
{
	struct body *body = context;
	size_t end = body->trick == CUT_BODY ? body->len / 2 : body->len;
	size_t len = end - body->at < size * cnt ? end - body->at : size * cnt;

	if (!len && body->trick == CUT_BODY)
		return CURL_READFUNC_ABORT;
	memcpy(to, body->bytes + body->at, len);
	body->at += len;
	return len;
}

/* The first byte of an answer says that the hub is done with the parcel. */
static size_t take_header(char *line, size_t size, size_t cnt, void *context)
{
	const struct body *body = context;

	return body->trick == LOSE_ANSWER && body->at == body->len ? 0 : size * cnt;
}

static size_t take_answer(char *part, size_t size, size_t cnt, void *context)
{
	struct body *body = context;
	size_t room = sizeof(body->answer) - 1 - body->answer_len;
	size_t len = size * cnt < room ? size * cnt : room;

	memcpy(body->answer + body->answer_len, part, len);
	body->answer_len += len;
	body->answer[body->answer_len] = 0;
	return size * cnt;
}

static CURL *open_host(uint64_t host)
{
	char path[512], url[512];
	CURL *curl = curl_easy_init();

	if (!curl)
		fail("a connection", "out of memory");
	snprintf(url, sizeof(url), "%s/v1/parcels", load.hub);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	snprintf(path, sizeof(path), "%s/ca.pem", load.certs);
	curl_easy_setopt(curl, CURLOPT_CAINFO, path);
	curl_easy_setopt(curl, CURLOPT_CAPATH, NULL); /* GnuTLS would read all of the system's */
	snprintf(path, sizeof(path), "%s/host%" PRIu64 ".pem", load.certs, host + 1);
	curl_easy_setopt(curl, CURLOPT_SSLCERT, path);
	snprintf(path, sizeof(path), "%s/host%" PRIu64 "-key.pem", load.certs, host + 1);
	curl_easy_setopt(curl, CURLOPT_SSLKEY, path);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, 60L);
	curl_easy_setopt(curl, CURLOPT_POST, 1L);
	curl_easy_setopt(curl, CURLOPT_READFUNCTION, give_body);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
	return curl;
}

/* The status of HTTP, 0: no answer. */
static long ask(CURL *curl, struct body *body)
{
	long status = 0;

	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
	curl_easy_setopt(curl, CURLOPT_READDATA, body);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, body);
	if (curl_easy_perform(curl) != CURLE_OK)
		return 0;
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

static void play(CURL *curl, const struct parcel *parcel, enum trick trick)
{
	struct body body = {.bytes = parcel->bytes, .len = parcel->len, .trick = trick};

	(void)ask(curl, &body);
}

/* Until the hub has it. False: it was refused, or patience ended. */
static bool deliver(CURL *curl, const uint8_t *bytes, size_t len, double *ret_answer_s)
{
	uint64_t first_ns = pp_monotonic_ns();

	for (;;) {
		struct body body = {.bytes = bytes, .len = len};
		uint64_t begin_ns = pp_monotonic_ns(), end_ns;
		long status = ask(curl, &body);

		end_ns = pp_monotonic_ns();
		*ret_answer_s = (double)(end_ns - begin_ns) / 1e9;
		if (status == 200) {
			load.known += strstr(body.answer, "known") != NULL;
			return true;
		}
		if (status && status != 503) {
			fprintf(stderr, "fleet_load: status %ld: %s\n", status, body.answer);
			return false;
		}
		if (end_ns - first_ns > load.patience_s * PP_NSEC_PER_SEC)
			return false;
		load.tried_again++;
		usleep(PAUSE_US);
	}
}

/* ---------------------------------------------------------------- a host after the other */

static void send_parcel(CURL *curl, uint64_t host, uint64_t slot)
{
	struct parcel *parcel = parcel_of(host, slot);
	double ignored_s;

	if (parcel->early)
		(void)deliver(curl, parcel->early, parcel->early_len, &ignored_s);
	if (happens(load.cut, host, slot, CUT)) {
		play(curl, parcel, CUT_BODY);
		load.cut_off++;
	}
	if (happens(load.lose, host, slot, LOSE)) {
		play(curl, parcel, LOSE_ANSWER);
		load.lost++;
	}
	if (!deliver(curl, parcel->bytes, parcel->len, &parcel->answer_s)) {
		load.failed++;
		load.gave_up = true;
		return;
	}
	load.taken++;
	if (happens(load.again, host, slot, AGAIN))
		(void)deliver(curl, parcel->bytes, parcel->len, &ignored_s);
}

static void *send_hosts(void *context)
{
	uint64_t host;

	while ((host = load.next_host++) < load.hosts && !load.gave_up) {
		CURL *curl = open_host(host);

		/* the newest first, as a host does that comes back */
		send_parcel(curl, host, load.slots - 1);
		for (uint64_t slot = load.first; slot + 1 < load.slots && !load.gave_up; slot++)
			send_parcel(curl, host, slot);
		curl_easy_cleanup(curl);
	}
	return context;
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void say_speed(uint64_t begin_ns)
{
	double seconds = (double)(pp_monotonic_ns() - begin_ns) / 1e9;
	uint64_t cnt = 0, bytes = 0;
	double *answers = calloc(load.hosts * load.slots + 1, sizeof(*answers));

	if (!answers)
		fail("answers", "out of memory");
	for (uint64_t i = 0; i < load.hosts * load.slots; i++)
		if (load.parcels[i].bytes) {
			answers[cnt++] = load.parcels[i].answer_s;
			bytes += load.parcels[i].len;
		}
	qsort(answers, cnt, sizeof(*answers), compare_double);
	fprintf(stderr,
		"parcels %llu taken\nknown %llu\nlost %llu answers\ncut %llu bodies\n"
		"retries %llu\nfailed %llu\nparcel %.0f bytes\nrate %.0f parcels/s\n"
		"median %.1f ms\np99 %.1f ms\n",
		load.taken, load.known, load.lost, load.cut_off, load.tried_again, load.failed,
		(double)bytes / (double)(cnt ? cnt : 1), (double)load.taken / seconds,
		answers[cnt / 2] * 1e3, answers[cnt * 99 / 100] * 1e3);
	free(answers);
}

static void say_totals(void)
{
	for (uint64_t host = 0; host < load.hosts; host++)
		for (uint64_t slot = 0; slot < load.slots; slot++) {
			const struct parcel *parcel = parcel_of(host, slot);
			uint8_t store[PATHPROF_PARCEL_STORE_BYTES];

			store_of(host, store);
			for (size_t i = 0; i < sizeof(store); i++)
				printf("%02x", store[i]);
			printf(" %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			       slot_s_of(slot), parcel->windows, parcel->paths, parcel->edges,
			       parcel->clocks);
		}
}

static void send_all(void)
{
	pthread_t threads[256];
	uint64_t cnt = load.connections < 256 ? load.connections : 256;

	for (uint64_t i = 0; i < cnt; i++)
		if (pthread_create(&threads[i], NULL, send_hosts, NULL))
			fail("a thread", "cannot be started");
	for (uint64_t i = 0; i < cnt; i++)
		pthread_join(threads[i], NULL);
}

/* ---------------------------------------------------------------- options */

static int set_number(void *context, const struct pp_option *option, const char *value)
{
	char *end;

	*(uint64_t *)((char *)context + option->number) = strtoull(value, &end, 10);
	return *end || !*value ? -EINVAL : 0;
}

#define TEXT(name)           #name, 0, "TEXT", "see above", pp_option_text, offsetof(struct load, name)
#define NUMBER(name, member) name, 0, "N", "see above", set_number, offsetof(struct load, member)
static const struct pp_option options[] = {
	{TEXT(hub)},
	{TEXT(certs)},
	{NUMBER("hosts", hosts)},
	{NUMBER("slots", slots)},
	{NUMBER("end", end_s)},
	{NUMBER("first", first)},
	{NUMBER("seed", seed)},
	{NUMBER("connections", connections)},
	{NUMBER("lose", lose)},
	{NUMBER("cut", cut)},
	{NUMBER("again", again)},
	{NUMBER("early", early)},
	{NUMBER("patience", patience_s)},
	{0},
};

int main(int argc, char **argv)
{
	char why[256] = "";
	uint64_t begin_ns;
	int first;

	if (pp_options_parse(options, argc, argv, false, &load, &first, why, sizeof(why)) < 0)
		fail("options", why);
	load.templates = argv + first;
	load.template_cnt = (size_t)(argc - first);
	if (!load.hub || !load.certs || !load.hosts || !load.slots || !load.template_cnt ||
	    load.first >= load.slots || load.hosts > 100000 || load.slots > 10000)
		fail("options", "hub, certs, hosts, slots and parcels are needed");
	curl_global_init(CURL_GLOBAL_DEFAULT);
	if (!load.end_s)
		load.end_s = (uint64_t)pathprof_parcel_slot(pp_realtime_ns());
	load.parcels = calloc(load.hosts * load.slots, sizeof(*load.parcels));
	if (!load.parcels)
		fail("parcels", "out of memory");
	make_parcels();
	begin_ns = pp_monotonic_ns();
	send_all();
	say_speed(begin_ns);
	say_totals();
	return load.failed ? 1 : 0;
}
