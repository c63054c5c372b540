// SPDX-License-Identifier: BSD-2-Clause
// The paper's name lookups (ac figures 2, 3, 4 and 9) as a program for THC: channels with callbacks, wrapped in the
// low-level API and queried all at once, with the first answer taken, and with a timeout.
#include <string.h>

#include <fin/thc.h>

#include "check.h"

#define OK SYS_ERR_OK
#define CANCELLED THC_CANCELED

enum rx_state { EMPTY, BH_WAITING, TH_WAITING, TH_CANCELLED };

typedef struct {
    struct thc_latch spinlock; // Lock to protect other fields
    enum rx_state state;       // Receiver record state
    thc_lock_t bh_lock;        // Lock to order BH execution
    thc_lock_t th_lock;        // Lock to order TH execution
    awe_t *rx_awe;             // Saved TH context
    int addr;                  // Message payload
} LookupResponse_t;

typedef struct {
    LookupResponse_t response;
    thc_sem_t requests;
    int steps, addr; // the server answers after so many steps; 0: it is dead
} NSChannel_t;

static void ChannelInit(NSChannel_t *c, int steps, int addr) {
    memset(c, 0, sizeof *c);
    thc_latch_init(&c->response.spinlock);
    thc_lock_init(&c->response.bh_lock);
    thc_lock_init(&c->response.th_lock);
    thc_sem_init(&c->requests, 0);
    c->steps = steps;
    c->addr = addr;
}

// Bottom-half function to execute on incoming message:
static void LookupResponseBH(NSChannel_t *c, int addr) {
    LookupResponse_t *r = &c->response;
    thc_lock_acquire(&r->bh_lock); // Wait for previous BH to complete
    thc_latch_acquire(&r->spinlock);
    r->addr = addr;
    if (r->state == EMPTY) { // No top-half waiting
        r->state = BH_WAITING;
        thc_latch_release(&r->spinlock);
    } else { // Pass control to top-half, which releases the spinlock
        r->state = BH_WAITING;
        THCYieldTo(r->rx_awe);
    }
}

static void CancelRecv(void *arg) {
    LookupResponse_t *r = (LookupResponse_t *)arg;
    thc_latch_acquire(&r->spinlock);
    if (r->state == TH_WAITING) {
        r->state = TH_CANCELLED;
        THCSchedule(r->rx_awe);
    } else {
        thc_latch_release(&r->spinlock);
    }
}

static void Unlatch(void *arg) { thc_latch_release((struct thc_latch *)arg); }

// AC top-half function to receive a message:
static errval_t LookupResponseAC(NSChannel_t *c, int *addr) {
    LookupResponse_t *r = &c->response;
    errval_t result = OK;
    cancel_item_t ci;
    thc_lock_acquire(&r->th_lock); // Wait for previous TH to complete
    thc_latch_acquire(&r->spinlock);
    if (r->state == EMPTY) {          // No BH present: wait
        if (THCIsCancelRequested()) { // an item added now would run at once, with the spinlock held
            result = CANCELLED;
            goto done;
        }
        r->state = TH_WAITING;
        THCAddCancelItem(&ci, &CancelRecv, r);
        THCSuspendThen(&r->rx_awe, Unlatch, &r->spinlock);
        // Resumed here after delivery or cancellation, with the spinlock
        THCRemoveCancelItem(&ci);
        if (r->state == TH_CANCELLED) {
            result = CANCELLED; // We were cancelled
            goto done;
        }
    }
    *addr = r->addr;               // Extract message contents
    thc_lock_release(&r->bh_lock); // Allow next BH callback
done:
    r->state = EMPTY;
    thc_latch_release(&r->spinlock);
    thc_lock_release(&r->th_lock); // Allow next TH operation
    return result;
}

static errval_t LookupOneAC(NSChannel_t *c, const char *name, int *addr) {
    thc_sem_v(&c->requests);
    LOG("%s? ", name);
    return LookupResponseAC(c, addr);
}

// The servers answer as an event loop would: by calling back.
static void Serve(NSChannel_t *c) {
    while (thc_sem_p_x(&c->requests) == OK) {
        if (c->steps == 0)
            continue;
        for (int i = 0; i < c->steps; i++)
            THCYield();
        LookupResponseBH(c, c->addr);
    }
}

static errval_t LookupAllAC(NSChannel_t **cs, int nc, const char *name, int *addr) {
    fin_shared int seen_first = 0, first_addr = 0, answers = 0;
    DO_FINISH({
        for (int i = 0; i < nc; i++)
            ASYNC({
                int mine;
                if (LookupOneAC(cs[i], name, &mine) == OK) {
                    if (!seen_first) {
                        seen_first = 1;
                        first_addr = mine;
                    } else {
                        CHECK_EQ(mine, first_addr);
                    }
                    answers++;
                }
            });
    });
    CHECK_EQ(answers, nc);
    *addr = first_addr;
    return OK;
}

static errval_t LookupFirstAC(NSChannel_t **cs, int nc, const char *name, int *addr) {
    fin_shared errval_t result = CANCELLED;
    DO_FINISH_(queries, {
        for (int i = 0; i < nc; i++)
            ASYNC({
                int mine;
                if (LookupOneAC(cs[i], name, &mine) == OK) {
                    *addr = mine;
                    result = OK;
                    CANCEL(queries);
                } else {
                    LOG("x ");
                }
            });
    });
    return result;
}

static errval_t SleepAC(int steps) {
    for (; steps > 0; steps--) {
        THCYield();
        if (THCIsCancelRequested())
            return CANCELLED;
    }
    return OK;
}

static errval_t LookupWithTimeoutAC(NSChannel_t **cs, int nc, const char *name, int *addr, int timeout) {
    fin_shared errval_t result = OK;
    DO_FINISH_(timeout, {
        ASYNC({
            result = LookupFirstAC(cs, nc, name, addr);
            CANCEL(timeout);
        });
        ASYNC({
            if (SleepAC(timeout) == OK) {
                LOG("timeout ");
                CANCEL(timeout);
            }
        });
    });
    return result;
}

int main(void) {
    static NSChannel_t fast, slow, dead;
    static NSChannel_t *cs[] = {&slow, &dead, &fast}, *live[] = {&slow, &fast};
    static int addr;
    ChannelInit(&fast, 2, 42);
    ChannelInit(&slow, 9, 42);
    ChannelInit(&dead, 0, 0);
    thc_init();
    DO_FINISH_(servers, {
        for (int i = 0; i < 3; i++)
            ASYNC(Serve(cs[i]));
        CHECK_EQ(LookupAllAC(live, 2, "all", &addr), OK);
        CHECK_EQ(addr, 42);
        addr = 0;
        fast.addr = 43;
        CHECK_EQ(LookupFirstAC(cs, 3, "first", &addr), OK);
        CHECK_EQ(addr, 43);
        // the slow server's late answer is still to come: it is not taken for one to the next request
        CHECK_EQ(LookupResponseAC(&slow, &addr), OK);
        CHECK_EQ(addr, 42);
        CHECK_EQ(LookupWithTimeoutAC(live, 2, "in time", &addr, 1000), OK);
        CHECK_EQ(addr, 43);
        CHECK_EQ(LookupResponseAC(&slow, &addr), OK);
        CHECK_EQ(LookupWithTimeoutAC(cs + 1, 1, "too late", &addr, 30), CANCELLED);
        CANCEL(servers);
    });
    thc_done();
    CHECK_LOG("all? all? first? first? first? x x in time? in time? x too late? timeout x ");
    return 0;
}
