// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Who does input and output: requests to devices by the stack that asked for them, and time in calls on files.
 *
 * A request is followed by its address. It is asked for (block_io_start), goes to its device (block_rq_issue) and is
 * done (block_rq_complete), and counts with the bytes that it had when it was issued, since others are merged into it
 * until then. Who issues it need not be who asked for it: with a scheduler that is often a thread of the kernel, or
 * whoever comes by. Before Linux 6.5 there is no such tracepoint, and a request is asked for when it is queued
 * (block_rq_insert) or, where there is no scheduler, issued. A request that is issued again counts once. Those that are
 * not done when counting ends are left in the map, which the recorder reads.
 *
 * What asks for nothing but a flush is put together with others by the kernel, and issued under another address by one
 * of its threads. It counts as asked for, and the other one not.
 */
#include "activity.h"

#define S_IFMT 0170000
#define S_IFREG 0100000
#define S_IFBLK 0060000

/* The first ones of enum req_op; the same in all versions. */
#define OP_MASK 0xff
#define OP_READ 0
#define OP_WRITE 1
#define OP_FLUSH 2
#define OP_DISCARD 3
#define OP_SECURE_ERASE 5
#define OP_ZONE_APPEND 7
#define OP_WRITE_ZEROES 9

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct gendisk___io {
  int major;
  int first_minor;
  char disk_name[32];
};

struct request_queue___io {
  struct gendisk___io* disk;
};

struct block_device___io {
  unsigned int bd_dev;
};

struct request___io {
  struct request_queue___io* q;
  unsigned int cmd_flags;
  unsigned int __data_len;
  struct block_device___io* part;
};

/* Up to Linux 5.16. */
struct request___io_old {
  struct gendisk___io* rq_disk;
};

struct super_block___io {
  unsigned int s_dev;
  unsigned long s_magic;
  char s_id[32];
};

struct inode___io {
  unsigned short i_mode;
  unsigned int i_rdev;
  struct super_block___io* i_sb;
};

struct qstr___io {
  const unsigned char* name;
};

struct dentry___io {
  struct qstr___io d_name;
};

struct path___io {
  struct dentry___io* dentry;
};

struct file___io {
  struct inode___io* f_inode;
  struct path___io f_path;
};

struct fdtable___io {
  unsigned int max_fds;
  struct file___io** fd;
};

struct files_struct___io {
  struct fdtable___io* fdt;
};

struct thread_info___io {
  unsigned long flags;
  unsigned int status;
};

struct task_struct___io {
  struct thread_info___io thread_info;
  struct files_struct___io* files;
};

#pragma clang attribute pop

/* Whether this kernel tells when requests are asked for. */
const volatile bool has_starts = true;

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1 << 14);
  __type(key, __u64);
  __type(value, struct tephra_activity_begun);
} requests SEC(".maps");

/* --- requests --- */

static __always_inline __u32 kind_of(struct request___io* rq) {
  switch (BPF_CORE_READ(rq, cmd_flags) & OP_MASK) {
    case OP_READ:
      return TEPHRA_BLOCK_READ;
    case OP_WRITE:
    case OP_ZONE_APPEND:
      return TEPHRA_BLOCK_WRITE;
    case OP_FLUSH:
      return TEPHRA_BLOCK_FLUSH;
    case OP_DISCARD:
    case OP_SECURE_ERASE:
    case OP_WRITE_ZEROES:
      return TEPHRA_BLOCK_DISCARD;
    default:
      return TEPHRA_BLOCK_OTHER;
  }
}

static __always_inline struct gendisk___io* disk_of(struct request___io* rq) {
  if (bpf_core_field_exists(struct request___io_old, rq_disk)) {
    return BPF_CORE_READ((struct request___io_old*)rq, rq_disk);
  }
  return BPF_CORE_READ(rq, q, disk);
}

/* The running task asks for it. */
static __always_inline void fill(void* ctx, struct tephra_activity_begun* begun, struct task_struct* task,
                                 struct request___io* rq) {
  struct gendisk___io* disk = disk_of(rq);
  begun->key = activity_key(task, kind_of(rq), 0, activity_take_stack(ctx, task));
  if (!disk) return;
  begun->key.detail = (__u32)BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor);
  bpf_probe_read_kernel_str(begun->key.extra, sizeof begun->key.extra, &disk->disk_name);
}

/* Its end was not told (which happens on some machines): it counts, and how long it took is not known. */
static __always_inline void count_unended(struct tephra_activity_begun* begun) {
  struct tephra_activity_totals* total = totals_here();
  struct tephra_activity_key key = begun->key;
  if (total) total->untimed++;
  activity_add(&key, 1, begun->bytes, 0, begun->since);
}

static __always_inline int asked_for(void* ctx, struct request___io* rq) {
  struct task_struct* task = bpf_get_current_task_btf();
  __u64 address = (__u64)rq;
  struct tephra_activity_begun begun = {};
  struct tephra_activity_begun* before;
  if (!activity_counts()) return 0;
  before = bpf_map_lookup_elem(&requests, &address);
  if (before && before->since && !has_starts) return 0; /* it comes again */
  if (before && before->since) count_unended(before);
  if (!watch_of(task)) {
    /* The request that was here before is gone: it was merged into another one. */
    if (before) bpf_map_delete_elem(&requests, &address);
    return 0;
  }
  fill(ctx, &begun, task, rq);
  if (begun.key.kind == TEPHRA_BLOCK_WRITE && BPF_CORE_READ(rq, __data_len) == 0) {
    begun.key.kind = TEPHRA_BLOCK_FLUSH;
    begun.since = bpf_ktime_get_ns();
  }
  if (bpf_map_update_elem(&requests, &address, &begun, BPF_ANY) && begun.since) {
    struct tephra_activity_totals* total = totals_here();
    if (total) total->untimed++;
    activity_add(&begun.key, 1, 0, 0, begun.since);
  }
  return 0;
}

SEC("tp_btf/block_io_start")
int BPF_PROG(request_started, struct request___io* rq) { return asked_for(ctx, rq); }

SEC("tp_btf/block_rq_insert")
int BPF_PROG(request_queued, struct request___io* rq) { return asked_for(ctx, rq); }

SEC("tp_btf/block_rq_issue")
int BPF_PROG(request_issued, struct request___io* rq) {
  struct task_struct* task = bpf_get_current_task_btf();
  __u64 address = (__u64)rq;
  struct tephra_activity_begun fresh = {};
  struct tephra_activity_begun* begun;
  struct tephra_activity_totals* total;
  if (!activity_counts()) return 0;
  begun = bpf_map_lookup_elem(&requests, &address);
  if (begun) {
    if (begun->since) return 0; /* issued before */
    begun->bytes = BPF_CORE_READ(rq, __data_len);
    begun->since = bpf_ktime_get_ns();
    return 0;
  }
  /* Only what the kernel accounts for has this: then its start was told, and nobody asked whom we watch. */
  if (has_starts && (BPF_CORE_READ(rq, part) || kind_of(rq) == TEPHRA_BLOCK_FLUSH)) return 0;
  if (!watch_of(task)) return 0;
  fill(ctx, &fresh, task, rq);
  fresh.bytes = BPF_CORE_READ(rq, __data_len);
  fresh.since = bpf_ktime_get_ns();
  if (!bpf_map_update_elem(&requests, &address, &fresh, BPF_ANY)) return 0;
  /* It counts, and how long it takes is not known. */
  total = totals_here();
  if (total) total->untimed++;
  activity_add(&fresh.key, 1, fresh.bytes, 0, fresh.since);
  return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(request_done, struct request___io* rq, int error, unsigned int bytes) {
  __u64 address = (__u64)rq;
  struct tephra_activity_begun* begun;
  struct tephra_activity_key key;
  __u64 now;
  if (!activity_counts()) return 0;
  begun = bpf_map_lookup_elem(&requests, &address);
  /* A part of it: the rest is to come. */
  if (!begun || bytes < BPF_CORE_READ(rq, __data_len)) return 0;
  if (begun->since) {
    now = bpf_ktime_get_ns();
    key = begun->key;
    if ((__u8)error) key.flags |= TEPHRA_ACTIVITY_FAILED;
    activity_add(&key, 1, begun->bytes, now - begun->since, now);
  }
  bpf_map_delete_elem(&requests, &address);
  return 0;
}

/* --- calls on files --- */

#if defined(__TARGET_ARCH_arm64)
#define IS_FOREIGN(task) (BPF_CORE_READ(task, thread_info.flags) >> 22 & 1)
#define ARGUMENT(registers, n) ((registers)->regs[n])
enum {
  CALL_FTRUNCATE = 46,
  CALL_FALLOCATE = 47,
  CALL_READ = 63,
  CALL_WRITE = 64,
  CALL_READV = 65,
  CALL_WRITEV = 66,
  CALL_PREAD64 = 67,
  CALL_PWRITE64 = 68,
  CALL_PREADV = 69,
  CALL_PWRITEV = 70,
  CALL_SENDFILE = 71,
  CALL_SPLICE = 76,
  CALL_SYNC = 81,
  CALL_FSYNC = 82,
  CALL_FDATASYNC = 83,
  CALL_SYNC_FILE_RANGE = 84,
  CALL_READAHEAD = 213,
  CALL_MSYNC = 227,
  CALL_SYNCFS = 267,
  CALL_COPY_FILE_RANGE = 285,
  CALL_PREADV2 = 286,
  CALL_PWRITEV2 = 287,
};
#else
#define IS_FOREIGN(task) (BPF_CORE_READ(task, thread_info.status) & 2)
#define ARGUMENT(registers, n) ((n) == 0 ? (registers)->di : (n) == 1 ? (registers)->si : (registers)->dx)
enum {
  CALL_READ = 0,
  CALL_WRITE = 1,
  CALL_PREAD64 = 17,
  CALL_PWRITE64 = 18,
  CALL_READV = 19,
  CALL_WRITEV = 20,
  CALL_MSYNC = 26,
  CALL_SENDFILE = 40,
  CALL_FSYNC = 74,
  CALL_FDATASYNC = 75,
  CALL_FTRUNCATE = 77,
  CALL_SYNC = 162,
  CALL_READAHEAD = 187,
  CALL_SPLICE = 275,
  CALL_SYNC_FILE_RANGE = 277,
  CALL_FALLOCATE = 285,
  CALL_PREADV = 295,
  CALL_PWRITEV = 296,
  CALL_SYNCFS = 306,
  CALL_COPY_FILE_RANGE = 326,
  CALL_PREADV2 = 327,
  CALL_PWRITEV2 = 328,
};
#endif

/* What a call is, and which of its arguments is the file. */
enum file_argument { FILE_FIRST = 0, FILE_SECOND = 1, FILE_FIRST_OR_THIRD, FILE_ANY_KIND, FILE_NONE };

static __always_inline __u32 kind_of_call(long number, enum file_argument* file) {
  *file = FILE_FIRST;
  switch (number) {
    case CALL_READ:
    case CALL_PREAD64:
    case CALL_READV:
    case CALL_PREADV:
    case CALL_PREADV2:
      return TEPHRA_FILE_READ;
    case CALL_WRITE:
    case CALL_PWRITE64:
    case CALL_WRITEV:
    case CALL_PWRITEV:
    case CALL_PWRITEV2:
      return TEPHRA_FILE_WRITE;
    case CALL_FSYNC:
    case CALL_FDATASYNC:
    case CALL_SYNC_FILE_RANGE:
      return TEPHRA_FILE_SYNC;
    case CALL_SYNCFS:
      *file = FILE_ANY_KIND;
      return TEPHRA_FILE_SYNC;
    case CALL_MSYNC:
    case CALL_SYNC:
      *file = FILE_NONE;
      return TEPHRA_FILE_SYNC;
    case CALL_SENDFILE:
      *file = FILE_SECOND;
      return TEPHRA_FILE_READ;
    case CALL_SPLICE:
      *file = FILE_FIRST_OR_THIRD;
      return TEPHRA_FILE_OTHER;
    case CALL_COPY_FILE_RANGE:
    case CALL_FTRUNCATE:
    case CALL_FALLOCATE:
    case CALL_READAHEAD:
      return TEPHRA_FILE_OTHER;
    default:
      return 0;
  }
}

/* File systems whose files are questions to the kernel, not data. */
static __always_inline bool is_made_up(unsigned long magic) {
  switch (magic) {
    case 0x9fa0:     /* proc */
    case 0x62656572: /* sysfs */
    case 0x64626720: /* debugfs */
    case 0x74726163: /* tracefs */
    case 0x27e0eb:   /* control groups */
    case 0x63677270:
    case 0x73636673: /* securityfs */
    case 0xcafe4a11: /* bpf */
    case 0x09041934: /* anonymous inodes */
    case 0x62656570: /* configfs */
    case 0x6e736673: /* namespaces */
    case 0x50494446: /* processes */
    case 0xf97cff8c: /* selinux */
    case 0x42494e4d: /* binfmt_misc */
    case 0xde5e81e4: /* efivarfs */
      return true;
    default:
      return false;
  }
}

static __always_inline struct file___io* file_of(struct task_struct___io* task, __u32 descriptor) {
  struct fdtable___io* table = BPF_CORE_READ(task, files, fdt);
  struct file___io** files;
  struct file___io* file = 0;
  if (!table || descriptor >= BPF_CORE_READ(table, max_fds)) return 0;
  files = BPF_CORE_READ(table, fd);
  bpf_probe_read_kernel(&file, sizeof file, files + descriptor);
  return file;
}

struct device {
  __u32 number;
  char name[16];
};

/* Whether a descriptor is that of data on a device, and which one. `any`: of whichever kind it is itself. */
static __always_inline bool device_of(struct task_struct___io* task, __u32 descriptor, bool any,
                                      struct device* device) {
  struct file___io* file = file_of(task, descriptor);
  struct inode___io* inode;
  struct super_block___io* super;
  __u32 type;
  if (!file) return false;
  inode = BPF_CORE_READ(file, f_inode);
  if (!inode) return false;
  type = BPF_CORE_READ(inode, i_mode) & S_IFMT;
  if (type == S_IFBLK && !any) {
    device->number = BPF_CORE_READ(inode, i_rdev);
    bpf_probe_read_kernel_str(device->name, sizeof device->name, BPF_CORE_READ(file, f_path.dentry, d_name.name));
    return true;
  }
  super = BPF_CORE_READ(inode, i_sb);
  if ((type != S_IFREG && !any) || !super || is_made_up(BPF_CORE_READ(super, s_magic))) return false;
  device->number = BPF_CORE_READ(super, s_dev);
  bpf_probe_read_kernel_str(device->name, sizeof device->name, &super->s_id);
  return true;
}

/* The name of a device has its place in the watch: two words. */
static __always_inline bool find_device(struct task_struct* task, struct tephra_registers* registers,
                                        enum file_argument which, __u32* kind, struct device* device) {
  struct task_struct___io* more = (void*)task;
  struct tephra_registers saved;
  if (which == FILE_NONE) return true;
  if (bpf_probe_read_kernel(&saved, sizeof saved, registers)) return false;
  if (which == FILE_SECOND) return device_of(more, ARGUMENT(&saved, 1), false, device);
  if (device_of(more, ARGUMENT(&saved, 0), which == FILE_ANY_KIND, device)) {
    if (which == FILE_FIRST_OR_THIRD) *kind = TEPHRA_FILE_READ;
    return true;
  }
  if (which != FILE_FIRST_OR_THIRD || !device_of(more, ARGUMENT(&saved, 2), false, device)) return false;
  *kind = TEPHRA_FILE_WRITE;
  return true;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(call_entered, void* registers, long number) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct device device = {};
  struct task_watch* watch;
  enum file_argument which;
  __u32 kind = kind_of_call(number, &which);
  if (!kind || !activity_counts()) return 0;
  watch = watch_of(task);
  if (!watch) return 0;
  watch->since = 0;
  if (IS_FOREIGN((struct task_struct___io*)task)) return 0;
  if (!find_device(task, registers, which, &kind, &device)) return 0;
  watch->kind = kind;
  watch->detail = device.number;
  __builtin_memcpy(&watch->place, device.name, 8);
  __builtin_memcpy(&watch->bytes, device.name + 8, 8);
  watch->stack = activity_take_stack(ctx, task);
  watch->since = bpf_ktime_get_ns();
  return 0;
}

static __always_inline struct tephra_activity_key call_key(struct task_struct* task, struct task_watch* watch) {
  struct tephra_activity_key key = activity_key(task, watch->kind, watch->detail, watch->stack);
  __builtin_memcpy(key.extra, &watch->place, 8);
  __builtin_memcpy(key.extra + 8, &watch->bytes, 8);
  return key;
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
  key = call_key(task, watch);
  if (result < 0) key.flags |= TEPHRA_ACTIVITY_FAILED;
  activity_add(&key, 1, result > 0 ? result : 0, now - watch->since, now);
  watch->since = 0;
  return 0;
}

/* When counting has ended: calls that go on. */
SEC("iter/task")
int tell_open(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  struct tephra_activity_key key;
  struct task_watch* watch;
  if (!task || task->pid == 0) return 0;
  watch = bpf_task_storage_get(&watches, task, 0, 0);
  if (!watch || !watch->since) return 0;
  key = call_key(task, watch);
  activity_tell(ctx, &key, 1, 0, activity_until_stop(watch->since));
  return 0;
}
