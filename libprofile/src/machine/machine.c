// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Facts about the machine out of /proc and /sys: see pathprof/machine.h. Files that cannot be read
 * count as missing. Every file is small, of the kernel's making, and read a line at a time.
 */
#include "pathprof/machine.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 8192 /* the longest: flags of /proc/cpuinfo */

static FILE *open_below(const char *root, const char *path)
{
	char name[PATH_MAX];
	int len = snprintf(name, sizeof(name), "%s%s", root, path);

	return len > 0 && (size_t)len < sizeof(name) ? fopen(name, "re") : NULL;
}

static bool read_line(const char *root, const char *path, char *line, size_t size)
{
	FILE *file = open_below(root, path);
	bool got = file && fgets(line, (int)size, file);

	if (file)
		fclose(file);
	if (got)
		line[strcspn(line, "\n")] = '\0';
	return got;
}

static int32_t read_setting(const char *root, const char *path)
{
	char line[32], *end;
	long value;

	if (!read_line(root, path, line, sizeof(line)))
		return PATHPROF_NO_SETTING;
	value = strtol(line, &end, 10);
	return end == line || value < -1 || value > INT_MAX ? PATHPROF_NO_SETTING : (int32_t)value;
}

/* "none [integrity] confidentiality"; no such file: no lockdown. */
static enum pathprof_lockdown read_lockdown(const char *root)
{
	char line[128];

	if (!read_line(root, "/sys/kernel/security/lockdown", line, sizeof(line)))
		return PATHPROF_LOCKDOWN_NONE;
	if (strstr(line, "[confidentiality]"))
		return PATHPROF_LOCKDOWN_CONFIDENTIALITY;
	return strstr(line, "[integrity]") ? PATHPROF_LOCKDOWN_INTEGRITY : PATHPROF_LOCKDOWN_NONE;
}

/* "6.1.0-49-amd64" */
static uint32_t read_kernel(const char *root)
{
	unsigned int major, minor;
	char line[128], *end;

	if (!read_line(root, "/proc/sys/kernel/osrelease", line, sizeof(line)))
		return 0;
	major = (unsigned int)strtoul(line, &end, 10);
	if (end == line || *end != '.')
		return 0;
	minor = (unsigned int)strtoul(end + 1, NULL, 10);
	return major > 255 || minor > 255 ? 0 : PATHPROF_KERNEL(major, minor);
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = strstr(text, word); at; at = strstr(at + len, word))
		if (at[-1] == ' ' && strchr(" \n", at[len]))
			return true;
	return false;
}

/* Takes one line of /proc/cpuinfo, such as "cpu family\t: 25". */
static void take_cpu_line(struct pathprof_machine *m, const char *line, bool *is_amd)
{
	const char *colon = strchr(line, ':');

	if (!colon)
		return;
	if (!strncmp(line, "vendor_id", 9))
		*is_amd = strstr(colon, "AuthenticAMD") || strstr(colon, "HygonGenuine");
	else if (!strncmp(line, "cpu family", 10) && *is_amd)
		m->amd_family = (uint32_t)strtoul(colon + 1, NULL, 10);
	else if (!strncmp(line, "flags", 5)) {
		m->is_guest = has_word(colon + 1, "hypervisor");
		m->has_brs = has_word(colon + 1, "brs");
	}
}

/* Reads about the first processor. */
static void read_cpu(struct pathprof_machine *m, const char *root)
{
	FILE *file = open_below(root, "/proc/cpuinfo");
	char line[LINE_MAX_BYTES];
	bool is_amd = false;

	while (file && fgets(line, sizeof(line), file) && line[0] != '\n')
		take_cpu_line(m, line, &is_amd);
	if (file)
		fclose(file);
}

static void read_status(struct pathprof_machine *m, const char *root)
{
	FILE *file = open_below(root, "/proc/thread-self/status");
	char line[LINE_MAX_BYTES];

	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "CapEff:", 7))
			m->capabilities = strtoull(line + 7, NULL, 16);
		else if (!strncmp(line, "Seccomp:", 8))
			m->is_filtered = strtoul(line + 8, NULL, 10) != 0;
	}
	if (file)
		fclose(file);
}

/* The initial one maps all there are onto themselves. */
static bool read_user_ns(const char *root)
{
	unsigned long long inner, outer, cnt;
	char line[128], *at = line;

	if (!read_line(root, "/proc/self/uid_map", line, sizeof(line)))
		return false;
	inner = strtoull(at, &at, 10);
	outer = strtoull(at, &at, 10);
	cnt = strtoull(at, &at, 10);
	return inner != 0 || outer != 0 || cnt != UINT32_MAX;
}

/* The processor's own PMU: cpu, on hybrids cpu_core and cpu_atom, Arm's armv8_*. */
static bool read_counters(const char *root)
{
	char path[PATH_MAX];
	bool found = false;
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sys/bus/event_source/devices", root);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir)))
		found = !strcmp(entry->d_name, "cpu") || !strncmp(entry->d_name, "cpu_", 4) ||
			!strncmp(entry->d_name, "armv", 4);
	if (dir)
		closedir(dir);
	return found;
}

static bool read_btf(const char *root)
{
	FILE *file = open_below(root, "/sys/kernel/btf/vmlinux");

	if (file)
		fclose(file);
	return file != NULL;
}

void pathprof_machine_read(struct pathprof_machine *ret_machine, const char *root)
{
	struct pathprof_machine m = {0};

	read_cpu(&m, root);
	read_status(&m, root);
	m.kernel = read_kernel(root);
	m.paranoid = read_setting(root, "/proc/sys/kernel/perf_event_paranoid");
	m.unprivileged_bpf = read_setting(root, "/proc/sys/kernel/unprivileged_bpf_disabled");
	m.lockdown = read_lockdown(root);
	m.has_counters = read_counters(root);
	m.has_btf = read_btf(root);
	m.is_user_ns = read_user_ns(root);
	*ret_machine = m;
}
