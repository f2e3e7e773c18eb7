// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Telling the journal: one entry a message, in its native protocol (systemd.io,
 * JOURNAL_NATIVE_PROTOCOL): a datagram of fields, each NAME=value and a newline, or, as the JSON
 * might hold a newline, NAME, a newline, the length (64 bits, little endian), the value, a newline.
 * sd_journal_send() is not used, because its socket blocks when the journal hangs.
 *
 * Nothing is kept: what the journal does not take at once is dropped and counted. One owner.
 */
#include "../shared/tell.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "../shared/log.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

/* Catalogue identifiers, random once: journalctl MESSAGE_ID=... finds all of them. */
#define ID_FIRED    "e6d39eb4ff9b417f949fb808b53f2def"
#define ID_RESOLVED "06a21c6bf30647cab3cf79bc2916d260"

struct journal {
	struct pp_tell tell;
	int fd;
	struct sockaddr_un address;
	struct pp_tell_stats stats;
};

static void field(FILE *to, const char *name, const char *value)
{
	uint64_t len_bytes = value ? strlen(value) : 0;
	uint64_t len_le = htole64(len_bytes);

	if (!value)
		return;
	fprintf(to, "%s\n", name);
	fwrite(&len_le, sizeof(len_le), 1, to);
	fwrite(value, 1, len_bytes, to);
	fputc('\n', to);
}

static void number(FILE *to, const char *name, double value)
{
	fprintf(to, "%s=%.9g\n", name, value);
}

static void fields(FILE *to, const struct pp_tell_message *message, bool with_json)
{
	bool fired = message->change == PATHPROF_ALERT_FIRED;

	field(to, "MESSAGE", message->summary);
	fprintf(to, "MESSAGE_ID=%s\n", fired ? ID_FIRED : ID_RESOLVED);
	fprintf(to, "PRIORITY=%d\n", fired ? LOG_WARNING : LOG_NOTICE);
	fputs("SYSLOG_IDENTIFIER=pathprofd\n", to);
	fprintf(to, "PATHPROF_STATUS=%s\n", fired ? "firing" : "resolved");
	field(to, "PATHPROF_RULE", message->rule);
	field(to, "PATHPROF_BINARY", message->binary);
	field(to, "PATHPROF_CONTAINER", message->container);
	field(to, "PATHPROF_BASELINE", message->baseline);
	field(to, "PATHPROF_METRIC", message->metric);
	number(to, "PATHPROF_VALUE", message->value);
	number(to, "PATHPROF_THRESHOLD", message->threshold);
	if (with_json)
		field(to, "PATHPROF_JSON", message->json);
}

static int send_entry(struct journal *journal, const struct pp_tell_message *message,
		      bool with_json)
{
	_cleanup_free_ char *text = NULL;
	size_t len_bytes;
	FILE *to = open_memstream(&text, &len_bytes);

	if (!to)
		return -errno;
	fields(to, message, with_json);
	if (fclose(to))
		return -ENOMEM;
	if (sendto(journal->fd, text, len_bytes, MSG_DONTWAIT | MSG_NOSIGNAL,
		   (const struct sockaddr *)&journal->address, sizeof(journal->address)) < 0)
		return -errno;
	return 0;
}

static int tell_line(const struct pp_tell_message *message)
{
	pp_log(message->change == PATHPROF_ALERT_FIRED ? LOG_WARNING : LOG_NOTICE, "%s",
	       message->summary ? message->summary : message->rule);
	return 0;
}

static int journal_tell(struct pp_tell *tell, const struct pp_tell_message *message)
{
	struct journal *journal = (struct journal *)tell;
	int r;

	if (message->change != PATHPROF_ALERT_FIRED && message->change != PATHPROF_ALERT_RESOLVED)
		return 0;
	r = send_entry(journal, message, true);
	/* a datagram has a longest length; the rest is worth telling without what is longest */
	if (r == -EMSGSIZE)
		r = send_entry(journal, message, false);
	if (r == -ENOENT || r == -ECONNREFUSED)
		r = tell_line(message);
	if (r == 0) {
		journal->stats.told++;
		return 0;
	}
	journal->stats.failed_tries++;
	journal->stats.dropped++;
	return r == -EAGAIN ? -ENOBUFS : r;
}

static void journal_stats(struct pp_tell *tell, struct pp_tell_stats *ret_stats)
{
	*ret_stats = ((struct journal *)tell)->stats;
}

static void journal_free(struct pp_tell *tell)
{
	struct journal *journal = (struct journal *)tell;

	if (!journal)
		return;
	close(journal->fd);
	free(journal);
}

static const struct pp_tell_ops journal_ops = {
	.name = "journal",
	.tell = journal_tell,
	.stats = journal_stats,
	.free = journal_free,
};

int pp_tell_journal_at(struct pp_tell **ret_tell, const char *socket_path)
{
	struct journal *journal;

	if (strlen(socket_path) >= sizeof(journal->address.sun_path))
		return -ENAMETOOLONG;
	journal = calloc(1, sizeof(*journal));
	if (!journal)
		return -ENOMEM;
	journal->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (journal->fd < 0) {
		int r = -errno;

		free(journal);
		return r;
	}
	journal->tell.ops = &journal_ops;
	journal->address.sun_family = AF_UNIX;
	memcpy(journal->address.sun_path, socket_path, strlen(socket_path) + 1);
	*ret_tell = &journal->tell;
	return 0;
}

int pp_tell_journal_new(struct pp_tell **ret_tell)
{
	return pp_tell_journal_at(ret_tell, JOURNAL_SOCKET);
}
