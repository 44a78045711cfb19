#include "number.h"

#include "base/memory.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char minus[] = "−";

/* --- find ----------------------------------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

/* Return the end of digits, commas before three digits, and decimals. */
static size_t end_of_digits(const char *raw, size_t at)
{
    while (is_digit(raw[at]))
        at++;
    while (raw[at] == ',' && is_digit(raw[at + 1]) && is_digit(raw[at + 2]) && is_digit(raw[at + 3]) &&
           !is_digit(raw[at + 4]))
        at += 4;
    if (raw[at] == '.' && is_digit(raw[at + 1]))
        for (at++; is_digit(raw[at]);)
            at++;
    return at;
}

/* Return the begin of a number with its sign. A sign behind a digit, a letter or a bracket is an operator. */
static size_t begin_with_sign(const char *raw, size_t begin)
{
    size_t sign = begin;
    if (begin >= 1 && (raw[begin - 1] == '+' || raw[begin - 1] == '-'))
        sign = begin - 1;
    else if (begin >= strlen(minus) && strncmp(raw + begin - strlen(minus), minus, strlen(minus)) == 0)
        sign = begin - strlen(minus);
    bool is_sign = sign == 0 || strchr(" \t\n([|*", raw[sign - 1]);
    return is_sign ? sign : begin;
}

/* Return the length of the unit that begins here; 0 if none does. */
static size_t unit_at(const char *at)
{
    static const char *const units[] = { "ms", "µs", "us", "ns", "s",   "%",   "×",   "x",  "bytes", "B",
                                         "kB", "KB", "MB", "GB", "KiB", "MiB", "GiB", "Gb", "Mb",    NULL };
    for (int i = 0; units[i]; i++) {
        size_t length = strlen(units[i]);
        if (strncmp(at, units[i], length) == 0 && !is_letter(at[length]))
            return length;
    }
    return 0;
}

/* True if a unit follows, perhaps behind the second number of a range. */
static bool has_unit_at(const char *at)
{
    static const char *const joints[] = { " to ", " and ", " or ", " of ", "–", "-", "/", NULL };
    if (strncmp(at, "<!--", 4) == 0 && strstr(at, "-->"))
        at = strstr(at, "-->") + 3;
    if (unit_at(at + (*at == ' ' || *at == '\n' || *at == '-')) > 0)
        return true;
    for (int i = 0; joints[i]; i++) {
        const char *next = at + strlen(joints[i]);
        if (strncmp(at, joints[i], strlen(joints[i])) == 0 && is_digit(*next))
            return has_unit_at(next + end_of_digits(next, 0));
    }
    return false;
}

/* True if one of the programs whose versions we name stands before, also before "12 or " and the like. */
static bool follows_program(const char *raw, size_t begin)
{
    static const char *const programs[] = { "MPI",    "PyTorch", "SimGrid", "NCCL",     "CUDA", "Python",
                                            "Debian", "Ubuntu",  "GCC",     "OpenBLAS", NULL };
    for (int i = 0; programs[i]; i++) {
        size_t length = strlen(programs[i]) + 1;
        if (begin >= length && raw[begin - 1] == ' ' && strncmp(raw + begin - length, programs[i], length - 1) == 0)
            return true;
    }
    static const char *const joints[] = { " or ", " and ", NULL };
    for (int i = 0; joints[i]; i++) {
        size_t length = strlen(joints[i]), first = begin - length;
        if (begin <= length || strncmp(raw + first, joints[i], length) != 0 || !is_digit(raw[first - 1]))
            continue;
        while (first > 0 && (is_digit(raw[first - 1]) || raw[first - 1] == '.'))
            first--;
        return follows_program(raw, first);
    }
    return false;
}

static bool is_year(const char *digits, size_t length, bool has_unit)
{
    return length == 4 && !has_unit && (strncmp(digits, "19", 2) == 0 || strncmp(digits, "20", 2) == 0) &&
           strspn(digits, "0123456789") == 4;
}

/* True if KiB, MiB or GiB follow, and no rate of them. */
static bool is_binary_size(const char *at)
{
    static const char *const units[] = { " KiB", " MiB", " GiB", NULL };
    for (int i = 0; units[i]; i++)
        if (strncmp(at, units[i], 4) == 0 && at[4] != '/')
            return true;
    return false;
}

/* Describe the number whose digits are `begin` to `end`. */
static struct number describe(const char *raw, size_t begin, size_t end)
{
    struct number number = { .begin = begin_with_sign(raw, begin), .end = end, .has_unit = has_unit_at(raw + end) };
    char *digits = memory_text("%.*s", (int)(end - begin), raw + begin);
    bool is_level = strncmp(raw + end, " % interval", 11) == 0; /* 95 % interval */
    number.is_name = is_level || is_year(digits, end - begin, number.has_unit) || follows_program(raw, begin) ||
                     (begin > 0 && raw[begin - 1] == '#');
    bool is_small = atof(digits) <= 12 && !number.has_unit && number.begin == begin;
    number.is_count = !strpbrk(digits, ".,") && (is_small || is_binary_size(raw + end));
    free(digits);
    return number;
}

/* Return the end of a date 2026-11-23 or of a version 4.1.4 that begins here; else `at`. */
static size_t end_of_name(const char *raw, size_t at)
{
    static const char date[] = "dddd-dd-dd";
    size_t matched = 0;
    while (date[matched] && (date[matched] == 'd' ? is_digit(raw[at + matched]) : raw[at + matched] == date[matched]))
        matched++;
    if (!date[matched] && !is_digit(raw[at + matched]))
        return at + matched;
    size_t end = at, dots = 0;
    while (is_digit(raw[end]) || (raw[end] == '.' && is_digit(raw[end + 1])))
        dots += raw[end++] == '.';
    return dots > 1 ? end : at;
}

bool number_next(const struct lesson_text *text, size_t *at, struct number *number)
{
    const char *raw = text->raw;
    for (size_t i = *at; i < text->size; i++) {
        if (text->role[i] != ROLE_PROSE || !is_digit(raw[i]))
            continue;
        size_t end = end_of_digits(raw, i), name = end_of_name(raw, i);
        if (i > 0 && is_letter(raw[i - 1])) { /* bf16, ws4 */
            while (is_digit(raw[i + 1]) || is_letter(raw[i + 1]))
                i++;
            continue;
        }
        *number = describe(raw, i, end);
        if (name > i) {
            number->end = end = name;
            number->is_name = true;
        }
        *at = end;
        return true;
    }
    return false;
}

bool number_before(const char *raw, size_t end, struct number *number)
{
    size_t begin = end;
    while (begin > 0 && (is_digit(raw[begin - 1]) ||
                         ((raw[begin - 1] == '.' || raw[begin - 1] == ',') && begin >= 2 && is_digit(raw[begin - 2]))))
        begin--;
    if (begin == end || !is_digit(raw[end - 1]))
        return false;
    *number = describe(raw, begin, end);
    return true;
}

/* --- print ---------------------------------------------------------------------------------------------------------- */

char *number_print(double value, int decimals, bool has_commas, bool has_plus)
{
    char *plain = memory_text("%.*f", decimals, fabs(value));
    bool is_zero = strspn(plain, "0.") == strlen(plain);
    size_t whole = strcspn(plain, "."), size = 0;
    char *text = NULL;
    FILE *out = memory_stream(&text, &size);
    if (!is_zero && (value < 0 || has_plus))
        fputs(value < 0 ? minus : "+", out);
    for (size_t i = 0; plain[i]; i++) {
        fputc(plain[i], out);
        size_t left = whole - i - 1;
        if (has_commas && i + 1 < whole && left % 3 == 0)
            fputc(',', out);
    }
    fclose(out);
    free(plain);
    return text;
}

char *number_like(const char *old, double value)
{
    const char *dot = strchr(old, '.');
    int decimals = dot ? (int)strlen(dot + 1) : 0;
    bool was_small = strcspn(old, ".") <= 3;
    return number_print(value, decimals, strchr(old, ',') || (was_small && fabs(value) >= 1000), *old == '+');
}
