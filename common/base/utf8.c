#include "base/utf8.h"

#include <stdbool.h>

int utf8_printable(const char *at)
{
    const unsigned char *c = (const unsigned char *)at;
    int more = c[0] < 0x80 ? 0 : c[0] < 0xc2 ? -1 : c[0] < 0xe0 ? 1 : c[0] < 0xf0 ? 2 : c[0] < 0xf5 ? 3 : -1;
    for (int i = 1; i <= more; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    bool is_control = c[0] < ' ' || c[0] == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0);
    return is_control ? 0 : 1 + more;
}
