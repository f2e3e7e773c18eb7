// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading the settings' files. inih splits lines; it neither tells its handler where it is nor
 * complains of a line that is too long or of a section without keys, so the reader that feeds it
 * counts, measures and looks at sections.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "config_key.h"

#define FILE_MAX_BYTES (1U << 20)

struct parse {
	struct pp_config *config;
	const char *name;
	const char *at, *end;
	unsigned int line;
	uint64_t seen; /* keys this file has set */
	/* and in each rule: the places of pp_config.alerts */
	uint64_t seen_alert[PP_CONFIG_ALERT_MAX];
	int failed; /* the first error; everything after it is skipped */
	struct pathprof_error *error;
};

static void fail_at(struct parse *p, unsigned int line, const char *text)
{
	if (p->failed)
		return;
	p->failed = pathprof_fail(p->error, -EINVAL, "%s:%u: %s", p->name, line, text);
}

static void check_section(struct parse *p, const char *line)
{
	const char *close = strchr(line, ']');
	char text[128];

	if (close && pp_config_has_section(line + 1, (size_t)(close - line - 1)))
		return;
	snprintf(text, sizeof(text), "unknown section %.80s", line);
	fail_at(p, p->line, text);
}

static const char *skip_lead(struct parse *p, const char *line, const char *end)
{
	static const char bom[] = "\xEF\xBB\xBF";

	if (p->line == 1 && end - line >= 3 && !memcmp(line, bom, 3))
		line += 3;
	/* inih takes an indented line for the continuation of the one before */
	while (line < end && (*line == ' ' || *line == '\t'))
		line++;
	return line;
}

/* Works like fgets: the next line into buffer, NULL at the end. */
static char *next_line(char *buffer, int size, void *context)
{
	struct parse *p = context;
	const char *line = p->at, *end;
	size_t len;

	if (p->failed || line == p->end)
		return NULL;
	p->line++;
	end = memchr(line, '\n', (size_t)(p->end - line));
	p->at = end ? end + 1 : p->end;
	end = end ? end : p->end;
	if (memchr(line, '\0', (size_t)(end - line))) {
		fail_at(p, p->line, "a NUL byte");
		return NULL;
	}
	line = skip_lead(p, line, end);
	len = (size_t)(end - line);
	if (len + 2 > (size_t)size) {
		fail_at(p, p->line, "line too long");
		return NULL;
	}
	memcpy(buffer, line, len);
	memcpy(buffer + len, "\n", 2);
	if (buffer[0] == '[') {
		buffer[len] = '\0';
		check_section(p, buffer);
		buffer[len] = '\n';
	}
	return buffer;
}

/* NULL: there is one rule too many; setting its key will fail and say so. */
static uint64_t *seen_in(struct parse *p, const char *section)
{
	const char *alert = pp_config_alert_name(section);

	if (!alert)
		return &p->seen;
	for (size_t i = 0; i < PP_CONFIG_ALERT_MAX; i++)
		if (!p->config->alerts[i].name[0] || !strcmp(p->config->alerts[i].name, alert))
			return &p->seen_alert[i];
	return NULL;
}

static size_t number_of_key(const struct pp_config_key *key, const char *section)
{
	return (size_t)(key -
			(pp_config_alert_name(section) ? pp_config_alert_keys : pp_config_keys));
}

static int parse_key(struct parse *p, const char *section, const char *name, const char *value)
{
	const struct pp_config_key *key = pp_config_find(section, name);
	struct pathprof_error why = {""};
	char text[700];
	uint64_t bit, *seen;

	if (!key) {
		snprintf(text, sizeof(text), "unknown key %.50s= in [%.50s]", name, section);
		fail_at(p, p->line, text);
		return 0;
	}
	seen = seen_in(p, section);
	bit = UINT64_C(1) << (number_of_key(key, section) % PP_CONFIG_KEY_MAX);
	if (seen && *seen & bit) {
		snprintf(text, sizeof(text), "%s= was set in this file before", key->name);
		fail_at(p, p->line, text);
		return 0;
	}
	if (seen)
		*seen |= bit;
	if (key->type == PP_CONFIG_PATH && value[0] && value[0] != '/') {
		snprintf(text, sizeof(text), "%s=%.100s: wanted an absolute path", name, value);
		fail_at(p, p->line, text);
		return 0;
	}
	if (pp_config_set(p->config, section, name, value, &why) < 0)
		fail_at(p, p->line, why.text);
	return !p->failed;
}

static int on_key(void *context, const char *section, const char *name, const char *value)
{
	struct parse *p = context;

	return p->failed ? 0 : parse_key(p, section, name, value);
}

static int parse_text(struct pp_config *config, const char *name, const char *text,
		      size_t len_bytes, struct pathprof_error *error)
{
	struct pp_config copy = *config;
	struct parse p = {
		.config = &copy,
		.name = name,
		.at = text,
		.end = text + len_bytes,
		.error = error,
	};
	int first;

	if (len_bytes > FILE_MAX_BYTES)
		return pathprof_fail(error, -EINVAL, "%s: larger than 1 MiB", name);
	first = ini_parse_stream(next_line, &p, on_key, &p);
	/* a line that inih itself rejected never came to the handler; it may lie before ours */
	if (first > 0 && (!p.failed || (unsigned int)first < p.line)) {
		p.failed = 0;
		fail_at(&p, (unsigned int)first, "neither [Section] nor Key=Value");
	} else if (first < 0 && !p.failed) {
		p.failed = pathprof_fail(error, -ENOMEM, "%s: out of memory", name);
	}
	if (p.failed)
		return p.failed;
	*config = copy;
	return 0;
}

/* Whether the values are consistent, once all files that set them were read. */
static int check_together(const struct pp_config *config, const char *name,
			  struct pathprof_error *error)
{
	struct pathprof_error why = {""};

	if (pp_config_check(config, &why) < 0)
		return pathprof_fail(error, -EINVAL, "%s: %s", name, why.text);
	return 0;
}

int pp_config_parse(struct pp_config *config, const char *name, const char *text, size_t len_bytes,
		    struct pathprof_error *error)
{
	struct pp_config copy = *config;
	int r = parse_text(&copy, name, text, len_bytes, error);

	if (r == 0)
		r = check_together(&copy, name, error);
	if (r < 0)
		return r;
	*config = copy;
	return 0;
}

static int read_all(int fd, const char *file, char **ret_text, size_t *ret_len,
		    struct pathprof_error *error)
{
	_cleanup_free_ char *text = malloc(FILE_MAX_BYTES + 1);
	size_t len = 0;
	ssize_t n;

	if (!text)
		return pathprof_fail(error, -ENOMEM, "%s: out of memory", file);
	do {
		n = read(fd, text + len, FILE_MAX_BYTES + 1 - len);
		if (n < 0 && errno != EINTR)
			return pathprof_fail(error, -errno, "%s: %s", file, strerror(errno));
		if (n > 0)
			len += (size_t)n;
	} while (n != 0 && len <= FILE_MAX_BYTES);
	*ret_text = text;
	text = NULL;
	*ret_len = len;
	return 0;
}

static int parse_file(struct pp_config *config, const char *file, struct pathprof_error *error)
{
	/* non-blocking: a pipe put there must not hang the start */
	_cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	struct stat st;
	int r;

	if (fd < 0)
		return pathprof_fail(error, -errno, "%s: %s", file, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return pathprof_fail(error, -EINVAL, "%s: not a regular file", file);
	r = read_all(fd, file, &text, &len, error);
	if (r < 0)
		return r;
	return parse_text(config, file, text, len, error);
}

static int is_drop_in(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return entry->d_name[0] != '.' && len > 5 && !strcmp(entry->d_name + len - 5, ".conf");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int parse_drop_ins(struct pp_config *config, const char *file, struct pathprof_error *error)
{
	char dir[PATH_MAX], path[PATH_MAX];
	struct dirent **entries = NULL;
	int cnt, r = 0;

	if ((size_t)snprintf(dir, sizeof(dir), "%s.d", file) >= sizeof(dir))
		return pathprof_fail(error, -ENAMETOOLONG, "%.64s...: name too long", file);
	cnt = scandir(dir, &entries, is_drop_in, by_name);
	if (cnt < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : pathprof_fail(error, -errno, "%s: %s", dir, strerror(errno));
	for (int i = 0; i < cnt; i++) {
		int len = snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name);

		if (r == 0 && (len < 0 || (size_t)len >= sizeof(path)))
			r = pathprof_fail(error, -ENAMETOOLONG, "%.64s...: name too long", dir);
		if (r == 0)
			r = parse_file(config, path, error);
		free(entries[i]);
	}
	free(entries);
	return r;
}

int pp_config_load(struct pp_config *config, const char *file, bool required,
		   struct pathprof_error *error)
{
	struct pp_config copy = *config;
	char all[PATH_MAX];
	int r = parse_file(&copy, file, error);

	if (r == -ENOENT && !required)
		r = 0;
	if (r == 0)
		r = parse_drop_ins(&copy, file, error);
	snprintf(all, sizeof(all), "%s and its drop-ins", file);
	if (r == 0)
		r = check_together(&copy, all, error);
	if (r < 0)
		return r;
	*config = copy;
	return 0;
}
