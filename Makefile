# SPDX-License-Identifier: GPL-2.0-or-later
# The only makefile. `make run` and `make check` need nothing before them on a fresh Debian 12.

BUILD := build
CC ?= gcc
CLANG ?= clang
CSTD := -std=gnu11
WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wwrite-strings -Wvla -Wno-unused-parameter
OPT ?= -O2 -g
CPPFLAGS := -D_GNU_SOURCE -D_FORTIFY_SOURCE=2 -Ilibprofile/include
CFLAGS := $(CSTD) $(OPT) $(WARN) -fstack-protector-strong -fPIE
LDFLAGS := -pie -Wl,-z,relro,-z,now -Wl,--as-needed
LIBS := -ldw -lelf -lZydis -lsqlite3 -lsystemd -ljansson -linih -lpfm -lbpf -lncursesw -ltinfo -lm
SAN := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

VERSION := 0.1.0
CPPFLAGS += -DPATHPROF_VERSION='"$(VERSION)"'

LIB_SRC := $(wildcard libprofile/src/*.c libprofile/src/*/*.c)
DAEMON_SRC := $(filter-out daemon/main.c,$(wildcard daemon/*.c))
CTL_SRC := $(wildcard tools/ctl/*.c)
LAB_SRC := $(wildcard tools/lab/*.c)
UNIT_SRC := $(wildcard tests/unit/*.c)
SCHEMA := $(sort $(wildcard schema/sqlite/*.sql))

obj = $(patsubst %.c,$(BUILD)/$(1)/%.o,$(2))

PROGRAMS := $(BUILD)/bin/pathprof-lab $(BUILD)/bin/pathprofd $(BUILD)/bin/pathprofctl

all: $(PROGRAMS)

include $(wildcard tests/*.mk)

# Two builds of everything: obj, and san (address and undefined-behaviour sanitizers).
$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/san/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(filter-out -D_FORTIFY_SOURCE=2,$(CPPFLAGS)) $(CFLAGS) $(SAN) -MMD -MP -c -o $@ $<

