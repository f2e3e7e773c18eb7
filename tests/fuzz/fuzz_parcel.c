// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A parcel of anybody. The first byte says whether the rest is the whole file or the message in it:
 * damage of a file would mostly end at the checksum.
 *
 * Beyond "no crash": a failure says why; whatever was read keeps the limits, can be written, and
 * that reads as the same windows, paths, edges and places.
 */
#include <stdlib.h>

#include "../../libprofile/src/parcel/pp_parcel.h"
#include "fuzz.h"
#include "pathprof/parcel.h"

static void compare(const struct pathprof_parcel *a, const struct pathprof_parcel *b)
{
	uint64_t names[2] = {0, 0};

	REQUIRE(a->slot_s == b->slot_s && a->part_cnt == b->part_cnt);
	for (uint32_t i = 0; i < a->name_cnt; i++)
		names[0] += a->names[i].function_cnt + a->names[i].portable_cnt;
	for (uint32_t i = 0; i < b->name_cnt; i++)
		names[1] += b->names[i].function_cnt + b->names[i].portable_cnt;
	REQUIRE(names[0] == names[1] && names[0] <= 2 * PATHPROF_PARCEL_FUNCTIONS_MAX);
	for (uint32_t i = 0; i < a->part_cnt; i++) {
		const struct pathprof_profile *p = &a->parts[i].profile, *q = &b->parts[i].profile;

		REQUIRE(a->parts[i].window_cnt == b->parts[i].window_cnt);
		REQUIRE(p->binary_cnt == q->binary_cnt && p->process_cnt == q->process_cnt);
		REQUIRE(p->path_cnt == q->path_cnt && p->edge_cnt == q->edge_cnt);
		REQUIRE(p->clock_cnt == q->clock_cnt);
		REQUIRE(p->totals.clock_samples == q->totals.clock_samples);
		REQUIRE(p->totals.bursts == q->totals.bursts);
	}
}

static void write_again(const struct pathprof_parcel *parcel)
{
	struct pathprof_error error = {""};
	struct pathprof_parcel again;
	uint8_t *bytes;
	size_t len;

	REQUIRE(pathprof_parcel_write(parcel, &bytes, &len, &error) == 0);
	REQUIRE(pathprof_parcel_read(&again, bytes, len, &error) == 0);
	compare(parcel, &again);
	pathprof_parcel_release(&again);
	free(bytes);
}

static void read_file(const uint8_t *bytes, size_t len)
{
	struct pathprof_error error = {""};
	struct pathprof_parcel parcel;

	if (pathprof_parcel_read(&parcel, bytes, len, &error)) {
		REQUIRE(error.text[0]);
		return;
	}
	REQUIRE(pathprof_parcel_window_cnt(&parcel) <= PATHPROF_PARCEL_WINDOWS_MAX);
	write_again(&parcel);
	pathprof_parcel_release(&parcel);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pathprof_error error;
	uint8_t *bytes;
	size_t len;

	if (!size)
		return 0;
	if (data[0] & 1) {
		read_file(data + 1, size - 1);
		return 0;
	}
	REQUIRE(pp_parcel_pack(data + 1, size - 1, 1, &bytes, &len, &error) == 0);
	read_file(bytes, len);
	free(bytes);
	return 0;
}
