// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * How long threads that are ready to run wait for a CPU. A thread's waiting begins when it is woken, or when it loses
 * the CPU without wanting to, and ends when it is switched to, on whatever CPU that is. Waits of at least threshold_ns
 * are sent, one in quiet_ns; the others are counted.
 *
 * This runs at every context switch of the machine, so it does as little as it can: the scheduler itself adds up how
 * long each thread has waited (what /proc/PID/schedstat shows), and we remember in the thread how much that was when it
 * last ran. The wait that ends now is not in the sum yet. For kernels without that, there is a slower way of our own,
 * with a table and programs at wake-ups; one of the two is loaded.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "abi/run_queue_wait.h"

char program_license[] SEC("license") = "Dual BSD/GPL";

const volatile __u64 threshold_ns = 10000000;
const volatile __u64 quiet_ns = 0;

__u64 quiet_until = 0; /* races between CPUs give a record more, not less */
__u64 suppressed = 0;
__u64 dropped = 0;

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 64 * 1024);
} waits SEC(".maps");

/* What a thread had waited in all when it was last switched to. */
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, __u64);
} waited_before SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 65536);
  __type(key, int);
  __type(value, __u64);
} ready_since SEC(".maps");

/* Room for a wait that must be sent, or null. */
static __always_inline struct tephra_run_queue_wait* begin_wait(__u64 now, __u64 wait) {
  struct tephra_run_queue_wait* sent;
  if (quiet_ns != 0 && now < quiet_until) {
    __sync_fetch_and_add(&suppressed, 1);
    return 0;
  }
  sent = bpf_ringbuf_reserve(&waits, sizeof *sent, 0);
  if (!sent) {
    __sync_fetch_and_add(&dropped, 1);
    return 0;
  }
  quiet_until = now + quiet_ns;
  sent->time_ns = now;
  sent->wait_ns = wait;
  sent->cpu = bpf_get_smp_processor_id();
  sent->reserved = 0;
  return sent;
}

static __always_inline long state_of(struct task_struct* task) {
  struct task_struct___with_state* old = (void*)task;
  if (bpf_core_field_exists(task->__state)) return BPF_CORE_READ(task, __state);
  return BPF_CORE_READ(old, state);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(task_switch, bool preempt, struct task_struct* prev, struct task_struct* next) {
  struct tephra_run_queue_wait* sent;
  __u64 queued = next->sched_info.last_queued;
  __u64 total = next->sched_info.run_delay;
  __u64 wait = 0;
  __u64 now;
  __u64* before;
  if (next->pid == 0) return 0;
  /* The clock of its run queue, which is this CPU's; it was set at the beginning of this switch. */
  now = next->se.cfs_rq->rq->clock;
  if (queued != 0 && now > queued) wait = now - queued;
  total += wait;
  before = bpf_task_storage_get(&waited_before, next, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (before) {
    /* Moved to another CPU while it waited, it has waited in several parts. */
    if (*before != 0) wait = total - *before;
    *before = total;
  }
  if (wait < threshold_ns) return 0;
  sent = begin_wait(bpf_ktime_get_ns(), wait);
  if (!sent) return 0;
  sent->pid = next->tgid;
  sent->tid = next->pid;
  bpf_probe_read_kernel_str(sent->comm, sizeof sent->comm, next->comm);
  bpf_ringbuf_submit(sent, 0);
  return 0;
}

static __always_inline void begin_waiting(int tid) {
  __u64 now = bpf_ktime_get_ns();
  if (tid != 0) bpf_map_update_elem(&ready_since, &tid, &now, BPF_ANY);
}

SEC("raw_tp/sched_wakeup")
int BPF_PROG(raw_wakeup, struct task_struct* task) {
  begin_waiting(BPF_CORE_READ(task, pid));
  return 0;
}

SEC("raw_tp/sched_wakeup_new")
int BPF_PROG(raw_wakeup_new, struct task_struct* task) {
  begin_waiting(BPF_CORE_READ(task, pid));
  return 0;
}

SEC("raw_tp/sched_switch")
int BPF_PROG(raw_switch, bool preempt, struct task_struct* prev, struct task_struct* next) {
  struct tephra_run_queue_wait* sent;
  __u64* since;
  __u64 now;
  __u64 wait;
  int tid = BPF_CORE_READ(next, pid);
  /* If it was woken meanwhile, its waiting began just now as well. */
  if (preempt || state_of(prev) == 0) begin_waiting(BPF_CORE_READ(prev, pid));
  since = bpf_map_lookup_elem(&ready_since, &tid);
  if (!since) return 0;
  now = bpf_ktime_get_ns();
  wait = now - *since;
  bpf_map_delete_elem(&ready_since, &tid);
  if (wait < threshold_ns) return 0;
  sent = begin_wait(now, wait);
  if (!sent) return 0;
  sent->pid = BPF_CORE_READ(next, tgid);
  sent->tid = tid;
  BPF_CORE_READ_STR_INTO(&sent->comm, next, comm);
  bpf_ringbuf_submit(sent, 0);
  return 0;
}
