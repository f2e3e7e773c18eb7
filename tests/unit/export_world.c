// SPDX-License-Identifier: GPL-2.0-or-later
/* See export_world.h. */
#include "export_world.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "elf_writer.h"
#include "test_code.h"
#include "two_functions.h"
#include "unit.h"

void export_world_begin_as(struct export_world *w, enum export_world_names names)
{
	static struct elf_writer writer;

	elf_writer_init(&writer);
	memcpy(writer.text, two_functions, sizeof(two_functions));
	if (names != EXPORT_WORLD_NAMELESS)
		elf_writer_symbol(&writer, "f", 0, 0x14, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC));
	else
		elf_writer_frame(&writer, 0, 0x14, -1, "", 0);
	if (names == EXPORT_WORLD_NAMED)
		elf_writer_symbol(&writer, "g", 0x20, 2, ELF64_ST_INFO(STB_LOCAL, STT_FUNC));
	else
		elf_writer_frame(&writer, 0x20, 2, -1, "", 0);
	*w = (struct export_world){.code = elf_writer_open(&writer)};
	CU_ASSERT_EQUAL_FATAL(pathprof_graph_build(&w->graph, w->code, NULL, NULL, &w->error), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_branch_profile_init(&w->profile, &w->graph->build_id), 0);
}

void export_world_begin(struct export_world *w)
{
	export_world_begin_as(w, EXPORT_WORLD_NAMED);
}

void export_world_end(struct export_world *w)
{
	pathprof_branch_profile_release(&w->profile);
	pathprof_graph_free(w->graph);
	pathprof_code_free(w->code);
}

void export_world_branch(struct export_world *w, uint64_t from, uint64_t to, uint64_t count,
			 uint64_t wrong)
{
	CU_ASSERT_EQUAL(pathprof_branch_profile_add_branch(
				&w->profile,
				from == PATHPROF_OUTSIDE ? from : EXPORT_WORLD_AT + from,
				to == PATHPROF_OUTSIDE ? to : EXPORT_WORLD_AT + to, count, wrong),
			0);
}

void export_world_range(struct export_world *w, uint64_t start, uint64_t last, bool after_call,
			double weight)
{
	CU_ASSERT_EQUAL(pathprof_branch_profile_add_range(&w->profile, EXPORT_WORLD_AT + start,
							  EXPORT_WORLD_AT + last, after_call,
							  weight),
			0);
}

void export_world_settle(struct export_world *w)
{
	CU_ASSERT_EQUAL_FATAL(pathprof_branch_profile_settle(&w->profile), 0);
}

/* f called from outside, three times round, g called once. */
void export_world_fill(struct export_world *w)
{
	export_world_begin(w);
	export_world_branch(w, PATHPROF_OUTSIDE, 0x00, 10, 1);
	export_world_branch(w, 0x0a, 0x02, 30, 3);
	export_world_branch(w, 0x04, 0x0d, 4, 4);
	export_world_branch(w, 0x0d, 0x20, 4, 0);
	export_world_branch(w, 0x21, 0x12, 4, 0);
	export_world_branch(w, 0x12, 0x0c, 4, 0);
	export_world_branch(w, 0x0c, PATHPROF_OUTSIDE, 10, 0);
	export_world_range(w, 0x00, 0x0a, false, 6);
	export_world_range(w, 0x00, 0x04, false, 4);
	export_world_range(w, 0x02, 0x0a, false, 24);
	export_world_range(w, 0x02, 0x0c, false, 6);
	export_world_range(w, 0x20, 0x21, false, 4);
	export_world_range(w, 0x12, 0x12, true, 4);
	export_world_range(w, 0x0c, 0x0c, false, 1);
	CU_ASSERT_EQUAL(pathprof_branch_profile_add_trace(&w->profile, EXPORT_WORLD_AT + 0x04,
							  EXPORT_WORLD_AT + 0x0d,
							  EXPORT_WORLD_AT + 0x0d, 4),
			0);
	CU_ASSERT_EQUAL(pathprof_branch_profile_add_trace(&w->profile, EXPORT_WORLD_AT + 0x12,
							  EXPORT_WORLD_AT + 0x0c,
							  EXPORT_WORLD_AT + 0x0c, 3),
			0);
	export_world_settle(w);
}

static uint8_t *unzip(const char *bytes, size_t size, size_t *ret_size)
{
	size_t room = 1 << 20;
	uint8_t *out = malloc(room);
	z_stream z = {.next_in = (uint8_t *)bytes,
		      .avail_in = (uInt)size,
		      .next_out = out,
		      .avail_out = (uInt)room};

	CU_ASSERT_EQUAL(inflateInit2(&z, MAX_WBITS + 16), Z_OK);
	CU_ASSERT_EQUAL(inflate(&z, Z_FINISH), Z_STREAM_END);
	*ret_size = z.total_out;
	inflateEnd(&z);
	return out;
}

PpPprof__Profile *export_world_pprof(char *text, size_t size)
{
	size_t packed_size;
	uint8_t *packed = unzip(text, size, &packed_size);
	PpPprof__Profile *p = pp_pprof__profile__unpack(NULL, packed_size, packed);

	free(packed);
	free(text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	if (!p)
		abort(); /* for those who read without knowing CUnit */
	return p;
}
