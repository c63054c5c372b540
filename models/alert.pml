// SPDX-License-Identifier: BSD-2-Clause
// Alerts, interrupts and upcalls of one dispatcher with two threads (htm-and-message-passing 5.2, appendix B), with the
// variables, actions and invariants of the paper's TLA+ specification; its actions of the alert handler follow 5.2.2. What it
// stands for is Barrelfish; Fin's own alerts (src/chan/alert.c) are interrupt.pml.
//
// The paper's model has no messages. Here are some, so that the order of monitoring and polling has an effect (5.2.1): what
// is to be detected has to be detected. `owed` says that an alert could not be acted upon where it came, because an interrupt
// had turned alerts off in the disabled state, or because a thread was being resumed: in the paper's design the message is then
// found at the next upcall, and not before.
//
// Each register of a save area is the number of its stores less that of its loads: 0 or 1, or something was lost.
//
// WRONG 1 channels are polled first, and then monitored: the paper's first flaw
// WRONG 2 the kernel does not take the alert handler for effectively disabled: the paper's second flaw
// WRONG 3 the kernel does not take the resumption of a thread for effectively disabled
// WRONG 4 the alert handler asks only for the flag
// WRONG 5 upcalls are enabled without a look whether there was an alert
// WRONG 6 alerts stay off after one
// WRONG 7 what was recorded is forgotten with the poll, and not before channels are monitored

mtype = { user, disp_switch_1, disp_switch_2, disp_switch_3, disp_save_1, disp_save_2, sys_yield, run_, thread_run_1, poll,
          thread_run_2, run_switch_1, run_switch_2, run_switch_3, again_1, again_2, resume_1, resume_2, resume_3, enable,
          ahandler_1, ahandler_2, ahandler_3, ahandler_4, ahandler_5, invalid, thread1, thread2, enabled_area_ }

#define R1 0
#define R2 1

byte wrong;
bool disabled;
byte enabled_area[2], disabled_area[2], thread1_tcb[2], thread2_tcb[2];
mtype resume_from = invalid, current = thread1, alert_buffer_pc = invalid, pc = user;
bool alerts_enabled = true;
bool message;  // has come and has not been seen
bool touched;  // the hardware saw it: the alert is next
bool recorded; // the handler only noted it
bool owed;

#define inside_resume_range(p) ((p) == resume_1 || (p) == resume_2 || (p) == resume_3)
#define inside_handler(p) \
    ((p) == ahandler_1 || (p) == ahandler_2 || (p) == ahandler_3 || (p) == ahandler_4 || (p) == ahandler_5)
#define inside_cs(p) ((inside_resume_range(p) && wrong != 3) || (inside_handler(p) && wrong != 2))
#define effectively_disabled(p) (disabled || inside_cs(p))
#define restores(p) ((p) == resume_2 || (p) == resume_3)

#define TypeInvariant                                                                                                       \
    (enabled_area[R1] <= 1 && enabled_area[R2] <= 1 && disabled_area[R1] <= 1 && disabled_area[R2] <= 1 &&                  \
     thread1_tcb[R1] <= 1 && thread1_tcb[R2] <= 1 && thread2_tcb[R1] <= 1 && thread2_tcb[R2] <= 1)
#define DisabledInvariant                                                                                                   \
    ((!(pc == disp_save_1 || pc == disp_save_2 || pc == sys_yield || pc == run_ || pc == thread_run_1 ||                    \
        pc == thread_run_2 || pc == resume_1 || pc == enable) || disabled) &&                                               \
     (!restores(pc) || effectively_disabled(pc)) && (pc != user || !disabled))
#define ResumeFromInvariant (!restores(pc) || resume_from != invalid)
#define MessageInvariant (!(pc == user && message) || (alerts_enabled && touched) || owed)

inline other() { if :: current == thread1 -> current = thread2 :: else -> current = thread1 fi; resume_from = current }
inline save_current(r) { if :: current == thread1 -> thread1_tcb[r]++ :: else -> thread2_tcb[r]++ fi }
inline save_other(r) { if :: current == thread1 -> thread2_tcb[r]++ :: else -> thread1_tcb[r]++ fi }
inline load(r) {
    if
    :: resume_from == enabled_area_ -> enabled_area[r]--
    :: resume_from == thread1 -> thread1_tcb[r]--
    :: else -> thread2_tcb[r]--
    fi
}
inline forget() { recorded = false; owed = false }
inline monitor() { alerts_enabled = true; if :: wrong != 7 -> forget() :: else fi }
inline look() { message = false; if :: wrong == 7 -> forget() :: else fi }

proctype Dispatcher() {
    do // one action of the paper each, by its name
    :: atomic { pc == user -> disabled = true; if :: pc = disp_save_1 :: pc = disp_switch_1 fi } // ThreadYield
    :: atomic { pc == user -> disabled = true; pc = enable }                                     // Disable
    :: atomic {                                                                                  // Enable
        pc == enable ->
        if
        :: recorded && wrong != 5 -> pc = disp_save_1
        :: else -> disabled = false; pc = user
        fi
    }
    :: atomic { pc == disp_switch_1 -> other(); pc = disp_switch_2 }                             // DispSwitch_1
    :: atomic { pc == disp_switch_2 -> save_other(R1); pc = disp_switch_3 }                      // DispSwitch_2
    :: atomic { pc == disp_switch_3 -> save_other(R2); pc = resume_1 }                           // DispSwitch_3
    :: atomic { pc == disp_save_1 -> enabled_area[R1]++; pc = disp_save_2 }                      // DispSave_1
    :: atomic { pc == disp_save_2 -> enabled_area[R2]++; pc = sys_yield }                        // DispSave_2
    :: atomic { pc == sys_yield -> alerts_enabled = false; touched = false; pc = run_ }          // SysYield
    :: atomic { pc == run_ -> pc = thread_run_1 }                                                // Run
    :: atomic { // ThreadRun_1, which does both in the paper
        pc == thread_run_1 ->
        if :: wrong == 1 -> look() :: else -> monitor() fi;
        pc = poll
    }
    :: atomic { pc == poll -> if :: wrong == 1 -> monitor() :: else -> look() fi; pc = thread_run_2 }
    :: atomic { // ThreadRun_2
        pc == thread_run_2 ->
        if
        :: resume_from = enabled_area_; pc = resume_1
        :: pc = run_switch_1
        fi
    }
    :: atomic { pc == run_switch_1 -> save_current(R1); enabled_area[R1]--; pc = run_switch_2 }  // RunSwitch_1
    :: atomic { pc == run_switch_2 -> save_current(R2); enabled_area[R2]--; pc = run_switch_3 }  // RunSwitch_2
    :: atomic { pc == run_switch_3 -> other(); pc = resume_1 }                                   // RunSwitch_3
    :: atomic {                                                                                  // Resume_1
        pc == resume_1 ->
        if
        :: recorded && wrong != 5 -> pc = again_1
        :: else -> disabled = false; pc = resume_2
        fi
    }
    :: atomic { pc == again_1 -> monitor(); pc = again_2 }
    :: atomic { pc == again_2 -> look(); pc = resume_1 }
    :: atomic { pc == resume_2 -> load(R1); pc = resume_3 }                                      // Resume_2
    :: atomic { pc == resume_3 -> load(R2); resume_from = invalid; pc = user }                   // Resume_3
    :: atomic { pc == ahandler_1 -> pc = ahandler_2 } // AHandler_1: a stack, and room for a few registers
    :: atomic {                                       // AHandler_2
        pc == ahandler_2 ->
        if
        :: disabled || (inside_resume_range(alert_buffer_pc) && wrong != 4) ->
            recorded = true;
            owed = owed || !disabled;
            pc = alert_buffer_pc;
            alert_buffer_pc = invalid
        :: else -> pc = ahandler_3
        fi
    }
    :: atomic { pc == ahandler_3 -> enabled_area[R1]++; pc = ahandler_4 }                        // AHandler_3
    :: atomic { pc == ahandler_4 -> enabled_area[R2]++; pc = ahandler_5 }                        // AHandler_4
    :: atomic { // AHandler_5
        pc == ahandler_5 ->
        disabled = true;
        alert_buffer_pc = invalid;
        pc = (wrong == 6 -> poll : thread_run_1)
    }
    od
}

// At any time: an interrupt, which ends before anything else happens.
proctype Interrupt() {
    do
    :: atomic {
        true ->
        alerts_enabled = false;
        touched = false;
        if
        :: !effectively_disabled(pc) -> enabled_area[R1]++; enabled_area[R2]++; disabled = true; pc = run_
        :: else -> d_step { disabled_area[R1]++; disabled_area[R2]++; disabled_area[R1]--; disabled_area[R2]-- }; owed = true
        fi
    }
    od
}

// At any time: a message; and the alert that it causes where its line is monitored.
proctype Hardware() {
    do
    :: atomic { !message -> message = true; touched = alerts_enabled }
    :: atomic { alerts_enabled && touched -> touched = false; alerts_enabled = false; alert_buffer_pc = pc; pc = ahandler_1 }
    od
}

proctype Invariants() {
end:
    if
    :: !TypeInvariant -> assert(TypeInvariant)
    :: !DisabledInvariant -> assert(DisabledInvariant)
    :: !ResumeFromInvariant -> assert(ResumeFromInvariant)
    :: !MessageInvariant -> assert(MessageInvariant)
    fi
}

init {
    atomic {
        c_code { now.wrong = atoi(getenv("WRONG")); };
        thread2_tcb[R1] = 1;
        thread2_tcb[R2] = 1;
        run Dispatcher();
        run Interrupt();
        run Hardware();
        run Invariants()
    }
}
