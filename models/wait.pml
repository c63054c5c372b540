// SPDX-License-Identifier: BSD-2-Clause
// A wait for an object of src/sync that is granted by one thread while its own thread cancels it.
//
// It stands for: fin_waiter_wait, stopped, cancel, fin_waiters_take, fin_waiter_run (src/sync/wait.c, wait.h); wait,
// fin_sem_post (src/sync/sem.c).
//
// Never: both decide, or neither; a grant is lost, or spent on a wait that was cancelled; anybody looks at the waiter, which
// lies in the AWE's frame, after the AWE has run on.
//
// WRONG 1 the latch is given back before the AWE has stopped
// WRONG 2 the cancel does not look whether the wait has been decided
// WRONG 3 the cancel looks without the latch
// WRONG 4 whoever grants makes the AWE run before it gives the latch of the waiter's object back, through the waiter
// WRONG 5 the wait does not look whether the block has been cancelled before

mtype = { RUNNING, QUEUED, SUSPENDED, WOKEN }

byte wrong;
mtype state = RUNNING;
bool latch;
bool frame;                    // the waiter is there
bool awe_known, listed, waiting; // of the waiter
bool grants;                          // somebody does; otherwise the block is cancelled, now or later
bool cancelled_result, taken; // what the wait returns: -ECANCELED, 0
byte value;      // of the semaphore
bool cancelled;  // the block is
bool item;       // is on the block's list
bool pushed;     // in the inbox
byte decisions;

inline acquire() { atomic { !latch -> latch = true } }
inline release() { latch = false }

proctype Granter() { // fin_sem_post
    bool granted;
    acquire();
    if
    :: listed -> assert(frame); listed = false; waiting = false; granted = true; decisions++
    :: !listed -> value++
    fi;
    if :: wrong != 4 -> release() :: else fi;
    if
    :: granted ->
        assert(frame && awe_known);
        atomic { assert(state == SUSPENDED); state = WOKEN }; // its claim cannot fail
        pushed = true
    :: else
    fi;
    if :: wrong == 4 -> assert(frame || !granted); release() :: else fi
}

// The cancel item.
inline cancel() {
    if :: wrong == 3 -> first = waiting; acquire() :: else -> acquire(); first = waiting fi;
    if :: wrong == 2 -> first = true :: else fi;
    if
    :: first -> listed = false; waiting = false; cancelled_result = true; decisions++
    :: else
    fi;
    release();
    if :: first -> assert(state == SUSPENDED); state = QUEUED :: else fi
}

inline stop() {
    awe_known = true;
    state = SUSPENDED
}

inline cancel_block() {
    cancelled = true;
    if :: item -> item = false; cancel() :: else fi
}

// fin_sem_wait, with what else the thread does
proctype Thread() {
    bool first, may_cancel = true;
    if :: cancel_block(); may_cancel = false :: true fi;
    if
    :: cancelled && wrong != 5 -> goto over
    :: else
    fi;
    acquire();
    if :: value > 0 -> value--; taken = true; release(); goto over :: else fi;
    d_step { frame = true; listed = true; waiting = true };
    if :: wrong == 1 -> release(); stop() :: else -> stop(); release() fi;
    if :: !cancelled -> item = true :: else fi;
    do
    :: state == QUEUED -> break
    :: pushed -> pushed = false; state = QUEUED
    :: may_cancel && state == SUSPENDED -> may_cancel = false; cancel_block()
    :: may_cancel && state == WOKEN -> may_cancel = false; cancel_block()
    od;
    item = false;
    assert(decisions == 1 && !pushed);
    assert(!cancelled_result || cancelled);
    taken = !cancelled_result;
    frame = false;
    state = RUNNING;
over:
    skip
}

init {
    atomic {
        c_code { now.wrong = atoi(getenv("WRONG")); };
        if :: grants = true; run Granter() :: grants = false fi;
        run Thread()
    }
    _nr_pr == 1;
    assert(taken + value == grants)
}
