// SPDX-License-Identifier: BSD-2-Clause
// A submission queue that is full: to make room what is in it goes down and completions come up, in the middle of whatever
// needed the room: the start of a request, a cancellation, the look for events, the dispatch of a completion.
//
// It stands for: fin_uring_place (src/io/uring.h); fin_uring_make_room, take_ends, enter, reap, dispatch_one, look,
// fin_uring_send_cancel (src/io/uring.c); fin_find_work (src/core/dispatch.c).
//
// AWEs of one thread wait for a request each, one after the other. Number 0 is cancelled once. The others have
// no stack: where their first requests complete they start the next at that place. Nobody else wakes the thread.
//
// Never: the thread sleeps though an AWE can run, or all requests have completed; an AWE runs twice for one completion; a
// completion comes for a request whose frame is gone.
//
// WRONG 1 the look for events sleeps although room for its own entry was made
// WRONG 2 a completion is dispatched before it is taken off the queue
// WRONG 3 a cancellation counts as on its way only when there was room for it
// WRONG 4 a request is written before there is room

#define ENTRIES 1
#define AWES 3
#ifdef MORE
#define ROUNDS 3
#else
#define ROUNDS 2
#endif
#define CANCEL AWES
#define WAKE (AWES + 1)
#define KINDS (AWES + 2)

mtype = { QUEUED, WAITS, OVER }

byte wrong;
mtype state[AWES] = QUEUED;
byte rounds[AWES];
bool result_to_come[AWES], cancel_to_come, cancelled, armed;
bool in_kernel[KINDS];
chan sq = [ENTRIES] of { byte };
chan cq = [KINDS + 1] of { byte };

#define CAN_RUN (state[0] == QUEUED || state[1] == QUEUED || state[2] == QUEUED)

inline enter(waits) {
    do
    :: sq ? entry -> in_kernel[entry] = true
    :: empty(sq) -> break
    od;
    if :: waits -> nempty(cq) :: !waits fi
}

inline completed(c) {
    if
    :: c < AWES ->
        assert(result_to_come[c] && state[c] == WAITS);
        result_to_come[c] = false;
        if :: c == 0 && cancel_to_come :: else -> state[c] = QUEUED fi
    :: c == CANCEL ->
        assert(cancel_to_come);
        cancel_to_come = false;
        if :: !result_to_come[0] -> assert(state[0] == WAITS); state[0] = QUEUED :: else fi
    :: c == WAKE -> armed = false
    fi
}

// In the middle of the dispatch of another: what it starts in its turn would be a level deeper, and nothing else.
inline room_in_dispatch() {
    do
    :: full(sq) ->
        enter(false);
        do :: cq ? inner -> completed(inner) :: empty(cq) -> break od
    :: nfull(sq) -> break
    od
}

inline dispatch(c) {
    if
    :: (c == 1 || c == 2) && rounds[c] == 1 ->
        assert(result_to_come[c] && state[c] == WAITS);
        rounds[c]++;
        result_to_come[c] = false;
        room_in_dispatch();
        result_to_come[c] = true;
        sq ! c
    :: else -> completed(c)
    fi
}

inline reap() {
    do
    :: nempty(cq) ->
        if
        :: wrong == 2 -> cq ? <came>; dispatch(came); if :: cq ? [eval(came)] -> cq ? came :: else fi
        :: else -> cq ? came; dispatch(came)
        fi
    :: empty(cq) -> break
    od
}

inline place() {
    do
    :: full(sq) -> enter(false); reap()
    :: nfull(sq) -> break
    od
}

inline start(i) {
    rounds[i]++;
    state[i] = WAITS;
    if :: wrong == 4 && full(sq) -> sq ? entry :: else fi; // which is lost
    place();
    result_to_come[i] = true;
    sq ! i
}

inline cancel() {
    cancelled = true;
    if :: wrong != 3 -> cancel_to_come = true :: else fi;
    place();
    cancel_to_come = true;
    sq ! CANCEL
}

inline go(i) {
    if
    :: rounds[i] < ROUNDS -> start(i)
    :: else -> state[i] = OVER
    fi
}

active proctype Thread() {
    byte entry, came, inner;
    bool sleeps;
    c_code { now.wrong = atoi(getenv("WRONG")); };
    do
    :: state[0] == QUEUED -> go(0)
    :: state[1] == QUEUED -> go(1)
    :: state[2] == QUEUED -> go(2)
    :: CAN_RUN && !cancelled && result_to_come[0] -> cancel()
    :: !CAN_RUN && !(state[0] == OVER && state[1] == OVER && state[2] == OVER) ->
        sleeps = wrong == 1 || armed || nfull(sq);
        if :: !armed -> place(); armed = true; sq ! WAKE :: armed fi;
        enter(sleeps);
        reap()
    :: state[0] == OVER && state[1] == OVER && state[2] == OVER -> break
    od
}

active proctype Kernel() {
end:
    do
    :: atomic { in_kernel[0] -> in_kernel[0] = false; cq ! 0 }
    :: atomic { in_kernel[1] -> in_kernel[1] = false; cq ! 1 }
    :: atomic { in_kernel[2] -> in_kernel[2] = false; cq ! 2 }
    :: atomic { in_kernel[CANCEL] -> in_kernel[CANCEL] = false; cq ! CANCEL }
    od
}
