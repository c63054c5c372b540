// SPDX-License-Identifier: BSD-2-Clause
// A request on the ring that is cancelled while it completes.
//
// It stands for: fin_uring_start, fin_uring_failed, fin_uring_run, fin_uring_quick (src/io/request.c); fin_uring_withdraw,
// fin_uring_cancel, fin_uring_send_cancel, completed, fin_uring_cancel_completed, cancel_completed (src/io/uring.c).
//
// Chains and multishot requests wait for their end by the same rule.
//
// The kernel: a request waits for its descriptor, moves to a thread of the kernel or back, and there does its work; only one
// that waits is found by a cancellation. Completions come in any order.
//
// Never: the call returns -ECANCELED although the work was done, or a result although it was not; a completion comes for a call
// that has returned; a cancelled call waits for ever, though nothing ever makes its descriptor ready.
//
// WRONG 1 the call returns with its own completion, not waiting for that of the cancellation
// WRONG 2 a cancellation that found nothing is not sent again
// WRONG 3 a request is taken back although the kernel has seen it
// WRONG 4 a cancelled call returns -ECANCELED whatever came
// WRONG 5 a cancellation that succeeded ends the call, whose completion is still to come
// WRONG 6 a request that the kernel has not seen is taken back, and its completion waited for

mtype = { NOWHERE, QUEUED, WAITS, MOVES, WORKS, ENDED } // where the kernel has it
mtype = { NOTHING, DONE, CANCELED, NOT_FOUND }          // what completions say

byte wrong;
mtype where = NOWHERE;
bool ready_some_day; // the descriptor
bool effect;         // the work was done
bool cancel_queued;  // in the submission queue, behind the request
mtype completion = NOTHING, cancel_completion = NOTHING; // to be reaped
bool frame;          // of the call
bool pending_result, pending_cancel, cancelled, again, resumed;
mtype result = NOTHING;
byte resumptions;

inline end_with(what) {
    where = ENDED;
    completion = what
}

proctype Kernel() {
end:
    do
    :: atomic { where == WAITS && ready_some_day -> where = MOVES }
    :: atomic { where == MOVES -> where = WORKS }
    :: atomic { where == MOVES -> where = WAITS } // it was not ready after all
    :: atomic { where == WORKS -> effect = true; end_with(DONE) }
    od
}

// What the system call does with the queue, in order.
inline enter() {
    atomic {
        if
        :: where == QUEUED -> where = WAITS
        :: where == QUEUED -> where = MOVES
        :: where == QUEUED && ready_some_day -> effect = true; end_with(DONE)
        :: where != QUEUED
        fi
    };
    atomic {
        if
        :: cancel_queued ->
            cancel_queued = false;
            if
            :: where == WAITS -> end_with(CANCELED); cancel_completion = DONE
            :: else -> cancel_completion = NOT_FOUND
            fi
        :: else
        fi
    }
}

inline resume_if_over() {
    if
    :: (!pending_result && (!pending_cancel || wrong == 1)) -> resumptions++; resumed = true
    :: else
    fi
}

inline send_cancel() {
    cancel_queued = true;
    pending_cancel = true
}

// fin_uring_cancel
inline cancel() {
    cancelled = true;
    if
    :: pending_result && (where == QUEUED || (wrong == 3 && where == WAITS)) ->
        where = NOWHERE;
        if
        :: wrong == 6 -> skip
        :: else -> pending_result = false; result = CANCELED; resumptions++; resumed = true
        fi
    :: pending_result && where != QUEUED && where != NOWHERE -> send_cancel()
    :: else
    fi
}

// Another thing that the thread may come to at once, in any order.
proctype Thread() {
    bool may_cancel = true;
    d_step { frame = true; pending_result = true; where = QUEUED };
    do
    :: resumed -> break
    :: !resumed && may_cancel -> may_cancel = false; cancel()
    :: !resumed && (where == QUEUED || cancel_queued) -> enter()
    :: !resumed && completion != NOTHING ->
        result = completion;
        completion = NOTHING;
        pending_result = false;
        again = false;
        resume_if_over()
    :: !resumed && cancel_completion != NOTHING ->
        pending_cancel = false;
        if
        :: pending_result && cancel_completion == NOT_FOUND && wrong != 2 -> again = true
        :: pending_result && cancel_completion == DONE && wrong == 5 -> pending_result = false; result = CANCELED
        :: else
        fi;
        cancel_completion = NOTHING;
        resume_if_over()
    :: !resumed && again -> again = false; send_cancel() // the timer
    od;
    if :: wrong == 4 && cancelled -> result = CANCELED :: else fi;
    assert(resumptions == 1);
    assert(effect == (result == DONE));
    frame = false;
    // What is still to come would find somebody else's frame.
    assert(where == NOWHERE || where == ENDED);
    assert(completion == NOTHING && cancel_completion == NOTHING && !cancel_queued)
}

init {
    atomic {
        c_code { now.wrong = atoi(getenv("WRONG")); };
        if :: ready_some_day = true :: ready_some_day = false fi;
        run Kernel();
        run Thread()
    }
}
