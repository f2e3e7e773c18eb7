// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Graphs of files that were tampered with, and kept graphs that were.
 *
 * A small sound file stands at the beginning: functions, a jump table, an exception table, frames,
 * symbols, the linker's stub with its relocation. The input overwrites bytes anywhere in it: runs
 * of (place, length, bytes). The graph built of it must have the shape that graph.h describes; the
 * same bytes give the same graph; flows and paths of its functions can be had. Then the graph is
 * written as the cache does, the rest of the input overwrites bytes there, the checksum is made to
 * fit again, and what is read back must have the same shape or be refused.
 */
#include <elf.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "../../libprofile/src/graph/pp_graph_cache.h"
#include "../unit/oracle_path_id.h"
#include "fuzz.h"
#include "pathprof/code.h"
#include "pathprof/flow.h"
#include "pathprof/function_paths.h"
#include "pathprof/graph.h"

#define VADDR     0x400000
#define FLOWS_MAX 16
#define NODES_MAX 4096

/* ---------------------------------------------------------------- the sound file */

/*
 * switching: a table of four; throwing: a call with a landing pad; leaving: does not return;
 * going: a tail call; through: a call of the stub. Places are relative, so that the bytes mean the
 * same wherever they lie.
 */
__asm__(".pushsection .graph_seed,\"a\",@progbits\n"
	".balign 16\n"
	".globl graph_seed_text, graph_seed_table, graph_seed_frame, graph_seed_pads\n"
	".globl graph_seed_got, graph_seed_end\n"
	"graph_seed_text:\n"
	".Lgs_switching:\n"
	"	cmp $3, %edi\n"
	"	ja .Lgs_default\n"
	"	lea graph_seed_table(%rip), %rdx\n"
	"	mov %edi, %edi\n"
	"	movslq (%rdx,%rdi,4), %rax\n"
	"	add %rdx, %rax\n"
	"	jmp *%rax\n"
	".Lgs_zero: call .Lgs_leaving\n"
	".Lgs_one: add $1, %eax\n"
	".Lgs_two: dec %esi\n"
	"	jne .Lgs_two\n"
	".Lgs_three: lock decl (%rsi)\n"
	"	call .Lgs_throwing\n"
	".Lgs_default: ret\n"
	"	.balign 16, 0x90\n"
	".Lgs_throwing:\n"
	"	push %rbx\n"
	".Lgs_call: call .Lgs_switching\n"
	".Lgs_called: call *%rbx\n"
	"	pop %rbx\n"
	"	ret\n"
	".Lgs_pad: mov %rax, %rdi\n"
	"	jmp .Lgs_leaving\n"
	"	.balign 16, 0x90\n"
	".Lgs_leaving: ud2\n"
	"	.balign 16, 0x90\n"
	".Lgs_going: test %edi, %edi\n"
	"	jne .Lgs_throwing\n"
	"	jmp .Lgs_through\n"
	"	.balign 16, 0x90\n"
	".Lgs_through: call .Lgs_stub\n"
	"	jmp *%rax\n"
	"	.balign 16, 0x90\n"
	".Lgs_stub: jmp *graph_seed_got(%rip)\n"
	"	.fill 64, 1, 0x90\n"
	".Lgs_text_end:\n"
	"graph_seed_table:\n"
	"	.long .Lgs_zero - graph_seed_table, .Lgs_one - graph_seed_table\n"
	"	.long .Lgs_two - graph_seed_table, .Lgs_three - graph_seed_table\n"
	"	.fill 4, 4, -1\n"
	"graph_seed_frame:\n"
	".Lgs_cie: .long 2f - 1f\n"
	"1:	.long 0\n"
	"	.byte 1\n"
	"	.asciz \"zLR\"\n"
	"	.byte 1, 0x78, 16, 2, 0x1b, 0x1b, 0x0c, 7, 8, 0x90, 1\n"
	"	.balign 4, 0\n"
	"2:	.long 4f - 3f\n"
	"3:	.long . - .Lgs_cie\n"
	"	.long .Lgs_switching - ., .Lgs_throwing - .Lgs_switching\n"
	"	.byte 4, 0, 0, 0, 0, 0, 0, 0\n"
	"4:	.long 6f - 5f\n"
	"5:	.long . - .Lgs_cie\n"
	"	.long .Lgs_throwing - ., .Lgs_leaving - .Lgs_throwing\n"
	"	.byte 4\n"
	"	.long graph_seed_pads - .\n"
	"	.byte 0, 0, 0\n"
	"6:	.long 8f - 7f\n"
	"7:	.long . - .Lgs_cie\n"
	"	.long .Lgs_going - ., .Lgs_stub - .Lgs_going\n"
	"	.byte 4, 0, 0, 0, 0, 0, 0, 0\n"
	"8:	.long 0\n"
	"graph_seed_pads:\n"
	"	.byte 0xff, 0xff, 1, 2f - 1f\n"
	"1:	.uleb128 .Lgs_call - .Lgs_throwing, .Lgs_called - .Lgs_call\n"
	"	.uleb128 .Lgs_pad - .Lgs_throwing\n"
	"	.byte 0\n"
	"2:	.balign 8, 0\n"
	"graph_seed_got: .quad 0\n"
	"graph_seed_end:\n"
	".popsection\n");

extern const uint8_t graph_seed_text[], graph_seed_table[], graph_seed_frame[], graph_seed_pads[],
	graph_seed_got[], graph_seed_end[];

enum {
	SECTION_TEXT = 1,
	SECTION_TABLE,
	SECTION_FRAME,
	SECTION_PADS,
	SECTION_GOT,
	SECTION_NOTE,
	SECTION_SYMBOLS,
	SECTION_STRINGS,
	SECTION_RELOCATIONS,
	SECTION_NAMES,
	SECTION_CNT
};

#define BLOB_MAX 1024
static const char strings[] = "\0switching\0other";
static const char names[] = "\0.text\0.rodata\0.eh_frame\0.gcc_except_table\0.got\0"
			    ".note.gnu.build-id\0.dynsym\0.dynstr\0.rela.plt\0.shstrtab";

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[SECTION_CNT];
	uint8_t blob[BLOB_MAX];
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t id[20];
	} note;
	Elf64_Sym symbols[3];
	Elf64_Rela relocations[1];
	char strings[sizeof(strings)];
	char names[sizeof(names)];
};

static struct image seed;

static uint64_t offset_of(const uint8_t *at)
{
	return offsetof(struct image, blob) + (uint64_t)(at - graph_seed_text);
}

static void set_section(uint32_t section, uint32_t type, uint64_t flags, uint64_t offset,
			uint64_t len_bytes)
{
	static const char *at = names;

	at += strlen(at) + 1;
	seed.sections[section] = (Elf64_Shdr){
		.sh_name = (Elf64_Word)(at - names),
		.sh_type = type,
		.sh_flags = flags,
		.sh_addr = flags ? VADDR + offset : 0,
		.sh_offset = offset,
		.sh_size = len_bytes,
		.sh_addralign = 1,
	};
}

static void set_blob_sections(void)
{
	const uint8_t *const starts[] = {graph_seed_text, graph_seed_table, graph_seed_frame,
					 graph_seed_pads, graph_seed_got,   graph_seed_end};

	for (uint32_t i = 0; i < SECTION_NOTE - SECTION_TEXT; i++)
		set_section(SECTION_TEXT + i, SHT_PROGBITS,
			    SHF_ALLOC | (i ? 0 : SHF_EXECINSTR) |
				    (i == SECTION_GOT - SECTION_TEXT ? SHF_WRITE : 0),
			    offset_of(starts[i]), (uint64_t)(starts[i + 1] - starts[i]));
}

static void set_other_sections(void)
{
	set_section(SECTION_NOTE, SHT_NOTE, SHF_ALLOC, offsetof(struct image, note),
		    sizeof(seed.note));
	set_section(SECTION_SYMBOLS, SHT_DYNSYM, SHF_ALLOC, offsetof(struct image, symbols),
		    sizeof(seed.symbols));
	seed.sections[SECTION_SYMBOLS].sh_entsize = sizeof(Elf64_Sym);
	seed.sections[SECTION_SYMBOLS].sh_link = SECTION_STRINGS;
	set_section(SECTION_STRINGS, SHT_STRTAB, SHF_ALLOC, offsetof(struct image, strings),
		    sizeof(strings));
	set_section(SECTION_RELOCATIONS, SHT_RELA, SHF_ALLOC, offsetof(struct image, relocations),
		    sizeof(seed.relocations));
	seed.sections[SECTION_RELOCATIONS].sh_entsize = sizeof(Elf64_Rela);
	seed.sections[SECTION_RELOCATIONS].sh_link = SECTION_SYMBOLS;
	set_section(SECTION_NAMES, SHT_STRTAB, 0, offsetof(struct image, names), sizeof(names));
}

static void set_header(void)
{
	seed.header = (Elf64_Ehdr){
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = offsetof(struct image, segments),
		.e_shoff = offsetof(struct image, sections),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTION_CNT,
		.e_shstrndx = SECTION_NAMES,
	};
	seed.segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
					.p_flags = PF_R | PF_X,
					.p_vaddr = VADDR,
					.p_filesz = sizeof(seed),
					.p_memsz = sizeof(seed),
					.p_align = 1};
	seed.segments[1] = (Elf64_Phdr){.p_type = PT_NOTE,
					.p_offset = offsetof(struct image, note),
					.p_filesz = sizeof(seed.note),
					.p_align = 4};
}

static void set_contents(void)
{
	size_t len_bytes = (size_t)(graph_seed_end - graph_seed_text);

	REQUIRE(len_bytes <= sizeof(seed.blob));
	memcpy(seed.blob, graph_seed_text, len_bytes);
	seed.note.header = (Elf64_Nhdr){4, sizeof(seed.note.id), NT_GNU_BUILD_ID};
	memcpy(seed.note.name, "GNU", 4);
	memset(seed.note.id, 0x5a, sizeof(seed.note.id));
	memcpy(seed.strings, strings, sizeof(strings));
	memcpy(seed.names, names, sizeof(names));
	seed.symbols[1] = (Elf64_Sym){.st_name = 1,
				      .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				      .st_shndx = SECTION_TEXT,
				      .st_value = VADDR + offset_of(graph_seed_text),
				      .st_size = 48};
	seed.symbols[2] =
		(Elf64_Sym){.st_name = 11, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)};
	seed.relocations[0] = (Elf64_Rela){.r_offset = VADDR + offset_of(graph_seed_got),
					   .r_info = ELF64_R_INFO(2, R_X86_64_JUMP_SLOT)};
}

/* ---------------------------------------------------------------- the shape of a graph */

static uint32_t count_kind(const struct pathprof_graph *g, uint32_t block, uint32_t kind)
{
	uint32_t cnt = 0;

	for (uint32_t e = g->blocks[block].first_edge; e < g->blocks[block + 1].first_edge; e++)
		cnt += g->edges[e].kind == kind;
	return cnt;
}

static void check_edges(const struct pathprof_graph *g, uint32_t block)
{
	uint32_t first = g->blocks[block].first_edge, end = g->blocks[block + 1].first_edge;

	REQUIRE(first <= end && end <= g->edge_cnt);
	for (uint32_t e = first; e < end; e++) {
		const struct pathprof_edge *edge = &g->edges[e];

		REQUIRE(edge->kind < PATHPROF_EDGE_KIND_CNT);
		REQUIRE(edge->to < g->block_cnt || edge->to == PATHPROF_GRAPH_NONE);
		if (e > first)
			REQUIRE(edge[-1].kind < edge->kind ||
				(edge[-1].kind == edge->kind && edge[-1].to <= edge->to));
	}
}

/* Built graphs only: a block's edges must be possible for its last instruction. */
static void check_kinds(const struct pathprof_graph *g, uint32_t block)
{
	uint32_t kinds[PATHPROF_EDGE_KIND_CNT], cnt, branches;

	for (uint32_t k = 0; k < PATHPROF_EDGE_KIND_CNT; k++)
		kinds[k] = count_kind(g, block, k);
	cnt = g->blocks[block + 1].first_edge - g->blocks[block].first_edge;
	branches = kinds[PATHPROF_EDGE_TAKEN] + kinds[PATHPROF_EDGE_TAIL];
	switch (g->blocks[block].kind) {
	case 0:
		REQUIRE(cnt <= 1 && cnt == kinds[PATHPROF_EDGE_FALL]);
		break;
	case PERF_BR_COND:
		REQUIRE(cnt == 2 && kinds[PATHPROF_EDGE_NOT_TAKEN] == 1 && branches == 1);
		break;
	case PERF_BR_UNCOND:
		REQUIRE(cnt == 1 && kinds[PATHPROF_EDGE_JUMP] + branches == 1);
		break;
	case PERF_BR_IND:
		REQUIRE(cnt == kinds[PATHPROF_EDGE_SWITCH] || cnt == kinds[PATHPROF_EDGE_GUESSED]);
		break;
	case PERF_BR_CALL:
	case PERF_BR_IND_CALL:
		REQUIRE(kinds[PATHPROF_EDGE_CONTINUE] <= 1 && kinds[PATHPROF_EDGE_UNWIND] <= 1);
		REQUIRE(kinds[PATHPROF_EDGE_CALL] == (g->blocks[block].kind == PERF_BR_CALL));
		REQUIRE(cnt == kinds[PATHPROF_EDGE_CONTINUE] + kinds[PATHPROF_EDGE_UNWIND] +
				       kinds[PATHPROF_EDGE_CALL]);
		break;
	default:
		REQUIRE(g->blocks[block].kind == PERF_BR_RET && cnt == 0);
	}
}

static void check_blocks(const struct pathprof_graph *g, bool built)
{
	REQUIRE(g->blocks[g->block_cnt].first_edge == g->edge_cnt);
	for (uint32_t b = 0; b < g->block_cnt; b++) {
		const struct pathprof_graph_block *block = &g->blocks[b];

		REQUIRE(block->start <= block->last && block->last < block->end);
		REQUIRE(block->function < g->function_cnt);
		REQUIRE(b == 0 || block[-1].start < block->start);
		check_edges(g, b);
		if (built)
			check_kinds(g, b);
		REQUIRE(pathprof_graph_block_at(g, block->start) == b);
		(void)pathprof_graph_block_at(g, block->end - 1);
	}
}

static void check_functions(const struct pathprof_graph *g)
{
	uint32_t parts = 0, blocks = 0;

	for (uint32_t i = 0; i < g->function_cnt; i++) {
		const struct pathprof_graph_function *f = &g->functions[i];

		REQUIRE(f->part_cnt && f->first_part < g->part_cnt);
		REQUIRE(f->part_cnt <= g->part_cnt - f->first_part && f->name < g->names_bytes);
		REQUIRE(i == 0 ||
			g->parts[f[-1].first_part].start <= g->parts[f->first_part].start);
		REQUIRE(f->entry == PATHPROF_GRAPH_NONE || g->blocks[f->entry].function == i);
		(void)strlen(pathprof_graph_name(g, i));
		for (uint32_t p = f->first_part; p < f->first_part + f->part_cnt; p++, parts++) {
			REQUIRE(g->parts[p].start <= g->parts[p].end);
			for (uint32_t k = 0; k < g->parts[p].block_cnt; k++, blocks++) {
				uint32_t b = g->parts[p].first_block + k;

				REQUIRE(b < g->block_cnt && g->blocks[b].function == i);
				REQUIRE(g->blocks[b].start >= g->parts[p].start);
				REQUIRE(g->blocks[b].start < g->parts[p].end);
			}
		}
	}
	REQUIRE(parts == g->part_cnt && blocks == g->block_cnt);
	(void)pathprof_graph_function_named(g, "switching");
}

/* ---------------------------------------------------------------- what is asked of it */

static void walk_paths(const struct pathprof_flow *flow, enum pathprof_cut cut)
{
	static uint32_t edges[1024];
	struct pathprof_flow_path path = {.edges = edges, .edge_room = 1024};
	struct pathprof_function_paths *paths;
	uint64_t cnt, id;

	REQUIRE(pathprof_function_paths_new(&paths, flow, cut) == 0);
	cnt = pathprof_function_paths_cnt(paths);
	for (uint64_t i = 0; i < 8 && i < cnt; i++) {
		uint64_t asked = i < 4 ? i : cnt - (i - 3);

		if (pathprof_function_paths_of_id(paths, asked, &path))
			continue;
		REQUIRE(oracle_path_id(paths, &path, &id) == 0 && id == asked);
	}
	pathprof_function_paths_free(paths);
}

static void walk_flows(const struct pathprof_graph *g)
{
	for (uint32_t f = 0; f < g->function_cnt && f < FLOWS_MAX; f++) {
		struct pathprof_flow flow;

		if (pathprof_flow_init(&flow, g, f))
			continue;
		for (uint32_t n = 0; n < flow.node_cnt; n++)
			REQUIRE(pathprof_flow_node_of(&flow, flow.nodes[n].block) == n);
		if (flow.node_cnt <= NODES_MAX)
			walk_paths(&flow, (enum pathprof_cut)(f % 3));
		pathprof_flow_release(&flow);
	}
}

static bool is_same(const struct pathprof_graph *a, const struct pathprof_graph *b)
{
	return a->block_cnt == b->block_cnt && a->edge_cnt == b->edge_cnt &&
	       a->function_cnt == b->function_cnt &&
	       !memcmp(a->blocks, b->blocks, a->block_cnt * sizeof(a->blocks[0])) &&
	       !memcmp(a->edges, b->edges, a->edge_cnt * sizeof(a->edges[0])) &&
	       !memcmp(a->functions, b->functions, a->function_cnt * sizeof(a->functions[0])) &&
	       !memcmp(&a->stats, &b->stats, sizeof(a->stats));
}

/* ---------------------------------------------------------------- the input */

struct input {
	const uint8_t *at;
	size_t left;
};

static uint32_t take(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

/* Overwrites runs of bytes until a run of length 0, or the end. */
static void tamper(struct input *in, uint8_t *bytes, size_t size)
{
	while (in->left > 3) {
		size_t place = (take(in) | take(in) << 8) % size;
		uint32_t cnt = take(in) % 64;

		if (!cnt)
			return;
		for (; cnt && place < size && in->left; cnt--)
			bytes[place++] = (uint8_t)take(in);
	}
}

static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("graph", MFD_CLOEXEC);

	REQUIRE(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	REQUIRE(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

static struct pathprof_graph *build(const struct image *image)
{
	struct pathprof_graph *graph = NULL;
	struct pathprof_code *code;
	struct pathprof_error error;
	int fd = file_of(image, sizeof(*image));
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (pathprof_code_open(&code, path, NULL, &error) == 0) {
		if (pathprof_graph_build(&graph, code, NULL, NULL, &error))
			graph = NULL;
		pathprof_code_free(code);
	}
	close(fd);
	return graph;
}

/* ---------------------------------------------------------------- kept graphs */

/* Magic and checksum come first; the length of the header stands at 20. */
static void sign(uint8_t *bytes, size_t size)
{
	uint32_t header_bytes;
	uint64_t sum;

	if (size < 24)
		return;
	memcpy(&header_bytes, bytes + 20, sizeof(header_bytes));
	if (header_bytes < 24 || header_bytes > size)
		return;
	sum = XXH3_64bits(bytes + 16, header_bytes - 16);
	sum = XXH3_64bits_withSeed(bytes + header_bytes, size - header_bytes, sum);
	memcpy(bytes + 8, &sum, sizeof(sum));
}

static void keep(const struct pathprof_graph *graph, struct input *in)
{
	static uint8_t bytes[1 << 20];
	const struct pp_graph_key key = {.file_bytes = sizeof(struct image), .symbol_cnt = 3};
	struct pathprof_graph *read_back;
	int fd = memfd_create("kept", MFD_CLOEXEC);
	bool tampered = in->left > 3;
	ssize_t size;

	REQUIRE(fd >= 0 && pp_graph_write(graph, fd, &key, sizeof(bytes)) == 0);
	size = pread(fd, bytes, sizeof(bytes), 0);
	close(fd);
	REQUIRE(size > 0);
	tamper(in, bytes, (size_t)size);
	if (tampered)
		sign(bytes, (size_t)size);
	fd = file_of(bytes, (size_t)size);
	if (pp_graph_read(&read_back, fd, &key, sizeof(bytes)) == 0) {
		check_blocks(read_back, false);
		check_functions(read_back);
		walk_flows(read_back);
		REQUIRE(tampered || is_same(read_back, graph));
		pathprof_graph_free(read_back);
	} else {
		REQUIRE(tampered);
	}
	close(fd);
}

/* ---------------------------------------------------------------- */

static void run(const struct image *image, struct input *in)
{
	struct pathprof_graph *graph = build(image), *again;

	if (!graph)
		return;
	check_blocks(graph, true);
	check_functions(graph);
	walk_flows(graph);
	if (in->left % 8 == 0) {
		again = build(image);
		REQUIRE(again && is_same(graph, again));
		pathprof_graph_free(again);
	}
	keep(graph, in);
	pathprof_graph_free(graph);
}

/* Inputs of a few bytes, which are tried for long otherwise, can hardly break two things at once.
 */
static void ask_for_long_inputs(int *argc, char ***argv)
{
	static char *args[64];
	static char option[] = "-len_control=0";

	if (*argc < 1 || *argc > 62)
		return;
	memcpy(args, *argv, (size_t)*argc * sizeof(args[0]));
	memmove(args + 2, args + 1, (size_t)(*argc - 1) * sizeof(args[0]));
	args[1] = option;
	(*argc)++;
	*argv = args;
}

/* The sound file must be read as what it is, or the rest tests little. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct pathprof_graph *graph;

	unsetenv("DEBUGINFOD_URLS");
	ask_for_long_inputs(argc, argv);
	set_header();
	set_contents();
	set_blob_sections();
	set_other_sections();
	graph = build(&seed);
	REQUIRE(graph && graph->stats.switch_cnt == 1 && graph->stats.switch_target_cnt == 4);
	REQUIRE(graph->stats.landing_pad_cnt == 1);
	REQUIRE(pathprof_graph_function_named(graph, "switching") != PATHPROF_GRAPH_NONE);
	REQUIRE(graph->function_cnt >= 4);
	pathprof_graph_free(graph);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image image = seed;
	struct input in = {data, size};

	tamper(&in, (uint8_t *)&image, sizeof(image));
	run(&image, &in);
	return 0;
}
