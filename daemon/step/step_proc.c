/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures of /proc about a thread before and while it is held. A handful of small reads a sample.
 * Nothing is kept but which executables proved to be 64-bit: a few hundred entries, direct-mapped,
 * overwritten at will. The stepper's one thread owns them, and the one large buffer.
 *
 * Source: proc(5); the field numbers of stat are counted from there.
 */
#include "step_engine.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Reads the head of a file into text, which is terminated, and closes it. Bytes read or -errno. */
static ssize_t read_head(int fd, char *text, size_t size)
{
	ssize_t len_bytes;
	int r = 0;

	len_bytes = read(fd, text, size - 1);
	if (len_bytes < 0)
		r = -errno;
	close(fd);
	if (r)
		return r;
	text[len_bytes] = 0;
	return len_bytes;
}

static ssize_t read_task_file(pid_t pid, pid_t tid, const char *name, char *text, size_t size)
{
	char path[64];
	int fd;

	if (tid)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	else
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : read_head(fd, text, size);
}

/* The numbers behind the state letter: field[0] is field 4 of proc(5). */
static size_t parse_fields(const char *text, uint64_t *field, size_t field_max)
{
	size_t cnt = 0;

	while (cnt < field_max) {
		char *end;
		uint64_t value = (uint64_t)strtoll(text, &end, 10);

		if (end == text)
			break;
		field[cnt++] = value;
		text = end;
	}
	return cnt;
}

#define STAT_FIELD(number) ((number)-4)
/* PF_FORKNOEXEC of the kernel's flags of a task. */
#define FLAG_FORKED 0x40

int pp_step_read_stat(pid_t pid, pid_t tid, struct pp_step_stat *ret_stat)
{
	char text[1024];
	uint64_t field[STAT_FIELD(41) + 1];
	ssize_t len_bytes = read_task_file(pid, tid, "stat", text, sizeof(text));
	const char *behind_name;

	if (len_bytes < 0)
		return (int)len_bytes;
	/* The name may hold blanks and parentheses: what counts is the last one. */
	behind_name = strrchr(text, ')');
	if (!behind_name || strlen(behind_name) < 4)
		return -EBADMSG;
	if (parse_fields(behind_name + 3, field, STAT_FIELD(41) + 1) <= STAT_FIELD(41))
		return -EBADMSG;
	*ret_stat = (struct pp_step_stat){
		.state = behind_name[2],
		.ppid = (pid_t)field[STAT_FIELD(4)],
		.forked = field[STAT_FIELD(9)] & FLAG_FORKED,
		.utime_ticks = field[STAT_FIELD(14)],
		.stime_ticks = field[STAT_FIELD(15)],
		.nice = (int)field[STAT_FIELD(19)],
		.thread_cnt = (uint32_t)field[STAT_FIELD(20)],
		.start_time = field[STAT_FIELD(22)],
		.cpu = (int)field[STAT_FIELD(39)],
		.policy = (int)field[STAT_FIELD(41)],
	};
	return 0;
}

/* Text behind "\nname:\t", NULL when there is no such line. */
static const char *status_line(const char *text, const char *name)
{
	char key[32];
	const char *line;

	snprintf(key, sizeof(key), "\n%s:\t", name);
	line = strstr(text, key);
	return line ? line + strlen(key) : NULL;
}

static uint64_t status_number(const char *text, const char *name, int base)
{
	const char *line = status_line(text, name);

	return line ? strtoull(line, NULL, base) : 0;
}

/* 65,536 groups of eleven bytes stand ahead of most lines, lists of CPUs ahead of the last. */
#define STATUS_BYTES (1 << 20)
#define SWITCHES     "voluntary_ctxt_switches"

int pp_step_read_status(pid_t pid, pid_t tid, struct pp_step_status *ret_status)
{
	static char text[STATUS_BYTES];
	ssize_t len_bytes = read_task_file(pid, tid, "status", text, sizeof(text));
	const char *state;

	if (len_bytes < 0)
		return (int)len_bytes;
	state = status_line(text, "State");
	if (!state || !status_line(text, "SigCgt") || !status_line(text, SWITCHES))
		return -EBADMSG;
	*ret_status = (struct pp_step_status){
		.state = state[0],
		.uid = (uint32_t)status_number(text, "Uid", 10),
		.tracer = (pid_t)status_number(text, "TracerPid", 10),
		.seccomp = (int)status_number(text, "Seccomp", 10),
		.thread_cnt = (unsigned int)status_number(text, "Threads", 10),
		.pending = status_number(text, "SigPnd", 16) | status_number(text, "ShdPnd", 16),
		.blocked = status_number(text, "SigBlk", 16),
		.ignored = status_number(text, "SigIgn", 16),
		.caught = status_number(text, "SigCgt", 16),
		.switches = status_number(text, SWITCHES, 10),
	};
	return 0;
}

uint64_t pp_step_cpu_ns(pid_t pid, pid_t tid)
{
	char text[128];

	return read_task_file(pid, tid, "schedstat", text, sizeof(text)) > 0
		       ? strtoull(text, NULL, 10)
		       : 0;
}

/* The size of a program header, by the pairs of words of 4 or 8 bytes each; 0: none is told. */
static uint64_t header_bytes(const char *pairs, size_t len_bytes, size_t word_bytes)
{
	for (size_t at = 0; at + 2 * word_bytes <= len_bytes; at += 2 * word_bytes) {
		uint64_t key = 0, value = 0;

		memcpy(&key, pairs + at, word_bytes);
		memcpy(&value, pairs + at + word_bytes, word_bytes);
		if (key == AT_PHENT)
			return value;
	}
	return 0;
}

/*
 * The size by the vector that the kernel gave the process at its start, in words of the program's
 * own size. It is in memory, which a first thread that has ended shows no more; the program's file
 * might lie with a server that does not answer. -ENODATA: it was told nothing yet.
 */
static int has_64bit_headers(pid_t pid, pid_t tid)
{
	char pairs[2 * 32 * sizeof(uint64_t)];
	ssize_t len_bytes = read_task_file(pid, tid, "auxv", pairs, sizeof(pairs));

	if (len_bytes < 0)
		return (int)len_bytes;
	if (header_bytes(pairs, (size_t)len_bytes, sizeof(uint64_t)) == sizeof(Elf64_Phdr))
		return 1;
	if (header_bytes(pairs, (size_t)len_bytes, sizeof(uint32_t)) == sizeof(Elf32_Phdr))
		return 0;
	return -ENODATA;
}

/*
 * Only "yes" is remembered: should the process execute a 32-bit program later, its code segment
 * gives that away at the stop, whereas a stale "no" would never be found out.
 */
struct known_64bit {
	pid_t pid;
	uint64_t start_time;
};
static struct known_64bit known_64bit[512];

int pp_step_is_64bit(pid_t pid, pid_t tid, uint64_t start_time)
{
	struct known_64bit *known = &known_64bit[(uint32_t)pid % 512];
	int is_64bit;

	if (known->pid == pid && known->start_time == start_time)
		return 1;
	is_64bit = has_64bit_headers(pid, tid);
	if (is_64bit == 1)
		*known = (struct known_64bit){pid, start_time};
	return is_64bit;
}

bool pp_step_is_asleep(const struct pp_step_target *target)
{
	struct pp_step_stat stat;

	return !pp_step_read_stat(target->pid, target->tid, &stat) && stat.state == 'S';
}

bool pp_step_is_running(pid_t pid, pid_t tid)
{
	char text[64];
	struct pp_step_stat stat;

	/* "running", or number and arguments of the call it sleeps in. */
	if (read_task_file(pid, tid, "syscall", text, sizeof(text)) > 0)
		return !strncmp(text, "running", 7);
	return !pp_step_read_stat(pid, tid, &stat) && stat.state == 'R';
}
