// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Known control flow full of system calls: some that return at once, beside computing, one that
 * sleeps for a moment, and one that changes a mapping. The result of each decides a branch. It
 * sleeps in one turn of four, the second: more often, and it would be asleep whenever a stepper
 * comes. Prints a checksum that depends on nothing.
 *
 *     flow_calls ITERATIONS       (ten digits up to 5, see flow_loops.c)
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint32_t state = 1;

static uint32_t work(uint32_t turns)
{
	for (uint32_t i = 0; i < turns; i++)
		state = state & 1 ? state * 1664525u + 1013904223u : state ^ state << 7;
	return state;
}

static uint32_t ask(int fd, uint32_t turn, uint32_t i)
{
	struct timespec moment = {0, 20000};
	char byte = (char)i;

	switch (i % 8) {
	case 0:
		return syscall(SYS_getppid) > 0;
	case 1:
		return write(fd, &byte, 1) == 1 ? 3 : 4;
	case 2:
		return read(fd, &byte, 1) == 0 ? 5 : 6;
	case 3:
		return lseek(fd, 0, SEEK_CUR) < 0 ? 7 : 8;
	case 4:
		return close(-1) < 0 ? 9 : 10;
	case 5:
		return i == 5 && turn % 4 == 1 && nanosleep(&moment, NULL) ? 11 : 12;
	default:
		return 13;
	}
}

int main(int argc, char **argv)
{
	uint32_t turns = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1;
	const struct timespec no_time = {0, 0};
	uint32_t sum = 0;
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* The dynamic linker binds it here: the loop has the way of the later calls only. */
	nanosleep(&no_time, NULL);
	for (uint32_t turn = 0; turn < turns; turn++) {
		state = 1;
		for (uint32_t i = 0; i < 256; i++) {
			sum = sum * 31 + ask(fd, turn, i);
			if (work(i % 5 * 12) & 4)
				sum++;
		}
		if (mprotect(page, 4096, turn & 1 ? PROT_READ : PROT_NONE))
			return 2;
	}
	printf("flow_calls %u\n", sum);
	return 0;
}
