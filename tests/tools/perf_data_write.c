// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a perf.data from a script: any kind of header, event and record, for tests of the reader
 * and for `perf script` to read beside it.
 *
 *     perf_data_write FILE <SCRIPT
 *
 * Words are split by blanks; # begins a comment. Numbers as in C.
 *
 *     file [v1] [old] [unclosed] [big] | pipe    first; old: a header without features; unclosed:
 *                                      its writer was killed; big: of a big-endian machine
 *     event [type=N] [config=N] [sample=ip+tid+...] [branch=N] [read=N] [period=N] [freq=N]
 *           [flags=N] [size=N] [clockid=N] [ids=N+N] [name=S] [group=N]
 *                                      in the order of their indices; group: so many from this
 *                                      one on are read together
 *     feature hostname|osrelease|arch|cpudesc|cmdline WORDS | clock WALL CLOCK |
 *             directory VERSION | build-id kernel|user[-sized] HEX NAME |
 *             raw NUMBER HEX           bytes at the end of what is there of it
 *     begin                            of records; then, TIME in nanoseconds, any of
 *     mmap PID TIME START LENGTH OFFSET x|-|k NAME
 *     mmap2 PID TIME START LENGTH OFFSET PROT inode|muddled|HEX NAME
 *                                      muddled: an inode that is flagged as a build-id, as kernels
 *                                      do
 *     comm|exec PID[/TID] TIME NAME
 *     fork|spawn PID[/TID] TIME PARENT
 *     exit PID[/TID] TIME
 *     lost TIME COUNT
 *     lost-samples TIME COUNT [by-filter]
 *     sample EVENT PID TIME IP [cpu=N] [period=N] [mode=N] [hw=N] [chain=N] [raw=N]
 *            [FROM>TO[:MPXAN[:CYCLES[:KIND[:SPEC[:NEW[:PRIV]]]]]] ...]
 *     round | other TYPE BYTES [TIME] | aux BYTES | tracing BYTES
 *     zip|zip2 [LEVEL [WINDOWLOG]]     compressed from here on, cut into pieces as perf does
 *     unzip
 *     update EVENT NAME | build-id ... as the feature
 *     many COUNT CPUS BRANCHES SEED [flat|CPU]
 *                                      samples of event 0, in rounds that overlap; flat: the rounds
 *                                      are not told; CPU: those of one only
 *     part                             what follows goes to a file of its own, FILE.0 and so on
 *     raw HEX                          bytes as they are
 *     cut BYTES                        off the end of the file, at last
 */
#include "perf_data/perf_data.h"

#include <string.h>
#include <unistd.h>

#define WORDS_MAX 1100
#define ENDS      16 /* a word that is missing is NULL */

static void put_update(char **words)
{
	pdw_begin(78, 0);
	pdw_put_u64(2);
	pdw_put_u64(pdw_events[pdw_number(words[1])].ids[0]);
	pdw_put_text(words[2]);
	pdw_end();
}

static void put_bytes(const char *hex)
{
	pdw_record_len = 0;
	pdw_put_hex(hex, 0);
	pdw_put_file(pdw_record, pdw_record_len);
}

static void do_marks(char **words)
{
	if (strcmp(words[0], "round") == 0) {
		pdw_put_round();
	} else if (strcmp(words[0], "zip") == 0 || strcmp(words[0], "zip2") == 0) {
		pdw_start_zip(words[0][3] ? 83 : 81, words[1], words[1] ? words[2] : NULL);
	} else if (strcmp(words[0], "part") == 0) {
		pdw_start_part();
	} else if (strcmp(words[0], "unzip") == 0) {
		pdw_stop_zip();
	} else if (strcmp(words[0], "raw") == 0) {
		put_bytes(words[1]);
	} else if (strcmp(words[0], "build-id") == 0) {
		pdw_begin_build_id(words + 1);
		pdw_end();
	} else if (strcmp(words[0], "many") == 0) {
		pdw_do_many(words);
	} else {
		pdw_fail("what is %s?", words[0]);
	}
}

static void do_record(char **words)
{
	static const struct {
		const char *name;
		void (*put)(char **words);
		int words;
	} records[] = {
		{"mmap", pdw_put_mmap, 8},         {"mmap2", pdw_put_mmap, 9},
		{"comm", pdw_put_comm, 4},         {"exec", pdw_put_comm, 4},
		{"fork", pdw_put_fork, 4},         {"spawn", pdw_put_fork, 4},
		{"exit", pdw_put_fork, 3},         {"lost", pdw_put_lost, 3},
		{"lost-samples", pdw_put_lost, 3}, {"other", pdw_put_other, 3},
		{"aux", pdw_put_payload, 2},       {"tracing", pdw_put_payload, 2},
		{"update", put_update, 3},         {"sample", pdw_read_sample, 5},
	};

	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		if (strcmp(words[0], records[i].name) == 0) {
			for (int w = 0; w < records[i].words; w++)
				if (!words[w])
					pdw_fail("%s takes %d words", words[0], records[i].words);
			records[i].put(words);
			return;
		}
	do_marks(words);
}

static uint64_t cut;

static void do_line(char **words)
{
	if (strcmp(words[0], "file") == 0) {
		pdw_is_v1 = pdw_has_word(words, "v1");
		pdw_is_old = pdw_has_word(words, "old");
		pdw_is_unclosed = pdw_has_word(words, "unclosed");
		pdw_is_big = pdw_has_word(words, "big");
	} else if (strcmp(words[0], "pipe") == 0) {
		pdw_is_pipe = true;
	} else if (strcmp(words[0], "event") == 0) {
		pdw_add_event(words + 1);
	} else if (strcmp(words[0], "feature") == 0) {
		pdw_add_feature(words + 1);
	} else if (strcmp(words[0], "begin") == 0) {
		pdw_put_front();
	} else if (strcmp(words[0], "cut") == 0) {
		cut = pdw_number(words[1]);
	} else {
		do_record(words);
	}
}

static void read_script(void)
{
	static char text[1 << 17];
	static char *words[WORDS_MAX + ENDS];

	while (fgets(text, sizeof(text), stdin)) {
		char *save = NULL, *hash = strchr(text, '#');
		size_t cnt = 0;

		pdw_line++;
		if (hash)
			*hash = '\0';
		for (char *w = strtok_r(text, " \t\n", &save); w && cnt < WORDS_MAX;
		     w = strtok_r(NULL, " \t\n", &save))
			words[cnt++] = w;
		for (size_t i = cnt; i < cnt + ENDS; i++)
			words[i] = NULL;
		if (cnt)
			do_line(words);
	}
}

int main(int argc, char **argv)
{
	long len;

	if (argc != 2) {
		fprintf(stderr, "usage: perf_data_write FILE <SCRIPT\n");
		return 2;
	}
	pdw_out_name = argv[1];
	pdw_main_out = pdw_out = fopen(pdw_out_name, "w+");
	if (!pdw_out) {
		perror(argv[1]);
		return 1;
	}
	read_script();
	pdw_close_part();
	pdw_put_end();
	fseek(pdw_out, 0, SEEK_END);
	len = ftell(pdw_out);
	if (fflush(pdw_out) != 0 || len < 0 || cut > (uint64_t)len ||
	    ftruncate(fileno(pdw_out), len - (long)cut) != 0)
		pdw_fail("cannot write %s", argv[1]);
	ZSTD_freeCCtx(pdw_zip);
	return fclose(pdw_out) != 0;
}
