/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A readable C++ or Rust name without template arguments, generic arguments and parameters, which
 * may be a hundred times longer than the name:
 *
 *     std::map<int, std::less<int> >::find(int const&)   std::map::find
 *     foo(int)::{lambda(char)#2}::operator()             foo::{lambda#2}::operator()
 *     <r::S<u8> as r::Go>::go::<u32>                     <r::S as r::Go>::go
 */
#ifndef CTL_BRIEF_NAME_H
#define CTL_BRIEF_NAME_H

/* readable's copy when its brackets do not match. NULL: no memory. Caller frees. */
char *brief_name(const char *readable);

#endif
