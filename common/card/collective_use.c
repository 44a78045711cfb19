#include "card/collective_use.h"

#include "base/die.h"

#include <math.h>

int card_group_of(struct card_group group, int rank, int ranks)
{
    const int block = group.ranks * group.stride, first = rank / block * block + rank % group.stride;
    if (first + (group.ranks - 1) * group.stride >= ranks)
        return -1; /* too few ranks are left for a whole group */
    const int number = rank / block * group.stride + rank % group.stride;
    return number > 0 && !group.with_siblings ? -1 : number;
}

/* Return the place of a new use: after those of its group, in the order of kinds, or at the end. */
static int place_of(const struct card_uses *uses, enum collective_kind kind, struct card_group group)
{
    int place = uses->count;
    for (int i = 0; i < uses->count; i++)
        if (card_group_equals(uses->at[i].group, group)) {
            place = i + 1;
            if (uses->at[i].kind > kind)
                return i;
        }
    return place;
}

void card_use(struct card_uses *uses, enum collective_kind kind, struct card_group group, double bytes)
{
    if (group.ranks <= 1)
        return;
    for (int i = 0; i < uses->count; i++) {
        struct collective_use *use = &uses->at[i];
        if (use->kind == kind && card_group_equals(use->group, group)) {
            use->bytes = fmax(use->bytes, bytes);
            return;
        }
    }
    if (uses->count == COLLECTIVE_USES_MOST)
        die(STATUS_WRONG, "a lab uses more than %d collectives; raise COLLECTIVE_USES_MOST", COLLECTIVE_USES_MOST);
    const int place = place_of(uses, kind, group);
    for (int i = uses->count++; i > place; i--)
        uses->at[i] = uses->at[i - 1];
    uses->at[place] = (struct collective_use){ kind, group, bytes };
}
