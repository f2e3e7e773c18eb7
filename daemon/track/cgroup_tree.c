// SPDX-License-Identifier: GPL-2.0-or-later
/* Control groups by id and by name: see cgroup_tree.h. */
#include "cgroup_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vector.h"
#include "track_cgroup.h"

#define DEPTH_MAX  64
#define VISIT_MAX  65536
#define ROOT_INODE 1
#define REST_RATIO 200 /* of a walk: so many times as long until the next */
#define USUAL      "/sys/fs/cgroup"

/* ---------------------------------------------------------------- walking */

/* path: below the tree's root, without a slash before it. Non-zero ends the walk. */
typedef int visit_fn(void *context, const char *path, uint64_t id, uint32_t level);

struct walk {
	visit_fn *visit;
	void *context;
	uint32_t visit_cnt;
	char path[PATH_MAX];
};

static int enter(struct walk *walk, int fd, size_t len, uint32_t level);

/* One that goes away meanwhile is passed over. */
static int step_into(struct walk *walk, int parent, const char *name, size_t len, uint32_t level)
{
	int at = snprintf(walk->path + len, sizeof(walk->path) - len, "%s%s", len ? "/" : "", name);
	int fd, r;

	if (at < 0 || (size_t)at >= sizeof(walk->path) - len || level > DEPTH_MAX)
		return 0;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	r = fd < 0 ? 0 : enter(walk, fd, len + (size_t)at, level);
	walk->path[len] = '\0';
	return r;
}

/* Takes fd. */
static int enter(struct walk *walk, int fd, size_t len, uint32_t level)
{
	const struct dirent *entry;
	struct stat st;
	DIR *dir;
	int r;

	if (fstat(fd, &st) < 0 || !(dir = fdopendir(fd))) {
		close(fd);
		return 0;
	}
	r = ++walk->visit_cnt > VISIT_MAX
		    ? -E2BIG
		    : walk->visit(walk->context, walk->path, st.st_ino, level);
	while (!r && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			r = step_into(walk, fd, entry->d_name, len, level + 1);
	closedir(dir);
	return r;
}

static int walk_tree(const char *root, visit_fn *visit, void *context)
{
	struct walk walk = {.visit = visit, .context = context};
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : enter(&walk, fd, 0, 0);
}

/* ---------------------------------------------------------------- where they are */

static void take_mount(struct pp_cgroup_places *places, const struct mntent *mount)
{
	char *to = NULL;

	if (!strcmp(mount->mnt_type, "cgroup2"))
		to = places->unified;
	else if (!strcmp(mount->mnt_type, "cgroup") && hasmntopt(mount, "memory"))
		to = places->memory;
	if (to && !to[0] && strlen(mount->mnt_dir) < PP_CGROUP_PLACE_MAX)
		snprintf(to, PP_CGROUP_PLACE_MAX, "%s", mount->mnt_dir);
}

void pp_cgroup_places_read(struct pp_cgroup_places *ret_places, const char *mounts)
{
	struct pp_cgroup_places places = {.is_whole = false};
	char line[4096];
	struct mntent mount;
	struct stat st;
	FILE *file = setmntent(mounts, "re");

	while (file && getmntent_r(file, &mount, line, sizeof(line)))
		take_mount(&places, &mount);
	if (file)
		endmntent(file);
	/* In a namespace of its own a group stands for the root, and has its own inode. */
	places.is_whole =
		places.unified[0] && stat(places.unified, &st) == 0 && st.st_ino == ROOT_INODE;
	*ret_places = places;
}

/* ---------------------------------------------------------------- choosing */

struct search {
	const char *which; /* a whole path, or its last part */
	bool is_name;
	struct pp_cgroup_choice choice;
	char found[2][PP_CGROUP_PLACE_MAX]; /* paths, for people */
	unsigned int found_cnt;
};

static int compare(void *context, const char *path, uint64_t id, uint32_t level)
{
	struct search *search = context;
	const char *slash = strrchr(path, '/');

	if (strcmp(search->is_name && slash ? slash + 1 : path, search->which) != 0)
		return 0;
	search->choice = (struct pp_cgroup_choice){id, level};
	snprintf(search->found[search->found_cnt++], PP_CGROUP_PLACE_MAX, "%s", path);
	return search->found_cnt == 2;
}

static bool has_dots(const char *path)
{
	for (; path; path = strchr(path, '/')) {
		path += *path == '/';
		if (path[0] == '.' &&
		    (strchr("/", path[1]) || (path[1] == '.' && strchr("/", path[2]))))
			return true;
	}
	return false;
}

static bool is_below(const char *path, const char *root, const char **ret_rest)
{
	size_t len = strlen(root);

	if (!len || strncmp(path, root, len) != 0 || (path[len] && path[len] != '/'))
		return false;
	*ret_rest = path + len;
	return true;
}

/* which without the place of the tree and slashes around it, into path. */
static int normalize(const struct pp_cgroup_places *places, const char *which,
		     char path[static PATH_MAX], struct pathprof_error *error)
{
	const char *rest = which;
	size_t len;

	if (has_dots(which))
		return pathprof_fail(error, -EINVAL,
				     "Cgroup=%.200s: the path must not contain . or ..", which);
	if (!is_below(which, places->unified, &rest) && is_below(which, USUAL, &rest))
		return pathprof_fail(
			error, -EINVAL,
			"Cgroup=%.200s: not in the unified hierarchy, which lies at %s: "
			"groups of v1 cannot be selected",
			which, places->unified);
	rest += strspn(rest, "/");
	len = strlen(rest);
	while (len && rest[len - 1] == '/')
		len--;
	if (len >= PATH_MAX)
		return pathprof_fail(error, -EINVAL, "Cgroup=%.64s...: too long", which);
	memcpy(path, rest, len);
	path[len] = '\0';
	return 0;
}

static int refuse_places(const struct pp_cgroup_places *places, const char *which,
			 struct pathprof_error *error)
{
	if (!places->unified[0])
		return pathprof_fail(
			error, -EOPNOTSUPP,
			"Cgroup=%.200s: this system has no unified hierarchy of control "
			"groups; systemd.unified_cgroup_hierarchy=1 on the kernel's "
			"command line makes it one",
			which);
	return pathprof_fail(error, -EOPNOTSUPP,
			     "Cgroup=%.200s: from inside a cgroup namespace no group can be "
			     "selected: run outside of the container",
			     which);
}

int pp_cgroup_find(const struct pp_cgroup_places *places, const char *which,
		   struct pp_cgroup_choice *ret_choice, struct pathprof_error *error)
{
	char path[PATH_MAX];
	struct search search = {.which = path, .is_name = !strchr(which, '/')};
	int r;

	if (!places->unified[0] || !places->is_whole)
		return refuse_places(places, which, error);
	r = normalize(places, which, path, error);
	if (!r)
		r = walk_tree(places->unified, compare, &search);
	if (r < 0)
		return r == -EINVAL ? r
				    : pathprof_fail(error, r, "Cgroup=%.200s: %s: %s", which,
						    places->unified, strerror(-r));
	if (!search.found_cnt)
		return pathprof_fail(error, -ENOENT, "Cgroup=%.200s: no such group below %s%s",
				     which, places->unified,
				     places->memory[0] ? "; those of v1 cannot be selected" : "");
	if (search.found_cnt > 1)
		return pathprof_fail(
			error, -EINVAL,
			"Cgroup=%.100s: two groups have this name: write /%.150s or /%.150s", which,
			search.found[0], search.found[1]);
	*ret_choice = search.choice;
	return 0;
}

/* ---------------------------------------------------------------- names */

enum tree { UNIFIED, MEMORY };

struct known {
	uint64_t id;
	enum tree tree;
	uint32_t walk; /* in which it was seen last */
	enum pp_cgroup_rank rank;
	char *name; /* NULL: "" */
};

struct pp_cgroups {
	struct pp_cgroup_places places;
	struct known *list; /* by tree and id */
	size_t cnt, room, name_max;
	size_t sorted_cnt; /* the rest is of the walk that goes on */
	uint32_t walk;
	uint64_t due_ns; /* no walk before */
	enum tree tree;  /* that is walked */
};

int pp_cgroups_new(struct pp_cgroups **ret_cgroups, const struct pp_cgroup_places *places,
		   size_t name_max)
{
	struct pp_cgroups *cgroups = calloc(1, sizeof(*cgroups));

	if (!cgroups)
		return -ENOMEM;
	cgroups->places = *places;
	cgroups->name_max = name_max;
	*ret_cgroups = cgroups;
	return 0;
}

static void forget(struct known *known)
{
	free(known->name);
	known->name = NULL;
}

void pp_cgroups_free(struct pp_cgroups *cgroups)
{
	if (!cgroups)
		return;
	for (size_t i = 0; i < cgroups->cnt; i++)
		forget(&cgroups->list[i]);
	free(cgroups->list);
	free(cgroups);
}

static int order(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	if (x->tree != y->tree)
		return x->tree < y->tree ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static struct known *look_up(const struct pp_cgroups *cgroups, enum tree tree, uint64_t id)
{
	const struct known key = {.id = id, .tree = tree};

	if (!cgroups->sorted_cnt || !id)
		return NULL;
	return bsearch(&key, cgroups->list, cgroups->sorted_cnt, sizeof(key), order);
}

static int note(void *context, const char *path, uint64_t id, uint32_t level)
{
	struct pp_cgroups *cgroups = context;
	struct known *known = look_up(cgroups, cgroups->tree, id);
	char name[PP_CGROUP_NAME_MAX];
	enum pp_cgroup_rank rank;

	if (known) {
		known->walk = cgroups->walk;
		return 0;
	}
	if (cgroups->cnt >= 2 * cgroups->name_max ||
	    pp_grow(&cgroups->list, cgroups->cnt, &cgroups->room) < 0)
		return -ENOSPC;
	rank = pp_cgroup_rank(path, name, sizeof(name));
	cgroups->list[cgroups->cnt++] = (struct known){
		.id = id,
		.tree = cgroups->tree,
		.walk = cgroups->walk,
		.rank = rank,
		.name = name[0] ? strdup(name) : NULL,
	};
	return 0;
}

/* Beyond the bound go those that are no more, then whatever comes last. */
static void shrink(struct pp_cgroups *cgroups)
{
	bool is_full = cgroups->cnt > cgroups->name_max;
	size_t kept = 0;

	for (size_t i = 0; i < cgroups->cnt; i++) {
		struct known *known = &cgroups->list[i];

		if ((is_full && known->walk != cgroups->walk) || kept == cgroups->name_max)
			forget(known);
		else
			cgroups->list[kept++] = *known;
	}
	cgroups->cnt = kept;
}

/* Returns what it took. */
static uint64_t walk_all(struct pp_cgroups *cgroups)
{
	uint64_t begin_ns = pp_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	cgroups->walk++;
	cgroups->tree = UNIFIED;
	if (cgroups->places.unified[0])
		(void)walk_tree(cgroups->places.unified, note, cgroups);
	cgroups->tree = MEMORY;
	if (cgroups->places.memory[0])
		(void)walk_tree(cgroups->places.memory, note, cgroups);
	qsort(cgroups->list, cgroups->cnt, sizeof(cgroups->list[0]), order);
	shrink(cgroups);
	cgroups->sorted_cnt = cgroups->cnt;
	return pp_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
}

int pp_cgroups_name(struct pp_cgroups *cgroups, uint64_t unified, uint64_t memory, uint64_t now_ns,
		    char *name, size_t size)
{
	const struct known *a = look_up(cgroups, UNIFIED, unified);
	const struct known *b = look_up(cgroups, MEMORY, memory);
	bool is_whole = (a || !unified) && (b || !memory);

	if (!is_whole && now_ns >= cgroups->due_ns) {
		uint64_t rest_ns = REST_RATIO * walk_all(cgroups);

		if (rest_ns < PP_CGROUPS_INTERVAL_NS)
			rest_ns = PP_CGROUPS_INTERVAL_NS;
		cgroups->due_ns = now_ns + rest_ns;
		a = look_up(cgroups, UNIFIED, unified);
		b = look_up(cgroups, MEMORY, memory);
		is_whole = (a || !unified) && (b || !memory);
	}
	if (!a || (b && b->rank > a->rank))
		a = b;
	/* where one is not known, "none" by the other says nothing */
	if (!a || (!a->rank && !is_whole))
		return -ENOENT;
	snprintf(name, size, "%s", a->name ? a->name : "");
	return 0;
}
