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
#define REST_RATIO 200 /* pause after a walk, in times of its length */
#define USUAL      "/sys/fs/cgroup"

/* ---------------------------------------------------------------- walking */

struct group {
	const char *path; /* below the tree's root, without a slash before it */
	uint64_t id;
	uint32_t level;
	bool is_left;  /* to a user, who makes the groups below it */
	bool is_roots; /* root made it: it lies below none that is left to a user */
};

/* Non-zero ends the walk. */
typedef int visit_fn(void *context, const struct group *group);

struct walk {
	visit_fn *visit;
	void *context;
	uint32_t visit_cnt;
	uint32_t share_cnt; /* groups of the user whose groups are walked */
	bool is_cut;        /* a user has more than a share of groups */
	char path[PATH_MAX];
};

static int enter(struct walk *walk, int fd, size_t len, const struct group *parent);

/* A group that goes away meanwhile is passed over. */
static int step_into(struct walk *walk, int parent_fd, const char *name, size_t len,
		     const struct group *parent)
{
	int at = snprintf(walk->path + len, sizeof(walk->path) - len, "%s%s", len ? "/" : "", name);
	int fd, r;

	if (at < 0 || (size_t)at >= sizeof(walk->path) - len || parent->level >= DEPTH_MAX)
		return 0;
	fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	r = fd < 0 ? 0 : enter(walk, fd, len + (size_t)at, parent);
	walk->path[len] = '\0';
	return r;
}

/* Whether this group goes beyond its user's share. */
static bool is_beyond_share(struct walk *walk, const struct group *group)
{
	if (group->is_roots || ++walk->share_cnt <= PP_CGROUPS_SHARE)
		return false;
	walk->is_cut = true;
	return true;
}

/* Each group of root's that is left to a user has a share of its own. */
static int enter_each(struct walk *walk, DIR *dir, size_t len, const struct group *group)
{
	const struct dirent *entry;
	int r = 0;

	while (!r && walk->share_cnt <= PP_CGROUPS_SHARE && (entry = readdir(dir))) {
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			r = step_into(walk, dirfd(dir), entry->d_name, len, group);
		if (!group->is_left)
			walk->share_cnt = 0;
	}
	return r;
}

/* Takes fd. parent NULL: it is the tree's root. */
static int enter(struct walk *walk, int fd, size_t len, const struct group *parent)
{
	struct group group = {.path = walk->path, .level = parent ? parent->level + 1 : 0};
	struct stat st;
	DIR *dir;
	int r = 0;

	if (fstat(fd, &st) < 0 || !(dir = fdopendir(fd))) {
		close(fd);
		return 0;
	}
	group.id = st.st_ino;
	group.is_roots = !parent || !parent->is_left;
	group.is_left = st.st_uid || !group.is_roots;
	if (!is_beyond_share(walk, &group)) {
		r = ++walk->visit_cnt > VISIT_MAX ? -E2BIG : walk->visit(walk->context, &group);
		if (!r)
			r = enter_each(walk, dir, len, &group);
	}
	closedir(dir);
	return r;
}

/* ret_is_cut: some groups were passed over, because their user has so many; NULL: all the same. */
static int walk_tree(const char *root, visit_fn *visit, void *context, bool *ret_is_cut)
{
	struct walk walk = {.visit = visit, .context = context};
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? -errno : enter(&walk, fd, 0, NULL);

	if (ret_is_cut)
		*ret_is_cut = walk.is_cut || r == -E2BIG;
	return r;
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
	const char *which; /* the last part of a path */
	struct pp_cgroup_choice choice;
	bool is_roots;                      /* those that were found */
	char found[2][PP_CGROUP_PLACE_MAX]; /* paths, for people */
	unsigned int found_cnt;             /* 2: or more */
	bool is_cut;
};

/* No user can take the name of a group of root's, or make it stand for two. */
static bool is_better(const struct search *search, const struct group *group)
{
	return !search->found_cnt || (group->is_roots && !search->is_roots);
}

static int compare(void *context, const struct group *group)
{
	struct search *search = context;
	const char *slash = strrchr(group->path, '/');

	if (strcmp(slash ? slash + 1 : group->path, search->which) != 0)
		return 0;
	if (is_better(search, group)) {
		search->choice = (struct pp_cgroup_choice){group->id, group->level};
		search->is_roots = group->is_roots;
		search->found_cnt = 0;
	} else if (search->found_cnt == 2 || search->is_roots != group->is_roots) {
		return 0;
	}
	snprintf(search->found[search->found_cnt++], PP_CGROUP_PLACE_MAX, "%s", group->path);
	return 0;
}

static uint32_t level_of(const char *path)
{
	uint32_t level = 0;

	for (; *path; path++)
		level += *path != '/' && (path[1] == '/' || !path[1]);
	return level;
}

/* The group with that path: -ENOENT, or another -errno. */
static int find_path(const char *root, const char *path, struct pp_cgroup_choice *ret_choice)
{
	char whole[PP_CGROUP_PLACE_MAX + PATH_MAX];
	struct stat st;

	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	if (stat(whole, &st) < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOENT;
	*ret_choice = (struct pp_cgroup_choice){st.st_ino, level_of(path)};
	return 0;
}

/* The only group with that last part: -ENOENT, -EINVAL, or another -errno. */
static int find_name(const char *root, const char *name, struct pp_cgroup_choice *ret_choice,
		     struct pathprof_error *error)
{
	struct search search = {.which = name};
	int r = walk_tree(root, compare, &search, &search.is_cut);

	if (search.found_cnt == 2)
		return pathprof_fail(
			error, -EINVAL,
			"Cgroup=%.100s: two groups have this name: write /%.150s or /%.150s", name,
			search.found[0], search.found[1]);
	if (search.is_cut && !search.found_cnt)
		return pathprof_fail(
			error, -EINVAL,
			"Cgroup=%.200s: there are too many groups below %s to look for this name: "
			"write the group's whole path",
			name, root);
	if (!search.found_cnt)
		return r < 0 ? r : -ENOENT;
	*ret_choice = search.choice;
	return 0;
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
	int r;

	if (!places->unified[0] || !places->is_whole)
		return refuse_places(places, which, error);
	r = normalize(places, which, path, error);
	if (!r)
		r = strchr(which, '/') ? find_path(places->unified, path, ret_choice)
				       : find_name(places->unified, path, ret_choice, error);
	if (r == -ENOENT)
		return pathprof_fail(error, r, "Cgroup=%.200s: no such group below %s%s", which,
				     places->unified,
				     places->memory[0] ? "; those of v1 cannot be selected" : "");
	if (r < 0 && r != -EINVAL)
		return pathprof_fail(error, r, "Cgroup=%.200s: %s: %s", which, places->unified,
				     strerror(-r));
	return r;
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

static int note(void *context, const struct group *group)
{
	struct pp_cgroups *cgroups = context;
	struct known *known = look_up(cgroups, cgroups->tree, group->id);
	char name[PP_CGROUP_NAME_MAX];
	enum pp_cgroup_rank rank;

	if (known) {
		known->walk = cgroups->walk;
		return 0;
	}
	if (cgroups->cnt >= 2 * cgroups->name_max ||
	    pp_grow(&cgroups->list, cgroups->cnt, &cgroups->room) < 0)
		return -ENOSPC;
	rank = pp_cgroup_rank(group->path, name, sizeof(name));
	cgroups->list[cgroups->cnt++] = (struct known){
		.id = group->id,
		.tree = cgroups->tree,
		.walk = cgroups->walk,
		.rank = rank,
		.name = name[0] ? strdup(name) : NULL,
	};
	return 0;
}

/* Drops names beyond the bound: groups that are gone first, then the last ones. */
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

/* Returns the time that it took. */
static uint64_t walk_all(struct pp_cgroups *cgroups)
{
	uint64_t begin_ns = pp_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	cgroups->walk++;
	cgroups->tree = UNIFIED;
	if (cgroups->places.unified[0])
		(void)walk_tree(cgroups->places.unified, note, cgroups, NULL);
	cgroups->tree = MEMORY;
	if (cgroups->places.memory[0])
		(void)walk_tree(cgroups->places.memory, note, cgroups, NULL);
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
	/* if one group is not known, "none" for the other says nothing */
	if (!a || (!a->rank && !is_whole))
		return -ENOENT;
	snprintf(name, size, "%s", a->name ? a->name : "");
	return 0;
}
