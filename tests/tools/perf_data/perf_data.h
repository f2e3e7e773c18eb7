/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of perf_data_write, which has one file open and one script: its words become bytes of
 * a record, which goes to the file, or into what is compressed.
 */
#ifndef TESTS_PERF_DATA_H
#define TESTS_PERF_DATA_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <zstd.h>

#define EVENTS_MAX 64
#define IDS_MAX    64
#define RECORD_MAX 65535

struct pdw_event {
	uint8_t attr[256];
	uint32_t size;
	uint64_t sample_type, branch_type, read_format, flags, ids[IDS_MAX];
	uint32_t id_cnt, group_cnt;
	char name[128];
};

/* ---------------------------------------------------------------- words of the script */

__attribute__((noreturn, format(printf, 1, 2))) void pdw_fail(const char *format, ...);
uint64_t pdw_number(const char *word);
/* The value of a word KEY=VALUE; NULL: there is none. */
const char *pdw_option(char **words, const char *key);
uint64_t pdw_option_number(char **words, const char *key, uint64_t otherwise);
bool pdw_has_word(char **words, const char *word);

/* ---------------------------------------------------------------- bytes */

extern FILE *pdw_out, *pdw_main_out; /* out: a part's, or main_out */
extern const char *pdw_out_name;
extern uint8_t pdw_record[RECORD_MAX + 64];
extern size_t pdw_record_len;
extern uint32_t pdw_zip_type;
extern ZSTD_CCtx *pdw_zip;
extern unsigned pdw_line; /* of the script */

void pdw_put_file(const void *bytes, size_t len);
void pdw_put(const void *bytes, size_t len);
void pdw_put_u32(uint32_t value);
void pdw_put_u64(uint64_t value);
void pdw_put_zeros(size_t len);
void pdw_put_text(const char *text);
void pdw_put_hex(const char *hex, size_t room);
void pdw_begin(uint32_t type, uint16_t misc);
void pdw_end(void);
void pdw_end_with_trailer(uint32_t pid, uint32_t tid, uint64_t time);

/* ---------------------------------------------------------------- compressed, and in parts */

void pdw_start_zip(uint32_t type, const char *level, const char *window_log);
void pdw_stop_zip(void);
void pdw_close_part(void);
void pdw_start_part(void);

/* ---------------------------------------------------------------- the head */

extern struct pdw_event pdw_events[EVENTS_MAX];
extern uint32_t pdw_event_cnt;
extern bool pdw_is_pipe, pdw_is_v1, pdw_is_old, pdw_is_unclosed, pdw_is_big;

void pdw_add_event(char **words);
void pdw_begin_build_id(char **words);
void pdw_add_feature(char **words);
void pdw_put_front(void);
void pdw_put_end(void);

/* ---------------------------------------------------------------- records */

void pdw_read_pid(const char *word, uint32_t *ret_pid, uint32_t *ret_tid);
void pdw_put_mmap(char **words);
void pdw_put_comm(char **words);
void pdw_put_fork(char **words);
void pdw_put_lost(char **words);
void pdw_put_other(char **words);
void pdw_put_payload(char **words);
void pdw_read_sample(char **words);
void pdw_put_round(void);
void pdw_do_many(char **words);

#endif
