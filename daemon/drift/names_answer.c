// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The child's answer, taken apart. The child has read a file that anybody may have made, so its
 * bytes are believed no more than the file is.
 */
#include "names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/controls.h"
#include "pathprof/store.h"

struct reader {
	const unsigned char *at;
	size_t left;
};

static bool take(struct reader *reader, void *to, size_t len_bytes)
{
	if (reader->left < len_bytes)
		return false;
	memcpy(to, reader->at, len_bytes);
	reader->at += len_bytes;
	reader->left -= len_bytes;
	return true;
}

void pp_names_answer_release(struct pp_names_answer *answer)
{
	for (size_t i = 0; answer->paths && i < answer->path_cnt; i++) {
		free((char *)answer->paths[i].name);
		free((char *)answer->paths[i].source);
	}
	free((struct pp_named_path *)answer->paths);
	free((uint64_t *)answer->functions);
	pathprof_unwind_table_release(&answer->table);
	*answer = (struct pp_names_answer){.path_cnt = 0};
}

static int take_functions(struct reader *reader, size_t cnt, struct pp_names_answer *answer)
{
	uint64_t *keys = malloc((cnt + 1) * sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	answer->functions = keys;
	answer->function_cnt = cnt;
	if (!take(reader, keys, cnt * sizeof(*keys)))
		return -EBADMSG;
	for (size_t i = 1; i < cnt; i++)
		if (keys[i - 1] >= keys[i])
			return -EBADMSG;
	return 0;
}

/* Copies a string, with control characters replaced. */
static int take_text(struct reader *reader, size_t len_bytes, const char **ret_text)
{
	char *text;

	if (len_bytes >= PP_NAMES_TEXT_MAX || reader->left < len_bytes)
		return -EBADMSG;
	text = calloc(1, len_bytes + 1);
	if (!text)
		return -ENOMEM;
	take(reader, text, len_bytes);
	pp_controls_replace(text, len_bytes, '?');
	*ret_text = text;
	return 0;
}

static int take_path(struct reader *reader, struct pp_named_path *path)
{
	struct pp_names_record record;
	int r;

	if (!take(reader, &record, sizeof(record)) || record.zero)
		return -EBADMSG;
	path->function = record.function;
	path->place = record.place;
	r = take_text(reader, record.name_bytes, &path->name);
	return r < 0 ? r : take_text(reader, record.source_bytes, &path->source);
}

static int take_rows(struct reader *reader, size_t cnt, struct pathprof_unwind_table *table)
{
	if (!cnt)
		return 0;
	table->rows = calloc(cnt, sizeof(table->rows[0]));
	if (!table->rows)
		return -ENOMEM;
	table->row_cnt = cnt;
	if (!take(reader, table->rows, cnt * sizeof(table->rows[0])))
		return -EBADMSG;
	return pathprof_unwind_table_check(table->rows, cnt);
}

static int take_all(struct reader *reader, const struct pp_names_head *head,
		    struct pp_names_answer *answer)
{
	struct pp_named_path *paths = calloc(head->path_cnt + 1, sizeof(*paths));
	int r;

	if (!paths)
		return -ENOMEM;
	answer->paths = paths;
	answer->path_cnt = head->path_cnt;
	r = take_functions(reader, head->function_cnt, answer);
	for (size_t i = 0; r == 0 && i < head->path_cnt; i++)
		r = take_path(reader, &paths[i]);
	if (r == 0)
		r = take_rows(reader, head->row_cnt, &answer->table);
	return r == 0 && reader->left ? -EBADMSG : r;
}

int pp_names_parse(const void *bytes, size_t len_bytes, size_t path_cnt, int *ret_code,
		   struct pp_names_answer *ret_answer)
{
	struct reader reader = {bytes, len_bytes};
	struct pp_names_answer answer = {.path_cnt = 0};
	struct pp_names_head head;
	int r;

	if (!take(&reader, &head, sizeof(head)) || head.magic != PP_NAMES_MAGIC || head.code > 0 ||
	    head.code < -4095)
		return -EBADMSG;
	if (head.code) {
		*ret_code = head.code;
		return 0;
	}
	if (head.path_cnt != path_cnt || head.function_cnt > PATHPROF_FUNCTION_KEYS_MAX ||
	    head.row_cnt > PP_NAMES_ROWS_MAX || head.zero)
		return -EBADMSG;
	r = take_all(&reader, &head, &answer);
	if (r < 0) {
		pp_names_answer_release(&answer);
		return r;
	}
	*ret_code = 0;
	*ret_answer = answer;
	return 0;
}
