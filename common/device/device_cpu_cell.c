#include "device/device_cpu_cell.h"

#include "base/multiversion.h"

#define MOVE(type)                                                                                                     \
    WIDE static void move_##type(type *to, const type *x, const type *y, const type *z, unsigned count)                \
    {                                                                                                                  \
        _Pragma("omp simd") for (unsigned i = 0; i < count; i++)                                                       \
        {                                                                                                              \
            const type one = x[i], two = y[i], three = z[i];                                                           \
            to[i] = i % 4 == 1 ? two : i % 4 == 2 ? three : one;                                                       \
        }                                                                                                              \
    }
MOVE(float)
MOVE(uint16_t)

void move_cells(void *out, const void *x, const void *y, const void *z, bool is_bf16, struct half_part part)
{
    const size_t first = part.first;
    const unsigned count = (unsigned)(part.end - first);
    if (is_bf16)
        move_uint16_t(cell(out, first, true), cell(x, first, true), cell(y, first, true), cell(z, first, true), count);
    else
        move_float(cell(out, first, false), cell(x, first, false), cell(y, first, false), cell(z, first, false), count);
}
