// SPDX-License-Identifier: GPL-2.0-or-later
/* The meaning of a selector, and reading it: see selector.h. */
#include "selector.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../text/cleanup.h"
#include "../text/kinds.h"
#include "../text/text.h"
#include "../text/when.h"
#include "base/clock.h"
#include "pathprof/labels.h"
#include "side_load.h"

#define HOST_PREFIX       "host:"
#define LABEL_PREFIX      "label:"
#define GROUP_PREFIX      "group:"
#define BASELINE_NAME_MAX 39 /* as in the service */
#define VERSION_DIGITS    4  /* the fewest that the store accepts as a prefix */

struct selector {
	struct pathprof_filter filter;
	char *file;   /* NULL: the database */
	char *word;   /* the word in parts; the filter's strings point into it */
	char *binary; /* in word: of BINARY@VERSION; NULL: any */
};

static void release(struct selector *selector)
{
	free(selector->file);
	free(selector->word);
}

/* ---------------------------------------------------------------- baselines */

char *selector_baselines(const struct ctl_options *options)
{
	_cleanup_free_ char *db = ctl_db_path(options);
	char *slash = strrchr(db, '/');

	if (!slash)
		return ctl_strdup("baselines");
	*slash = 0;
	return ctl_printf("%s/baselines", db);
}

char *selector_baseline_file(const struct ctl_options *options, const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	_cleanup_free_ char *directory = NULL;

	if (!*name || *name == '.' || *name == '-' || strlen(name) > BASELINE_NAME_MAX ||
	    name[strspn(name, allowed)]) {
		ctl_fail("baseline '%s': a name is 1 to %d letters, digits, '.', '_' and '-', and "
			 "begins with a letter or digit",
			 name, BASELINE_NAME_MAX);
		return NULL;
	}
	directory = selector_baselines(options);
	return ctl_printf("%s/%s.baseline", directory, name);
}

/* ---------------------------------------------------------------- words */

static int bad(const char *word)
{
	if (access(word, F_OK) == 0)
		ctl_fail("%s: not a selector: a file is given as file:%s", word, word);
	else
		ctl_fail("%s: not a selector: use window:ID, SINCE..UNTIL, host:NAME, group:NAME, "
			 "label:KEY=VALUE, baseline:NAME, file:PATH or BINARY@VERSION",
			 word);
	return CTL_USAGE;
}

static int parse_window(struct selector *selector, const char *text)
{
	char *end;

	errno = 0;
	selector->filter.window = strtoll(text, &end, 10);
	if (errno || *end || end == text || selector->filter.window <= 0)
		return ctl_fail("window:%s: not the id of a window: pathprofctl windows lists them",
				text);
	return CTL_OK;
}

/* Selects a host whose parcels were added. If there are none, the selection is empty, which is
 * reported as usual. */
static int parse_host(struct selector *selector, const char *word)
{
	selector->filter.host = selector->word + strlen(HOST_PREFIX);
	return *selector->filter.host ? CTL_OK : bad(word);
}

/* Labels of --label are added. */
static int parse_label(struct selector *selector, const char *word, const char *key,
		       const char *text)
{
	char labels[PATHPROF_LABELS_BYTES] = "", label[PATHPROF_LABELS_BYTES];
	int len = snprintf(label, sizeof(label), "%s%s", key, text);
	int r = (size_t)len < sizeof(label) ? pathprof_labels_add(labels, label) : -E2BIG;

	if (r < 0 || !*labels)
		return bad(word);
	r = pathprof_labels_add(labels, selector->filter.labels ?: "");
	if (r < 0)
		return ctl_fail("%s: --label has %s, which no host of these has", word,
				selector->filter.labels);
	free(selector->word);
	selector->word = ctl_strdup(labels);
	selector->filter.labels = selector->word;
	return CTL_OK;
}

static int parse_end(const char *word, const char *text, int64_t *ret_ns)
{
	int r;

	if (!*text)
		return CTL_OK;
	r = when_parse(text, pp_realtime_ns(), ret_ns);
	if (r < 0)
		return ctl_fail("%s: '%s' is no time: use \"2026-11-21 10:00\", -5min, \"1h ago\", "
				"today or @EPOCH",
				word, text);
	*ret_ns += *ret_ns == 0;
	return CTL_OK;
}

static int parse_span(struct selector *selector, const char *word, char *dots)
{
	int64_t *since = &selector->filter.since_ns, *until = &selector->filter.until_ns;
	int r;

	*dots = 0;
	r = parse_end(word, selector->word, since);
	if (r == CTL_OK)
		r = parse_end(word, dots + 2, until);
	if (r == CTL_OK && *since && *until && *since >= *until)
		return ctl_fail("%s: its end is not after its beginning", word);
	return r;
}

/* The window or the times of a filter as a word. The caller frees. */
static char *span_of(const struct pathprof_filter *filter)
{
	_cleanup_free_ char *since = NULL, *until = NULL;

	if (filter->window)
		return ctl_printf("window:%lld", (long long)filter->window);
	if (filter->since_ns)
		since = ctl_printf("@%lld", filter->since_ns / CTL_NS_PER_S);
	if (filter->until_ns)
		until = ctl_printf("@%lld", (filter->until_ns + CTL_NS_PER_S - 1) / CTL_NS_PER_S);
	return ctl_printf("%s..%s", since ?: "", until ?: "");
}

static int parse_binary(struct selector *selector, const char *word, char *at)
{
	*at = 0;
	selector->binary = selector->word;
	selector->filter.binary = at + 1;
	if (strlen(at + 1) < VERSION_DIGITS || at[1 + strspn(at + 1, "0123456789abcdef")])
		return ctl_fail("%s: '%s' is no build-id: give %d or more of its hex digits, which "
				"pathprofctl binaries --json lists",
				word, at + 1, VERSION_DIGITS);
	return CTL_OK;
}

static int parse(struct selector *selector, const struct ctl_options *options, const char *word)
{
	char *sign;

	*selector = (struct selector){.filter = options->filter, .word = ctl_strdup(word)};
	/* The options narrow down processes and hosts, but the word alone selects the time. */
	selector->filter.since_ns = selector->filter.until_ns = selector->filter.window = 0;
	selector->filter.limit = 0;
	if (strncmp(word, "window:", 7) == 0)
		return parse_window(selector, word + 7);
	if (strncmp(word, HOST_PREFIX, strlen(HOST_PREFIX)) == 0)
		return parse_host(selector, word);
	if (strncmp(word, LABEL_PREFIX, strlen(LABEL_PREFIX)) == 0)
		return parse_label(selector, word, "", word + strlen(LABEL_PREFIX));
	if (strncmp(word, GROUP_PREFIX, strlen(GROUP_PREFIX)) == 0)
		return parse_label(selector, word, PATHPROF_LABEL_GROUP "=",
				   word + strlen(GROUP_PREFIX));
	if (strncmp(word, "baseline:", 9) == 0) {
		selector->file = selector_baseline_file(options, word + 9);
		return selector->file ? CTL_OK : CTL_USAGE;
	}
	if (strncmp(word, "file:", 5) == 0) {
		selector->file = ctl_strdup(word + 5);
		return word[5] ? CTL_OK : bad(word);
	}
	sign = strstr(selector->word, "..");
	if (sign)
		return parse_span(selector, word, sign);
	sign = strrchr(selector->word, '@');
	if (sign && sign != selector->word)
		return parse_binary(selector, word, sign);
	return bad(word);
}

/* ---------------------------------------------------------------- opening */

static int missing(const char *word, const char *file)
{
	if (strncmp(word, "baseline:", 9) != 0)
		return ctl_fail("%s: %s", word, strerror(errno));
	if (errno != ENOENT)
		return ctl_fail("%s: %s: %s", word, file, strerror(errno));
	return ctl_fail("%s: no such baseline (%s): pathprofctl baseline list shows those there "
			"are, baseline set makes one",
			word, file);
}

/* Returns 1 for a store, 0 for something else, or an exit status below 0, after a message. */
static int is_store(const char *word, const char *file)
{
	static const char magic[16] = "SQLite format 3";
	char head[sizeof(magic)] = "";
	_cleanup_close_ int fd = -1;
	struct stat status;

	if (stat(file, &status) < 0)
		return -missing(word, file);
	if (!S_ISREG(status.st_mode))
		return -ctl_fail("%s: not a regular file", word);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -missing(word, file);
	return read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
	       memcmp(head, magic, sizeof(magic)) == 0;
}

static int open_store(struct side *side, const struct ctl_options *options, const char *file)
{
	struct pathprof_error error = {""};
	int r;

	if (!file)
		return ctl_db_open(&side->store, options, PATHPROF_STORE_READ);
	r = pathprof_store_open(&side->store, file, PATHPROF_STORE_READ, &error);
	return r < 0 ? ctl_fail_error(file, r, &error) : CTL_OK;
}

/* ---------------------------------------------------------------- reading */

static int check(const struct side *side, const struct selector *selector, int r,
		 const struct pathprof_error *error)
{
	if (r == -ERANGE)
		return ctl_fail("%s: a count exceeds 2^64", side->word);
	if (r < 0)
		return ctl_fail_error(side->word, r, error);
	if (side->distribution.total > 0)
		return CTL_OK;
	if (side->kind == SIDE_TIMES)
		return ctl_fail(
			"%s: no clock sample of what is selected, so its TIME is not known: "
			"leave --sort time out to compare RUNS",
			side->word);
	if (side->unreadable > 0)
		return ctl_fail("%s: no code of what ran there can be read, so its %s are not "
				"known: keep the binaries, or compare paths",
				side->word, side_kind_name(side->kind));
	if (selector->filter.window)
		return ctl_fail("%s: no such window, or nothing of the selection in it: "
				"pathprofctl windows lists them",
				side->word);
	return ctl_fail("%s: nothing was seen there: take a longer time (--since, --until), or "
			"leave a filter out",
			side->word);
}

/* If the selection has windows of several kinds, the newest kind becomes the side. */
static int choose_kind(struct side *side, struct selector *selector, struct pathprof_error *error)
{
	struct kinds kinds;
	int r = kinds_choose(&kinds, side->store, &selector->filter, error);

	if (r < 0)
		return r;
	kinds_tell(&kinds);
	return measure_load(&side->measure, side->store, &selector->filter, kinds.used, error);
}

static int load(struct side *side, const struct ctl_options *options, struct selector *selector)
{
	struct pathprof_error error = {""};
	int r = selector->file ? is_store(side->word, selector->file) : 1;

	if (r < 0)
		return -r;
	if (r == 0 && side->kind == SIDE_TIMES)
		return ctl_fail("%s: lines of text have no TIME: compare windows or baselines",
				side->word);
	if (r == 0) {
		side->symbols = symbols_new(NULL);
		r = side_text_read(side, selector->file, &error);
	} else {
		r = open_store(side, options, selector->file);
		if (r)
			return r;
		side->symbols = symbols_new(side->store);
		r = choose_kind(side, selector, &error);
		if (r == 0)
			r = side_store_read(side, side->store, &selector->filter, selector->binary,
					    &error);
		if (r == 0)
			r = side_store_dispersion(side, &selector->filter, selector->binary,
						  &error);
	}
	if (r == 0)
		r = side_code_refine(side);
	if (r == 0)
		r = side_finish(side);
	return check(side, selector, r, &error);
}

/* A database fetched from a hub is removed when the command ends, and its ids mean nothing then. */
static char *db_of(const struct ctl_options *options, const struct selector *selector)
{
	if (selector->file)
		return ctl_strdup(selector->file);
	return options->hub ? NULL : ctl_db_path(options);
}

int selector_load(struct side *ret_side, const struct ctl_options *options, const char *word,
		  enum side_kind kind)
{
	struct selector selector;
	struct side side;
	int r = parse(&selector, options, word);

	side_init(&side, word, kind);
	if (r == CTL_OK)
		r = load(&side, options, &selector);
	side.filter = selector.filter;
	side.words = selector.word;
	if (r == CTL_OK && side.store)
		side.db = db_of(options, &selector);
	selector.word = NULL;
	release(&selector);
	if (r == CTL_OK)
		*ret_side = side;
	else
		side_release(&side);
	return r;
}

/* The word of a span is not referred to by the filter, so the build-id can replace it. */
int selector_load_build(struct side *ret_side, const struct ctl_options *options,
			const struct pathprof_filter *filter, const struct pathprof_build_id *id,
			const char *word)
{
	_cleanup_free_ char *span = span_of(filter);
	char build[PATHPROF_BUILD_ID_TEXT_LEN];
	struct ctl_options narrowed = *options;
	int r;

	narrowed.filter = *filter;
	narrowed.filter.binary = pathprof_build_id_text(id, build);
	r = selector_load(ret_side, &narrowed, span, SIDE_PATHS);
	if (r)
		return r;
	free(ret_side->words);
	ret_side->words = ctl_strdup(build);
	ret_side->filter.binary = ret_side->words;
	ret_side->word = word;
	return CTL_OK;
}
