// SPDX-License-Identifier: GPL-2.0-or-later
/* Readers' questions: see question.h. */
#include "question.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "pathprof/parcel_store.h"

#define SECONDS_MAX (INT64_MAX / (int64_t)PP_NSEC_PER_SEC)

static unsigned int refuse(unsigned int status, const char *why, json_t **ret_object)
{
	*ret_object = json_pack("{s:o}", "error", pp_utf8_json(why));
	return status;
}

static unsigned int refuse_code(int code, const char *why, json_t **ret_object)
{
	if (code == -ENODATA)
		return refuse(404, why, ret_object);
	if (code == -E2BIG)
		return refuse(413, "that is more than one answer holds: ask of a shorter span",
			      ret_object);
	return refuse(503, why, ret_object);
}

/* ---------------------------------------------------------------- which hosts */

static int list_host(void *context, const struct pathprof_host_row *row)
{
	char id[HUB_STORE_TEXT];

	return json_array_append_new(
		context,
		json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "store",
			  hub_store_text(row->store, id), "host", row->host.name, "labels",
			  row->host.labels, "parcels", (json_int_t)row->parcel_cnt, "windows",
			  (json_int_t)row->window_cnt, "first_slot", (json_int_t)row->first_slot_s,
			  "last_slot", (json_int_t)row->last_slot_s));
}

unsigned int hub_question_hosts(struct pathprof_store *store, const char *host, const char *labels,
				json_t **ret_object)
{
	char wanted[PATHPROF_LABELS_BYTES] = "";
	const struct pathprof_filter filter = {.host = host, .labels = wanted};
	struct pathprof_error error = {""};
	json_t *rows;
	int r;

	if (labels && pathprof_labels_add(wanted, labels) < 0)
		return refuse(400,
			      "labels= are not KEY=VALUE with blanks between them; a + is a blank "
			      "here, write %2B",
			      ret_object);
	rows = json_array();
	r = pathprof_store_hosts(store, &filter, list_host, rows, &error);
	if (r < 0) {
		json_decref(rows);
		return refuse_code(r, error.text, ret_object);
	}
	*ret_object = json_pack("{s:o}", "stores", rows);
	return 200;
}

/* ---------------------------------------------------------------- what one ran */

struct wanted {
	uint8_t id[PATHPROF_PARCEL_STORE_BYTES];
	struct pathprof_host_row row;
	bool found;
};

static int find_host(void *context, const struct pathprof_host_row *row)
{
	struct wanted *wanted = context;

	if (memcmp(wanted->id, row->store, sizeof(wanted->id)) != 0)
		return 0;
	wanted->row = *row;
	wanted->found = true;
	return 1;
}

/* NULL stands for 0. */
static bool parse_seconds(const char *text, int64_t *ret_ns)
{
	long long seconds;
	char *end;

	*ret_ns = 0;
	if (!text)
		return true;
	errno = 0;
	seconds = strtoll(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || seconds > SECONDS_MAX)
		return false;
	*ret_ns = seconds * (int64_t)PP_NSEC_PER_SEC;
	return true;
}

static unsigned int pack(const struct pathprof_parcel *parcel, uint8_t **ret_bytes, size_t *ret_len,
			 json_t **ret_object)
{
	struct pathprof_error error = {""};
	int r = pathprof_parcel_write(parcel, ret_bytes, ret_len, &error);

	return r < 0 ? refuse_code(r, error.text, ret_object) : 200;
}

unsigned int hub_question_profile(struct pathprof_store *store, const struct hub_span *span,
				  uint8_t **ret_bytes, size_t *ret_len, json_t **ret_object)
{
	const struct pathprof_filter of_host = {.host = span->host};
	struct wanted wanted = {.found = false};
	struct pathprof_parcel parcel;
	struct pathprof_error error = {""};
	int64_t since_ns, until_ns;
	unsigned int status;
	int r;

	if (!span->store || !hub_store_parse(span->store, wanted.id))
		return refuse(400, "store= is not the id of a store: 32 digits of hex", ret_object);
	if (!parse_seconds(span->since, &since_ns) || !parse_seconds(span->until, &until_ns))
		return refuse(400, "since= and until= are seconds since 1970", ret_object);
	r = pathprof_store_hosts(store, &of_host, find_host, &wanted, &error);
	if (r < 0)
		return refuse_code(r, error.text, ret_object);
	if (!wanted.found)
		return refuse(404, "no host sent of this store", ret_object);
	r = pathprof_store_host_parcel(store, &wanted.row, since_ns, until_ns, &parcel, &error);
	if (r < 0)
		return refuse_code(r, error.text, ret_object);
	status = pack(&parcel, ret_bytes, ret_len, ret_object);
	pathprof_parcel_release(&parcel);
	return status;
}
