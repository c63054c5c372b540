// SPDX-License-Identifier: BSD-2-Clause
// The one place where a thread sleeps, and those who wake it.
//
// It stands for: fin_find_work, fin_drain_inbox (src/core/dispatch.c); schedule (src/core/awe.c); fin_host_sleep,
// fin_host_wake (src/host/linux/host.c); wake, fin_io_woken (src/io/io.c); look, dispatch_one (src/io/uring.c).
//
// Memory: a relaxed store of the sleeper waits in a buffer and comes out at any later time, those of different variables in
// any order. Its sequentially consistent accesses empty the buffer first. Wakers have only atomic operations.
//
// Never: the thread sleeps for ever although an AWE lies in its inbox. Then nothing can go on: an invalid end state.
//
// WRONG 1 the flag goes up after the last look at the inbox
// WRONG 2 the flag goes up with a relaxed store
// WRONG 3 a waker looks at the flag before it pushes
// WRONG 4 a waker takes the flag down after it woke
// WRONG 5 `woken` is taken down where the read of the eventfd goes down, not after it came up
// WRONG 6 fin_host_sleep begins by forgetting the wakes that came before it

#define WAKERS 2
#ifdef MORE
#define EACH 2
#else
#define EACH 1
#endif
#define ALL (WAKERS * EACH)
#define NONE 2

byte wrong;
bool ring;       // sleeps in the ring, or in a futex
byte inbox, ran; // AWEs
bit asleep, futex, woken;
byte late_asleep = NONE, late_futex = NONE; // in the sleeper's buffer
bool waits;                                 // in the futex
bool armed, in_kernel, completed;           // the read of the eventfd: by the sleeper, in the kernel; its completion
byte eventfd;
byte others = 1; // other reasons to wake: a completion, a signal

inline flush() {
    d_step {
        if :: late_asleep != NONE -> asleep = late_asleep; late_asleep = NONE :: else fi;
        if :: late_futex != NONE -> futex = late_futex; late_futex = NONE :: else fi
    }
}

inline raise_flag() {
    if
    :: wrong == 2 -> late_asleep = 1
    :: else -> atomic { flush(); asleep = 1 }
    fi
}

// fin_host_sleep
inline sleep_in_futex() {
    if :: wrong == 6 -> late_futex = 0 :: else fi;
    atomic { flush(); was = futex; futex = 0 };
    if
    :: was == 0 ->
        atomic { if :: futex == 0 -> waits = true :: else fi }; // FUTEX_WAIT compares in the kernel
        if
        :: !waits
        :: atomic { others > 0 && waits -> others--; waits = false }
        fi
    :: else
    fi;
    late_futex = 0
}

// fin_uring's look and reap
inline sleep_in_ring() {
    if
    :: !armed -> armed = true; if :: wrong == 5 -> flush(); woken = 0 :: else fi; in_kernel = true
    :: else
    fi;
    if
    :: completed -> completed = false; armed = false; if :: wrong != 5 -> atomic { flush(); woken = 0 } :: else fi
    :: atomic { others > 0 -> others-- }
    fi
}

inline drain() { d_step { queue = queue + inbox; inbox = 0 } }

proctype Sleeper() {
    byte queue;
    bit was;
    bool nothing;
    do
    :: ran < ALL ->
        drain();
        do
        :: queue == 0 ->
            if
            :: wrong == 1 -> nothing = (inbox == 0); raise_flag()
            :: else -> raise_flag(); nothing = (inbox == 0)
            fi;
            if
            :: nothing && ring -> sleep_in_ring()
            :: nothing && !ring -> sleep_in_futex()
            :: !nothing
            fi;
            late_asleep = 0;
            drain()
        :: queue > 0 -> break
        od;
        queue--;
        ran++
    :: ran == ALL -> break
    od
}

inline wake() {
    if
    :: ring -> d_step { old = woken; woken = 1 }; if :: old == 0 -> eventfd++ :: else fi
    :: else -> d_step { old = futex; futex = 1 }; if :: old == 0 -> waits = false :: else fi
    fi
}

proctype Waker() {
    byte n;
    bit old, seen;
    do
    :: n < EACH ->
        n++;
        if :: wrong == 3 -> seen = asleep; inbox++ :: else -> inbox++; seen = asleep fi;
        if :: seen -> wake(); if :: wrong == 4 -> asleep = 0 :: else fi :: else fi
    :: n == EACH -> break
    od
}

proctype Memory() {
end:
    do
    :: d_step { late_asleep != NONE -> asleep = late_asleep; late_asleep = NONE }
    :: d_step { late_futex != NONE -> futex = late_futex; late_futex = NONE }
    od
}

proctype Kernel() {
end:
    do
    :: d_step { in_kernel && eventfd > 0 -> eventfd = 0; in_kernel = false; completed = true }
    od
}

init {
    byte i;
    atomic {
        c_code { now.wrong = atoi(getenv("WRONG")); };
        if :: ring = true :: ring = false fi;
        run Sleeper();
        run Memory();
        run Kernel();
        do :: i < WAKERS -> run Waker(); i++ :: else -> break od
    }
}
