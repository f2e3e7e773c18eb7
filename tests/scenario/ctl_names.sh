#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Names of functions of C++ and Rust: short by default, in full as c++filt has them, no two alike,
# the linker's stubs as objdump calls them, and each name that is shown is found again. A database
# says that each function of a program ran; what it should be called nm, c++filt and objdump say.
set -eu
name=ctl_names
. "$(dirname "$0")/ctl_common.bash"

cd "$dir"
cat >book.cc <<'END_OF_SOURCE'
#include <functional>
#include <map>
#include <string>
#include <vector>

#define OWN __attribute__((noinline, noclone))

struct Book {
	OWN Book(int x) : sum(x) {}
	OWN int submit(int x) { return sum += x; }
	OWN int submit(double x) { return sum -= (int)x; }
	OWN bool operator<(const Book &other) const { return sum < other.sum; }
	OWN int operator()(int x) { return sum ^ x; }
	template <class T> OWN T take(T x) { return x + sum; }
	int sum;
};
namespace { OWN int hidden(std::vector<int> &v) { return (int)v.size(); } }
template <int N, class F> OWN int apply(F f) { return f(N); }
OWN int outer(int x)
{
	auto step = [=](int y) OWN { return x * y; };
	return apply<3>(step);
}
extern "C" {
OWN int _RNvNtCs1234_5crate3foo3bar(int x) { return x + 1; }
OWN int _RINvCs1234_5crate5twicehE(int x) { return x + 2; }
OWN int _RNvMCs1234_5crateINtB2_1ShE3new(int x) { return x + 3; }
OWN int _RNvXCs1234_5crateINtB2_1ShENtB2_2Go2go(int x) { return x + 4; }
OWN int _ZN4core3fmt5write17h0123456789abcdefE(int x) { return x + 5; }
OWN int _ZN4core3fmt4same17h0123456789abcdefE(int x) { return x + 6; }
OWN int _ZN4core3fmt4same17hfedcba9876543210E(int x) { return x + 7; }
}
extern "C" int twin_a(int x), twin_b(int x);

int main()
{
	std::map<int, std::string> m;
	std::vector<int> v(3);
	std::function<int(int)> f = [](int x) { return x; };
	Book b(1);

	m[3] = "x";
	v.push_back(b.take(2) + (int)b.take(2.0) + b.submit(1) + b.submit(2.0) + b(3) + f(2));
	return hidden(v) + outer(3) + (b < Book(2)) + twin_a(1) + twin_b(2) +
	       _RNvNtCs1234_5crate3foo3bar(1) + _RINvCs1234_5crate5twicehE(1) +
	       _RNvMCs1234_5crateINtB2_1ShE3new(1) + _RNvXCs1234_5crateINtB2_1ShENtB2_2Go2go(1) +
	       _ZN4core3fmt5write17h0123456789abcdefE(1) +
	       _ZN4core3fmt4same17h0123456789abcdefE(1) + _ZN4core3fmt4same17hfedcba9876543210E(1);
}
END_OF_SOURCE
for twin in a b; do
	cat >twin_$twin.c <<-END_OF_SOURCE
		static __attribute__((noinline, noclone)) int cmp(int x) { return x * ${#twin} + 1; }
		int twin_$twin(int x) { return cmp(x) + 2; }
	END_OF_SOURCE
	gcc -O1 -g -c twin_$twin.c
done
g++ -O0 -std=c++17 -o book book.cc twin_a.o twin_b.o 2>compiler ||
	{ cat compiler; fail "the program does not compile"; }

# Text lies at the same offset in the file as in memory, or the lines below name other places.
readelf -SW book | awk '{ sub(/^ *\[ *[0-9]+\] */, "") }
	$1 == ".text" { exit $3 != "00000000" $4 && $3 != "0000000000" $4 }' || fail "text was moved"
nm book | awk '$2 ~ /^[tTW]$/ && $3 !~ /^(_init|_fini|_start|deregister_|register_|__do_|frame_|data_start)/ {
	print $1, $3 }' | sort -k1,1 -u | sed 's/^0*//' >functions
objdump -d book | sed -n 's/^0*\([0-9a-f]*\) <\(.*@plt\)>:$/\1 \2/p' | grep -v '\*ABS\*' >stubs
[ -s stubs ] || fail "the program has no stub"
cut -d' ' -f1 functions stubs | awk '{ print "clock", $1, 1000 - NR; print "path", $1, 10, 1 }' |
	"$known" known.db code "$PWD/book" || fail "no database"

# names FILE OPTION...: what is shown of each function, heaviest first as they were written.
names() {
	run 0 top --db known.db --by functions -n 0 "${@:2}"
	awk '!NF { exit } NR == 1 { from = index($0, "FUNCTION"); len = index($0, "BINARY") - from; next }
		{ name = substr($0, from, len); sub(/ *$/, "", name); print name }' got >"$1"
}
names brief
names full --full-names

# No two read alike, in either form.
for form in brief full; do
	[ "$(wc -l <$form)" = "$(cat functions stubs | wc -l)" ] ||
		fail "$(wc -l <$form) functions of $(cat functions stubs | wc -l)"
	sort $form | uniq -d >twice
	[ ! -s twice ] || { cat twice; fail "two functions read alike ($form)"; }
done

# In full: what c++filt says, with the offset behind what it says twice.
cut -d' ' -f2 functions stubs | sed 's/@plt$//' | c++filt >filt
sed -e 's/ \[0x[0-9a-f]*\]$//' -e 's/@plt$//' full >bare
diff filt bare >difference || { cat difference; fail "c++filt has other names"; }

# Short: exactly these, which were written by hand.
while IFS= read -r want; do
	grep -qxF -e "$want" brief || { cat brief; fail "no function is called $want"; }
done <<-'END_OF_NAMES'
	Book::operator<
	Book::operator()
	Book::submit(int)
	Book::submit(double)
	int Book::take<int>(int)
	(anonymous namespace)::hidden
	apply
	outer::{lambda#1}::operator()
	crate::foo::bar
	crate::twice
	<crate::S>::new
	<crate::S as crate::Go>::go
	core::fmt::write
	core::fmt::same::h0123456789abcdef
	std::vector::push_back
	memmove@plt
	operator new(unsigned long)@plt
	twin_a
END_OF_NAMES
[ "$(grep -c '^cmp \[0x[0-9a-f]*\]$' brief)" = 2 ] || fail "two static functions are not told apart"
[ "$(awk 'length > 120' brief | wc -l)" = 0 ] || fail "a short name is long"

# A table has 120 columns, or those that are said; what is bare is for programs and not cut.
widest() { awk '!NF { exit } length > most { most = length } END { print most }' got; }
(unset COLUMNS && run 0 top --db known.db --by functions -n 0 --full-names)
[ "$(widest)" = 120 ] || fail "a table in a pipe has $(widest) columns"
(COLUMNS=72 run 0 top --db known.db --by functions -n 0)
[ "$(widest)" -le 72 ] || fail "a table of 72 columns has $(widest)"
(COLUMNS=nonsense run 0 top --db known.db --by functions -n 0 --full-names)
[ "$(widest)" = 120 ] || fail "a width that is none gives $(widest) columns"

# A name as shown finds its function again, and so does the name without its arguments.
found() {
	run 0 cfg --db known.db "$1"
	grep -qxF -e "$2" <(head -1 got) || { head -5 got; fail "cfg $1 is not $2"; }
}
found 'Book::submit(double)' 'Book::submit(double)'
found 'Book::operator<' 'Book::operator<'
found 'core::fmt::write' 'core::fmt::write'
found 'std::vector<int, std::allocator<int> >::push_back' std::vector::push_back
found memmove@plt memmove@plt
for which in $(grep '^cmp ' brief | cut -d' ' -f2); do
	found "cmp $which" "cmp $which"
done
found Book::submit 'Book::submit(int)'
# Anything inside it is as good.
found 'Book::submit(double)+0x1' 'Book::submit(double)'
found 'Book::operator<+0x2' 'Book::operator<'

# A function that only the clock found did run.
awk '$2 == "main" { print "path", $1, 10, 1 } $2 == "twin_a" { print "clock", $1, 10 }' functions |
	"$known" clock.db code "$PWD/book" || fail "no database of a clock"
run 0 cfg --db clock.db "twin_a@$PWD/book"
grep -qx '  counted   nothing: only the clock found it' got || { head got; fail "cfg: the clock is passed over"; }
run 0 cfg --db clock.db "twin_b@$PWD/book"
grep -qx '  counted   nothing: it was not seen to run' got || { head got; fail "cfg of what did not run"; }

# A binary is named by a relative path as well.
found twin_a@./book twin_a
run 0 top --db known.db --by functions --binary ./book -n 1
grep -q book got || { cat got said; fail "top finds nothing of ./book"; }
run 1 cfg --db known.db Book::submt
grep -q 'did you mean Book::submit' said || { cat said; fail "nothing is suggested for a typing error"; }
run 1 cfg --db known.db push_bakc
grep -q 'did you mean std::vector::push_back' said || { cat said; fail "nothing is suggested for a last part"; }
run 1 show --db known.db Book::submt:0
grep -q 'did you mean Book::submit' said || { cat said; fail "show suggests nothing"; }
finish
