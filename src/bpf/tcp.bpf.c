// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What watched threads do with TCP: connects, accepts, bytes, and what becomes of their connections.
 *
 * Only some of this happens in a thread's own calls. Packets and timers change states, retransmit and reset on top of
 * whichever thread happens to run: on loopback on top of the sender. So it is kept for each socket whose it is: the
 * thread and the stack of its last call (and of its last send, which is what is retransmitted). That runs in the
 * owner's own call what runs while the socket is locked by a task (`sk_lock.owned`): packets and timers leave such a
 * socket alone until its owner unlocks it, which then does their work itself. That holds for every kernel and machine,
 * other than what can be read of an interrupt's context here.
 *
 * Sockets are kept by their address: storage of the socket itself needs a pointer that the verifier trusts, and where
 * accept() returns there is a descriptor alone. They are forgotten when the kernel destroys them.
 *
 * A connection from outside has no owner until it is accepted. What happens to it before is held, and told to who
 * accepts it. No tracepoint of sockets runs in accept(): its return is looked at, and where a socket comes to be used
 * without one (io_uring), its first use.
 */
#include "activity.h"

#define FAMILY_INET 2
#define FAMILY_INET6 10
#define PROTOCOL_TCP 6
#define MODE_TYPE 0170000
#define MODE_SOCKET 0140000
#define FLAG_PEEK 2

#if defined(__TARGET_ARCH_arm64)
#define CALL_ACCEPT 202
#define CALL_ACCEPT4 242
#define CALL_NUMBER(regs) ((regs)->regs[8])
#else
#define CALL_ACCEPT 43
#define CALL_ACCEPT4 288
#define CALL_NUMBER(regs) ((regs)->orig_ax)
#endif

/* From the kernel's tcp_states.h; a part of its interface. */
enum {
  STATE_ESTABLISHED = 1,
  STATE_SYN_SENT = 2,
  STATE_SYN_RECV = 3,
  STATE_TIME_WAIT = 6,
  STATE_CLOSE = 7,
  STATE_LISTEN = 10,
  STATE_NEW_SYN_RECV = 12,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
  union {
    __u8 u6_addr8[16];
  } in6_u;
};

struct possible_net___tcp {
  void* net;
};

struct sock_common {
  __be32 skc_daddr;
  __be16 skc_dport;
  __u16 skc_num;
  unsigned short skc_family;
  volatile unsigned char skc_state;
  struct possible_net___tcp skc_net;
  struct in6_addr skc_v6_daddr;
};

struct socket_lock_t___tcp {
  int owned;
};

struct sock {
  struct sock_common __sk_common;
  struct socket_lock_t___tcp sk_lock;
  __u16 sk_protocol;
};

struct sk_buff {
  char cb[48];
};

struct tcp_skb_cb {
  __u32 seq;
  __u32 end_seq;
  __u16 tcp_gso_segs;
};

struct socket {
  struct sock* sk;
};

struct inode___tcp {
  unsigned short i_mode;
};

struct file___tcp {
  struct inode___tcp* f_inode;
  void* private_data;
};

struct fdtable {
  unsigned int max_fds;
  struct file___tcp** fd;
};

struct files_struct {
  struct fdtable* fdt;
};

struct task_struct___tcp {
  struct files_struct* files;
};

#pragma clang attribute pop

/* --- sockets and whose they are --- */

struct tcp_caller {
  __u32 pid; /* 0: none yet */
  __u32 tid;
  __u64 stack;
};

/* How the other side is told: see TEPHRA_TCP_CONNECT. */
struct tcp_place {
  __u32 port;
  __u8 peer[16];
};

#define HELD 8

/* What happened to a connection that nobody has accepted yet. */
struct tcp_held {
  __u32 kind;
  __u32 flags;
};

struct tcp_socket {
  struct tcp_caller last;   /* whose call was the last */
  struct tcp_caller sender; /* whose connect or send was */
  __u64 connecting;         /* since then; 0: it is not */
  struct tcp_place place;
  __u32 not_accepted;
  __u32 accepted; /* and told */
  __u32 held_count;
  struct tcp_held held[HELD];
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1 << 16);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u64);
  __type(value, struct tcp_socket);
} sockets SEC(".maps");

struct tcp_listener {
  __u64 network;
  __u64 port;
};

/* For connections that nobody accepts. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, struct tcp_listener);
  __type(value, struct tcp_caller);
} listeners SEC(".maps");

/* Values are too large for the stack. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct tcp_socket);
} empty_socket SEC(".maps");

/* Null and what is no socket of its own (of a connection that is not complete, or not any more) have none of this. */
static __always_inline bool is_tcp(const struct sock* sk) {
  __u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
  __u8 state = BPF_CORE_READ(sk, __sk_common.skc_state);
  if (family != FAMILY_INET && family != FAMILY_INET6) return false;
  if (state == STATE_TIME_WAIT || state == STATE_NEW_SYN_RECV) return false;
  return BPF_CORE_READ(sk, sk_protocol) == PROTOCOL_TCP;
}

static __always_inline __u32 local_port(const struct sock* sk) { return BPF_CORE_READ(sk, __sk_common.skc_num); }

static __always_inline __u32 remote_port(const struct sock* sk) {
  __be16 port = BPF_CORE_READ(sk, __sk_common.skc_dport);
  return __builtin_bswap16(port);
}

static __always_inline void place_of(const struct sock* sk, bool opened, struct tcp_place* place) {
  __builtin_memset(place, 0, sizeof *place);
  place->port = opened ? remote_port(sk) : local_port(sk);
  if (!opened) return;
  if (BPF_CORE_READ(sk, __sk_common.skc_family) == FAMILY_INET6) {
    BPF_CORE_READ_INTO(&place->peer, sk, __sk_common.skc_v6_daddr.in6_u.u6_addr8);
  } else {
    place->peer[10] = place->peer[11] = 0xff;
    BPF_CORE_READ_INTO((__be32*)&place->peer[12], sk, __sk_common.skc_daddr);
  }
}

/* Of a connection that is older than the recording: the side with the higher port is nearly always the one that opened
 * it, since the kernel gives it a high one. */
static __always_inline bool seems_opened(const struct sock* sk) {
  __u32 remote = remote_port(sk);
  return remote && local_port(sk) > remote;
}

static __always_inline struct tcp_socket* socket_at(const struct sock* sk) {
  __u64 key = (__u64)sk;
  return bpf_map_lookup_elem(&sockets, &key);
}

/* A new one, in the place of what was there. Null: there is no room. */
static __always_inline struct tcp_socket* new_socket(const struct sock* sk, bool opened) {
  __u64 key = (__u64)sk;
  __u32 zero = 0;
  struct tcp_socket* empty = bpf_map_lookup_elem(&empty_socket, &zero);
  struct tcp_socket* made;
  if (!empty) return 0;
  bpf_map_update_elem(&sockets, &key, empty, BPF_ANY);
  made = bpf_map_lookup_elem(&sockets, &key);
  if (made) {
    place_of(sk, opened, &made->place);
  } else {
    struct tephra_activity_totals* total = totals_here();
    if (total) total->not_attributed++;
  }
  return made;
}

static __always_inline void forget(const struct sock* sk) {
  __u64 key = (__u64)sk;
  bpf_map_delete_elem(&sockets, &key);
}

static __always_inline struct tcp_listener listener_of(const struct sock* sk) {
  struct tcp_listener listener = {.network = (__u64)BPF_CORE_READ(sk, __sk_common.skc_net.net),
                                  .port = local_port(sk)};
  return listener;
}

static __always_inline void note_listener(const struct sock* sk, struct tcp_caller* caller) {
  struct tcp_listener listener = listener_of(sk);
  bpf_map_update_elem(&listeners, &listener, caller, BPF_ANY);
}

/* --- telling --- */

struct tcp_amount {
  __u64 count;
  __u64 bytes;
  __u64 ns;
};

static __noinline int tell(struct tcp_caller* caller, struct tcp_place* place, __u32 kind, __u32 flags,
                           struct tcp_amount* amount) {
  struct tephra_activity_key key = {};
  if (!caller || !place || !amount) return 0;
  key.pid = caller->pid;
  key.tid = caller->tid;
  key.kind = kind;
  key.detail = place->port;
  key.flags = flags;
  key.stack = caller->stack;
  __builtin_memcpy(key.extra, place->peer, sizeof key.extra);
  activity_add(&key, amount->count, amount->bytes, amount->ns, bpf_ktime_get_ns());
  return 0;
}

static __always_inline void tell_one(struct tcp_caller* caller, struct tcp_place* place, __u32 kind, __u32 flags) {
  struct tcp_amount one = {.count = 1};
  tell(caller, place, kind, flags, &one);
}

/* It is somebody's; where all are watched it is told, else it is not known whether it is of those that are. */
static __always_inline void tell_no_owner(struct tcp_place* place, __u32 kind, __u32 flags, struct tcp_amount* amount) {
  struct tcp_caller nobody = {};
  if (watching.mode == TEPHRA_WATCH_ALL) tell(&nobody, place, kind, flags | TEPHRA_ACTIVITY_NO_OWNER, amount);
}

static __always_inline void hold(struct tcp_socket* socket, __u32 kind, __u32 flags) {
  __u32 at = socket->held_count;
  if (at < HELD) {
    socket->held[at].kind = kind;
    socket->held[at].flags = flags;
    socket->held_count = at + 1;
  } else {
    struct tcp_amount one = {.count = 1};
    tell_no_owner(&socket->place, kind, flags, &one);
  }
}

/* To `caller`; null: to nobody. */
static __always_inline void tell_held(struct tcp_socket* socket, struct tcp_caller* caller) {
  struct tcp_amount one = {.count = 1};
  for (__u32 i = 0; i < HELD; ++i) {
    if (i >= socket->held_count) break;
    if (caller) {
      tell_one(caller, &socket->place, socket->held[i].kind, socket->held[i].flags | TEPHRA_ACTIVITY_INTERRUPT);
    } else {
      tell_no_owner(&socket->place, socket->held[i].kind, socket->held[i].flags, &one);
    }
  }
  socket->held_count = 0;
}

static __always_inline void tell_accept(struct tcp_socket* socket) {
  if (socket->accepted) return;
  socket->accepted = 1;
  socket->not_accepted = 0;
  tell_one(&socket->last, &socket->place, TEPHRA_TCP_ACCEPT, 0);
  tell_held(socket, &socket->last);
}

/* The running thread is in a call of its own on a socket. */
static __always_inline struct tcp_caller caller_here(void* ctx, struct task_struct* task) {
  struct tcp_caller caller = {};
  caller.pid = tephra_process_of(task);
  caller.tid = tephra_pid_of(task);
  caller.stack = activity_take_stack(ctx, task);
  return caller;
}

/* Something that packets, timers or the thread itself did to a socket. */
static __always_inline void tell_of(void* ctx, const struct sock* sk, struct tcp_socket* socket, __u32 kind,
                                    __u32 flags, struct tcp_amount* amount) {
  struct task_struct* task = bpf_get_current_task_btf();
  bool own = BPF_CORE_READ(sk, sk_lock.owned) && watch_of(task);
  bool of_sending = kind == TEPHRA_TCP_RETRANSMIT;
  struct tcp_caller caller = {};
  struct tcp_place place;
  if (own && !(of_sending && socket && socket->sender.pid)) {
    caller = caller_here(ctx, task);
    if (!socket) socket = new_socket(sk, seems_opened(sk));
    if (socket) {
      socket->last = caller;
      if (socket->not_accepted) tell_accept(socket);
    }
  } else if (socket) {
    caller = of_sending && socket->sender.pid ? socket->sender : socket->last;
    if (!own) flags |= TEPHRA_ACTIVITY_INTERRUPT;
  }
  if (socket && !caller.pid && socket->not_accepted) {
    hold(socket, kind, flags & ~TEPHRA_ACTIVITY_INTERRUPT);
    return;
  }
  if (socket) {
    place = socket->place;
  } else {
    place_of(sk, seems_opened(sk), &place);
  }
  if (caller.pid) {
    tell(&caller, &place, kind, flags, amount);
  } else {
    tell_no_owner(&place, kind, flags & ~TEPHRA_ACTIVITY_INTERRUPT, amount);
  }
}

/* --- states --- */

/* How a connection came about, or did not. It is told where it was asked for. */
static __always_inline void end_connecting(struct tcp_socket* socket, int state) {
  struct tcp_amount amount = {.count = 1};
  __u64 now = bpf_ktime_get_ns();
  if (!socket->connecting || (state != STATE_ESTABLISHED && state != STATE_CLOSE)) return;
  amount.ns = now > socket->connecting ? now - socket->connecting : 0;
  socket->connecting = 0;
  tell(&socket->sender, &socket->place, state == STATE_CLOSE ? TEPHRA_TCP_CONNECT_FAILED : TEPHRA_TCP_CONNECT, 0,
       &amount);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(state_changed, struct sock* sk, int before, int state) {
  __u32 flags = (before & 0xff) << TEPHRA_ACTIVITY_OLD_STATE_SHIFT | (state & 0xff) << TEPHRA_ACTIVITY_NEW_STATE_SHIFT;
  struct tcp_amount one = {.count = 1};
  struct tcp_socket* socket;
  bool connects = before == STATE_CLOSE && state == STATE_SYN_SENT;
  bool listens = state == STATE_LISTEN;
  bool comes = before == STATE_LISTEN && state == STATE_SYN_RECV;
  if (!activity_counts() || !is_tcp(sk)) return 0;
  if ((connects || listens) && !watch_of(bpf_get_current_task_btf())) {
    forget(sk);
    return 0;
  }
  socket = connects || listens || comes ? new_socket(sk, connects) : socket_at(sk);
  if (comes && socket) socket->not_accepted = 1;
  tell_of(ctx, sk, socket, TEPHRA_TCP_STATE, flags, &one);
  if (!socket) return 0;
  if (connects) {
    socket->connecting = bpf_ktime_get_ns();
    socket->sender = socket->last;
  } else if (listens) {
    note_listener(sk, &socket->last);
  } else {
    end_connecting(socket, state);
  }
  return 0;
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(destroyed, struct sock* sk) {
  struct tcp_socket* socket = socket_at(sk);
  struct tcp_listener listener;
  if (!socket) return 0;
  if (socket->held_count && activity_counts()) {
    listener = listener_of(sk);
    tell_held(socket, bpf_map_lookup_elem(&listeners, &listener));
  }
  forget(sk);
  return 0;
}

/* --- what packets and timers do --- */

/* Since Linux 6.15 those are told, too, that failed before anything was sent; with an argument more. */
struct trace_event_raw_tcp_retransmit_skb___told {
  int err;
} __attribute__((preserve_access_index));

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(retransmitted, struct sock* sk, struct sk_buff* skb) {
  struct tcp_skb_cb* told = (void*)skb->cb;
  struct tcp_amount amount = {};
  if (!activity_counts() || !is_tcp(sk)) return 0;
  if (bpf_core_field_exists(struct trace_event_raw_tcp_retransmit_skb___told, err) && (int)ctx[2]) return 0;
  amount.count = BPF_CORE_READ(told, tcp_gso_segs);
  if (!amount.count) amount.count = 1;
  amount.bytes = BPF_CORE_READ(told, end_seq) - BPF_CORE_READ(told, seq);
  tell_of(ctx, sk, socket_at(sk), TEPHRA_TCP_RETRANSMIT, 0, &amount);
  return 0;
}

/* The answer to a request for a connection, by its listener. */
SEC("tp_btf/tcp_retransmit_synack")
int BPF_PROG(answer_retransmitted, struct sock* sk) {
  struct tcp_amount one = {.count = 1};
  if (activity_counts() && is_tcp(sk)) tell_of(ctx, sk, socket_at(sk), TEPHRA_TCP_RETRANSMIT, 0, &one);
  return 0;
}

/* Where nobody listens there is no socket. */
SEC("tp_btf/tcp_send_reset")
int BPF_PROG(reset_sent, struct sock* sk) {
  struct tcp_amount one = {.count = 1};
  struct tcp_place nowhere = {};
  if (!activity_counts()) return 0;
  if (sk && is_tcp(sk)) {
    tell_of(ctx, sk, socket_at(sk), TEPHRA_TCP_RESET_SENT, 0, &one);
  } else {
    tell_no_owner(&nowhere, TEPHRA_TCP_RESET_SENT, 0, &one);
  }
  return 0;
}

SEC("tp_btf/tcp_receive_reset")
int BPF_PROG(reset_received, struct sock* sk) {
  struct tcp_amount one = {.count = 1};
  if (activity_counts() && is_tcp(sk)) tell_of(ctx, sk, socket_at(sk), TEPHRA_TCP_RESET_RECEIVED, 0, &one);
  return 0;
}

/* --- bytes --- */

/* In the thread's own call, whatever it is called: send, write, sendfile; `result` is what it returns. */
static __always_inline void moved(void* ctx, struct sock* sk, __u32 kind, int result) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct tcp_amount amount = {.count = 1};
  struct tcp_socket* socket;
  struct tcp_caller caller;
  struct tcp_place place;
  if (!activity_counts() || !is_tcp(sk) || !watch_of(task)) return;
  socket = socket_at(sk);
  if (result <= 0 && socket && socket->last.pid) return;
  caller = caller_here(ctx, task);
  if (!socket) socket = new_socket(sk, seems_opened(sk));
  if (socket) {
    socket->last = caller;
    if (kind == TEPHRA_TCP_SENT) socket->sender = caller;
    if (socket->not_accepted) tell_accept(socket);
    place = socket->place;
  } else {
    place_of(sk, seems_opened(sk), &place);
  }
  if (result <= 0) return;
  amount.bytes = result;
  tell(&caller, &place, kind, 0, &amount);
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(sent, struct sock* sk, int result) {
  moved(ctx, sk, TEPHRA_TCP_SENT, result);
  return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(received, struct sock* sk, int result, int flags) {
  if (flags & FLAG_PEEK) return 0;
  moved(ctx, sk, TEPHRA_TCP_RECEIVED, result);
  return 0;
}

/* --- accepts --- */

/* The TCP socket of a descriptor; null: it is none. */
static __always_inline struct sock* socket_of(struct task_struct* task, __u32 descriptor) {
  struct fdtable* table = BPF_CORE_READ((struct task_struct___tcp*)task, files, fdt);
  struct file___tcp** place = BPF_CORE_READ(table, fd);
  struct file___tcp* file = 0;
  struct socket* socket;
  struct sock* sk;
  if (!place || descriptor >= BPF_CORE_READ(table, max_fds)) return 0;
  if (bpf_probe_read_kernel(&file, sizeof file, place + descriptor) || !file) return 0;
  if ((BPF_CORE_READ(file, f_inode, i_mode) & MODE_TYPE) != MODE_SOCKET) return 0;
  socket = BPF_CORE_READ(file, private_data);
  sk = BPF_CORE_READ(socket, sk);
  return sk && is_tcp(sk) ? sk : 0;
}

static __noinline int accepted(void* ctx, struct sock* sk) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct tcp_socket* socket = socket_at(sk);
  struct tcp_caller caller;
  struct tcp_place place;
  if (!watch_of(task)) {
    forget(sk);
    return 0;
  }
  if (socket && socket->accepted) return 0;
  caller = caller_here(ctx, task);
  note_listener(sk, &caller);
  if (!socket) socket = new_socket(sk, false);
  if (socket) {
    socket->last = caller;
    tell_accept(socket);
  } else {
    place_of(sk, false, &place);
    tell_one(&caller, &place, TEPHRA_TCP_ACCEPT, 0);
  }
  return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_returned, struct tephra_registers* regs, long result) {
  __u64 number = CALL_NUMBER(regs);
  struct sock* sk;
  if (number != CALL_ACCEPT && number != CALL_ACCEPT4) return 0;
  if (result < 0 || !activity_counts()) return 0;
  sk = socket_of(bpf_get_current_task_btf(), result);
  if (sk) accepted(ctx, sk);
  return 0;
}
