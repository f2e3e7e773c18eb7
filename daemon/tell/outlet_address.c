// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the outlet lies: see outlet.h. */
#include "outlet.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

int pp_outlet_address(struct sockaddr_un *ret_address, const char *database)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int len = snprintf(address.sun_path, sizeof(address.sun_path), "%s%s", database,
			   PP_OUTLET_SUFFIX);

	if (len < 0 || (size_t)len >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	*ret_address = address;
	return 0;
}
