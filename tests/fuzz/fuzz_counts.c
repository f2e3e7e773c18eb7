// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What programs that count their own paths leave behind, from anybody: the description in an ELF
 * file that is sound otherwise, and a file of counts. Input: u16 bytes of the description, the
 * description, the file of counts; its head is made sound unless the first bit of the length is
 * set.
 *
 * Beyond "no crash": a failure says why; paths are those of their function, each once, and its
 * graph has a flow or is refused.
 */
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "pathprof/function_paths.h"
#include "pathprof/path_counts.h"

#define ADDRESS     0x1000
#define IMAGE_BYTES 4096
#define ID_BYTES    20

struct elf_file {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[5];
	char names[64];
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t id[ID_BYTES];
	} note;
	uint8_t counters[IMAGE_BYTES];
};

static Elf64_Shdr section(const char *names, const char *name, uint32_t type, uint64_t at,
			  uint64_t bytes, uint64_t address)
{
	return (Elf64_Shdr){.sh_name = (uint32_t)(name - names),
			    .sh_type = type,
			    .sh_addr = address,
			    .sh_offset = at,
			    .sh_size = bytes,
			    .sh_addralign = 1};
}

static int in_memory(const void *head, size_t head_bytes, const void *rest, size_t rest_bytes)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	REQUIRE(fd >= 0 && write(fd, head, head_bytes) == (ssize_t)head_bytes);
	REQUIRE(write(fd, rest, rest_bytes) == (ssize_t)rest_bytes);
	return fd;
}

static int make_elf(const uint8_t *description, size_t bytes)
{
	static struct elf_file f;
	static const char names[] = "\0.names\0.note\0pathprof_counters\0.pathprof";

	memcpy(f.names, names, sizeof(names));
	memcpy(f.header.e_ident, ELFMAG, SELFMAG);
	f.header.e_ident[EI_CLASS] = ELFCLASS64;
	f.header.e_ident[EI_DATA] = ELFDATA2LSB;
	f.header.e_ident[EI_VERSION] = EV_CURRENT;
	f.header.e_type = ET_DYN;
	f.header.e_machine = EM_X86_64;
	f.header.e_version = EV_CURRENT;
	f.header.e_phoff = offsetof(struct elf_file, segment);
	f.header.e_shoff = offsetof(struct elf_file, sections);
	f.header.e_ehsize = sizeof(f.header);
	f.header.e_phentsize = sizeof(f.segment);
	f.header.e_phnum = 1;
	f.header.e_shentsize = sizeof(f.sections[0]);
	f.header.e_shnum = 5;
	f.header.e_shstrndx = 1;
	f.note.header = (Elf64_Nhdr){4, ID_BYTES, NT_GNU_BUILD_ID};
	memcpy(f.note.name, "GNU", 4);
	f.segment = (Elf64_Phdr){.p_type = PT_NOTE,
				 .p_offset = offsetof(struct elf_file, note),
				 .p_filesz = sizeof(f.note),
				 .p_align = 4};
	f.sections[1] = section(names, names + 1, SHT_STRTAB, offsetof(struct elf_file, names),
				sizeof(f.names), 0);
	f.sections[2] = section(names, names + 8, SHT_NOTE, offsetof(struct elf_file, note),
				sizeof(f.note), 0);
	f.sections[3] = section(names, names + 14, SHT_PROGBITS,
				offsetof(struct elf_file, counters), IMAGE_BYTES, ADDRESS);
	f.sections[4] = section(names, names + 32, SHT_PROGBITS, sizeof(f), bytes, 0);
	return in_memory(&f, sizeof(f), description, bytes);
}

static int make_counts(const uint8_t *bytes, size_t size, int raw)
{
	static union {
		struct pathprof_counts_head head;
		uint8_t page[PATHPROF_COUNTS_PAGE];
	} u;

	if (raw)
		return in_memory(bytes, size, "", 0);
	u.head = (struct pathprof_counts_head){.magic = PATHPROF_COUNTS_MAGIC,
					       .version = PATHPROF_COUNTS_VERSION,
					       .used_bytes = PATHPROF_COUNTS_PAGE + size,
					       .image_bytes = IMAGE_BYTES,
					       .build_id_bytes = ID_BYTES};
	return in_memory(&u, sizeof(u), bytes, size);
}

static void look_at_paths(const struct pathprof_counted *counted, uint32_t function)
{
	uint32_t cnt;
	const struct pathprof_counted_function *f =
		&pathprof_counted_functions(counted, &cnt)[function];
	struct pathprof_counted_path *paths;
	size_t path_cnt;

	REQUIRE(pathprof_counted_paths(counted, function, &paths, &path_cnt) == 0);
	for (size_t i = 0; i < path_cnt; i++) {
		REQUIRE(paths[i].id < f->path_cnt);
		REQUIRE(i == 0 || paths[i - 1].id < paths[i].id);
	}
	free(paths);
}

static void look_at_graph(const struct pathprof_counted_function *f)
{
	struct pathprof_function_paths *paths;
	struct pathprof_flow flow;

	if (pathprof_flow_init_arcs(&flow, f->node_cnt, f->arcs, f->arc_cnt) < 0)
		return;
	REQUIRE(pathprof_function_paths_new(&paths, &flow, PATHPROF_CUT_BACK_EDGES) == 0);
	pathprof_function_paths_free(paths);
	pathprof_flow_release(&flow);
}

static void run(const char *elf, const char *counts)
{
	const struct pathprof_counted_function *functions;
	struct pathprof_error error = {""};
	struct pathprof_counted *counted;
	uint32_t cnt;

	if (pathprof_counted_open(&counted, elf, &error) < 0) {
		REQUIRE(error.text[0]);
		return;
	}
	functions = pathprof_counted_functions(counted, &cnt);
	if (pathprof_counted_add(counted, counts, NULL, &error) < 0)
		REQUIRE(error.text[0]);
	for (uint32_t f = 0; f < cnt; f++) {
		look_at_paths(counted, f);
		look_at_graph(&functions[f]);
	}
	pathprof_counted_free(counted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t length;
	char elf[64], counts[64];
	int elf_fd, counts_fd;
	size_t bytes;

	if (size < sizeof(length))
		return 0;
	memcpy(&length, data, sizeof(length));
	data += sizeof(length);
	size -= sizeof(length);
	bytes = length >> 1 < size ? length >> 1 : size;
	elf_fd = make_elf(data, bytes);
	counts_fd = make_counts(data + bytes, size - bytes, length & 1);
	snprintf(elf, sizeof(elf), "/proc/self/fd/%d", elf_fd);
	snprintf(counts, sizeof(counts), "/proc/self/fd/%d", counts_fd);
	run(elf, counts);
	close(elf_fd);
	close(counts_fd);
	return 0;
}
