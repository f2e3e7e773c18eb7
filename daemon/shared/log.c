// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines to the journal or to standard error: see log.h. */
#include "log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include "base/controls.h"

static bool to_journal;
static int shown = LOG_INFO;
static const char *program = "pathprofd";

/* $JOURNAL_STREAM names device and inode of the stream that systemd set up; a shell that
 * redirected standard error since then leaves the variable standing, so both are compared. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;
	char *end;

	if (!stream || fstat(STDERR_FILENO, &st) < 0)
		return false;
	device = strtoull(stream, &end, 10);
	if (*end != ':')
		return false;
	inode = strtoull(end + 1, &end, 10);
	return *end == '\0' && device == st.st_dev && inode == st.st_ino;
}

void pp_log_init(int most)
{
	to_journal = stderr_is_journal();
	shown = most;
}

void pp_log_set_program(const char *name)
{
	program = name;
}

void pp_log(int priority, const char *format, ...)
{
	char text[1024];
	va_list ap;

	if (priority > shown)
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	pp_controls_replace(text, strlen(text), ' ');
	if (to_journal &&
	    sd_journal_send("MESSAGE=%s", text, "PRIORITY=%i", priority, "SYSLOG_IDENTIFIER=%s",
			    program, "PATHPROF_VERSION=" PATHPROF_VERSION, NULL) >= 0)
		return;
	fprintf(stderr, "%s: %s\n", program, text);
}

bool pp_log_once(struct pp_log_seen *seen, int code)
{
	unsigned int bit = (unsigned int)abs(code) % 256;
	uint64_t mask = UINT64_C(1) << (bit % 64);

	if (seen->bits[bit / 64] & mask)
		return false;
	seen->bits[bit / 64] |= mask;
	return true;
}

bool pp_log_any(const struct pp_log_seen *seen)
{
	return (seen->bits[0] | seen->bits[1] | seen->bits[2] | seen->bits[3]) != 0;
}
