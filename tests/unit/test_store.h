/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small invented world for the tests of the store: some binaries and processes, and windows
 * whose content follows from a number alone.
 */
#ifndef TEST_STORE_H
#define TEST_STORE_H

#include <stdint.h>

#include "pathprof/store.h"

#define WORLD_BINARIES  6
#define WORLD_PROCESSES 8
#define WORLD_STEP_NS   1000000000ll

/* Take a bare file back to the schema of before, for world_sqlite(): before windows were weighed,
 */
#define WORLD_WITHOUT_WEIGHED                                                                      \
	"DROP TABLE segment_samples; DROP TABLE segmented_windows; DROP TABLE pieces; DROP TABLE " \
	"context_counts; DROP TABLE contexts; DROP TABLE range_counts; DROP TABLE "                \
	"ranged_windows;"                                                                          \
	"DROP TABLE segment_counts; DROP TABLE piece_counts; DROP TABLE window_notes;"             \
	"DROP TABLE parcel_windows; DROP TABLE parcels;"                                           \
	"ALTER TABLE path_counts DROP COLUMN weight_squares;"                                      \
	"ALTER TABLE windows DROP COLUMN weighed; ALTER TABLE edge_counts DROP COLUMN weight;"
/* and before clock samples. */
#define WORLD_WITHOUT_SHARES                                                                       \
	"DROP TABLE messages; DELETE FROM meta WHERE name = 'identity';" WORLD_WITHOUT_WEIGHED     \
	"DROP TABLE window_files; DROP TABLE clock_counts; ALTER TABLE path_counts DROP COLUMN "   \
	"insns;"                                                                                   \
	"ALTER TABLE windows DROP COLUMN horizon; ALTER TABLE windows DROP COLUMN clock_hz;"       \
	"ALTER TABLE windows DROP COLUMN clock_kernel; ALTER TABLE windows DROP COLUMN insns;"     \
	"ALTER TABLE windows DROP COLUMN pathless;"                                                \
	"ALTER TABLE windows DROP COLUMN clock_samples;"

struct pathprof_build_id world_binary_id(uint32_t binary);
/* One symbol of generated code: as pathprof_store_add_jit_symbols(). */
int world_add_symbol(struct pathprof_store *store, const struct pathprof_build_id *id,
		     uint64_t start, uint64_t len_bytes, const char *name,
		     struct pathprof_error *error);
const char *world_binary_name(uint32_t binary);
/* comm and container are constant strings. */
struct pathprof_process world_process(uint32_t process);
/* Window number k, path_cnt random additions; begins at begin_ns. The profile is cleared first. */
void world_window(struct pathprof_profile *profile, uint64_t k, int64_t begin_ns,
		  uint32_t path_cnt);
/* Random numbers for tests: a state each, below bound. */
uint32_t world_random(uint64_t *state, uint32_t bound);
/* DIR/name in a buffer of its own for each call (up to 8 alive). */
const char *world_file(const char *dir, const char *name);
/* Opens for writing, failing the test when it cannot. */
struct pathprof_store *world_open(const char *file, enum pathprof_store_mode mode);
/* Adds windows first..first+cnt-1. */
void world_fill(struct pathprof_store *store, uint64_t first, uint64_t cnt, uint32_t path_cnt);
uint64_t world_window_cnt(struct pathprof_store *store);
/* Statements on the bare file, and the number that a query has; the test fails when they cannot be
 * run. */
void world_sqlite(const char *file, const char *sql);
int64_t world_number(const char *file, const char *sql);

#endif
