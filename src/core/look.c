// SPDX-License-Identifier: BSD-2-Clause
// What a program that looks at another's memory has to know: tools/fin_look.py finds this table by its symbol, which stays
// where debugging information has gone. A pair for each word that it reads.
#include "core/cont.h"
#include "core/dispatch.h"

#define AT(name, type, member) {name, (uint32_t)offsetof(struct type, member)}
#define RT(member) AT("rt." #member, fin_runtime, member)
#define AWE(member) AT("awe." #member, fin_awe, member)
#define BLOCK(member) AT("block." #member, fin_finish_block, member)
#define BODY(member) AT("body." #member, fin_body, member)
#define STAT(member) AT("stat." #member, fin_runtime, stats.member)

const struct fin_look_ fin_look_ = {
    .runtimes = &fin_runtimes,
    .entries = {
        RT(next), RT(in_use), RT(tid), RT(queue), RT(suspended), RT(body), RT(name), RT(asleep), RT(stack_size),
        RT(cont_slabs), RT(inner), RT(ids), RT(id_count), AT("rt.current", fin_runtime, thread.current),
        AT("rt.spares", fin_runtime, thread.spares), AT("rt.colds", fin_runtime, colds),
        AT("rt.scheduler", fin_runtime, thread.scheduler),
        AWE(context.ip), AWE(context.sp), AWE(context.fp), AWE(bx), AWE(body), AWE(link), AWE(block), AWE(state), AWE(id),
        BLOCK(pending), BLOCK(away), BLOCK(flags), BLOCK(parent), BLOCK(awe),
        BODY(block), BODY(entry), BODY(name), BODY(resume),
        STAT(detached), STAT(suspended), STAT(compressed), STAT(woken_remotely), STAT(slept), STAT(cancelled), STAT(stacks),
        STAT(stacks_released), STAT(requests), STAT(completions), STAT(entered),
        AT("slot.awe", fin_id_slot, awe), {"slot.size", sizeof(struct fin_id_slot)},
        {"awe.size", sizeof(struct fin_awe)}, {"runtime.size", sizeof(struct fin_runtime)},
        {"record.size", sizeof(struct fin_cont_record)}, AT("record.data", fin_cont_record, data),
        AT("record.cancellable", fin_cont_record, cancellable),
        AT("kept.cont", fin_kept, cont), AT("kept.state", fin_kept, state), {"", 0},
    },
};
