// SPDX-License-Identifier: GPL-2.0-or-later
/* The journal sink against a socket that stands in for the journal's. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tell_world.h"

#define ENTRY_MAX 262144

struct journal {
	int fd;
	char path[128];
	char entry[ENTRY_MAX];
	size_t entry_len;
	struct pp_tell *tell;
};

static void open_journal(struct journal *journal)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(journal->path, sizeof(journal->path), "%s/socket", unit_tmpdir());
	snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", journal->path);
	journal->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CU_ASSERT_FATAL(bind(journal->fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	CU_ASSERT_FATAL(pp_tell_journal_at(&journal->tell, journal->path) == 0);
}

static void close_journal(struct journal *journal)
{
	journal->tell->ops->free(journal->tell);
	close(journal->fd);
}

static bool receive(struct journal *journal)
{
	ssize_t n = recv(journal->fd, journal->entry, sizeof(journal->entry), 0);

	journal->entry_len = n > 0 ? (size_t)n : 0;
	return n > 0;
}

/*
 * A field's value, by the journal's own rules, walked from the beginning so that a field that is
 * out of step spoils all behind it. NULL: it is not there. The caller frees.
 */
static char *value_of(const struct journal *journal, const char *name)
{
	const char *at = journal->entry, *end = at + journal->entry_len;

	while (at < end) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		const char *equals, *value;
		size_t name_len;
		uint64_t len;

		if (!line)
			return NULL;
		equals = memchr(at, '=', (size_t)(line - at));
		name_len = (size_t)((equals ? equals : line) - at);
		value = equals ? equals + 1 : line + 1 + sizeof(len);
		len = equals ? (uint64_t)(line - value) : 0;
		if (!equals)
			memcpy(&len, line + 1, sizeof(len));
		if (value + len + 1 > end || value[len] != '\n')
			return NULL;
		if (strlen(name) == name_len && !memcmp(at, name, name_len))
			return strndup(value, len);
		at = value + len + 1;
	}
	return NULL;
}

static bool has(const struct journal *journal, const char *name, const char *value)
{
	char *found = value_of(journal, name);
	bool same = found && !strcmp(found, value);

	free(found);
	return same;
}

static void test_fields(void)
{
	struct pp_tell_message message = world_message("/bin/a\nPRIORITY=0", PATHPROF_ALERT_FIRED);
	struct journal *journal = calloc(1, sizeof(*journal));

	open_journal(journal);
	CU_ASSERT(journal->tell->ops->tell(journal->tell, &message) == 0);
	CU_ASSERT(receive(journal));
	CU_ASSERT(has(journal, "MESSAGE", "the paths of it have changed"));
	CU_ASSERT(has(journal, "PRIORITY", "4"));
	CU_ASSERT(has(journal, "PATHPROF_STATUS", "firing"));
	CU_ASSERT(has(journal, "PATHPROF_RULE", "fast"));
	CU_ASSERT(has(journal, "PATHPROF_BINARY", "/bin/a\nPRIORITY=0"));
	CU_ASSERT(has(journal, "PATHPROF_CONTAINER", ""));
	CU_ASSERT(has(journal, "PATHPROF_BASELINE", "rolling"));
	CU_ASSERT(has(journal, "PATHPROF_METRIC", "kl_corrected"));
	CU_ASSERT(has(journal, "PATHPROF_VALUE", "0.25"));
	CU_ASSERT(has(journal, "PATHPROF_THRESHOLD", "0.01"));
	CU_ASSERT(has(journal, "PATHPROF_JSON", message.json));
	CU_ASSERT(has(journal, "SYSLOG_IDENTIFIER", "pathprofd"));
	CU_ASSERT(has(journal, "MESSAGE_ID", "e6d39eb4ff9b417f949fb808b53f2def"));
	message.change = PATHPROF_ALERT_RESOLVED;
	CU_ASSERT(journal->tell->ops->tell(journal->tell, &message) == 0);
	CU_ASSERT(receive(journal));
	CU_ASSERT(has(journal, "PATHPROF_STATUS", "resolved"));
	CU_ASSERT(has(journal, "PRIORITY", "5"));
	CU_ASSERT(has(journal, "MESSAGE_ID", "06a21c6bf30647cab3cf79bc2916d260"));
	message.change = PATHPROF_ALERT_SAME;
	CU_ASSERT(journal->tell->ops->tell(journal->tell, &message) == 0);
	CU_ASSERT_FALSE(receive(journal));
	CU_ASSERT(world_stats(journal->tell).told == 2);
	close_journal(journal);
	free(journal);
}

/* The walk above notices a byte that is amiss. */
static void test_planted_fault(void)
{
	struct pp_tell_message message = world_message("/bin/a", PATHPROF_ALERT_FIRED);
	struct journal *journal = calloc(1, sizeof(*journal));

	open_journal(journal);
	journal->tell->ops->tell(journal->tell, &message);
	CU_ASSERT(receive(journal));
	CU_ASSERT(has(journal, "PATHPROF_RULE", "fast"));
	journal->entry[strlen("MESSAGE\n")]++;
	CU_ASSERT_FALSE(has(journal, "PATHPROF_RULE", "fast"));
	close_journal(journal);
	free(journal);
}

static void test_hanging_journal(void)
{
	struct pp_tell_message message = world_message("/bin/a", PATHPROF_ALERT_FIRED);
	struct journal *journal = calloc(1, sizeof(*journal));
	int r = 0, told = 0;

	open_journal(journal);
	while (r == 0 && told < 100000) {
		r = journal->tell->ops->tell(journal->tell, &message);
		told += r == 0;
	}
	CU_ASSERT(r == -ENOBUFS);
	CU_ASSERT(world_stats(journal->tell).told == (uint64_t)told);
	CU_ASSERT(world_stats(journal->tell).dropped == 1);
	close_journal(journal);
	free(journal);
}

static void test_long_json(void)
{
	struct pp_tell_message message = world_message("/bin/a", PATHPROF_ALERT_FIRED);
	struct journal *journal = calloc(1, sizeof(*journal));
	static char json[4000001];
	char *value;

	memset(json, 'x', sizeof(json) - 1);
	message.json = json;
	open_journal(journal);
	CU_ASSERT(journal->tell->ops->tell(journal->tell, &message) == 0);
	CU_ASSERT(receive(journal));
	CU_ASSERT(has(journal, "PATHPROF_RULE", "fast"));
	value = value_of(journal, "PATHPROF_JSON");
	CU_ASSERT_PTR_NULL(value);
	free(value);
	close_journal(journal);
	free(journal);
}

static void test_no_journal(void)
{
	struct pp_tell_message message = world_message("/bin/a", PATHPROF_ALERT_FIRED);
	struct pp_tell *tell = NULL;

	CU_ASSERT_FATAL(pp_tell_journal_at(&tell, "/nowhere/journal") == 0);
	CU_ASSERT(tell->ops->tell(tell, &message) == 0);
	CU_ASSERT(world_stats(tell).told == 1);
	tell->ops->free(tell);
}

/* The standard error of tell() in a service without a journal. */
static void told_on_stderr(const char *summary, char *ret_text, size_t size)
{
	struct pp_tell_message message = world_message("/bin/a", PATHPROF_ALERT_FIRED);
	int file = memfd_create("stderr", MFD_CLOEXEC), kept = dup(STDERR_FILENO);
	struct pp_tell *tell = NULL;
	ssize_t n;

	message.summary = summary;
	CU_ASSERT_FATAL(pp_tell_journal_at(&tell, "/nowhere/journal") == 0);
	fflush(stderr);
	dup2(file, STDERR_FILENO);
	CU_ASSERT(tell->ops->tell(tell, &message) == 0);
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	n = pread(file, ret_text, size - 1, 0);
	ret_text[n > 0 ? n : 0] = '\0';
	tell->ops->free(tell);
	close(file);
	close(kept);
}

static void test_forged_line(void)
{
	char text[512];

	told_on_stderr("/bin/a\npathprofd: all is well\r\033[2J\302\2331m", text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, "pathprofd: /bin/a pathprofd: all is well  [2J  1m\n");
	/* what is no control character stays */
	told_on_stderr("/bin/\303\244\302\240", text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, "pathprofd: /bin/\303\244\302\240\n");
}

static const struct unit_test tests[] = {
	{"says what happened, in fields that nothing can break out of", test_fields},
	{"this test's reader notices a broken field", test_planted_fault},
	{"does not wait for a journal that hangs", test_hanging_journal},
	{"leaves JSON out that is too long", test_long_json},
	{"says it on standard error where there is no journal", test_no_journal},
	{"a name with a newline forges no line there", test_forged_line},
};
UNIT_SUITE(tell_journal, tests)
