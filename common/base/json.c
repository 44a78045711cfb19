#include "base/json.h"

#include "base/number.h"
#include "base/utf8.h"

#include <math.h>

void json_text(FILE *out, const char *text)
{
    if (!text) {
        fputs("null", out);
        return;
    }
    fputc('"', out);
    while (*text) {
        const int bytes = utf8_printable(text);
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        if (bytes > 0)
            fprintf(out, "%.*s", bytes, text);
        else
            fprintf(out, "\\u%04x", (unsigned char)*text < 0x80 ? (unsigned)*text : 0xfffdu);
        text += bytes > 0 ? bytes : 1;
    }
    fputc('"', out);
}

void json_number(FILE *out, double value)
{
    char text[NUMBER_TEXT];
    if (isfinite(value)) {
        number_shortest(text, value);
        fputs(text, out);
    } else {
        fputs("null", out);
    }
}
