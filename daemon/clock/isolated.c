/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Isolated CPUs: see isolated.h. */
#include "isolated.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../track/track_perf.h"

static const char *const files[] = {"isolated", "nohz_full"};

/* The line of a file, "" for none. */
static void read_line(const char *directory, const char *file, char *text, size_t size)
{
	char path[256];
	ssize_t got = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, text, size - 1);
		close(fd);
	}
	text[got > 0 ? got : 0] = '\0';
}

bool pp_isolated_cpus(const char *directory, bool *ret_is_isolated)
{
	static bool listed[PP_ISOLATED_CPU_MAX];
	char text[4096];
	bool any = false;

	memset(ret_is_isolated, 0, PP_ISOLATED_CPU_MAX * sizeof(*ret_is_isolated));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		read_line(directory, files[i], text, sizeof(text));
		/* nohz_full says "(null)" where the kernel could but nobody asked */
		if (pp_perf_parse_cpus(text, listed, PP_ISOLATED_CPU_MAX))
			continue;
		for (size_t cpu = 0; cpu < PP_ISOLATED_CPU_MAX; cpu++) {
			ret_is_isolated[cpu] = ret_is_isolated[cpu] || listed[cpu];
			any = any || listed[cpu];
		}
	}
	return any;
}
