// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Memory as a running program has it: bytes of the file's segments, with the relocations applied
 * that need no other file, and the names of those that do.
 *
 * Workload: jump tables: some 10^5 look-ups of a few bytes, close together; so bytes come through a
 * window, read with pread (a file that shrinks then gives short reads). Relocations (10^6 in large
 * position-independent files) are read once and searched by bisection.
 *
 * Packed relative relocations (DT_RELR) leave their values in the file as they will be: nothing to
 * apply.
 *
 * Ownership: everything is the handle's, names are libelf's or libdwfl's.
 *
 * Sources: ELF gABI, chapters 4 (relocation), 5 (program headers); System V ABI for x86-64, 4.4.
 */
#include "pp_functions.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/search.h"
#include "base/vector.h"

#define MAPPINGS_MAX 1024
#define WINDOW_BYTES 65536
#define SLOT_BYTES   8

struct mapping {
	uint64_t offset, vaddr, len_bytes;
	bool writable;
};

/* The content of a relocated slot: value if name is NULL and it is known, else name's address. */
struct relocation {
	uint64_t vaddr, value;
	const char *name;
	bool known;
};

struct pp_data {
	struct mapping *mappings;
	size_t mapping_cnt;
	uint64_t fixed_start, fixed_end; /* read-only once relocated */
	struct relocation *relocations;  /* by vaddr, one a slot */
	size_t relocation_cnt, room;
	uint64_t window_offset;
	size_t window_len;
	uint8_t window[WINDOW_BYTES];
};

/* ---------------------------------------------------------------- segments */

static void add_mapping(struct pp_data *d, const GElf_Phdr *ph, uint64_t file_size)
{
	uint64_t len = ph->p_filesz;

	if (ph->p_offset >= file_size || d->mapping_cnt == MAPPINGS_MAX)
		return;
	if (len > file_size - ph->p_offset)
		len = file_size - ph->p_offset;
	if (!len || len > UINT64_MAX - ph->p_vaddr)
		return;
	d->mappings[d->mapping_cnt++] = (struct mapping){
		.offset = ph->p_offset,
		.vaddr = ph->p_vaddr,
		.len_bytes = len,
		.writable = ph->p_flags & PF_W,
	};
}

static int read_mappings(struct pp_data *d, const struct pathprof_code *code)
{
	struct stat st;
	size_t cnt;
	GElf_Phdr ph;

	d->mappings = calloc(MAPPINGS_MAX, sizeof(d->mappings[0]));
	if (!d->mappings)
		return -ENOMEM;
	if (fstat(code->fd, &st) || elf_getphdrnum(code->elf, &cnt))
		return 0;
	for (size_t i = 0; i < cnt && gelf_getphdr(code->elf, (int)i, &ph); i++) {
		if (ph.p_type == PT_LOAD) {
			add_mapping(d, &ph, (uint64_t)st.st_size);
		} else if (ph.p_type == PT_GNU_RELRO && ph.p_memsz <= UINT64_MAX - ph.p_vaddr) {
			d->fixed_start = ph.p_vaddr;
			d->fixed_end = ph.p_vaddr + ph.p_memsz;
		}
	}
	return 0;
}

static const struct mapping *mapping_of(const struct pp_data *d, uint64_t vaddr)
{
	for (size_t i = 0; i < d->mapping_cnt; i++) {
		const struct mapping *m = &d->mappings[i];

		if (vaddr >= m->vaddr && vaddr - m->vaddr < m->len_bytes)
			return m;
	}
	return NULL;
}

/* ---------------------------------------------------------------- relocations */

static int add_relocation(struct pp_data *d, const struct relocation *relocation)
{
	if (pp_grow(&d->relocations, d->relocation_cnt, &d->room) < 0)
		return -ENOMEM;
	d->relocations[d->relocation_cnt++] = *relocation;
	return 0;
}

/* The function whose address a resolver that begins at vaddr returns. */
static const char *name_of_resolver(struct pathprof_code *code, uint64_t vaddr)
{
	const struct pp_symbol *symbols;
	size_t cnt = pp_symbols_all(code, &symbols);
	size_t low = pp_first(i, 0, cnt, symbols[i].start > vaddr);

	return low && symbols[low - 1].start == vaddr ? symbols[low - 1].name : NULL;
}

static const char *name_of_symbol(const struct pathprof_code *code, Elf_Data *symbols,
				  uint32_t strings, uint64_t index)
{
	const char *name;
	GElf_Sym sym;

	if (!symbols || index > INT32_MAX || !gelf_getsym(symbols, (int)index, &sym))
		return NULL;
	name = elf_strptr(code->elf, strings, sym.st_name);
	return name && name[0] ? name : NULL;
}

struct symbol_table {
	Elf_Data *data;
	uint32_t strings;
};

static struct relocation decode(struct pathprof_code *code, const struct symbol_table *table,
				const GElf_Rela *rela)
{
	struct relocation r = {.vaddr = rela->r_offset};

	switch (GELF_R_TYPE(rela->r_info)) {
	case R_X86_64_RELATIVE:
		r.known = true;
		r.value = (uint64_t)rela->r_addend;
		break;
	case R_X86_64_IRELATIVE:
		r.name = name_of_resolver(code, (uint64_t)rela->r_addend);
		break;
	case R_X86_64_64:
		if (rela->r_addend)
			break;
		/* fall through */
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_GLOB_DAT:
		r.name =
			name_of_symbol(code, table->data, table->strings, GELF_R_SYM(rela->r_info));
		break;
	default:
		break;
	}
	return r;
}

static int read_table(struct pp_data *d, struct pathprof_code *code, const struct pp_section *s)
{
	Elf_Scn *linked = elf_getscn(code->elf, s->link);
	struct symbol_table table = {0};
	Elf_Data *data = elf_getdata(s->scn, NULL);
	GElf_Rela rela;
	GElf_Shdr sh;
	int rc = 0;

	if (linked && gelf_getshdr(linked, &sh) &&
	    (sh.sh_type == SHT_DYNSYM || sh.sh_type == SHT_SYMTAB))
		table = (struct symbol_table){elf_getdata(linked, NULL), sh.sh_link};
	for (int i = 0; !rc && data && gelf_getrela(data, i, &rela); i++) {
		struct relocation r = decode(code, &table, &rela);

		rc = r.vaddr <= UINT64_MAX - SLOT_BYTES ? add_relocation(d, &r) : 0;
	}
	return rc;
}

static int by_vaddr(const void *x, const void *y)
{
	const struct relocation *a = x, *b = y;

	return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

static int read_relocations(struct pp_data *d, struct pathprof_code *code)
{
	struct pp_section s = {0};
	size_t kept = 0;
	int r = 0;

	while (!r && pp_section_next(code, &s))
		if (s.type == SHT_RELA && (s.flags & SHF_ALLOC))
			r = read_table(d, code, &s);
	if (r || !d->relocation_cnt)
		return r;
	qsort(d->relocations, d->relocation_cnt, sizeof(d->relocations[0]), by_vaddr);
	for (size_t i = 0; i < d->relocation_cnt; i++)
		if (!kept || d->relocations[kept - 1].vaddr != d->relocations[i].vaddr)
			d->relocations[kept++] = d->relocations[i];
	d->relocation_cnt = kept;
	return 0;
}

static int need_data(struct pathprof_code *code)
{
	struct pp_data *d;
	int r;

	if (code->data)
		return 0;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	r = read_mappings(d, code);
	r = r ? r : read_relocations(d, code);
	if (r)
		pp_data_free(d);
	else
		code->data = d;
	return r;
}

void pp_data_free(struct pp_data *data)
{
	if (!data)
		return;
	free(data->relocations);
	free(data->mappings);
	free(data);
}

/* The first one that reaches beyond vaddr. */
static size_t first_relocation(const struct pp_data *d, uint64_t vaddr)
{
	return pp_first(i, 0, d->relocation_cnt, d->relocations[i].vaddr + SLOT_BYTES > vaddr);
}

/* ---------------------------------------------------------------- look-ups */

static bool window_has(const struct pp_data *d, uint64_t offset, size_t len_bytes)
{
	return offset >= d->window_offset && offset - d->window_offset <= d->window_len &&
	       len_bytes <= d->window_len - (offset - d->window_offset);
}

static bool read_file(struct pp_data *d, int fd, uint64_t offset, uint8_t *buf, size_t len_bytes)
{
	if (len_bytes > WINDOW_BYTES / 2)
		return pp_elf_read_file(fd, buf, len_bytes, offset) == (ssize_t)len_bytes;
	if (!window_has(d, offset, len_bytes)) {
		uint64_t at = offset & ~(uint64_t)(WINDOW_BYTES / 4 - 1);
		ssize_t got = pp_elf_read_file(fd, d->window, WINDOW_BYTES, at);

		d->window_offset = at;
		d->window_len = got > 0 ? (size_t)got : 0;
		if (!window_has(d, offset, len_bytes))
			return false;
	}
	memcpy(buf, d->window + (offset - d->window_offset), len_bytes);
	return true;
}

/* A slot need not lie whole within what was asked for. */
static void apply(const struct relocation *r, uint64_t vaddr, uint8_t *buf, size_t len_bytes)
{
	for (size_t i = 0; i < SLOT_BYTES; i++) {
		uint64_t at = r->vaddr + i - vaddr;

		if (at < len_bytes)
			buf[at] = (uint8_t)(r->value >> (8 * i));
	}
}

int pp_data_read(struct pathprof_code *code, uint64_t vaddr, void *buf, size_t len_bytes)
{
	const struct mapping *m;
	struct pp_data *d;

	if (need_data(code))
		return -ENOMEM;
	d = code->data;
	m = mapping_of(d, vaddr);
	if (!m || len_bytes > m->len_bytes - (vaddr - m->vaddr) ||
	    !read_file(d, code->fd, m->offset + (vaddr - m->vaddr), buf, len_bytes))
		return -ERANGE;
	for (size_t i = first_relocation(d, vaddr);
	     i < d->relocation_cnt && d->relocations[i].vaddr < vaddr + len_bytes; i++)
		if (d->relocations[i].known)
			apply(&d->relocations[i], vaddr, buf, len_bytes);
	return 0;
}

bool pp_data_is_constant(struct pathprof_code *code, uint64_t vaddr)
{
	const struct pp_data *d;
	const struct mapping *m;
	size_t i;

	if (need_data(code))
		return false;
	d = code->data;
	m = mapping_of(d, vaddr);
	if (!m || (m->writable && (vaddr < d->fixed_start || vaddr >= d->fixed_end)))
		return false;
	i = first_relocation(d, vaddr);
	return i >= d->relocation_cnt || d->relocations[i].vaddr > vaddr || d->relocations[i].known;
}

const char *pp_data_import(struct pathprof_code *code, uint64_t vaddr)
{
	const struct pp_data *d;
	size_t i;

	if (need_data(code))
		return NULL;
	d = code->data;
	i = first_relocation(d, vaddr);
	if (i >= d->relocation_cnt || d->relocations[i].vaddr != vaddr)
		return NULL;
	return d->relocations[i].name;
}
