# SPDX-License-Identifier: GPL-2.0-or-later
# words_of VERB OPTION: the words that pathprofctl's help says an option takes one of. $ctl is the program.
words_of() {
	"$ctl" "$1" --help | sed -e ':join' -e 'N;$!b join' -e 's/\n \{25\}/ /g' |
		sed -n "s/.* --$2 [A-Z]* .*one of \([a-z. -]*\).*/\1/p"
}

# Formats of export, but for that of what programs counted themselves.
sampled_formats() {
	words_of export format | tr ' ' '\n' | grep -vx llvm-profile-text
}
