// SPDX-License-Identifier: GPL-2.0-or-later
/* Flags of a mapping are changed by functions only (6.3 and later). */
#include <linux/mm.h>

void probe(struct vm_area_struct *vma);
void probe(struct vm_area_struct *vma)
{
	vm_flags_mod(vma, VM_DONTCOPY, VM_MAYWRITE);
}
