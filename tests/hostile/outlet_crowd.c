// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A crowd at pathprofd's socket: outlet_crowd SOCKET FOLLOWERS. Holds so many connections that
 * follow and never read; whoever is sent away comes back at once. One more process asks for figures
 * in a loop, and one connects and leaves again in a loop. Says "crowding", and "answers CNT" when
 * it is ended by SIGTERM.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FOLLOWERS_MAX 64

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static volatile sig_atomic_t ended;

static void on_term(int signal)
{
	ended = 1;
}

/* Connected, and the word sent; -1: not this time. */
static int connect_with(const char *word)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    send(fd, word, strlen(word), MSG_NOSIGNAL) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void follow(int cnt)
{
	struct pollfd ends[FOLLOWERS_MAX];

	for (int i = 0; i < cnt; i++)
		ends[i] = (struct pollfd){.fd = -1};
	while (!ended) {
		for (int i = 0; i < cnt; i++)
			if (ends[i].fd < 0)
				ends[i].fd = connect_with("follow\n");
		/* of no event but the other side's end, which is told in any case */
		poll(ends, (nfds_t)cnt, 10);
		for (int i = 0; i < cnt; i++) {
			if (ends[i].fd < 0 || !ends[i].revents)
				continue;
			close(ends[i].fd);
			ends[i].fd = -1;
		}
	}
}

static void ask(void)
{
	static char piece[65536];
	unsigned long answers = 0;

	while (!ended) {
		int fd = connect_with("figures\n");
		ssize_t n, sum = 0;

		if (fd < 0)
			continue;
		while ((n = read(fd, piece, sizeof(piece))) > 0)
			sum += n;
		answers += sum > 0;
		close(fd);
	}
	printf("answers %lu\n", answers);
	fflush(stdout);
}

static void come_and_go(void)
{
	while (!ended) {
		int fd = connect_with("");

		if (fd >= 0)
			close(fd);
	}
}

/* In a process of its own, which ends with this one. */
static void start(int work, int follower_cnt)
{
	if (fork() != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (work == 0)
		follow(follower_cnt);
	else if (work == 1)
		ask();
	else
		come_and_go();
	_exit(0);
}

int main(int argc, char **argv)
{
	const struct sigaction action = {.sa_handler = on_term};
	int cnt = argc == 3 ? atoi(argv[2]) : 0;

	if (cnt < 1 || cnt > FOLLOWERS_MAX || strlen(argv[1]) >= sizeof(address.sun_path))
		return 2;
	memcpy(address.sun_path, argv[1], strlen(argv[1]));
	sigaction(SIGTERM, &action, NULL);
	for (int i = 0; i < 3; i++)
		start(i, cnt);
	puts("crowding");
	fflush(stdout);
	while (!ended)
		pause();
	return 0;
}
