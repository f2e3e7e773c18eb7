// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Labels of hosts: see labels.h. */
#include "pathprof/labels.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define KEY_CHARS   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define VALUE_CHARS KEY_CHARS ":/@+"
#define SEPARATORS  " ,\t\n"

struct label {
	const char *text;
	size_t key_len, len;
};

/* The label at text, which ends at a separator or with the text. */
static bool take(const char *text, struct label *ret_label)
{
	size_t key = strspn(text, KEY_CHARS), value;

	if (!key || key > PATHPROF_LABEL_KEY_MAX || text[key] != '=')
		return false;
	value = strspn(text + key + 1, VALUE_CHARS);
	if (!value || value > PATHPROF_LABEL_VALUE_MAX)
		return false;
	*ret_label = (struct label){text, key, key + 1 + value};
	return !text[ret_label->len] || strchr(SEPARATORS, text[ret_label->len]);
}

static int compare_keys(const struct label *a, const struct label *b)
{
	size_t least = a->key_len < b->key_len ? a->key_len : b->key_len;
	int order = memcmp(a->text, b->text, least);

	return order ? order : (a->key_len > b->key_len) - (a->key_len < b->key_len);
}

static bool is_same(const struct label *a, const struct label *b)
{
	return a->len == b->len && !memcmp(a->text, b->text, a->len);
}

/* In its place by key; one that is there already is not added again. */
static int insert(struct label list[PATHPROF_LABELS_MAX], size_t *cnt, const struct label *label)
{
	size_t at = 0;

	while (at < *cnt && compare_keys(&list[at], label) < 0)
		at++;
	if (at < *cnt && compare_keys(&list[at], label) == 0)
		return is_same(&list[at], label) ? 0 : -EEXIST;
	if (*cnt == PATHPROF_LABELS_MAX)
		return -E2BIG;
	memmove(&list[at + 1], &list[at], (*cnt - at) * sizeof(list[0]));
	list[at] = *label;
	++*cnt;
	return 0;
}

static int insert_all(struct label list[PATHPROF_LABELS_MAX], size_t *cnt, const char *text)
{
	int r = 0;

	for (text += strspn(text, SEPARATORS); *text && r == 0; text += strspn(text, SEPARATORS)) {
		struct label label;

		if (!take(text, &label))
			return -EINVAL;
		r = insert(list, cnt, &label);
		text += label.len;
	}
	return r;
}

static int write(const struct label *list, size_t cnt, char ret_text[PATHPROF_LABELS_BYTES])
{
	size_t len = 0;

	ret_text[0] = 0;
	for (size_t i = 0; i < cnt; i++) {
		if (len + !!len + list[i].len >= PATHPROF_LABELS_BYTES)
			return -E2BIG;
		if (len)
			ret_text[len++] = ' ';
		memcpy(ret_text + len, list[i].text, list[i].len);
		len += list[i].len;
		ret_text[len] = 0;
	}
	return 0;
}

int pathprof_labels_add(char labels[PATHPROF_LABELS_BYTES], const char *text)
{
	struct label list[PATHPROF_LABELS_MAX];
	char sum[PATHPROF_LABELS_BYTES];
	size_t cnt = 0;
	int r = insert_all(list, &cnt, labels);

	if (r == 0)
		r = insert_all(list, &cnt, text);
	if (r == 0)
		r = write(list, cnt, sum);
	if (r == 0)
		memcpy(labels, sum, sizeof(sum));
	return r;
}

bool pathprof_labels_check(const char *text)
{
	char ordered[PATHPROF_LABELS_BYTES] = "";

	return pathprof_labels_add(ordered, text) == 0 && !strcmp(ordered, text);
}

bool pathprof_labels_match(const char *labels, const char *wanted)
{
	char both[PATHPROF_LABELS_BYTES];

	if (strlen(labels) >= sizeof(both))
		return false;
	snprintf(both, sizeof(both), "%s", labels);
	return pathprof_labels_add(both, wanted) == 0 && !strcmp(both, labels);
}
