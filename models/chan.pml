// SPDX-License-Identifier: BSD-2-Clause
// A direction of a channel: a sender and a receiver that sleep, for room and for messages (src/chan/ump.h, "Waiting").
//
// It stands for: ump_publish, ump_look (src/chan/ump.h); fin_ump_refresh, fin_ump_skip (src/chan/room.c), whose skips change
// where the next header is, not how it is waited for; fin_ump_arm, fin_ump_disarm, sleep_for_message, sleep_for_room,
// fin_ump_acknowledge, fin_ump_consumed, fin_ump_ring (src/chan/ump.c); fin_ump_doze (src/chan/doze.c). The bell is a count
// of rings: an event count within a process, the packets of a socket between two.
//
// Memory: each side's stores wait in its buffer. Headers and `consumed`, stored with release, come out in order and after all
// that was stored before them; a relaxed store of `armed` comes out at any time before. A fence empties the buffer of the
// side that makes it; membarrier(2) also that of the other side.
//
// When the receiver asks for fences is its own affair: here at any time.
//
// While the receiver sleeps another AWE of its thread may take a message, as in a waitset. Where that is the last one, the
// receiver need not wake up.
//
// A doze ends when a store to the line comes out of the sender's buffer after it was watched. Its limit of time is left out,
// so that what the limit would hide is seen: where `dozes`, the receiver waits in no other way.
//
// Never: a side sleeps for ever although there is a message, or room. Then nothing can go on: an invalid end state.
//
// WRONG 1 the receiver looks at the ring before it arms
// WRONG 2 neither membarrier by the receiver nor a fence by the sender
// WRONG 3 each time the same number is armed
// WRONG 4 the receiver reads how often the bell has rung after its look at the ring
// WRONG 5 no fence between `consumed` and the look at the sender's `armed`
// WRONG 6 the sender arms without a fence before it looks for room
// WRONG 7 the receiver makes a barrier for the sender, but none for itself
// WRONG 8 the receiver looks at the line before it watches it
// WRONG 9 the sender is asked for a fence, and makes none
// WRONG 10 it does not look at `armed` again after it
// WRONG 11 no membarrier where fences are asked for for the first time
// WRONG 12 none after the bit was taken away while nothing was armed
// WRONG 13 a skip that is found once the receiver has armed takes the bit away, and the number with it
// WRONG 14 somebody else's taking of a message does

#ifdef MORE
#define MESSAGES 5
#else
#define MESSAGES 3
#endif
#define ROOM 2
#define NONE 255
#define FENCES 128 // UMP_FENCES

byte wrong;
bool dozes;
bool stored; // to the line that is watched
bool fenced; // b is a fence, B a fence; otherwise b is nothing, B a fence and membarrier(2)

// In memory.
byte headers, consumed;
byte armed_rx, armed_tx;
byte rings_message, rings_room;
// In the buffers.
byte late_headers, late_armed_tx = NONE;  // the sender's; headers: how many
byte late_consumed, late_armed_rx = NONE; // the receiver's; consumed: how many more

#define HAVE(n) (headers > (n))

inline flush_tx() {
    d_step {
        stored = stored || late_headers > 0;
        headers = headers + late_headers;
        late_headers = 0;
        if :: late_armed_tx != NONE -> armed_tx = late_armed_tx; late_armed_tx = NONE :: else fi
    }
}

inline flush_rx() {
    d_step {
        consumed = consumed + late_consumed;
        late_consumed = 0;
        if :: late_armed_rx != NONE -> armed_rx = late_armed_rx; late_armed_rx = NONE :: else fi
    }
}

// sleep_for_room
inline await_room() {
    heard = rings_room;
    if :: wrong == 3 -> number = 1 :: else -> number++ fi;
    late_armed_tx = number;
    if :: wrong != 6 -> flush_tx() :: else fi;
    if
    :: sent - consumed < ROOM
    :: sent - consumed >= ROOM -> rings_room > heard
    fi;
    late_armed_tx = 0
}

proctype Sender() {
    byte sent, heard, number, rung, seen;
    do
    :: sent < MESSAGES ->
        do
        :: sent - consumed < ROOM -> break
        :: sent - consumed >= ROOM -> await_room()
        od;
        late_headers++;
        sent++;
        if :: fenced && wrong != 2 -> flush_tx() :: else fi;
        seen = armed_rx;
        if
        :: seen & FENCES ->
            if :: wrong != 9 -> flush_tx() :: else fi;
            if :: wrong != 10 -> seen = armed_rx :: else fi;
            seen = seen & ~FENCES
        :: else
        fi;
        if
        :: seen != 0 && seen != rung -> rung = seen; rings_message++
        :: else
        fi
    :: sent == MESSAGES -> break
    od
}

inline barrier() {
    if :: wrong != 7 -> flush_rx() :: else fi;
    if :: !fenced && wrong != 2 -> flush_tx() :: else fi
}

inline arm() {
    if
    :: !fenced -> fences = FENCES
    :: fences = 0
    fi;
    if :: wrong == 3 -> number = 1 :: else -> number++ fi;
    waits = number;
    late_armed_rx = waits | fences;
    if
    :: asked || (wrong == 11 && fences) -> flush_rx()
    :: else -> barrier()
    fi;
    asked = fences
}

inline take() {
    taken++;
    late_consumed++;
    if
    :: fences -> fences = 0; late_armed_rx = (wrong == 14 -> 0 : waits); asked = (wrong == 12 -> asked : 0)
    :: true
    fi;
    if :: wrong != 5 -> flush_rx() :: else fi;
    seen = armed_tx;
    if
    :: seen != 0 && seen != rung -> rung = seen; rings_room++
    :: else
    fi
}

// sleep_for_message
inline await_message() {
    if :: wrong != 4 -> heard = rings_message :: else fi;
    if :: wrong == 1 -> there = HAVE(taken) :: else fi;
    arm();
    if :: wrong != 1 -> there = HAVE(taken) :: else fi;
    if :: wrong == 4 -> heard = rings_message :: else fi;
    if :: wrong == 13 && !there && fences -> fences = 0; late_armed_rx = 0; asked = 0 :: else fi;
    if
    :: there
    :: !there ->
        if
        :: HAVE(taken) -> take()
        :: true
        fi;
        if
        :: rings_message > heard
        :: taken == MESSAGES
        fi
    fi;
    waits = 0;
    late_armed_rx = fences
}

inline doze() {
    if :: wrong == 8 -> there = HAVE(taken) :: else fi;
    stored = false;
    if :: wrong != 8 -> there = HAVE(taken) :: else fi;
    if
    :: there
    :: !there -> stored
    fi
}

proctype Receiver() {
    byte taken, heard, number, waits, rung, seen, fences, asked;
    bool there;
    do
    :: taken < MESSAGES && HAVE(taken) -> take()
    :: taken < MESSAGES && !HAVE(taken) && dozes -> doze()
    :: taken < MESSAGES && !HAVE(taken) && !dozes -> await_message()
    :: taken == MESSAGES -> break
    od
}

proctype Memory() {
end:
    do
    :: d_step {
        late_headers > 0 ->
        if :: late_armed_tx != NONE -> armed_tx = late_armed_tx; late_armed_tx = NONE :: else fi;
        stored = true;
        headers++;
        late_headers--
    }
    :: d_step { late_armed_tx != NONE -> armed_tx = late_armed_tx; late_armed_tx = NONE }
    :: d_step {
        late_consumed > 0 ->
        if :: late_armed_rx != NONE -> armed_rx = late_armed_rx; late_armed_rx = NONE :: else fi;
        consumed++;
        late_consumed--
    }
    :: d_step { late_armed_rx != NONE -> armed_rx = late_armed_rx; late_armed_rx = NONE }
    od
}

init {
    atomic {
        c_code { now.wrong = atoi(getenv("WRONG")); };
        if :: fenced = true :: fenced = false fi;
        if :: dozes = true :: dozes = false fi;
        run Sender();
        run Receiver();
        run Memory();
    }
}
