// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Container names: see track_cgroup.h for the workload, locking and ownership.
 * Source: the cgroup paths that docker, podman, cri-o, containerd, lxc and systemd document.
 */
#include "track_cgroup.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "track_proc.h"

#define ID_LEN 64

/* A piece of the text: not NUL-terminated. */
struct part {
	const char *text;
	size_t len;
};

static bool cut_prefix(struct part *part, const char *prefix)
{
	size_t len = strlen(prefix);

	if (part->len < len || memcmp(part->text, prefix, len) != 0)
		return false;
	part->text += len;
	part->len -= len;
	return true;
}

static bool cut_suffix(struct part *part, const char *suffix)
{
	size_t len = strlen(suffix);

	if (part->len <= len || memcmp(part->text + part->len - len, suffix, len) != 0)
		return false;
	part->len -= len;
	return true;
}

static bool equals(const struct part *part, const char *text)
{
	return part->len == strlen(text) && !memcmp(part->text, text, part->len);
}

/* "docker-ID.scope", "kubepods...:cri-containerd:ID", or ID alone. */
static bool take_container_id(struct part *part)
{
	struct part id = *part;

	(void)cut_suffix(&id, ".scope");
	if (id.len < ID_LEN || memmem(id.text, id.len, "conmon", 6))
		return false;
	if (id.len > ID_LEN && !strchr("-:", id.text[id.len - ID_LEN - 1]))
		return false;
	id.text += id.len - ID_LEN;
	id.len = ID_LEN;
	for (size_t i = 0; i < ID_LEN; i++)
		if (!isxdigit((unsigned char)id.text[i]))
			return false;
	*part = id;
	return true;
}

static bool take_machine(struct part *part, const struct part *parent)
{
	struct part name = *part;

	if (equals(parent, "lxc") || equals(parent, "lxc.payload"))
		return name.len > 0;
	if ((cut_prefix(&name, "lxc.payload.") && name.len) ||
	    (cut_prefix(&name, "machine-") && cut_suffix(&name, ".scope")) ||
	    (cut_prefix(&name, "systemd-nspawn@") && cut_suffix(&name, ".service"))) {
		*part = name;
		return true;
	}
	return false;
}

static bool is_service(const struct part *part)
{
	struct part name = *part;

	return cut_suffix(&name, ".service") && !cut_prefix(&name, "user@");
}

/* The best part of one cgroup path. */
static enum pp_cgroup_rank rank_path(struct part path, struct part *ret_best)
{
	enum pp_cgroup_rank best = PP_CGROUP_RANK_NONE;
	struct part parent = {"", 0};

	while (path.len) {
		const char *slash = memchr(path.text, '/', path.len);
		struct part at = {path.text, slash ? (size_t)(slash - path.text) : path.len};
		struct part taken = at;

		if (take_container_id(&taken) || take_machine(&taken, &parent)) {
			best = PP_CGROUP_RANK_CONTAINER;
			*ret_best = taken;
		} else if (best < PP_CGROUP_RANK_CONTAINER && is_service(&at)) {
			best = PP_CGROUP_RANK_SERVICE;
			*ret_best = at;
		}
		parent = at;
		path.text += at.len + (slash ? 1 : 0);
		path.len -= at.len + (slash ? 1 : 0);
	}
	return best;
}

static int hex_digit(char c)
{
	if (!isxdigit((unsigned char)c))
		return -1;
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* systemd writes \x2d for a dash within a name. What does not print is shown as '?'. */
static void put_name(const struct part *part, char *name, size_t size)
{
	size_t out = 0;

	for (size_t i = 0; i < part->len && out < size - 1; i++) {
		char c = part->text[i];

		if (c == '\\' && i + 3 < part->len && part->text[i + 1] == 'x' &&
		    hex_digit(part->text[i + 2]) >= 0 && hex_digit(part->text[i + 3]) >= 0) {
			c = (char)(hex_digit(part->text[i + 2]) * 16 +
				   hex_digit(part->text[i + 3]));
			i += 3;
		}
		name[out++] = isprint((unsigned char)c) ? c : '?';
	}
	name[out] = 0;
}

enum pp_cgroup_rank pp_cgroup_rank(const char *path, char *name, size_t size)
{
	struct part part = {"", 0};
	enum pp_cgroup_rank rank = rank_path((struct part){path, strlen(path)}, &part);

	put_name(&part, name, size);
	return rank;
}

/* The rank of a line of /proc/PID/cgroup, "hierarchy:controllers:path": controllers may be empty.
 */
static enum pp_cgroup_rank rank_line(const char *line, size_t len, struct part *ret_best)
{
	const char *first = memchr(line, ':', len);
	const char *second =
		first ? memchr(first + 1, ':', len - (size_t)(first + 1 - line)) : NULL;
	struct part path;

	if (!second)
		return PP_CGROUP_RANK_NONE;
	path = (struct part){second + 1, len - (size_t)(second + 1 - line)};
	/* its group went while the process, which has ended, waits for its parent */
	(void)cut_suffix(&path, " (deleted)");
	return rank_path(path, ret_best);
}

char *pp_cgroup_parse(const char *text, char *name, size_t size)
{
	enum pp_cgroup_rank best = PP_CGROUP_RANK_NONE;
	struct part best_part = {"", 0};

	while (*text) {
		size_t len = strcspn(text, "\n");
		struct part part = {"", 0};
		enum pp_cgroup_rank rank = rank_line(text, len, &part);

		if (rank > best) {
			best = rank;
			best_part = part;
		}
		text += len + (text[len] ? 1 : 0);
	}
	put_name(&best_part, name, size);
	return name;
}

int pp_cgroup_read(pid_t pid, char *ret_name, size_t size)
{
	char text[8192];
	int r = pp_proc_read_of(pid, "cgroup", text, sizeof(text));

	if (r < 0)
		return r;
	pp_cgroup_parse(text, ret_name, size);
	return 0;
}
