/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How pathprof-relay finds and asks pathprofd: a socket beside the database (outlet.h). */
#ifndef PP_OUTLET_ADDRESS_H
#define PP_OUTLET_ADDRESS_H

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PP_OUTLET_SUFFIX  ".socket" /* behind the database's path */
#define PP_OUTLET_FIGURES "figures\n"
#define PP_OUTLET_FOLLOW  "follow\n"
#define PP_OUTLET_RELAY   "relay\n"
/* Behind it the absolute name of the directory of its notes, so long at most, and \n. */
#define PP_OUTLET_RELAY_AT  "relay "
#define PP_OUTLET_NOTES_MAX 255

/* -ENAMETOOLONG. */
static inline int pp_outlet_address(struct sockaddr_un *ret_address, const char *database)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int len = snprintf(address.sun_path, sizeof(address.sun_path), "%s%s", database,
			   PP_OUTLET_SUFFIX);

	if (len < 0 || (size_t)len >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	*ret_address = address;
	return 0;
}

#endif
