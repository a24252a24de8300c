// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * System calls by the place that makes them: how many, and how long they took. A call is counted when it is entered, so
 * that those are in it that do not return; its time is added when it ends, or when counting does.
 */
#include "activity.h"

SEC("tp_btf/sys_enter")
int BPF_PROG(call_entered, void* registers, long number) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct tephra_activity_key key;
  struct task_watch* watch;
  if (!activity_counts() || number < 0) return 0;
  watch = watch_of(task);
  if (!watch) return 0;
  watch->stack = activity_take_stack(ctx, task);
  watch->detail = number;
  watch->kind = TEPHRA_SYSCALL;
  watch->since = bpf_ktime_get_ns();
  key = activity_key(task, TEPHRA_SYSCALL, number, watch->stack);
  activity_add(&key, 1, 0, 0, watch->since);
  return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_ended, void* registers, long result) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct tephra_activity_key key;
  struct task_watch* watch;
  __u64 now;
  if (!activity_counts()) return 0;
  watch = watch_of(task);
  if (!watch || !watch->since) return 0;
  now = bpf_ktime_get_ns();
  key = activity_key(task, TEPHRA_SYSCALL, watch->detail, watch->stack);
  activity_add(&key, 0, 0, now - watch->since, now);
  watch->since = 0;
  return 0;
}

/* When counting has ended: what still goes on. Its entry was counted. */
SEC("iter/task")
int tell_open(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  struct tephra_activity_key key;
  struct task_watch* watch;
  if (!task || task->pid == 0) return 0;
  watch = bpf_task_storage_get(&watches, task, 0, 0);
  if (!watch || !watch->since) return 0;
  key = activity_key(task, TEPHRA_SYSCALL, watch->detail, watch->stack);
  activity_tell(ctx, &key, 0, 0, activity_until_stop(watch->since));
  return 0;
}
