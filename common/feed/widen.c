#include "feed/widen.h"

#include "base/multiversion.h"

#include <stdint.h>
#include <string.h>

/* int32 keeps the bits of a uint32; no vocabulary has 2^31 tokens. */
WIDE static void loop_16(const uint16_t *restrict tokens, int32_t *restrict x, int32_t *restrict y, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        x[i] = tokens[i];
        y[i] = tokens[i + 1];
    }
}

/* Widen x and y of a piece while its tokens are in the first cache. The compiler knows the length of a piece: 0.87 of the time of pieces of
 * 2,048 tokens whose last one may be shorter (Intel Xeon, 2026-11-28). */
WIDE static void widen_16(const uint16_t *restrict tokens, int32_t *restrict x, int32_t *restrict y, size_t count)
{
    enum { PIECE = 512 }; /* tokens */
    size_t done = 0;
    for (; count - done >= PIECE; done += PIECE) {
        for (size_t i = 0; i < PIECE; i++)
            x[done + i] = tokens[done + i];
        for (size_t i = 0; i < PIECE; i++)
            y[done + i] = tokens[done + i + 1];
    }
    loop_16(tokens + done, x + done, y + done, count - done);
}

void widen_block(struct widths widths, const void *tokens, void *x, void *y, size_t count)
{
    if (widths.in == 2 && widths.out == 4) {
        widen_16(tokens, x, y, count);
        return;
    }
    memcpy(x, tokens, count * (size_t)widths.in);
    memcpy(y, (const char *)tokens + widths.in, count * (size_t)widths.in);
}

void widen_loop(struct widths widths, const void *tokens, void *x, void *y, size_t count)
{
    if (widths.in == 2 && widths.out == 4)
        loop_16(tokens, x, y, count);
    else
        widen_block(widths, tokens, x, y, count);
}

/* The compiler must not see that elements follow each other: `volatile` forbids it to join them. */
void widen_elements(struct widths widths, const void *tokens, void *x, void *y, size_t count)
{
    const volatile uint16_t *narrow = tokens;
    const volatile uint32_t *wide = tokens;
    volatile uint16_t *x_narrow = x, *y_narrow = y;
    volatile uint32_t *x_wide = x, *y_wide = y;
    for (size_t i = 0; i < count; i++) {
        const uint32_t now = widths.in == 2 ? narrow[i] : wide[i], next = widths.in == 2 ? narrow[i + 1] : wide[i + 1];
        if (widths.out == 2) {
            x_narrow[i] = (uint16_t)now;
            y_narrow[i] = (uint16_t)next;
        } else {
            x_wide[i] = now;
            y_wide[i] = next;
        }
    }
}

void widen_one(struct widths widths, const void *token, void *to)
{
    uint32_t wide = 0;
    memcpy(&wide, token, (size_t)widths.in); /* little-endian: the low bytes come first */
    memcpy(to, &wide, (size_t)widths.out);
}
