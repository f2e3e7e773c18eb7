// SPDX-License-Identifier: GPL-2.0-or-later
/* Facts about files: mappings, debug information, the state directory. */
#include "doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/capability.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "../text/cleanup.h"
#include "../text/text.h"

#define FREE_MIN_BYTES (1ULL << 30)

/* <linux/fs.h> of the distribution is older than this request (Linux 6.11). */
struct procmap_query {
	__u64 size, query_flags, query_addr;
	__u64 vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	__u32 dev_major, dev_minor, vma_name_size, build_id_size;
	__u64 vma_name_addr, build_id_addr;
};
#define PROCMAP_QUERY_REQUEST _IOWR(0x66, 17, struct procmap_query)

static void add_procmap(struct facts *facts)
{
	_cleanup_close_ int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct procmap_query query = {
		.size = sizeof(query),
		.query_addr = (__u64)(uintptr_t)&add_procmap,
	};

	if (fd >= 0 && ioctl(fd, PROCMAP_QUERY_REQUEST, &query) == 0)
		fact_value(facts_add(facts, FACT_OK, "PROCMAP_QUERY", NULL, NULL), "works");
	else
		fact_value(facts_add(facts, FACT_WARN, "PROCMAP_QUERY",
				     "the kernel does not have it", "Linux 6.11 or later"),
			   "none: /proc/PID/maps is read as text");
}

static void add_debuginfod(struct facts *facts)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (urls && *urls)
		fact_value(facts_add(facts, FACT_OK, "debuginfod", NULL, NULL), "%s", urls);
	else
		fact_value(facts_add(facts, FACT_WARN, "debuginfod",
				     "names and lines come from local files alone",
				     "DEBUGINFOD_URLS=https://debuginfod.debian.net"),
			   "not configured");
}

/* The nearest directory above path that exists: the one to be made would be made there. */
static void nearest_directory(char *path)
{
	do {
		/* part of path itself, which it has cut */
		const char *above = dirname(path);

		memmove(path, above, strlen(above) + 1);
	} while (access(path, F_OK) < 0 && strcmp(path, "/") != 0 && strcmp(path, ".") != 0);
}

static void add_state(struct facts *facts, const struct ctl_options *options)
{
	_cleanup_free_ char *db = ctl_db_path(options);
	_cleanup_free_ char *directory = ctl_strdup(db);
	struct statvfs space;
	uint64_t free_bytes;
	char text[32];

	nearest_directory(directory);
	if (access(directory, W_OK) < 0) {
		fact_value(facts_add(facts, FACT_NO, "state directory", strerror(errno),
				     "run as root, or name another with --db"),
			   "%s", directory);
		return;
	}
	if (statvfs(directory, &space) < 0)
		return;
	free_bytes = (uint64_t)space.f_bavail * space.f_frsize;
	text_bytes(text, sizeof(text), free_bytes);
	if (free_bytes < FREE_MIN_BYTES)
		fact_value(facts_add(facts, FACT_WARN, "state directory", "little space is left",
				     "free some, or set MaxUse="),
			   "%s, %s free", directory, text);
	else
		fact_value(facts_add(facts, FACT_OK, "state directory", NULL, NULL), "%s, %s free",
			   directory, text);
}

/* The process that reads binaries for root: see pathprof/apart.h. */
static void add_readers(struct facts *facts)
{
	if (geteuid() != 0)
		return;
	if (doctor_capable(CAP_SETUID) && doctor_capable(CAP_SETGID))
		fact_value(facts_add(facts, FACT_OK, "readers of files", NULL, NULL),
			   "processes of the user nobody");
	else
		fact_value(facts_add(facts, FACT_WARN, "readers of files",
				     "CAP_SETUID or CAP_SETGID is missing: a filter over system "
				     "calls is all "
				     "that walls them in",
				     "both capabilities for pathprofctl"),
			   "processes of root without capabilities");
}

void doctor_files(struct facts *facts, const struct ctl_options *options)
{
	add_procmap(facts);
	add_debuginfod(facts);
	add_state(facts, options);
	add_readers(facts);
}
