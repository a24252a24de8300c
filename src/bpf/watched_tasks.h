/*
 * Who is watched: processes and threads by number with what they start, control groups, a user, or everybody.
 *
 * The includer defines struct task_watch beforehand, which is kept for each watched task and has a `struct watch_groups
 * watched` in it, and the programs that bring tasks in (forks, exec, and an iteration over those that are there), by
 *
 *   watch_of(task)        null: it is not watched
 *   watch_child(parent, child), watch_awaited(task), watch_existing_task(task): null, or a watch to be filled
 */
#ifndef TEPHRA_BPF_WATCHED_TASKS_H
#define TEPHRA_BPF_WATCHED_TASKS_H

#include "stack_walk.h"

#include "abi/watching.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node___watched {
  __u64 id;
};

struct cgroup_subsys_state___watched {
  struct cgroup___watched* cgroup;
  struct cgroup_subsys_state___watched* parent;
};

struct cgroup___watched {
  struct cgroup_subsys_state___watched self;
  struct kernfs_node___watched* kn;
};

struct css_set___watched {
  struct cgroup_subsys_state___watched* subsys[1];
};

struct kuid___watched {
  unsigned int val;
};

struct cred___watched {
  struct kuid___watched uid;
};

struct task_struct___watched {
  struct css_set___watched* cgroups;
  const struct cred___watched* cred;
};

struct seq_file;

struct bpf_iter_meta {
  struct seq_file* seq;
};

struct bpf_iter__task {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
};

#pragma clang attribute pop

enum cgroup_subsys_id___watched {
  perf_event_cgrp_id___watched = 0,
};

const volatile struct tephra_watch_settings watching = {};

/* Written by the recorder. */
volatile struct tephra_watch_state watch_state = {};

__u32 own_process = 0;
__u64 not_watched = 0; /* no memory to watch a task */

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct task_watch);
} watches SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 4096);
  __type(key, struct tephra_watched);
  __type(value, __u8);
} listed SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 64);
  __type(key, __u64);
  __type(value, __u8);
} cgroups SEC(".maps");

SEC("raw_tp")
int note_recorder(void* ctx) {
  tephra_note_namespace();
  own_process = bpf_get_current_pid_tgid() >> 32;
  return 0;
}

struct group_loop {
  struct cgroup___watched* group;
  __u32 found;
};

static long look_at_group(__u32 index, struct group_loop* loop) {
  /* Reads through `loop` itself would be looked for in the kernel's types, and in those of its modules, which needs more
   * rights than all the rest. */
  struct cgroup___watched* group = loop->group;
  __u64 id = BPF_CORE_READ(group, kn, id);
  struct cgroup_subsys_state___watched* parent;
  if (bpf_map_lookup_elem(&cgroups, &id)) {
    loop->found = 1;
    return 1;
  }
  parent = BPF_CORE_READ(group, self.parent);
  if (!parent) return 1;
  loop->group = BPF_CORE_READ(parent, cgroup);
  return !loop->group;
}

/* The group that perf would count it in. */
static __always_inline bool in_cgroups(struct css_set___watched* set) {
  struct group_loop loop = {};
  struct cgroup_subsys_state___watched* state = 0;
  __u32 at = bpf_core_enum_value(enum cgroup_subsys_id___watched, perf_event_cgrp_id___watched);
  void* place = (void*)set + bpf_core_field_offset(struct css_set___watched, subsys) + at * sizeof(void*);
  if (bpf_probe_read_kernel(&state, sizeof state, place) || !state) return false;
  loop.group = BPF_CORE_READ(state, cgroup);
  if (!loop.group) return false;
  bpf_loop(64, look_at_group, &loop, 0);
  return loop.found;
}

/* Null: not watched. */
static __always_inline struct task_watch* watch_of(struct task_struct* task) {
  struct task_watch* watch;
  if (watching.mode == TEPHRA_WATCH_LISTED) return bpf_task_storage_get(&watches, task, 0, 0);
  if (task->pid == 0 || task->tgid == own_process) return 0;
  watch = bpf_task_storage_get(&watches, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!watch || watching.mode == TEPHRA_WATCH_ALL) return watch;
  if (watching.mode == TEPHRA_WATCH_USER) {
    return BPF_CORE_READ((struct task_struct___watched*)task, cred, uid.val) == watching.user ? watch : 0;
  }
  __u64 groups = (__u64)BPF_CORE_READ((struct task_struct___watched*)task, cgroups);
  if (watch->watched.groups != groups) {
    watch->watched.groups = groups;
    watch->watched.tracked = in_cgroups((void*)groups);
  }
  return watch->watched.tracked ? watch : 0;
}
static __always_inline struct task_watch* watch_anew(struct task_struct* task) {
  struct task_watch* watch = bpf_task_storage_get(&watches, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!watch) __sync_fetch_and_add(&not_watched, 1);
  return watch;
}

/* What a listed task starts. */
static __always_inline struct task_watch* watch_child(struct task_struct* parent, struct task_struct* child) {
  if (watching.mode != TEPHRA_WATCH_LISTED || !watching.inherit || watch_state.stopped) return 0;
  if (!bpf_task_storage_get(&watches, parent, 0, 0)) return 0;
  return watch_anew(child);
}

/* The program that was started for us, when it runs. */
static __always_inline struct task_watch* watch_awaited(struct task_struct* task) {
  if (!watch_state.awaited || watch_state.stopped || tephra_process_of(task) != watch_state.awaited) return 0;
  watch_state.awaited = 0;
  watch_state.met = bpf_ktime_get_ns();
  return watch_anew(task);
}

static __always_inline bool is_listed(struct task_struct* task) {
  struct tephra_watched who = {.pid = tephra_process_of(task)};
  if (who.pid && bpf_map_lookup_elem(&listed, &who)) return true;
  who.pid = 0;
  who.tid = tephra_pid_of(task);
  return who.tid && bpf_map_lookup_elem(&listed, &who);
}

/* Before counting begins: whoever is there is watched from now on. */
static __always_inline struct task_watch* watch_existing_task(struct task_struct* task) {
  if (!task || task->pid == 0) return 0;
  if (watching.mode != TEPHRA_WATCH_LISTED) return watch_of(task);
  return is_listed(task) ? watch_anew(task) : 0;
}

#endif
