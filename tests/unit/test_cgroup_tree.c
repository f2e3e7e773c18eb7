// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Control groups by name and by id, on directories that stand for the two trees (an id is a
 * directory's inode in both), and on this machine's own. The oracle for ids is stat(2), for depths
 * the slashes of a path, for names what the same path would say in /proc/PID/cgroup.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/chain/chain_reader.h"
#include "../../daemon/track/cgroup_tree.h"
#include "../../daemon/track/track.h"
#include "../../daemon/track/track_cgroup.h"
#include "../../daemon/track/track_proc.h"
#include "../../daemon/track/track_state.h"

#define ID   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define LONG UINT64_C(1000000000000)

static struct pp_cgroup_places places;
static struct pathprof_error why;

static void make(const char *tree, const char *path)
{
	char name[PP_CGROUP_PLACE_MAX + 256];

	snprintf(name, sizeof(name), "%s/%s", tree, path);
	if (mkdir(name, 0755) && errno != EEXIST)
		abort();
}

static uint64_t id_of(const char *tree, const char *path)
{
	char name[PP_CGROUP_PLACE_MAX + 256];
	struct stat st;

	snprintf(name, sizeof(name), "%s/%s", tree, path);
	return stat(name, &st) ? 0 : st.st_ino;
}

static const char docker[] = "system.slice/docker-" ID ".scope";

static const char *const groups[] = {
	"system.slice",
	"system.slice/foo.service",
	docker,
	"system.slice/my\\x2dapp.service",
	"user.slice",
	"user.slice/user-1000.slice",
	"user.slice/user-1000.slice/foo.scope",
	"user.slice/twice.service",
	"system.slice/twice.service",
};
#define GROUP_CNT (sizeof(groups) / sizeof(groups[0]))

/* A hybrid: what is in a container of v1 is in the root of v2. */
static void make_trees(const char *name)
{
	places = (struct pp_cgroup_places){.is_whole = true};
	snprintf(places.unified, sizeof(places.unified), "%s/%s", unit_tmpdir(), name);
	snprintf(places.memory, sizeof(places.memory), "%s/%s-v1", unit_tmpdir(), name);
	make(places.unified, "");
	make(places.memory, "");
	for (size_t i = 0; i < GROUP_CNT; i++)
		make(places.unified, groups[i]);
	make(places.memory, "docker");
	make(places.memory, "docker/" ID);
}

static int find(const char *which, struct pp_cgroup_choice *ret_choice)
{
	why.text[0] = '\0';
	return pp_cgroup_find(&places, which, ret_choice, &why);
}

/* ---------------------------------------------------------------- choosing */

static uint32_t level_of(const char *path)
{
	uint32_t level = *path != '\0';

	for (; *path; path++)
		level += *path == '/';
	return level;
}

static void test_find_path(void)
{
	make_trees("path");
	for (size_t i = 0; i < GROUP_CNT; i++) {
		struct pp_cgroup_choice choice = {0};
		char name[PP_CGROUP_PLACE_MAX + 256];

		snprintf(name, sizeof(name), "%s/%s/", places.unified, groups[i]);
		CU_ASSERT_EQUAL(find(name, &choice), 0);
		CU_ASSERT_EQUAL(choice.id, id_of(places.unified, groups[i]));
		CU_ASSERT_EQUAL(choice.level, level_of(groups[i]));
		snprintf(name, sizeof(name), "/%s", groups[i]);
		choice.id = 0;
		CU_ASSERT_EQUAL(find(name, &choice), 0);
		CU_ASSERT_EQUAL(choice.id, id_of(places.unified, groups[i]));
	}
}

static void test_find_name(void)
{
	struct pp_cgroup_choice choice = {77, 77};

	make_trees("name");
	CU_ASSERT_EQUAL(find("foo.service", &choice), 0);
	CU_ASSERT_EQUAL(choice.id, id_of(places.unified, "system.slice/foo.service"));
	CU_ASSERT_EQUAL(choice.level, 2);
	CU_ASSERT_EQUAL(find("user.slice", &choice), 0);
	CU_ASSERT_EQUAL(choice.level, 1);
	CU_ASSERT_EQUAL(find("/", &choice), 0);
	CU_ASSERT_EQUAL(choice.level, 0);
	CU_ASSERT_EQUAL(choice.id, id_of(places.unified, ""));
}

static void refuse(const char *which, int code, const char *wanted)
{
	struct pp_cgroup_choice choice = {77, 77};
	int r = find(which, &choice);

	CU_ASSERT_EQUAL(r, code);
	CU_ASSERT_EQUAL(choice.id, 77);
	CU_ASSERT_EQUAL(strncmp(why.text, "Cgroup=", 7), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(why.text, wanted));
	if (r != code || !strstr(why.text, wanted))
		printf("%s: %d, %s\n", which, r, why.text);
}

static void test_refusals(void)
{
	make_trees("refusals");
	refuse("nobody.service", -ENOENT, "no such group");
	refuse("nobody.service", -ENOENT, "v1 cannot be selected");
	refuse("system.slice/nobody", -ENOENT, "no such group");
	refuse("twice.service", -EINVAL, "/user.slice/twice.service");
	refuse("twice.service", -EINVAL, "/system.slice/twice.service");
	refuse("../system.slice", -EINVAL, "contain . or ..");
	refuse("system.slice/..", -EINVAL, "contain . or ..");
	refuse("system.slice/./foo.service", -EINVAL, "contain . or ..");
	refuse("/sys/fs/cgroup/memory/docker", -EINVAL, "not in the unified hierarchy");
	places.is_whole = false;
	refuse("foo.service", -EOPNOTSUPP, "namespace");
	places.unified[0] = '\0';
	refuse("foo.service", -EOPNOTSUPP, "no unified hierarchy");
}

#define SOMEBODY 1234

/* A group that is left to a user or, below such a one, that the user made. */
static void make_users(const char *path)
{
	char name[PP_CGROUP_PLACE_MAX + 256];

	make(places.unified, path);
	snprintf(name, sizeof(name), "%s/%s", places.unified, path);
	if (chown(name, SOMEBODY, SOMEBODY))
		abort();
}

/* Makes cnt groups of one user: "many/0", "many/1"... */
static void make_many(unsigned int cnt)
{
	make_users("many");
	for (unsigned int i = 0; i < cnt; i++) {
		char path[32];

		snprintf(path, sizeof(path), "many/%u", i);
		make_users(path);
	}
}

/* A user who makes groups of any name can neither take root's nor make it ambiguous. */
static void test_users_names(void)
{
	struct pp_cgroup_choice choice = {77, 77};

	if (geteuid()) {
		unit_skip("only root can make directories for others");
		return;
	}
	make_trees("users");
	make_users("user.slice/user-1000.slice/a.service");
	make_users("user.slice/user-1000.slice/a.service/foo.service");
	make_users("user.slice/user-1000.slice/a.service/left.service");
	make_users("system.slice/left.service");
	make_users("user.slice/user-1000.slice/a.service/b.service");
	make_users("user.slice/user-1000.slice/a.service/b.service/foo.service");
	CU_ASSERT_EQUAL(find("foo.service", &choice), 0);
	CU_ASSERT_EQUAL(choice.id, id_of(places.unified, "system.slice/foo.service"));
	CU_ASSERT_EQUAL(find("left.service", &choice), 0);
	CU_ASSERT_EQUAL(choice.id, id_of(places.unified, "system.slice/left.service"));
	CU_ASSERT_EQUAL(find("b.service", &choice), 0);
	CU_ASSERT_EQUAL(choice.level, 4);
	make_users("user.slice/user-1000.slice/a.service/left.service/b.service");
	refuse("b.service", -EINVAL, "/user.slice/user-1000.slice/a.service/b.service");
}

/* A path needs no search, and a name that was not found is not said to be missing. */
static void test_users_many(void)
{
	struct pp_cgroup_choice choice = {0};

	if (geteuid()) {
		unit_skip("only root can make directories for others");
		return;
	}
	make_trees("many");
	make_many(PP_CGROUPS_SHARE);
	refuse("nobody.service", -ENOENT, "no such group");
	make_users("many/one-more");
	refuse("nobody.service", -EINVAL, "whole path");
	CU_ASSERT_EQUAL(find("foo.service", &choice), 0);
	for (unsigned int i = 0; i < PP_CGROUPS_SHARE; i += 100) {
		char path[32];

		snprintf(path, sizeof(path), "/many/%u", i);
		CU_ASSERT_EQUAL(find(path, &choice), 0);
		CU_ASSERT_EQUAL(choice.id, id_of(places.unified, path + 1));
		CU_ASSERT_EQUAL(choice.level, 2);
	}
}

static void write_mounts(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

static void test_places(void)
{
	struct pp_cgroup_places found;
	char path[PP_CGROUP_PLACE_MAX];

	snprintf(path, sizeof(path), "%s/mounts", unit_tmpdir());
	write_mounts(path, "proc /proc proc rw 0 0\n"
			   "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n"
			   "cgroup /x\\040y/memory cgroup rw,relatime,memory 0 0\n"
			   "cgroup2 /x/unified cgroup2 rw 0 0\ncgroup2 /other cgroup2 rw 0 0\n");
	pp_cgroup_places_read(&found, path);
	CU_ASSERT_STRING_EQUAL(found.unified, "/x/unified");
	CU_ASSERT_STRING_EQUAL(found.memory, "/x y/memory");
	CU_ASSERT(!found.is_whole);
	write_mounts(path, "tmpfs /tmp tmpfs rw,memory 0 0\n");
	pp_cgroup_places_read(&found, path);
	CU_ASSERT_STRING_EQUAL(found.unified, "");
	CU_ASSERT_STRING_EQUAL(found.memory, "");
	pp_cgroup_places_read(&found, "/nonexistent");
	CU_ASSERT_STRING_EQUAL(found.unified, "");
}

/* ---------------------------------------------------------------- names */

static struct pp_cgroups *new_cgroups(void)
{
	struct pp_cgroups *cgroups = NULL;

	CU_ASSERT_EQUAL_FATAL(pp_cgroups_new(&cgroups, &places, PP_CGROUPS_MAX), 0);
	return cgroups;
}

/* The name of a group, from a line like that of /proc/PID/cgroup. */
static void name_of(const char *path, char *name, size_t size)
{
	char text[512];

	snprintf(text, sizeof(text), "0::/%s\n", path);
	pp_cgroup_parse(text, name, size);
}

static void test_names(void)
{
	struct pp_cgroups *cgroups;
	char name[PP_CGROUP_NAME_MAX], wanted[PP_CGROUP_NAME_MAX];

	make_trees("names");
	cgroups = new_cgroups();
	for (size_t i = 0; i < GROUP_CNT; i++) {
		uint64_t id = id_of(places.unified, groups[i]);

		name_of(groups[i], wanted, sizeof(wanted));
		snprintf(name, sizeof(name), "untouched");
		CU_ASSERT_EQUAL(pp_cgroups_name(cgroups, id, 0, LONG, name, sizeof(name)), 0);
		CU_ASSERT_STRING_EQUAL(name, wanted);
	}
	pp_cgroups_free(cgroups);
	pp_cgroups_free(NULL);
}

/* The better of two names, and none of one when the other tree is not known. */
static void test_two_trees(void)
{
	struct pp_cgroups *cgroups;
	uint64_t root, service, container;
	char name[PP_CGROUP_NAME_MAX] = "untouched";

	make_trees("two");
	cgroups = new_cgroups();
	root = id_of(places.unified, "");
	service = id_of(places.unified, "system.slice/foo.service");
	container = id_of(places.memory, "docker/" ID);
	CU_ASSERT_EQUAL(pp_cgroups_name(cgroups, root, 1, LONG, name, sizeof(name)), -ENOENT);
	CU_ASSERT_EQUAL(pp_cgroups_name(cgroups, 0, 0, LONG, name, sizeof(name)), -ENOENT);
	CU_ASSERT_STRING_EQUAL(name, "untouched");
	CU_ASSERT_EQUAL(pp_cgroups_name(cgroups, root, container, LONG, name, sizeof(name)), 0);
	CU_ASSERT_STRING_EQUAL(name, ID);
	CU_ASSERT_EQUAL(pp_cgroups_name(cgroups, service, container, LONG, name, sizeof(name)), 0);
	CU_ASSERT_STRING_EQUAL(name, ID);
	CU_ASSERT_EQUAL(pp_cgroups_name(cgroups, service, 1, LONG, name, sizeof(name)), 0);
	CU_ASSERT_STRING_EQUAL(name, "foo.service");
	CU_ASSERT_EQUAL(pp_cgroups_name(cgroups, root, 0, LONG, name, sizeof(name)), 0);
	CU_ASSERT_STRING_EQUAL(name, "");
	/* a planted fault: ids of one tree mean nothing in the other */
	snprintf(name, sizeof(name), "untouched");
	CU_ASSERT_EQUAL(pp_cgroups_name(cgroups, container, 0, LONG, name, sizeof(name)), -ENOENT);
	CU_ASSERT_STRING_EQUAL(name, "untouched");
	pp_cgroups_free(cgroups);
}

/* New groups are known after the next walk, and removed ones stay known. */
static void test_coming_and_going(void)
{
	struct pp_cgroups *cgroups;
	char name[PP_CGROUP_NAME_MAX], path[PP_CGROUP_PLACE_MAX + 256];
	uint64_t old, young;

	make_trees("coming");
	cgroups = new_cgroups();
	old = id_of(places.unified, "system.slice/foo.service");
	CU_ASSERT_EQUAL(pp_cgroups_name(cgroups, old, 0, LONG, name, sizeof(name)), 0);
	make(places.unified, "system.slice/young.service");
	young = id_of(places.unified, "system.slice/young.service");
	snprintf(path, sizeof(path), "%s/system.slice/foo.service", places.unified);
	CU_ASSERT_EQUAL(rmdir(path), 0);
	CU_ASSERT_EQUAL(pp_cgroups_name(cgroups, young, 0, LONG + PP_CGROUPS_INTERVAL_NS - 1, name,
					sizeof(name)),
			-ENOENT);
	CU_ASSERT_EQUAL(pp_cgroups_name(cgroups, young, 0, LONG + PP_CGROUPS_INTERVAL_NS, name,
					sizeof(name)),
			0);
	CU_ASSERT_STRING_EQUAL(name, "young.service");
	CU_ASSERT_EQUAL(pp_cgroups_name(cgroups, old, 0, 2 * LONG, name, sizeof(name)), 0);
	CU_ASSERT_STRING_EQUAL(name, "foo.service");
	pp_cgroups_free(cgroups);
}

static unsigned int known_of(struct pp_cgroups *cgroups, uint64_t now_ns)
{
	char name[PP_CGROUP_NAME_MAX];
	unsigned int known = 0;

	for (size_t i = 0; i < GROUP_CNT; i++)
		known += !pp_cgroups_name(cgroups, id_of(places.unified, groups[i]), 0, now_ns,
					  name, sizeof(name));
	return known;
}

/* Beyond the bound those that are gone go first: nine, of which one goes and two come. */
static void test_bound(void)
{
	struct pp_cgroups *cgroups = NULL;
	char name[PP_CGROUP_NAME_MAX], from[PP_CGROUP_PLACE_MAX + 256];
	char to[PP_CGROUP_PLACE_MAX + 256];
	uint64_t gone;

	make_trees("bound");
	places.memory[0] = '\0';
	CU_ASSERT_EQUAL_FATAL(pp_cgroups_new(&cgroups, &places, GROUP_CNT + 1), 0);
	gone = id_of(places.unified, groups[GROUP_CNT - 1]);
	CU_ASSERT_EQUAL(known_of(cgroups, LONG), GROUP_CNT);
	/* kept elsewhere, or a new one would have its inode */
	snprintf(from, sizeof(from), "%s/%s", places.unified, groups[GROUP_CNT - 1]);
	snprintf(to, sizeof(to), "%s-gone", places.unified);
	CU_ASSERT_EQUAL(rename(from, to), 0);
	make(places.unified, "one");
	make(places.unified, "two");
	CU_ASSERT_EQUAL(pp_cgroups_name(cgroups, 1, 0, 2 * LONG, name, sizeof(name)), -ENOENT);
	CU_ASSERT_EQUAL(pp_cgroups_name(cgroups, gone, 0, 2 * LONG, name, sizeof(name)), -ENOENT);
	/* the root, "one" and "two" have places of the ten, and one that is there has none */
	CU_ASSERT(known_of(cgroups, 2 * LONG) >= GROUP_CNT - 2);
	CU_ASSERT(known_of(cgroups, 2 * LONG) <= GROUP_CNT - 1);
	pp_cgroups_free(cgroups);
}

/* Three times as many groups as there is room for, all of one user, leave root's their names. */
static void test_users_bound(void)
{
	struct pp_cgroups *cgroups = NULL;

	if (geteuid()) {
		unit_skip("only root can make directories for others");
		return;
	}
	make_trees("share");
	make_many(3 * (PP_CGROUPS_SHARE + 2 * GROUP_CNT));
	CU_ASSERT_EQUAL_FATAL(pp_cgroups_new(&cgroups, &places, PP_CGROUPS_SHARE + 2 * GROUP_CNT),
			      0);
	CU_ASSERT_EQUAL(known_of(cgroups, LONG), GROUP_CNT);
	pp_cgroups_free(cgroups);
}

/* ---------------------------------------------------------------- from a collector */

static struct seen {
	pid_t pid;
	uint64_t start_time, cgroup, cgroup_v1;
	unsigned int cnt;
} seen;

static int fake_dispatch(void *context)
{
	return 0;
}

static bool fake_in_view(void *context, pid_t pid)
{
	return pid != 99;
}

static void fake_in_cgroup(void *context, pid_t pid, uint64_t start_time, uint64_t cgroup,
			   uint64_t cgroup_v1)
{
	seen = (struct seen){pid, start_time, cgroup, cgroup_v1, seen.cnt + 1};
}

static void send_context(struct pp_chain_reader *reader, uint32_t pid, uint64_t cgroup,
			 uint64_t cgroup_v1)
{
	const struct {
		struct pathprof_record head;
		struct pathprof_context context;
	} record = {
		.head = {sizeof(record), PATHPROF_RECORD_CONTEXT, 0, 0, 0},
		.context = {.address_space = 1,
			    .start_time = 5,
			    .pid = pid,
			    .context = 1,
			    .cgroup = cgroup,
			    .cgroup_v1 = cgroup_v1},
	};

	pp_chain_reader_record(reader, &record.head);
}

static void test_collector(void)
{
	const struct pp_resolver resolver = {
		.dispatch = fake_dispatch, .in_view = fake_in_view, .in_cgroup = fake_in_cgroup};
	const struct pp_source_config config = {.resolver = &resolver, .compress = true};
	static const struct pp_source_sink sink;
	static struct pp_chain_reader reader;

	reader.resolver = &resolver;
	reader.only_pid = 7;
	seen = (struct seen){.cnt = 0};
	CU_ASSERT_EQUAL_FATAL(pp_chain_reader_init(&reader, &config, 1), 0);
	pp_chain_reader_begin(&reader, &sink);
	send_context(&reader, 7, 11, 13);
	CU_ASSERT(seen.cnt == 1 && seen.pid == 7 && seen.start_time == 5 && seen.cgroup == 11 &&
		  seen.cgroup_v1 == 13);
	send_context(&reader, 8, 0, 13);
	CU_ASSERT(seen.cnt == 2 && seen.pid == 8 && !seen.cgroup && seen.cgroup_v1 == 13);
	/* an old collector that does not tell, and a process that is not to be profiled */
	send_context(&reader, 7, 0, 0);
	send_context(&reader, 99, 11, 13);
	CU_ASSERT_EQUAL(seen.cnt, 2);
	pp_chain_reader_release(&reader);
}

/* ---------------------------------------------------------------- this machine */

/* The tree that container runtimes use here; "" if there is none. */
static const char *real_tree(struct pp_cgroup_places *ret_places)
{
	pp_cgroup_places_read(ret_places, PP_CGROUP_MOUNTS);
	return ret_places->memory[0] ? ret_places->memory : ret_places->unified;
}

static bool move_to(const char *group, pid_t pid)
{
	char path[PP_CGROUP_PLACE_MAX + 256];
	FILE *file;
	bool moved;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	file = fopen(path, "we");
	moved = file && fprintf(file, "%d\n", pid) > 0;
	if (file && fclose(file))
		moved = false;
	return moved;
}

static pid_t start_child(int *ret_hold)
{
	int hold[2];
	pid_t pid;
	char byte;

	if (pipe2(hold, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid == 0) {
		close(hold[1]);
		_exit(read(hold[0], &byte, 1) < 0);
	}
	close(hold[0]);
	*ret_hold = hold[1];
	return pid;
}

/* On a busy machine one call does not take all events. Asking for the process would read its group.
 */
static void await_event_of(struct pp_track *track, pid_t pid)
{
	uint64_t end_ns = pp_monotonic_ns() + 10000000000ull;

	while (track->perf && !pp_images_newest(&track->images, pid) &&
	       pp_monotonic_ns() < end_ns) {
		CU_ASSERT_EQUAL(pp_track_dispatch(track), 0);
		usleep(1000);
	}
}

/*
 * A process of a container ends before anybody asks who it was. The kernel's own id of its group
 * then names it; nothing else could. False: it is not known, for its events were lost or refused.
 */
static bool follow_to_the_end(const struct pp_cgroup_places *real, const char *group, bool is_v1)
{
	const struct pp_track_config config = {0};
	const struct pp_track_process *process;
	struct pp_track *track = NULL;
	struct pp_stat stat = {.start_time = 0};
	uint64_t id = id_of(group, ""), root = id_of(real->unified, "");
	bool is_known;
	int hold = -1;
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(pp_track_new(&track, &config, NULL), 0);
	pid = start_child(&hold);
	CU_ASSERT_FATAL(pid > 0);
	CU_ASSERT(move_to(group, pid));
	CU_ASSERT_EQUAL(pp_proc_stat(pid, &stat), 0);
	/* now, and not only at its end: a compile beside us fills the rings in a moment */
	await_event_of(track, pid);
	close(hold);
	waitpid(pid, NULL, 0);
	pp_track_dispatch(track);
	pp_track_in_cgroup(track, pid, stat.start_time + 1000, is_v1 ? root : id, is_v1 ? id : 0);
	process = pp_track_process_at(track, pid, 0);
	/* of another process that had this pid */
	CU_ASSERT(!process || strcmp(process->container, ID) != 0);
	pp_track_in_cgroup(track, pid, stat.start_time, is_v1 ? root : id, is_v1 ? id : 0);
	process = pp_track_process_at(track, pid, 0);
	CU_ASSERT(!process || !strcmp(process->container, ID));
	is_known = process != NULL;
	pp_track_free(track);
	return is_known;
}

/* A zombie is still in /proc, which has it in the root of each tree of v1. */
static void follow_zombie(const struct pp_cgroup_places *real, const char *group, bool is_v1)
{
	const struct pp_track_config config = {.no_perf = true};
	struct pp_track *track = NULL;
	struct pp_image *image = NULL;
	struct pp_stat stat = {.start_time = 0};
	uint64_t id = id_of(group, ""), root = id_of(real->unified, "");
	siginfo_t info;
	int hold = -1;
	pid_t pid = start_child(&hold);

	CU_ASSERT_FATAL(pid > 0 && move_to(group, pid));
	CU_ASSERT_EQUAL_FATAL(pp_track_new(&track, &config, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(pp_images_add(&track->images, pid, 0, NULL, &image), 0);
	close(hold);
	CU_ASSERT_EQUAL(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	CU_ASSERT_EQUAL(pp_proc_stat(pid, &stat), 0);
	pp_track_in_cgroup(track, pid, stat.start_time, is_v1 ? root : id, is_v1 ? id : 0);
	CU_ASSERT_FATAL(image->container != NULL);
	CU_ASSERT_STRING_EQUAL(image->container->name, ID);
	CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
	pp_track_free(track);
}

static void test_process_that_ended(void)
{
	struct pp_cgroup_places real;
	const char *tree = real_tree(&real);
	char parent[PP_CGROUP_PLACE_MAX + 64], group[PP_CGROUP_PLACE_MAX + 160];
	bool is_known = false;

	snprintf(parent, sizeof(parent), "%s/pathprof-test-%d", tree, getpid());
	snprintf(group, sizeof(group), "%s/docker-" ID ".scope", parent);
	if (!tree[0] || mkdir(parent, 0755)) {
		unit_skip("no control group can be made here");
		return;
	}
	if (mkdir(group, 0755) == 0) {
		for (int i = 0; i < 6 && !is_known; i++)
			is_known = follow_to_the_end(&real, group, tree == real.memory);
		if (!is_known)
			unit_skip("without perf a process that ended is not known");
		follow_zombie(&real, group, tree == real.memory);
		CU_ASSERT_EQUAL(rmdir(group), 0);
	}
	CU_ASSERT_EQUAL(rmdir(parent), 0);
}

/* The root is there on every machine that has a unified tree; its depth is 0. */
static void test_choice_here(void)
{
	struct pp_cgroup_places real;
	struct pp_cgroup_choice choice = {0};
	char group[PP_CGROUP_PLACE_MAX + 64], name[64];

	(void)real_tree(&real);
	snprintf(name, sizeof(name), "pathprof-choice-%d", getpid());
	snprintf(group, sizeof(group), "%s/%s", real.unified, name);
	if (!real.unified[0] || !real.is_whole || mkdir(group, 0755)) {
		unit_skip("no group of the unified hierarchy can be made here");
		return;
	}
	CU_ASSERT_EQUAL(pp_cgroup_find(&real, name, &choice, &why), 0);
	CU_ASSERT_EQUAL(choice.id, id_of(group, ""));
	CU_ASSERT_EQUAL(choice.level, 1);
	CU_ASSERT_EQUAL(rmdir(group), 0);
}

static const struct unit_test tests[] = {
	{"a path names its group", test_find_path},
	{"a last part names the only group that has it", test_find_name},
	{"what cannot be chosen is refused with a reason", test_refusals},
	{"a user's group does not take the name of root's", test_users_names},
	{"of a user's many groups each is chosen by its path", test_users_many},
	{"trees are found by their mounts", test_places},
	{"an id has the name that its path has", test_names},
	{"of two trees the better name counts", test_two_trees},
	{"new groups come to be known, old ones stay known", test_coming_and_going},
	{"names are bounded", test_bound},
	{"a user with many groups leaves root's their names", test_users_bound},
	{"what a collector tells comes to whoever resolves", test_collector},
	{"a process that ended has its container's name by its group", test_process_that_ended},
	{"a group of this machine is chosen", test_choice_here},
};
UNIT_SUITE(cgroup_tree, tests)
