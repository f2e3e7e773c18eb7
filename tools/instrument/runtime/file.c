// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The file of counts: PATHPROF_DIR/BUILDID.PID.ppraw, with -1, -2 and so on behind the pid if that
 * name is taken, as after exec. A file has that name once its head is whole. Until then it is
 * called NAME.ppraw.new, which reserves the name for its maker: a process killed in between leaves
 * at most a file that is not taken for one of counts.
 *
 * A program with privileges from its file, such as set-user-id, makes no file.
 *
 * No descriptor is kept open: programs close those they do not know, and the numbers are reused. To
 * append a region, the file is opened again by its name; if that fails, as after chroot(), the file
 * does not grow.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "counts.h"
#include "kernel.h"

/* Address space for the file; less if the process may not have so much. */
#define ROOM_MAX (1ull << 36)
#define ROOM_MIN (1ull << 24)
/* The reservation takes one such part of a limited address space. */
#define ROOM_SHARE 16

#define NAMES_MAX     10000
#define DIRECTORY_MAX 4096

static struct {
	struct pathprof_counts_head *head;
	uint64_t room;
	uint64_t parents_bytes; /* up to here its parent's regions lie behind its own ones */
	dev_t device;
	ino_t inode;
	int held;          /* the lock */
	int error;         /* the errno of the last failure to grow */
	uint64_t lost_cnt; /* losses before there was a file */
	char directory[DIRECTORY_MAX + 256];
	char path[DIRECTORY_MAX + 256];
	char unfinished[DIRECTORY_MAX + 256 + 8]; /* its name until it is complete */
} file;

/* Identity of descriptor 2 when this object was loaded; 0: it was closed. */
static struct {
	dev_t device;
	ino_t inode;
} errors;

struct pathprof_counts_head *counts_head(void)
{
	return file.head;
}

uint64_t counts_lock(void)
{
	uint64_t signals = kernel_hold_signals();

	while (__atomic_exchange_n(&file.held, 1, __ATOMIC_ACQUIRE))
		kernel_yield();
	return signals;
}

void counts_unlock(uint64_t signals)
{
	__atomic_store_n(&file.held, 0, __ATOMIC_RELEASE);
	kernel_let_signals(signals);
}

/* ---------------------------------------------------------------- the file's name */

/* Puts text into the path at a place; text that does not fit is dropped, and opening then fails. */
static size_t put(size_t at, const char *text)
{
	for (; *text && at < sizeof(file.path) - 1; text++)
		file.path[at++] = *text;
	file.path[at] = 0;
	return at;
}

static size_t put_number(size_t at, uint64_t number)
{
	char digits[24];
	size_t i = sizeof(digits);

	digits[--i] = 0;
	do
		digits[--i] = (char)('0' + number % 10);
	while (number /= 10);
	return put(at, &digits[i]);
}

static size_t put_build_id(size_t at, const struct pathprof_counts_head *head)
{
	static const char hex[] = "0123456789abcdef";

	for (uint32_t i = 0; i < head->build_id_bytes; i++) {
		char two[] = {hex[head->build_id[i] >> 4], hex[head->build_id[i] & 15], 0};

		at = put(at, two);
	}
	return head->build_id_bytes ? at : put(at, "unknown");
}

/* Stores an absolute path once: a program may change directory and environment, then fork. */
static void remember_directory(void)
{
	const char *directory = getenv("PATHPROF_DIR");
	size_t at = 0;

	if (!directory || !*directory)
		directory = ".";
	if (directory[0] != '/' && kernel_directory(file.path, DIRECTORY_MAX) > 0) {
		while (file.path[at])
			at++;
		at = put(at, "/");
	}
	at = put(put(at, directory), "/");
	for (size_t i = 0; i <= at; i++)
		file.directory[i] = file.path[i];
}

static void put_unfinished(void)
{
	static const char end[] = ".new";
	size_t at = 0;

	for (; file.path[at]; at++)
		file.unfinished[at] = file.path[at];
	for (size_t i = 0; i < sizeof(end); i++)
		file.unfinished[at + i] = end[i];
}

/* ---------------------------------------------------------------- complaints */

static void remember_errors(void)
{
	struct stat identity = {0};

	if (kernel_identify(2, &identity) < 0)
		return;
	errors.device = identity.st_dev;
	errors.inode = identity.st_ino;
}

/* Whether descriptor 2 is unchanged: a program that forks may have reused the number. */
static bool are_errors_read(void)
{
	struct stat identity = {0};

	return kernel_identify(2, &identity) == 0 && identity.st_dev == errors.device &&
	       identity.st_ino == errors.inode;
}

/* Whether the program is privileged: its caller would choose where its owner writes, by
 * PATHPROF_DIR or the working directory. */
static bool has_rights_of_others(void)
{
	return getauxval(AT_SECURE) != 0;
}

static void complain_of_rights(void)
{
	static const char what[] =
		"pathprof: paths are not counted: this program has rights that whoever started it "
		"has not (set-user-id, set-group-id, capabilities); its owner may start it\n";

	if (are_errors_read())
		kernel_write(2, what, sizeof(what) - 1);
}

static void complain(int error)
{
	static const char what[] = "pathprof: paths are not counted, no file can be made here: ";
	size_t bytes = 0;

	if (!are_errors_read())
		return;
	while (file.path[bytes])
		bytes++;
	kernel_write(2, what, sizeof(what) - 1);
	kernel_write(2, file.path, bytes);
	bytes = put(put_number(put(0, " (errno "), (uint64_t)-error), ")\n");
	kernel_write(2, file.path, bytes);
}

/* ---------------------------------------------------------------- creation */

/* Creates the unfinished file, if the final name is free; only this process may then take that. */
static int create_unfinished(void)
{
	int fd = -EEXIST;

	if (kernel_exists(file.path))
		return fd;
	put_unfinished();
	fd = kernel_open(file.unfinished, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW);
	/* Another process may have renamed its own file to that name meanwhile. */
	if (fd >= 0 && kernel_exists(file.path)) {
		kernel_close(fd);
		kernel_remove(file.unfinished);
		fd = -EEXIST;
	}
	return fd;
}

static int create(const struct pathprof_counts_head *head)
{
	size_t name = put(0, file.directory), at = put_build_id(name, head);
	int fd = -EEXIST;

	at = put_number(put(at, "."), head->pid);
	/* A library may have been loaded before, and left a mapping. */
	if (!file.head && !counts_is_program())
		counts_unmap_closed(&file.path[name], at - name);
	for (uint64_t n = 0; fd == -EEXIST && n < NAMES_MAX; n++) {
		put(n ? put_number(put(at, "-"), n) : at, ".ppraw");
		fd = create_unfinished();
	}
	return fd;
}

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + PATHPROF_COUNTS_PAGE - 1) & ~(uint64_t)(PATHPROF_COUNTS_PAGE - 1);
}

/* Some file systems have no fallocate(): writing the last byte extends the file as well. */
static int grow(int fd, uint64_t from, uint64_t bytes)
{
	long r = from + bytes > kernel_limit(RLIMIT_FSIZE) ? -EFBIG
							   : kernel_reserve(fd, from, bytes);

	if (r != -EOPNOTSUPP && r != -ENOSYS)
		return (int)r;
	r = kernel_call(SYS_pwrite64, fd, (long)"", 1, (long)(from + bytes - 1), 0, 0);
	return r == 1 ? 0 : (int)r;
}

/* A small part of the address space that the process may have: the rest is the program's. */
static uint64_t wanted_room(void)
{
	uint64_t room = kernel_limit(RLIMIT_AS) / ROOM_SHARE;
	uint64_t least = ROOM_MIN + 2 * counts_image_bytes();

	if (room < least)
		room = least;
	return room < ROOM_MAX ? whole_pages(room) : ROOM_MAX;
}

/* Maps the file where the parent's file is mapped, or at a new place. */
static int map(int fd)
{
	void *at = NULL;

	if (file.head)
		return kernel_map(file.head, file.room, MAP_SHARED | MAP_FIXED, fd, 0) ? 0
										       : -ENOMEM;
	for (uint64_t room = wanted_room(); !at && room >= ROOM_MIN; room /= 2) {
		at = kernel_map(NULL, room, MAP_SHARED, fd, 0);
		file.room = room;
	}
	file.head = at;
	return at ? 0 : -ENOMEM;
}

static int fill(int fd, const struct pathprof_counts_head *head)
{
	struct stat identity = {0};
	int r = grow(fd, 0, PATHPROF_COUNTS_PAGE);

	if (r == 0)
		r = kernel_identify(fd, &identity);
	if (r == 0)
		r = map(fd);
	if (r < 0)
		return r;
	file.device = identity.st_dev;
	file.inode = identity.st_ino;
	*file.head = *head;
	return 0;
}

static int make_named(const struct pathprof_counts_head *head)
{
	int fd = create(head);
	int r = fd < 0 ? fd : fill(fd, head);

	if (r == 0)
		r = kernel_rename(file.unfinished, file.path);
	if (fd >= 0)
		kernel_close(fd);
	if (r < 0 && fd >= 0)
		kernel_remove(file.unfinished);
	return r;
}

static bool make(void)
{
	struct pathprof_counts_head head = {
		.magic = PATHPROF_COUNTS_MAGIC,
		.version = PATHPROF_COUNTS_VERSION,
		.used_bytes = PATHPROF_COUNTS_PAGE,
		.image_bytes = counts_image_bytes(),
		.pid = (uint64_t)kernel_pid(),
		.start_ns = kernel_time_ns(),
		.lost_cnt = __atomic_exchange_n(&file.lost_cnt, 0, __ATOMIC_RELAXED),
	};
	struct pathprof_counts_region *region = NULL;
	int r;

	counts_name_object(&head);
	r = make_named(&head);
	if (r == 0) {
		region = counts_claim(kernel_tid());
		r = region ? 0 : file.error;
		if (r < 0)
			kernel_remove(file.path);
	}
	if (r < 0)
		complain(r);
	counts_move_to(region);
	return r == 0;
}

bool counts_file_make(void)
{
	remember_errors();
	if (has_rights_of_others()) {
		complain_of_rights();
		return false;
	}
	remember_directory();
	return make();
}

/* Opens the file by its name, if that is still the same one. */
static int open_by_name(void)
{
	struct stat identity = {0};
	int fd = kernel_open(file.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	int r;

	if (fd < 0)
		return fd;
	r = kernel_identify(fd, &identity);
	if (r == 0 && (identity.st_dev != file.device || identity.st_ino != file.inode))
		r = -ESTALE;
	if (r == 0)
		return fd;
	kernel_close(fd);
	return r;
}

/* If the child failed before it mapped its own file, the parent's is still mapped. */
static void tell_parent(void)
{
	if (file.head->pid != (uint64_t)kernel_pid())
		__atomic_fetch_add(&file.head->unmade_cnt, 1, __ATOMIC_RELAXED);
}

/*
 * Replaces the used bytes of the mapping by private memory. A kernel that commits no more memory
 * than it has (vm.overcommit_memory=2) would refuse to replace the whole reservation.
 */
static void leave_parents_file(uint64_t used_bytes)
{
	if (kernel_map(file.head, used_bytes,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0))
		file.head->used_bytes = PATHPROF_COUNTS_PAGE;
	else
		file.head = NULL;
	file.inode = 0;
}

/*
 * A signal handler may have called fork() in the middle of a count, which goes on in the child
 * where it was. The child's file ends before most of its parent's regions, so a copy of these takes
 * their places, until regions of its own do.
 */
static void keep_parents_regions(int parents, uint64_t used_bytes)
{
	uint64_t end = file.head->used_bytes;

	file.parents_bytes = 0;
	if (parents >= 0 && used_bytes > end &&
	    kernel_map(counts_region_at(end), used_bytes - end, MAP_PRIVATE | MAP_FIXED, parents,
		       end))
		file.parents_bytes = used_bytes;
}

/* The child must not count in its parent's file, even if it cannot make its own. */
void counts_file_make_anew(void)
{
	uint64_t used_bytes;
	int parents;

	file.held = 0;
	if (!file.head)
		return;
	used_bytes = file.head->used_bytes;
	parents = open_by_name();
	counts_move_to(NULL);
	if (make()) {
		keep_parents_regions(parents, used_bytes);
	} else {
		tell_parent();
		leave_parents_file(used_bytes);
	}
	if (parents >= 0)
		kernel_close(parents);
}

/* ---------------------------------------------------------------- regions */

struct pathprof_counts_region *counts_region_at(uint64_t place)
{
	return (struct pathprof_counts_region *)((char *)file.head + place);
}

uint64_t counts_place_of(const struct pathprof_counts_region *region)
{
	return (uint64_t)((const char *)region - (const char *)file.head);
}

void counts_lose(void)
{
	uint64_t *lost_cnt = file.head ? &file.head->lost_cnt : &file.lost_cnt;

	__atomic_fetch_add(lost_cnt, 1, __ATOMIC_RELAXED);
}

void counts_crowd(void)
{
	if (file.head)
		__atomic_fetch_add(&file.head->crowded_cnt, 1, __ATOMIC_RELAXED);
}

static int grow_by_name(uint64_t from, uint64_t bytes)
{
	int fd = open_by_name();
	int r = fd < 0 ? fd : grow(fd, from, bytes);

	if (r == 0 && from < file.parents_bytes &&
	    !kernel_map(counts_region_at(from), bytes, MAP_SHARED | MAP_FIXED, fd, from))
		r = -ENOMEM;
	if (fd >= 0)
		kernel_close(fd);
	return r;
}

struct pathprof_counts_region *counts_append(uint32_t kind, uint64_t bytes)
{
	struct pathprof_counts_region *region;
	uint64_t place = file.head->used_bytes;

	bytes = whole_pages(bytes);
	file.error = bytes > file.room - place ? -ENOMEM : grow_by_name(place, bytes);
	if (file.error < 0)
		return NULL;
	region = counts_region_at(place);
	region->kind = kind;
	region->bytes = bytes;
	__atomic_store_n(&file.head->used_bytes, place + bytes, __ATOMIC_RELEASE);
	return region;
}
