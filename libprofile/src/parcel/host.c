// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The description of this machine in its parcels. Members that cannot be read stay empty.
 */
#include "pp_parcel.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"

/* The text, as much as there is room for. */
static void set(char to[PATHPROF_PARCEL_HOST_BYTES], const char *text, size_t len)
{
	if (len >= PATHPROF_PARCEL_HOST_BYTES)
		len = PATHPROF_PARCEL_HOST_BYTES - 1;
	memcpy(to, text, len);
	to[len] = 0;
}

/*
 * The value of the first line that begins with key, without the separator before it. A quote that
 * the separator ends with ends the value, too.
 */
static void set_from_line(char to[PATHPROF_PARCEL_HOST_BYTES], FILE *file, const char *key,
			  const char *separator)
{
	char line[1024], ends[] = "\n?";

	while (file && fgets(line, sizeof(line), file)) {
		const char *value = line + strlen(key);

		if (strncmp(line, key, strlen(key)) != 0)
			continue;
		value += strspn(value, separator);
		ends[1] = strchr("\"'", value[-1]) ? value[-1] : '\n';
		set(to, value, strcspn(value, ends));
		return;
	}
}

static FILE *open_below(const char *root, const char *path)
{
	char name[PATH_MAX];
	int len = snprintf(name, sizeof(name), "%s%s", root, path);

	return len > 0 && (size_t)len < sizeof(name) ? fopen(name, "re") : NULL;
}

static void read_os(struct pathprof_parcel_host *host, const char *root)
{
	FILE *file = open_below(root, "/etc/os-release");

	if (!file)
		file = open_below(root, "/usr/lib/os-release");
	set_from_line(host->os, file, "PRETTY_NAME=", "\"'");
	if (file)
		fclose(file);
}

static void read_model(struct pathprof_parcel_host *host, const char *root)
{
	FILE *file = open_below(root, "/proc/cpuinfo");

	set_from_line(host->model, file, "model name", " \t:");
	if (file)
		fclose(file);
}

void pp_parcel_read_host(struct pathprof_parcel_host *host, const char *root)
{
	read_os(host, root);
	read_model(host, root);
}

void pathprof_parcel_this_host(struct pathprof_parcel_host *ret_host)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname names;

	memset(ret_host, 0, sizeof(*ret_host));
	if (uname(&names) == 0) {
		set(ret_host->name, names.nodename, strlen(names.nodename));
		set(ret_host->kernel, names.release, strlen(names.release));
	}
	pp_parcel_read_host(ret_host, "");
	ret_host->cpus = cpus > 0 ? (uint32_t)cpus : 0;
	ret_host->sent_ns = pp_realtime_ns();
}
