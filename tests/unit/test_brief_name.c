// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of C++ and Rust without their arguments. */
#include "../../tools/ctl/text/brief_name.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *readable, *brief;
} names[] = {
	{"main", "main"},
	{"std::map<int, std::less<int> >::find(int const&)", "std::map::find"},
	{"foo(int)::{lambda(char)#2}::operator()", "foo::{lambda#2}::operator()"},
	{"A::f(int) const::{lambda()#1}::operator()<int>", "A::f::{lambda#1}::operator()"},
	{"(anonymous namespace)::hidden", "(anonymous namespace)::hidden"},
	{"A::operator<", "A::operator<"},
	{"A::operator<< <char>", "A::operator<<"},
	{"A::operator-<int*>", "A::operator-"},
	{"A<int>::operator->", "A::operator->"},
	{"A::operator()", "A::operator()"},
	{"A::operator std::vector<int>", "A::operator std::vector"},
	{"g<((3)>(2))>", "g"},
	{"h<&(A::f(int))>::i", "h::i"},
	{"f<decltype (a->b)>::g", "f::g"},
	{"foo [clone .constprop.0]", "foo [clone .constprop.0]"},
	{"my_operator<int>", "my_operator"},
	{"<r::S<u8> as r::Go>::go::<u32>", "<r::S as r::Go>::go"},
	{"<[u8]>::copy_within::<core::ops::Range<usize>>", "<[u8]>::copy_within"},
	{"<(u8, u16) as r::Go>::go", "<(u8, u16) as r::Go>::go"},
	{"core::num::<impl u32>::pow", "core::num::<impl u32>::pow"},
	{"core::ptr::drop_in_place<alloc::string::String>", "core::ptr::drop_in_place"},
	{"r::main::{closure#0}", "r::main::{closure#0}"},
	/* Names with unmatched brackets are not changed. */
	{"a<b", "a<b"},
	{"a>b", "a>b"},
	{"<a", "<a"},
	{"f<(>)", "f<(>)"},
	{"", ""},
};

static void test_names(void)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *brief = brief_name(names[i].readable);

		CU_ASSERT_PTR_NOT_NULL_FATAL(brief);
		CU_ASSERT_STRING_EQUAL(brief, names[i].brief);
		free(brief);
	}
}

/* Brackets that are too deep, one after another without an end, and every beginning of a name. */
static void test_any_text(void)
{
	char text[512];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (size_t len = 0; len <= strlen(names[i].readable); len++) {
			char *brief;

			snprintf(text, sizeof(text), "%.*s", (int)len, names[i].readable);
			brief = brief_name(text);
			CU_ASSERT_TRUE(strlen(brief) <= len);
			free(brief);
		}
	}
	memset(text, '<', sizeof(text) - 1);
	text[0] = 'a';
	text[sizeof(text) - 1] = 0;
	free(brief_name(text));
}

static const struct unit_test tests[] = {
	{"arguments are left out", test_names},
	{"any text is read", test_any_text},
};
UNIT_SUITE(brief_name, tests)
