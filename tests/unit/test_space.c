// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Address spaces and process images against a naive oracle: for each process and page, every
 * change there ever was, searched from the start.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../daemon/track/track_state.h"
#include "unit.h"

#define PAGE        4096ull
#define PAGE_CNT    48
#define PID_CNT     6
#define FILE_CNT    5
#define EPOCH_CNT   2000
#define EPOCH_OPS   600
#define CHANGE_MAX  200
#define GENERATIONS 160

/* ---------------------------------------------------------------- oracle */

struct change {
	uint64_t time_ns;
	int file;        /* -1: nothing, 0: generated, else a file */
	uint64_t offset; /* of the page's first byte */
};

struct oracle_page {
	struct change changes[CHANGE_MAX];
	int cnt;
};

struct oracle {
	int pid;
	uint64_t begin_ns;
	bool is_forgotten;
	struct oracle_page pages[PAGE_CNT];
};

struct world {
	struct pathprof_mapped_files files;
	struct pp_images images;
	struct pathprof_mapped_file *file[FILE_CNT + 1]; /* [0] is NULL: generated code */
	struct oracle *oracles;                          /* GENERATIONS, in the order they began */
	int oracle_cnt;
	uint64_t now_ns, random;
};

static uint32_t below(struct world *world, uint32_t limit)
{
	world->random = world->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(world->random >> 33) % limit;
}

static const struct change *oracle_find(const struct oracle_page *page, uint64_t time_ns)
{
	const struct change *found = NULL;
	int i;

	for (i = 0; i < page->cnt && (!time_ns || page->changes[i].time_ns <= time_ns); i++)
		found = &page->changes[i];
	for (; (!found || found->file < 0) && i < page->cnt; i++)
		found = &page->changes[i];
	return found && found->file >= 0 ? found : NULL;
}

static struct oracle *oracle_at(struct world *world, int pid, uint64_t time_ns)
{
	for (int i = world->oracle_cnt - 1; i >= 0; i--) {
		struct oracle *oracle = &world->oracles[i];

		if (oracle->pid == pid && (!time_ns || oracle->begin_ns <= time_ns))
			return oracle->is_forgotten ? NULL : oracle;
	}
	return NULL;
}

static void oracle_set(struct world *world, int pid, uint32_t page, int file, uint64_t offset)
{
	struct oracle_page *at = &oracle_at(world, pid, 0)->pages[page];

	if (at->cnt == CHANGE_MAX)
		abort();
	at->changes[at->cnt++] = (struct change){world->now_ns, file, offset};
}

/* ---------------------------------------------------------------- comparing */

/* Whether the tracker's answer and the oracle's agree. */
static bool agrees(struct world *world, int pid, uint64_t time_ns, uint64_t address)
{
	struct oracle *oracle = oracle_at(world, pid, time_ns);
	const struct pp_image *image = pp_images_at(&world->images, pid, time_ns);
	const struct pathprof_mapped_piece *piece;
	const struct change *change;

	if (!oracle || !image)
		return !oracle && !image;
	change = oracle_find(&oracle->pages[address / PAGE], time_ns);
	piece = pathprof_space_find(image->space, time_ns, address);
	if (!change || !piece)
		return !change && !piece;
	return piece->file == world->file[change->file] &&
	       piece->offset + (address - piece->start) == change->offset + address % PAGE;
}

static uint64_t random_time(struct world *world)
{
	if (below(world, 4) == 0)
		return 0;
	return world->now_ns - below(world, (uint32_t)world->now_ns);
}

static uint64_t random_address(struct world *world)
{
	return below(world, PAGE_CNT) * PAGE + below(world, PAGE);
}

/* ---------------------------------------------------------------- operations */

static void op_map(struct world *world, int pid)
{
	struct pp_image *image = pp_images_newest(&world->images, pid);
	uint32_t first = below(world, PAGE_CNT), cnt = 1 + below(world, 9);
	int file = (int)below(world, FILE_CNT + 1);
	struct pathprof_mapped_piece piece;

	if (first + cnt > PAGE_CNT)
		cnt = PAGE_CNT - first;
	piece = (struct pathprof_mapped_piece){first * PAGE, (first + cnt) * PAGE,
					       below(world, 4) * PAGE, world->file[file]};
	CU_ASSERT_EQUAL_FATAL(pathprof_space_own(&image->space), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_space_map(image->space, &piece, world->now_ns), 0);
	for (uint32_t i = first; i < first + cnt; i++)
		oracle_set(world, pid, i, file,
			   file ? piece.offset + (i - first) * PAGE : i * PAGE);
}

static void op_unmap(struct world *world, int pid)
{
	struct pp_image *image = pp_images_newest(&world->images, pid);
	uint32_t first = below(world, PAGE_CNT), cnt = 1 + below(world, 9);

	if (first + cnt > PAGE_CNT)
		cnt = PAGE_CNT - first;
	CU_ASSERT_EQUAL_FATAL(pathprof_space_own(&image->space), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_space_unmap(image->space, first * PAGE, (first + cnt) * PAGE,
						   world->now_ns),
			      0);
	for (uint32_t i = first; i < first + cnt; i++)
		oracle_set(world, pid, i, -1, 0);
}

/* A scan that finds a file on each of some runs of pages and nothing between. */
static void op_replace(struct world *world, int pid)
{
	struct pp_image *image = pp_images_newest(&world->images, pid);
	struct pathprof_mapped_piece pieces[PAGE_CNT];
	uint32_t at = 0, page = below(world, 8);
	size_t cnt = 0;

	while (page < PAGE_CNT) {
		int file = 1 + (int)below(world, FILE_CNT);
		uint32_t len = 1 + below(world, 6);

		len = page + len > PAGE_CNT ? PAGE_CNT - page : len;
		for (; at < page; at++)
			oracle_set(world, pid, at, -1, 0);
		pieces[cnt++] = (struct pathprof_mapped_piece){page * PAGE, (page + len) * PAGE,
							       page * PAGE, world->file[file]};
		for (; at < page + len; at++)
			oracle_set(world, pid, at, file, at * PAGE);
		page = at + below(world, 8);
	}
	for (; at < PAGE_CNT; at++)
		oracle_set(world, pid, at, -1, 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_space_own(&image->space), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_space_replace(image->space, pieces, cnt, world->now_ns), 0);
}

static struct oracle *new_oracle(struct world *world, int pid)
{
	struct oracle *oracle = &world->oracles[world->oracle_cnt++];

	oracle->pid = pid;
	oracle->begin_ns = world->now_ns;
	oracle->is_forgotten = false;
	for (int i = 0; i < PAGE_CNT; i++)
		oracle->pages[i].cnt = 0;
	return oracle;
}

static void op_begin(struct world *world, int pid, int parent)
{
	const struct oracle *from = parent ? oracle_at(world, parent, 0) : NULL;
	struct pp_image *image;
	struct pp_image *parent_image = parent ? pp_images_newest(&world->images, parent) : NULL;
	struct oracle *oracle;

	if (world->oracle_cnt == GENERATIONS)
		return;
	oracle = new_oracle(world, pid);
	if (from)
		memcpy(oracle->pages, from->pages, sizeof(oracle->pages));
	CU_ASSERT_EQUAL_FATAL(pp_images_add(&world->images, pid, world->now_ns,
					    parent_image ? parent_image->space : NULL, &image),
			      0);
}

static void op_forget(struct world *world)
{
	struct pp_image *image = pp_images_ended_before(&world->images, UINT64_MAX);

	if (!image)
		return;
	for (int i = 0; i < world->oracle_cnt; i++)
		if (world->oracles[i].pid == image->pid &&
		    world->oracles[i].begin_ns == image->begin_ns)
			world->oracles[i].is_forgotten = true;
	pp_images_remove(&world->images, image);
}

static bool step(struct world *world)
{
	int pid = 1 + (int)below(world, PID_CNT);
	uint32_t what = below(world, 100);

	world->now_ns++;
	if (what < 18)
		op_map(world, pid);
	else if (what < 24)
		op_unmap(world, pid);
	else if (what < 25)
		op_replace(world, pid);
	else if (what < 28)
		op_begin(world, pid, 1 + (int)below(world, PID_CNT));
	else if (what < 30)
		op_begin(world, pid, 0);
	else if (what < 31)
		op_forget(world);
	else
		return agrees(world, pid, random_time(world), random_address(world));
	return true;
}

/* ---------------------------------------------------------------- tests */

static void world_begin(struct world *world, uint64_t seed, struct oracle *oracles)
{
	*world = (struct world){.oracles = oracles, .random = seed};
	CU_ASSERT_EQUAL_FATAL(pathprof_mapped_files_init(&world->files), 0);
	CU_ASSERT_EQUAL_FATAL(pp_images_init(&world->images), 0);
	for (int i = 1; i <= FILE_CNT; i++) {
		struct pathprof_build_id id = {.bytes = {(uint8_t)i}, .len_bytes = 20, .kind = 1};

		CU_ASSERT_EQUAL_FATAL(pathprof_mapped_files_get(&world->files, &id, NULL, "file",
								&world->file[i]),
				      0);
	}
	for (int pid = 1; pid <= PID_CNT; pid++) {
		world->now_ns++;
		op_begin(world, pid, 0);
	}
}

/* All references but the test's own must be gone with the images. */
static void world_end(struct world *world)
{
	pp_images_release(&world->images);
	for (int i = 1; i <= FILE_CNT; i++) {
		CU_ASSERT_EQUAL(world->file[i]->refs, 1);
		pathprof_mapped_file_put(world->file[i]);
	}
	pathprof_mapped_files_sweep(&world->files);
	CU_ASSERT_EQUAL(world->files.file_cnt, 0);
	pathprof_mapped_files_release(&world->files);
}

static void test_random_operations(void)
{
	struct oracle *oracles = calloc(GENERATIONS, sizeof(*oracles));
	unsigned long wrong = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(oracles);
	for (uint64_t epoch = 0; epoch < EPOCH_CNT; epoch++) {
		struct world world;

		world_begin(&world, epoch * 7919 + 1, oracles);
		for (int i = 0; i < EPOCH_OPS; i++)
			wrong += !step(&world);
		world_end(&world);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	free(oracles);
}

static unsigned long count_wrong(struct world *world)
{
	unsigned long wrong = 0;

	for (int pid = 1; pid <= PID_CNT; pid++)
		for (uint64_t page = 0; page < PAGE_CNT; page++)
			wrong += !agrees(world, pid, 0, page * PAGE);
	return wrong;
}

/* The fault: one piece one page off. */
static void test_planted_fault(void)
{
	struct oracle *oracles = calloc(GENERATIONS, sizeof(*oracles));
	struct world world;
	struct pp_image *image;

	CU_ASSERT_PTR_NOT_NULL_FATAL(oracles);
	world_begin(&world, 42, oracles);
	for (int i = 0; i < EPOCH_OPS; i++)
		(void)step(&world);
	CU_ASSERT_EQUAL(count_wrong(&world), 0);
	world.now_ns++;
	op_map(&world, 1);
	image = pp_images_newest(&world.images, 1);
	image->space->pieces[image->space->piece_cnt - 1].offset += PAGE;
	CU_ASSERT(count_wrong(&world) > 0);
	world_end(&world);
	free(oracles);
}

static void test_fork_shares_until_changed(void)
{
	struct pathprof_space *parent, *child;
	struct pathprof_mapped_piece piece = {.start = 0, .end = PAGE};

	CU_ASSERT_EQUAL_FATAL(pathprof_space_new(&parent), 0);
	child = pathprof_space_ref(parent);
	CU_ASSERT_EQUAL_FATAL(pathprof_space_own(&child), 0);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(child, parent);
	CU_ASSERT_EQUAL(pathprof_space_map(child, &piece, 1), 0);
	CU_ASSERT_PTR_NULL(pathprof_space_find(parent, 0, 0));
	CU_ASSERT_PTR_NOT_NULL(pathprof_space_find(child, 0, 0));
	pathprof_space_put(parent);
	pathprof_space_put(child);
}

static void map_file(struct pathprof_space *space, struct pathprof_mapped_file *file,
		     uint64_t time_ns)
{
	struct pathprof_mapped_piece piece = {.start = 0, .end = PAGE, .file = file};

	CU_ASSERT_EQUAL_FATAL(pathprof_space_map(space, &piece, time_ns), 0);
}

static void test_past_is_bounded(void)
{
	struct pathprof_mapped_files files;
	struct pathprof_mapped_file *a, *b;
	struct pathprof_space *space;

	CU_ASSERT_EQUAL_FATAL(pathprof_mapped_files_init(&files), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_mapped_files_get(&files, NULL, NULL, "a", &a), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_mapped_files_get(&files, NULL, NULL, "b", &b), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_space_new(&space), 0);
	for (uint64_t time_ns = 1; time_ns <= 4ull * PATHPROF_SPACE_PAST_MAX; time_ns++)
		map_file(space, time_ns % 2 ? a : b, time_ns);
	CU_ASSERT_EQUAL(space->past_cnt, PATHPROF_SPACE_PAST_MAX);
	/* The latest are those kept; what was overwritten long ago is dropped with the next. */
	CU_ASSERT_PTR_EQUAL(pathprof_space_find(space, 4ull * PATHPROF_SPACE_PAST_MAX - 1, 0)->file,
			    a);
	map_file(space, a, 4ull * PATHPROF_SPACE_PAST_MAX + 2 * PATHPROF_SPACE_GRACE_NS);
	CU_ASSERT_EQUAL(space->past_cnt, 1);
	pathprof_space_put(space);
	pathprof_mapped_files_release(&files);
}

static void test_pieces_are_bounded_and_checked(void)
{
	struct pathprof_space *space;
	struct pathprof_mapped_piece piece = {.start = PAGE, .end = PAGE};
	int r = 0;

	CU_ASSERT_EQUAL_FATAL(pathprof_space_new(&space), 0);
	CU_ASSERT_EQUAL(pathprof_space_map(space, &piece, 1), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_space_unmap(space, 2, 1, 1), -EINVAL);
	for (uint64_t i = 0; !r && i < 2ull * PATHPROF_SPACE_PIECES_MAX; i++) {
		piece.start = 2 * i * PAGE;
		piece.end = piece.start + PAGE;
		r = pathprof_space_map(space, &piece, 1);
	}
	CU_ASSERT_EQUAL(r, -ENOSPC);
	CU_ASSERT(space->piece_cnt <= PATHPROF_SPACE_PIECES_MAX);
	CU_ASSERT_EQUAL(space->piece_cnt, PATHPROF_SPACE_PIECES_MAX - 1);
	pathprof_space_put(space);
}

static void test_growing_code_stays_one_piece(void)
{
	struct pathprof_space *space;

	CU_ASSERT_EQUAL_FATAL(pathprof_space_new(&space), 0);
	for (uint64_t i = 1; i <= 1000; i++) {
		struct pathprof_mapped_piece piece = {.start = PAGE, .end = (1 + i) * PAGE};

		CU_ASSERT_EQUAL_FATAL(pathprof_space_map(space, &piece, i), 0);
	}
	CU_ASSERT_EQUAL(space->piece_cnt, 1);
	CU_ASSERT_EQUAL(space->past_cnt, 0);
	pathprof_space_put(space);
}

/* A mapping in a free range does not invalidate what was read before, so it counts as no change. */
static void test_changes_are_counted(void)
{
	struct pathprof_mapped_piece piece = {.start = PAGE, .end = 3 * PAGE};
	struct pathprof_space *space, *child;
	struct pathprof_mapped_files files;
	struct pathprof_mapped_file *file;

	CU_ASSERT_EQUAL_FATAL(pathprof_mapped_files_init(&files), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_mapped_files_get(&files, NULL, NULL, "/x", &file), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_space_new(&space), 0);
	CU_ASSERT_EQUAL(pathprof_space_map(space, &piece, 1), 0);
	CU_ASSERT_EQUAL(pathprof_space_map(space, &piece, 2), 0);
	CU_ASSERT_EQUAL(space->change_cnt, 0);
	map_file(space, file, 3);
	CU_ASSERT_EQUAL(space->change_cnt, 0);
	piece.file = file;
	CU_ASSERT_EQUAL(pathprof_space_map(space, &piece, 4), 0);
	CU_ASSERT_EQUAL(space->change_cnt, 1);
	child = pathprof_space_ref(space);
	CU_ASSERT_EQUAL_FATAL(pathprof_space_own(&child), 0);
	CU_ASSERT_EQUAL(child->change_cnt, 1);
	CU_ASSERT_EQUAL(pathprof_space_unmap(child, 2 * PAGE, 4 * PAGE, 5), 0);
	CU_ASSERT_EQUAL(child->change_cnt, 2);
	CU_ASSERT_EQUAL(space->change_cnt, 1);
	pathprof_space_put(child);
	pathprof_space_put(space);
	pathprof_mapped_file_put(file);
	pathprof_mapped_files_release(&files);
}

static void test_live_images_are_bounded(void)
{
	struct pp_images images;
	struct pp_image *image;
	int r = 0;

	CU_ASSERT_EQUAL_FATAL(pp_images_init(&images), 0);
	for (int pid = 1; !r && pid <= PP_IMAGES_MAX + 1; pid++)
		r = pp_images_add(&images, pid, 1, NULL, &image);
	CU_ASSERT_EQUAL(r, -ENOSPC);
	CU_ASSERT_EQUAL(images.image_cnt, PP_IMAGES_MAX);
	pp_images_release(&images);
}

static uint64_t cpu_ns(void)
{
	struct timespec cpu;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	return (uint64_t)cpu.tv_sec * 1000000000ull + (uint64_t)cpu.tv_nsec;
}

/* Piece by piece it would take a minute of CPU time, and longer on a busy machine. */
static void test_all_are_replaced_at_once(void)
{
	const size_t cnt = PATHPROF_SPACE_PIECES_MAX - 1;
	struct pathprof_mapped_piece *pieces = calloc(cnt, sizeof(*pieces));
	struct pathprof_space *space;
	uint64_t begin_ns;

	CU_ASSERT_FATAL(pieces != NULL);
	CU_ASSERT_EQUAL_FATAL(pathprof_space_new(&space), 0);
	begin_ns = cpu_ns();
	for (uint64_t round = 1; round <= 8; round++) {
		for (size_t i = 0; i < cnt; i++)
			pieces[i] = (struct pathprof_mapped_piece){
				.start = (4 * i + round % 2) * PAGE,
				.end = (4 * i + round % 2 + 2) * PAGE};
		CU_ASSERT_EQUAL(pathprof_space_replace(space, pieces, cnt, round), 0);
		CU_ASSERT_EQUAL(space->piece_cnt, cnt);
	}
	CU_ASSERT(cpu_ns() - begin_ns < 20000000000ull);
	CU_ASSERT_EQUAL(space->past_cnt, PATHPROF_SPACE_PAST_MAX);
	CU_ASSERT_EQUAL(space->change_cnt, 7 * cnt);
	pathprof_space_put(space);
	free(pieces);
}

static void test_names_are_bounded(void)
{
	struct pathprof_mapped_files files;
	struct pathprof_mapped_file *file, *first = NULL;
	char name[4096], number[16];
	int r = 0;

	CU_ASSERT_EQUAL_FATAL(pathprof_mapped_files_init(&files), 0);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	for (int i = 0; !r && i < 10000; i++) {
		snprintf(number, sizeof(number), "%08d", i);
		memcpy(name, number, 8);
		r = pathprof_mapped_files_get(&files, NULL, NULL, name, &file);
		if (!r)
			pathprof_mapped_file_put(file);
		first = first ? first : file;
	}
	CU_ASSERT_EQUAL(r, -ENOSPC);
	CU_ASSERT(files.bytes < PATHPROF_MAPPED_FILES_BYTES_MAX + 2 * sizeof(name));
	/* what is there is found, and when names go there is room again */
	CU_ASSERT_EQUAL(pathprof_mapped_files_get(&files, NULL, NULL, first->name, &file), 0);
	pathprof_mapped_files_sweep(&files);
	CU_ASSERT_EQUAL(files.bytes, sizeof(*file) + sizeof(name));
	CU_ASSERT_EQUAL(pathprof_mapped_files_get(&files, NULL, NULL, "new", &file), 0);
	pathprof_mapped_files_release(&files);
}

/* Names of a user until there is no room for more. How many. */
static uint32_t fill_names(struct pathprof_mapped_files *files, uint32_t uid)
{
	struct pathprof_mapped_file *file;
	char name[4096];
	uint32_t cnt = 0;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	for (; cnt < 10000; cnt++) {
		int len_bytes = snprintf(name, sizeof(name), "%u/%u", uid, cnt);

		name[len_bytes] = '/';
		if (pathprof_mapped_files_get_for(files, uid, NULL, NULL, name, &file))
			break;
		pathprof_mapped_file_put(file);
	}
	return cnt;
}

/* One user takes half of what the others leave, so that the next one finds room. */
static void test_names_of_users(void)
{
	struct pathprof_mapped_files files;
	struct pathprof_mapped_file *file;
	uint32_t first, second;

	CU_ASSERT_EQUAL_FATAL(pathprof_mapped_files_init(&files), 0);
	first = fill_names(&files, 1000);
	CU_ASSERT(files.bytes < PATHPROF_MAPPED_FILES_BYTES_MAX / 2 + 8192);
	second = fill_names(&files, 1000 + PATHPROF_MAPPED_USER_BUCKETS);
	CU_ASSERT(second > first / 2 - 2 && second < first / 2 + 2);
	CU_ASSERT_EQUAL(pathprof_mapped_files_get_for(&files, 1000, NULL, NULL, "new", &file),
			-ENOSPC);
	CU_ASSERT_EQUAL_FATAL(pathprof_mapped_files_get_for(&files, 1001, NULL, NULL, "new", &file),
			      0);
	/* what another brought is found, and what goes makes room for whose it was */
	CU_ASSERT_EQUAL(pathprof_mapped_files_get_for(&files, 1000, NULL, NULL, "new", &file), 0);
	pathprof_mapped_files_sweep(&files);
	CU_ASSERT_EQUAL(files.bytes, sizeof(*file) + sizeof("new"));
	CU_ASSERT(fill_names(&files, 1000) + 1 >= first);
	pathprof_mapped_files_release(&files);
}

static struct pp_image *add_large(struct pp_track *track, pid_t pid, uint32_t piece_cnt)
{
	struct pp_image *image = NULL;

	CU_ASSERT_EQUAL_FATAL(pp_images_add(&track->images, pid, 1, NULL, &image), 0);
	for (uint64_t i = 0; i < piece_cnt; i++) {
		struct pathprof_mapped_piece piece = {.start = 2 * i * PAGE,
						      .end = (2 * i + 1) * PAGE};

		CU_ASSERT_EQUAL_FATAL(pathprof_space_map(image->space, &piece, 1), 0);
	}
	return image;
}

/* Processes that ended go first, then those nobody asks about; one asked about lately stays. */
static void test_spaces_are_bounded(void)
{
	const uint64_t now_ns = 100 * PATHPROF_SPACE_GRACE_NS;
	const uint32_t large = PATHPROF_SPACE_PIECES_MAX / 4;
	struct pp_track track = {0};
	struct pp_image *asked, *small;

	CU_ASSERT_EQUAL_FATAL(pp_images_init(&track.images), 0);
	asked = add_large(&track, 1, large);
	asked->asked_ns = now_ns;
	small = add_large(&track, 2, 10);
	for (pid_t pid = 3; pid < 10; pid++)
		pp_images_end(&track.images, add_large(&track, pid, large), 1);
	pp_track_bound_spaces(&track, now_ns);
	CU_ASSERT_EQUAL(track.drops[PP_TRACK_DROP_FORGOTTEN], 0);
	CU_ASSERT_EQUAL(track.images.ended_cnt, 7);
	for (pid_t pid = 100; pid < 200; pid++)
		add_large(&track, pid, large);
	pp_track_bound_spaces(&track, now_ns);
	CU_ASSERT_EQUAL(track.images.ended_cnt, 0);
	CU_ASSERT_EQUAL(track.drops[PP_TRACK_DROP_FORGOTTEN], 100);
	CU_ASSERT(track.space_bytes <= PP_SPACES_BYTES_MAX);
	CU_ASSERT_EQUAL(asked->space->piece_cnt, large);
	CU_ASSERT_EQUAL(small->space->piece_cnt, 10);
	/* of many that are asked about all the time, some must go nevertheless */
	for (pid_t pid = 200; pid < 300; pid++)
		add_large(&track, pid, large)->asked_ns = now_ns;
	pp_track_bound_spaces(&track, now_ns);
	CU_ASSERT(track.space_bytes <= PP_SPACES_BYTES_MAX);
	CU_ASSERT_EQUAL(small->space->piece_cnt, 10);
	pp_images_release(&track.images);
}

/* ---------------------------------------------------------------- copies of text */

/* Pages: 10 to 14 the program's text, 20 to 24 a library's. */
struct text {
	struct pathprof_mapped_files files;
	struct pathprof_mapped_file *program, *library;
	struct pathprof_space *space;
};

static void begin_text(struct text *t)
{
	struct pathprof_mapped_piece program = {
		.start = 10 * PAGE, .end = 14 * PAGE, .offset = PAGE};
	struct pathprof_mapped_piece library = {
		.start = 20 * PAGE, .end = 24 * PAGE, .offset = PAGE};

	CU_ASSERT_EQUAL_FATAL(pathprof_mapped_files_init(&t->files), 0);
	CU_ASSERT_EQUAL_FATAL(
		pathprof_mapped_files_get(&t->files, NULL, NULL, "/program", &t->program), 0);
	CU_ASSERT_EQUAL_FATAL(
		pathprof_mapped_files_get(&t->files, NULL, NULL, "/library", &t->library), 0);
	program.file = t->program;
	library.file = t->library;
	CU_ASSERT_EQUAL_FATAL(pathprof_space_new(&t->space), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_space_map(t->space, &program, 1), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_space_map(t->space, &library, 1), 0);
}

static void end_text(struct text *t)
{
	pathprof_space_put(t->space);
	pathprof_mapped_file_put(t->program);
	pathprof_mapped_file_put(t->library);
	pathprof_mapped_files_sweep(&t->files);
	CU_ASSERT_EQUAL(t->files.file_cnt, 0);
	pathprof_mapped_files_release(&t->files);
}

/* 'p' and 'l' at its offset, 'x' generated, '-' nothing: pages 8 to 26. */
static const char *picture(const struct text *t, char *text)
{
	for (uint64_t page = 8; page < 26; page++) {
		const struct pathprof_mapped_piece *p =
			pathprof_space_find(t->space, 0, page * PAGE);
		uint64_t offset = p ? page * PAGE - p->start + p->offset : 0;
		char *c = &text[page - 8];

		*c = '-';
		if (p && !p->file)
			*c = offset == page * PAGE ? 'x' : '?';
		else if (p && p->file == t->program)
			*c = offset == (page - 9) * PAGE ? 'p' : '?';
		else if (p)
			*c = offset == (page - 19) * PAGE ? 'l' : '?';
	}
	text[18] = 0;
	return text;
}

static void check_cover(uint64_t start, uint64_t end, bool executable, const char *want)
{
	struct text t;
	char text[19];

	begin_text(&t);
	CU_ASSERT_EQUAL(pathprof_space_cover(t.space, start * PAGE, end * PAGE, executable, 2), 0);
	CU_ASSERT_STRING_EQUAL(picture(&t, text), want);
	end_text(&t);
}

static void test_copies(void)
{
	check_cover(10, 14, true, "--pppp------llll--");
	check_cover(11, 13, true, "--pppp------llll--");
	check_cover(8, 16, true, "xxppppxx----llll--");
	check_cover(12, 16, true, "--ppppxx----llll--");
	/* writable first: it runs later */
	check_cover(8, 16, false, "--pppp------llll--");
	check_cover(21, 23, true, "--pppp------llll--");
	/* where a library was, and may be no more */
	check_cover(18, 25, true, "--pppp----xxxxxxx-");
	check_cover(22, 25, true, "--pppp------llxxx-");
	check_cover(22, 25, false, "--pppp------ll----");
	check_cover(8, 26, true, "xxppppxxxxxxxxxxxx");
}

/* A scan tells of the memory alone. */
static void test_copies_in_a_scan(void)
{
	struct pathprof_mapped_piece *pieces = calloc(2, sizeof(*pieces));
	size_t cnt = 2, cap = 2;
	struct text t;
	char text[19];

	CU_ASSERT_PTR_NOT_NULL_FATAL(pieces);
	begin_text(&t);
	pieces[0] = (struct pathprof_mapped_piece){.start = 9 * PAGE, .end = 16 * PAGE};
	pieces[1] = (struct pathprof_mapped_piece){
		.start = 20 * PAGE, .end = 24 * PAGE, .offset = PAGE};
	pieces[1].file = pathprof_mapped_file_ref(t.library);
	CU_ASSERT_EQUAL(pathprof_space_find_copies(t.space, &pieces, &cnt, &cap), 0);
	CU_ASSERT_EQUAL(pathprof_space_replace(t.space, pieces, cnt, 2), 0);
	CU_ASSERT_STRING_EQUAL(picture(&t, text), "-xppppxx----llll--");
	for (size_t i = 0; i < cnt; i++)
		pathprof_mapped_file_put(pieces[i].file);
	free(pieces);
	end_text(&t);
}

static const struct unit_test tests[] = {
	{"memory over text is its copy", test_copies},
	{"memory over text is its copy in a scan, too", test_copies_in_a_scan},
	{"what was overwritten or went is counted", test_changes_are_counted},
	{"a million random operations answer as the oracle does", test_random_operations},
	{"a piece one page off is noticed", test_planted_fault},
	{"a fork shares its parent's space until one changes it", test_fork_shares_until_changed},
	{"what was overwritten is kept within a bound and a time", test_past_is_bounded},
	{"pieces are bounded and checked", test_pieces_are_bounded_and_checked},
	{"generated code that grows stays one piece", test_growing_code_stays_one_piece},
	{"live images are bounded", test_live_images_are_bounded},
	{"all pieces are replaced in one go", test_all_are_replaced_at_once},
	{"names are bounded", test_names_are_bounded},
	{"a user has a share of the names", test_names_of_users},
	{"the memory of all spaces is bounded", test_spaces_are_bounded},
};
UNIT_SUITE(space, tests)
