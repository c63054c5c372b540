// SPDX-License-Identifier: BSD-2-Clause
// Requests that complete many times. See struct shot.
#include "io/uring.h"

static void start_late(struct fin_timer *t) {
    struct request *r = FIN_OF(struct request, again, t);
    if (fin_io_closed(r->call))
        fin_shot_completed((struct shot *)r, -EBADF, 0);
    else
        fin_uring_start(r, TO_SHOT);
}

static bool starts_late(const struct request *r) { return fin_timer_waits(&r->again) && r->again.fn == start_late; }

// It may be that something completes here, which starts no more than the queue has room for: as in on.c.
void fin_shot_start(struct shot *s) {
    struct request *r = &s->request;
    r->call = &s->call;
    r->cancelled = r->withdrawn = false;
    r->tries = 0;
    if (FIN_LIKELY(io_uring_sq_space_left(&r->io->uring.ring) > 0)) {
        fin_uring_start(r, TO_SHOT);
        return;
    }
    r->pending = RESULT;
    fin_timer_add(r->io, &r->again, fin_now(), start_late);
}

// Takes back one that the kernel has not seen.
static bool withdraw(struct request *r) {
    if (!starts_late(r))
        return fin_uring_withdraw(r);
    fin_timer_remove(&r->again);
    r->pending = 0;
    return true;
}

// Once is enough: what is not found is looked for again.
void fin_shot_cancel(struct shot *s) {
    struct request *r = &s->request;
    if (!(r->pending & RESULT) || r->cancelled)
        return;
    r->cancelled = true;
    fin_accept_over(r);
    if (withdraw(r))
        s->ended(s);
    else
        fin_uring_send_cancel_soon(r);
}

static void look_for_end(struct shot *s) {
    if (s->request.pending)
        return;
    if (s->stopping)
        fin_io_resume(s->request.io, &s->request.waiter, 0);
    else
        s->ended(s);
}

void fin_shot_completed(struct shot *s, int result, uint32_t flags) {
    struct request *r = &s->request;
    if (!(flags & IORING_CQE_F_MORE)) {
        r->pending &= (uint8_t)~RESULT;
        fin_accept_over(r);
        if (!(r->pending & CANCEL))
            fin_timer_remove(&r->again);
    }
    s->got(s, result, flags);
    look_for_end(s);
}

void fin_shot_cancel_completed(struct shot *s, int result) {
    fin_uring_cancel_completed(&s->request, result);
    look_for_end(s);
}

void fin_shot_stop(struct shot *s) {
    fin_shot_cancel(s);
    if (!fin_shot_runs(s))
        return;
    s->stopping = true;
    fin_io_suspend(&s->request.waiter);
    s->stopping = false;
}
