# SPDX-License-Identifier: GPL-2.0-or-later
#
# fish completion for pathprofctl: bash's, which is installed beside this one, gives the answers.
set -l answers (status dirname)/../../bash-completion/completions/pathprofctl
complete -c pathprofctl -f -a "(bash "(string escape -- $answers)" (commandline -opc) (commandline -ct))"
