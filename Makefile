# SPDX-License-Identifier: GPL-2.0-or-later
# The only makefile. `make run` and `make check` need nothing before them on a fresh Debian 12.

BUILD := build
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
BPFTOOL ?= /usr/sbin/bpftool
CSTD := -std=gnu11
WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wwrite-strings -Wvla -Wno-unused-parameter -Wno-missing-field-initializers
OPT ?= -O2 -g
CPPFLAGS := -D_GNU_SOURCE -D_FORTIFY_SOURCE=2 -Ilibprofile/include -I$(BUILD)/gen
CFLAGS := $(CSTD) $(OPT) $(WARN) -fstack-protector-strong -fPIE
LDFLAGS := -pie -Wl,-z,relro,-z,now -Wl,--as-needed
LIBS := -ldw -lelf -lZydis -lsqlite3 -lsystemd -ljansson -linih -lpfm -lbpf -lcap -lncursesw -ltinfo -lzstd -lxxhash -lcurl -lmicrohttpd -lprotobuf-c -lz -lm
SAN := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

VERSION := 0.1.0
CPPFLAGS += -DPATHPROF_VERSION='"$(VERSION)"'

LIB_SRC := $(wildcard libprofile/src/*.c libprofile/src/*/*.c)
DAEMON_SRC := $(filter-out daemon/main.c %.bpf.c,$(wildcard daemon/*.c daemon/*/*.c))
BPF_SRC := $(wildcard daemon/bpf/*.bpf.c)
CTL_SRC := $(wildcard tools/ctl/*.c)
LAB_SRC := $(wildcard tools/lab/*.c tools/lab/*/*.c)
TRACE_SRC := $(wildcard tools/trace/*.c)
PLUGIN_SRC := $(wildcard tools/trace/plugin/*.c)
LAB_TESTED := $(filter-out tools/lab/main.c,$(LAB_SRC))
# Of the plugin only what stands alone.
PLUGIN_TESTED := tools/trace/plugin/insn_len.c
UNIT_SRC := $(wildcard tests/unit/*.c)
SCHEMA := $(sort $(wildcard schema/sqlite/*.sql))

# One word and the file; V=1 shows the commands.
say = $(if $(V),,@printf '  %-4s %s\n' $(1) $(2);)
obj = $(patsubst %.c,$(BUILD)/$(1)/%.o,$(2))

PROGRAMS := $(BUILD)/bin/pathprof-lab $(BUILD)/bin/pathprofd $(BUILD)/bin/pathprofctl \
	$(BUILD)/bin/pathprof-trace
PLUGIN := $(BUILD)/lib/pathprof/trace-plugin.so

all: $(PROGRAMS) $(PLUGIN)

# ---------------------------------------------------------------- objects
# Two builds of everything: obj, and san (address and undefined-behaviour sanitizers).
$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/san/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(filter-out -D_FORTIFY_SOURCE=2,$(CPPFLAGS)) $(CFLAGS) $(SAN) -MMD -MP -c -o $@ $<
$(BUILD)/obj/%.o: $(BUILD)/gen/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(BUILD)/san/%.o: $(BUILD)/gen/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) $(SAN) -U_FORTIFY_SOURCE -c -o $@ $<

# The migrations travel inside the programs: one string a file, in order of name.
$(BUILD)/gen/schema.c: $(SCHEMA)
	@mkdir -p $(@D)
	$(call say,GEN,$@){ echo '#include <stddef.h>'; echo '#include "pathprof/schema.h"'; \
	  echo 'const char *const pathprof_schema_sqlite[] = {'; \
	  for f in $(SCHEMA); do \
	    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/' $$f; echo ,; done; \
	  echo 'NULL};'; } > $@

# pprof's messages, as C.
PPROF := $(BUILD)/gen/pprof.pb-c
$(PPROF).c: libprofile/src/format/pprof.proto
	@mkdir -p $(@D)
	$(call say,GEN,$@)protoc-c --proto_path=$(<D) --c_out=$(@D) $(<F)
$(patsubst %,$(BUILD)/%/libprofile/src/format/write_pprof.o,obj san fuzz/obj): $(PPROF).c
$(BUILD)/fuzz/obj/pprof.pb-c.o: $(PPROF).c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CLANG) $(CPPFLAGS) -U_FORTIFY_SOURCE $(CSTD) $(FUZZ_FLAGS) -c -o $@ $<

# BPF programs travel inside the daemon: daemon/bpf/NAME.bpf.c becomes gen/NAME.skel.h. What the
# kernel's headers need of the architecture lies in a directory of its own.
SKELETONS := $(patsubst daemon/bpf/%.bpf.c,$(BUILD)/gen/%.skel.h,$(BPF_SRC))
BPF_FLAGS = -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes \
	-Wmissing-prototypes -Wno-unused-parameter -Ilibprofile/core -Ilibprofile/include \
	-idirafter /usr/include/$(shell $(CC) -print-multiarch)
$(BUILD)/bpf/%.bpf.o: daemon/bpf/%.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF,$@)$(CLANG) $(BPF_FLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/gen/%.skel.h: $(BUILD)/bpf/%.bpf.o
	@mkdir -p $(@D)
	$(call say,GEN,$@){ echo '/* NOLINTBEGIN */'; $(BPFTOOL) gen skeleton $<; \
	  echo '/* NOLINTEND */'; } >$@
$(foreach b,obj san fuzz/obj,$(patsubst %.c,$(BUILD)/$(b)/%.o,$(filter daemon/bpf/%,$(DAEMON_SRC)))): $(SKELETONS)
skeletons: $(SKELETONS)

LIB := $(BUILD)/libpathprof.a
LIB_SAN := $(BUILD)/libpathprof-san.a
$(LIB): $(call obj,obj,$(LIB_SRC)) $(BUILD)/obj/schema.o $(BUILD)/obj/pprof.pb-c.o
	$(call say,AR,$@)rm -f $@; $(AR) rcs $@ $^
$(LIB_SAN): $(call obj,san,$(LIB_SRC)) $(BUILD)/san/schema.o $(BUILD)/san/pprof.pb-c.o
	$(call say,AR,$@)rm -f $@; $(AR) rcs $@ $^

link = $(call say,LD,$@)mkdir -p $(@D); $(CC) $(CFLAGS) $(1) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS) $(LIBS)

$(BUILD)/bin/pathprof-lab: $(call obj,obj,$(LAB_SRC)) $(LIB)
	$(call link)
$(BUILD)/bin/pathprofd: $(call obj,obj,$(DAEMON_SRC) daemon/main.c) $(LIB)
	$(call link)
$(BUILD)/bin/pathprofctl: $(call obj,obj,$(CTL_SRC)) $(LIB)
	$(call link)
$(BUILD)/bin/pathprof-trace: $(call obj,obj,$(TRACE_SRC)) $(LIB)
	$(call link)

# Loaded by the emulator: nothing of ours but the core's headers.
$(BUILD)/plugin/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CPPFLAGS) $(CSTD) $(OPT) $(WARN) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<
$(PLUGIN): $(patsubst %.c,$(BUILD)/plugin/%.o,$(PLUGIN_SRC))
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) -shared -pthread -Wl,-z,relro,-z,now -o $@ $^

# ---------------------------------------------------------------- packages
# What is missing is installed by apt, before anything is compiled.
BUILD_PACKAGES := gcc libc6-dev linux-libc-dev libdw-dev libelf-dev libdebuginfod1 libzydis-dev \
	libsqlite3-dev libsystemd-dev libjansson-dev libinih-dev libpfm4-dev libbpf-dev libcap-dev \
	libncurses-dev libzstd-dev libxxhash-dev libcurl4-openssl-dev libmicrohttpd-dev \
	libprotobuf-c-dev protobuf-c-compiler zlib1g-dev clang bpftool
CHECK_PACKAGES := libcunit1-dev clang clang-format clang-tidy cppcheck libclang-rt-14-dev llvm \
	libc6-dbg python3 perl bzip2 gzip xz-utils sqlite3 tmux util-linux procps systemd \
	valgrind binutils git bsdutils qemu-user gnuplot-nox lua5.4 g++ graphviz \
	prometheus prometheus-alertmanager openssl \
	linux-perf clang-22 lld llvm-22 bolt-22 bolt-19 autofdo golang-go
# The machine that the kernel module is run in, and what builds it. Kernels are not installed
# (tests/vm/kernels).
KMOD_PACKAGES := qemu-system-x86 busybox-static cpio kmod pahole dkms openssl qemu-user gzip bzip2 perl sqlite3
# What the papers' experiments run and draw with.
EXPERIMENT_PACKAGES := qemu-user gnuplot-nox cpp-12 gzip bzip2 perl xz-utils lua5.4 sqlite3 python3 \
	gnuchess ghostscript gnugo link-grammar

# ---------------------------------------------------------------- tests
$(BUILD)/tests/unit: $(call obj,obj,$(UNIT_SRC) $(DAEMON_SRC) $(LAB_TESTED) $(PLUGIN_TESTED)) $(LIB)
	$(call link) -lcunit
$(BUILD)/tests/unit-san: $(call obj,san,$(UNIT_SRC) $(DAEMON_SRC) $(LAB_TESTED) $(PLUGIN_TESTED)) $(LIB_SAN)
	$(call link,$(SAN)) -lcunit

# Programs of one file each. Workloads stand alone; the others use what they test.
WORKLOADS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/workloads/*.c))
HELPERS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/truth/*.c tests/tools/*.c \
	tests/bench/*.c))
$(WORKLOADS): $(BUILD)/tests/%: tests/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Werror -Wno-unused-parameter -pthread -o $@ $<
$(HELPERS): $(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(call obj,obj,$(DAEMON_SRC)) $(LIB)
	$(call link) -pthread

# What it loads travels inside.
$(BUILD)/obj/tests/tools/bpf_rights.o: $(SKELETONS)

programs-for-tests: $(PROGRAMS) $(PLUGIN) $(WORKLOADS) $(HELPERS) $(BUILD)/tests/unit $(BUILD)/tests/unit-san

# ---------------------------------------------------------------- fuzzing
FUZZ_SECONDS ?= 30
FUZZERS := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_FLAGS := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
$(BUILD)/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CLANG) $(filter-out -D_FORTIFY_SOURCE=2,$(CPPFLAGS)) $(CSTD) $(FUZZ_FLAGS) \
		-fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<
$(BUILD)/fuzz/obj/schema.o: $(BUILD)/gen/schema.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CLANG) $(CPPFLAGS) -U_FORTIFY_SOURCE $(CSTD) $(FUZZ_FLAGS) -c -o $@ $<
$(BUILD)/fuzz/lib.a: $(patsubst %.c,$(BUILD)/fuzz/obj/%.o,$(LIB_SRC) $(DAEMON_SRC)) \
		$(BUILD)/fuzz/obj/schema.o $(BUILD)/fuzz/obj/pprof.pb-c.o
	$(call say,AR,$@)rm -f $@; $(AR) rcs $@ $^
$(FUZZERS): $(BUILD)/fuzz/%: $(BUILD)/fuzz/obj/tests/fuzz/%.o $(BUILD)/fuzz/lib.a
	$(call say,LD,$@)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ $(LIBS)

# ---------------------------------------------------------------- what people call
need-build:
	@tools/need $(BUILD_PACKAGES)
need-check: need-build
	@tools/need $(CHECK_PACKAGES)
need-vm: need-build
	@tools/need $(KMOD_PACKAGES)
	-@BUILD=$(BUILD) tests/vm/kernels

run: need-build
	@$(MAKE) --no-print-directory -j2 all
	@DURATION=$(DURATION) BUILD=$(BUILD) tools/demo

# make's own name only where another make is started: a dry run does carry out such a line.
check: need-check
	@$(MAKE) --no-print-directory need-vm
	@$(MAKE) --no-print-directory -j2 programs-for-tests
	@$(MAKE) --no-print-directory -j2 $(FUZZERS)
	@BUILD=$(BUILD) FUZZ_SECONDS=$(FUZZ_SECONDS) tests/run

# The kernel module in virtual machines: docs/kmod-testing.md.
check-vm: need-vm
	@BUILD=$(BUILD) tests/vm/run

# The same in a kernel that watches itself, built here once: half an hour.
check-vm-debug: need-build
	@tools/need $(KMOD_PACKAGES) linux-source-6.1 flex bison bc libelf-dev
	@BUILD=$(BUILD) tests/vm/debug/run

# The module against the headers of other kernels, which this fetches: HEADERS names the releases.
check-headers:
	@BUILD=$(BUILD) tests/vm/headers $(HEADERS)

bench: need-build
	@$(MAKE) --no-print-directory -j2 programs-for-bench
	@for b in $(filter $(BUILD)/tests/bench/%,$(HELPERS)); do echo "# $$(basename $$b)"; $$b; done
	@for b in tests/bench/bench_*.sh; do echo "# $$(basename $$b .sh)"; BUILD=$(BUILD) $$b; done
programs-for-bench: $(PROGRAMS) $(PLUGIN) $(filter $(BUILD)/tests/bench/% $(BUILD)/tests/tools/%,$(HELPERS))

# SETTING=full: an hour instead of minutes (docs/experiments.md).
experiments: need-build
	@tools/need $(EXPERIMENT_PACKAGES)
	@$(MAKE) --no-print-directory -j2 all
	@BUILD=$(BUILD) SETTING=$(SETTING) tools/experiments

lint: need-check
	@tests/lint/run

fuzz: need-check
	@$(MAKE) --no-print-directory -j2 $(FUZZERS)
	@BUILD=$(BUILD) FUZZ_SECONDS=$(FUZZ_SECONDS) tests/fuzz/run

PREFIX ?= /usr
install: all
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/bin $(PROGRAMS)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib/pathprof $(PLUGIN)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib/systemd/system systemd/pathprofd.service
	install -D -m 644 systemd/pathprof.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/pathprof.conf
	install -D -m 644 systemd/60-pathprof.rules $(DESTDIR)$(PREFIX)/lib/udev/rules.d/60-pathprof.rules
	install -D -m 644 systemd/pathprofd.conf $(DESTDIR)/etc/pathprof/pathprofd.conf
	for m in docs/man/*.[1-8]; do \
		install -D -m 644 $$m $(DESTDIR)$(PREFIX)/share/man/man$${m##*.}/$$(basename $$m); done
	install -D -m 644 docs/completion/pathprofctl \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/pathprofctl

# The module's sources as DKMS takes them: make dkms DESTDIR=/ && dkms install pathprof/VERSION.
DKMS_TREE = $(or $(DESTDIR),$(BUILD)/dkms)/usr/src/pathprof-$(VERSION)
dkms:
	rm -rf $(DKMS_TREE)
	install -d $(addprefix $(DKMS_TREE)/,kmod/probe libprofile/core libprofile/include/pathprof)
	install -m 644 kmod/Makefile kmod/Kbuild $(wildcard kmod/*.[ch]) $(DKMS_TREE)/kmod
	install -m 644 $(wildcard kmod/probe/*.c) $(DKMS_TREE)/kmod/probe
	install -m 644 $(wildcard libprofile/core/*.h) $(DKMS_TREE)/libprofile/core
	install -m 644 $(addprefix libprofile/include/pathprof/,abi.h record_abi.h kmod_abi.h) $(DKMS_TREE)/libprofile/include/pathprof
	sed 's/@VERSION@/$(VERSION)/' kmod/dkms.conf >$(DKMS_TREE)/dkms.conf

clean:
	rm -rf $(BUILD)

# Kernels and their sources lie in $(BUILD)/vm*.
-include $(shell find $(BUILD) -path '$(BUILD)/vm*' -prune -o -name '*.d' -print 2>/dev/null)
.PHONY: all clean run skeletons check check-vm check-vm-debug check-headers bench dkms experiments lint fuzz install \
	need-build need-check need-vm programs-for-tests programs-for-bench
.DELETE_ON_ERROR:
.SECONDARY:
