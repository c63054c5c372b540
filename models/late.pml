// SPDX-License-Identifier: BSD-2-Clause
// A thread that has slept in its ring ends, closes the eventfd that wakes it, and another takes the place over with a new
// one, while wakers who know the place may be late.
//
// It stands for: wake, close_wake, begin (src/io/io.c); end (src/io/uring.c).
//
// Never: a waker writes to a descriptor that is closed; the end waits for a write that never comes; a wake-up of the second
// thread is lost. The last two are invalid end states.
//
// WRONG 1 the end of the ring writes whatever the flag says
// WRONG 2 the descriptor is closed without waiting for who has put the flag up
// WRONG 3 the flag stays down when the descriptor is closed
// WRONG 4 the flag comes down before the second descriptor is there

#define WAKERS 2

byte wrong;
bit woken;
byte written; // and not read
bool open = true, in_kernel, completed;
bool second_begun, pushed; // the second thread waits for a wake-up that is not late

inline write_it() {
    assert(open);
    written++
}

inline wake() {
    d_step { old = woken; woken = 1 };
    if :: old == 0 -> write_it() :: else fi
}

inline reap() {
    completed -> completed = false;
    woken = 0
}

proctype Thread() {
    bit old;
    if
    :: in_kernel = true; if :: reap() :: true fi
    :: true
    fi;
    if
    :: in_kernel || completed ->
        if :: wrong == 1 -> write_it() :: else -> wake() fi;
        reap()
    :: else
    fi;
    if
    :: wrong == 3 -> old = woken
    :: else -> d_step { old = woken; woken = 1 }
    fi;
    if
    :: wrong == 2
    :: else ->
        if :: old == 0 -> write_it() :: else fi;
        d_step { written > 0 -> written = 0 }
    fi;
    d_step { open = false; written = 0 };
    if :: wrong == 4 -> woken = 0 :: else fi;
    open = true;
    if :: wrong != 4 -> woken = 0 :: else fi;
    second_begun = true;
    do
    :: pushed -> break
    :: else -> in_kernel = true; reap()
    od
}

proctype Late() {
    bit old;
    wake()
}

proctype Waker() {
    bit old;
    second_begun;
    pushed = true;
    wake()
}

proctype Kernel() {
end:
    do
    :: d_step { in_kernel && written > 0 -> written = 0; in_kernel = false; completed = true }
    od
}

init {
    byte i;
    atomic {
        c_code { now.wrong = atoi(getenv("WRONG")); };
        run Thread();
        run Kernel();
        run Waker();
        do :: i < WAKERS -> run Late(); i++ :: else -> break od
    }
}
