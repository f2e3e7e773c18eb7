// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Asks for a name as the daemon does whom somebody waits for: names_of FILE BUILD-ID OFFSET. Prints
 * `CODE NAME SOURCE`, and how long the event loop was held up at most: `held MS`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../daemon/drift/names.h"

struct heard {
	bool done;
	int code;
};

static void hear(void *context, int code, const struct pp_names_answer *answer)
{
	struct heard *heard = context;

	heard->done = true;
	heard->code = code;
	if (answer && answer->path_cnt)
		printf("0 %s %s\n", answer->paths[0].name, answer->paths[0].source);
	else
		printf("%d\n", code);
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static bool parse_id(const char *hex, struct pathprof_build_id *ret_id)
{
	size_t len_bytes = strlen(hex) / 2;
	unsigned int byte;

	*ret_id = (struct pathprof_build_id){.kind = PATHPROF_ID_BUILD_ID};
	for (size_t i = 0; i < len_bytes && i < sizeof(ret_id->bytes); i++) {
		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			return false;
		ret_id->bytes[ret_id->len_bytes++] = (uint8_t)byte;
	}
	return len_bytes > 0;
}

int main(int argc, char **argv)
{
	struct pp_names_path path = {.length = 1};
	struct pp_names_job job = {.paths = &path, .path_cnt = 1, .hurry = true};
	double held_ms = 0, begin_ms;
	struct heard heard = {false, 0};
	struct pp_names *names;
	sd_event *event;

	if (argc != 4 || !parse_id(argv[2], &job.id) || sd_event_new(&event) < 0 ||
	    pp_names_new(&names, event, NULL))
		return 2;
	job.file = argv[1];
	path.start = strtoull(argv[3], NULL, 0);
	if (pp_names_ask(names, &job, hear, &heard))
		return 1;
	while (!heard.done) {
		if (sd_event_prepare(event) == 0)
			sd_event_wait(event, UINT64_MAX);
		begin_ms = now_ms();
		sd_event_dispatch(event);
		if (now_ms() - begin_ms > held_ms)
			held_ms = now_ms() - begin_ms;
	}
	printf("held %.0f\n", held_ms);
	pp_names_free(names);
	sd_event_unref(event);
	return 0;
}
