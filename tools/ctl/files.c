// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading what the kernel tells in small files. */
#include "ctl.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "text/cleanup.h"

char *ctl_read_line(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[512];
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (len <= 0)
		return NULL;
	text[len] = 0;
	text[strcspn(text, "\n")] = 0;
	return ctl_strdup(text);
}
