// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes that run generated code and have files of its names, large ones, which are replaced all
 * the time: jit_flood PROCESSES MEGABYTES SECONDS [keep]. Says how many bytes of names it offered,
 * and removes its files. keep: somebody else makes the files, they are left alone.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* mov edi, ecx; again: test cl, 1; je even; inc eax; even: dec ecx; jne again; ret */
static const unsigned char code[] = {0x89, 0xf9, 0xf6, 0xc1, 0x01, 0x74, 0x02,
				     0xff, 0xc0, 0xff, 0xc9, 0x75, 0xf5, 0xc3};

static void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

/* Lines in no order, some of which are where() the code is. */
static uint64_t write_names(const char *path, uint64_t bytes, uint64_t place)
{
	FILE *file = fopen(path, "we");
	uint64_t written = 0;

	must(file != NULL, path);
	for (uint32_t i = 0; written < bytes; i++) {
		int len = fprintf(file, "%llx 40 generated_function_number_%u\n",
				  (unsigned long long)(place + i * 2654435761u % 65536 * 64), i);

		written += (uint64_t)len;
	}
	must(fclose(file) == 0, path);
	return written;
}

static void run(void *memory, time_t end)
{
	int (*function)(int) = (int (*)(int))(uintptr_t)memory;

	while (time(NULL) < end)
		function(1000000);
	_exit(0);
}

/* Each process' file is another one each time. */
static void replace(pid_t pid, const char *file)
{
	char path[64], draft[80];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	snprintf(draft, sizeof(draft), "%s.draft", path);
	unlink(draft);
	must(link(file, draft) == 0, "link");
	must(rename(draft, path) == 0, "rename");
	unlink(draft);
}

int main(int argc, char **argv)
{
	int cnt = argc > 3 ? atoi(argv[1]) : 0, seconds = argc > 3 ? atoi(argv[3]) : 0;
	uint64_t bytes = argc > 3 ? strtoull(argv[2], NULL, 10) << 20 : 0, written;
	char files[2][64];
	pid_t pids[64];
	void *memory;
	time_t end;

	if (cnt < 1 || cnt > 64)
		return 2;
	memory = mmap(NULL, 1 << 22, PROT_READ | PROT_WRITE | PROT_EXEC,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(memory != MAP_FAILED, "mmap");
	memcpy(memory, code, sizeof(code));
	for (int i = 0; i < 2; i++)
		snprintf(files[i], sizeof(files[i]), "/tmp/jit_flood.%d.%d", getpid(), i);
	written = write_names(files[0], bytes, (uintptr_t)memory);
	write_names(files[1], bytes, (uintptr_t)memory);
	end = time(NULL) + seconds;
	for (int i = 0; i < cnt; i++) {
		pids[i] = fork();
		must(pids[i] >= 0, "fork");
		if (!pids[i])
			run(memory, end);
	}
	for (int round = 0; time(NULL) < end; round++) {
		for (int i = 0; i < cnt && argc < 5; i++)
			replace(pids[i], files[round % 2]);
		usleep(50000);
	}
	for (int i = 0; i < cnt; i++) {
		char path[64];

		waitpid(pids[i], NULL, 0);
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", pids[i]);
		unlink(path);
	}
	unlink(files[0]);
	unlink(files[1]);
	printf("%llu\n", (unsigned long long)(written * (uint64_t)cnt));
	return 0;
}
