// SPDX-License-Identifier: GPL-2.0-or-later
/* Ends the virtual machine with a status, by QEMU's isa-debug-exit at port 0xf4. */
#include <stdlib.h>
#include <sys/io.h>

#define PORT_DEBUG_EXIT 0xf4

int main(int argc, char **argv)
{
	if (iopl(3))
		return 1;
	outb((unsigned char)(argc > 1 ? strtoul(argv[1], NULL, 10) : 0), PORT_DEBUG_EXIT);
	return 0;
}
