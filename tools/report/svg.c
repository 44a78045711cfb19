#include "svg.h"

#include "base/files.h"
#include "base/memory.h"
#include "html.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool begins(const char *at, const char *word)
{
    return strncmp(at, word, strlen(word)) == 0;
}

/* Page colours for neutral colours of the charts. Almost black and almost white are text on bars and stay (style.gp). */
static const struct {
    unsigned level; /* value of red, green and blue */
    const char *name;
} neutrals[] = { { 0, "var(--ink)" },    { 68, "var(--ink)" },  { 85, "var(--soft)" },  { 102, "var(--soft)" },
                 { 128, "var(--soft)" }, { 166, "var(--bar)" }, { 228, "var(--line)" }, { 255, "var(--paper)" } };

static const char *neutral_of(unsigned level)
{
    for (size_t i = 0; i < sizeof neutrals / sizeof *neutrals; i++)
        if (neutrals[i].level == level)
            return neutrals[i].name;
    return NULL;
}

/* Write the colour at `at` as the page's colour. Return its end; NULL if there is no colour. */
static const char *put_color(FILE *out, const char *at)
{
    char word[32]; /* sscanf on the whole file would compute its length each time */
    unsigned red = 0, green = 0, blue = 0;
    int length = 0;
    if (!begins(at, "rgb(") && !(at[0] == '#' && isxdigit((unsigned char)at[1])))
        return NULL;
    snprintf(word, sizeof word, "%.*s", (int)sizeof word - 1, at);
    if (sscanf(word, "rgb( %u , %u , %u )%n", &red, &green, &blue, &length) != 3 &&
        sscanf(word, "#%2x%2x%2x%n", &red, &green, &blue, &length) != 3)
        return NULL;
    const char *neutral = red == green && green == blue ? neutral_of(red) : NULL;
    if (neutral)
        fputs(neutral, out);
    else
        fprintf(out, "#%02x%02x%02x", red & 255, green & 255, blue & 255);
    return at + length;
}

/* Write an attribute's value, from its quote on: add the prefix to ids, replace colours, merge blanks. Return its end. */
static const char *put_value(FILE *out, const char *at, const char *prefix, bool is_name)
{
    const char quote = *at++;
    fputc('"', out);
    if (is_name) {
        bool is_link = *at == '#';
        fprintf(out, "%s%s", is_link ? "#" : "", prefix);
        at += is_link;
    } else if (begins(at, "black")) {
        fputs("var(--ink)", out);
        at += strlen("black");
    }
    while (*at && *at != quote) {
        const char *behind = *at == 'r' || *at == '#' ? put_color(out, at) : NULL;
        if (behind) {
            at = behind;
        } else if (begins(at, "url(#")) {
            fprintf(out, "url(#%s", prefix);
            at += strlen("url(#");
        } else if (isspace((unsigned char)*at)) {
            at += strspn(at, " \t\r\n");
            if (*at != quote)
                fputc(' ', out);
        } else {
            fputc(*at++, out);
        }
    }
    fputc('"', out);
    return *at ? at + 1 : at;
}

/* Write a tag, from its <. Return the position after its >. */
static const char *put_tag(FILE *out, const char *at, const char *prefix)
{
    bool is_name = false;
    while (*at && *at != '>') {
        if (*at == '"' || *at == '\'') {
            at = put_value(out, at, prefix, is_name);
            is_name = false;
        } else if (isspace((unsigned char)*at)) {
            at += strspn(at, " \t\r\n");
            if (*at != '>' && *at != '/')
                fputc(' ', out);
            is_name = begins(at, "id=") || begins(at, "xlink:href=");
            if (begins(at, "xlink:href")) /* href is newer and needs no name space */
                at += strlen("xlink:");
        } else {
            fputc(*at++, out);
        }
    }
    fputc('>', out);
    return *at ? at + 1 : at;
}

/* Skip gnuplot's title, description or background. Return its end; `at` if there is none. */
static const char *pass(const char *at)
{
    static const char *const elements[][2] = { { "<title>", "</title>" }, { "<desc>", "</desc>" } };
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (begins(at, elements[i][0])) {
            const char *end = strstr(at, elements[i][1]);
            return end ? end + strlen(elements[i][1]) : at;
        }
    if (begins(at, "<rect x=\"0\" y=\"0\"") && strstr(at, "/>"))
        return strstr(at, "/>") + 2;
    return at;
}

/* Return the text between the root's tags; NULL if either is missing, because gnuplot may have been stopped while writing. */
static const char *inside_of(char *whole, const char **box)
{
    static const char end[] = "</svg>";
    char *root = whole ? strstr(whole, "<svg") : NULL, *inside = root ? strchr(root, '>') : NULL;
    char *last = inside ? strstr(inside, end) : NULL;
    if (!last || last[sizeof end - 1 + strspn(last + sizeof end - 1, " \t\r\n")] != '\0')
        return NULL;
    *last = '\0';
    *box = strstr(root, "viewBox=\"");
    return *box && *box < inside ? inside + 1 : NULL;
}

char *svg_read(const char *path, const char *prefix, const char *alt)
{
    size_t size = 0;
    char *whole = file_read(path, &size), *text = NULL;
    const char *box = NULL, *at = inside_of(whole, &box);
    if (!at) {
        free(whole);
        return NULL;
    }
    box += strlen("viewBox=\"");
    FILE *out = memory_stream(&text, &size);
    fprintf(out, "<svg viewBox=\"%.*s\" role=\"img\" aria-label=\"", (int)strcspn(box, "\""), box);
    html_text(out, alt);
    fputs("\">", out);
    while (*at) {
        const char *behind = pass(at);
        if (behind > at) {
            at = behind;
        } else if (*at == '<') {
            at = put_tag(out, at, prefix);
        } else if (isspace((unsigned char)*at) && at[strspn(at, " \t\r\n")] == '<' && (at[-1] == '>')) {
            at += strspn(at, " \t\r\n"); /* between tags */
        } else {
            fputc(*at++, out);
        }
    }
    fputs("</svg>", out);
    fclose(out);
    free(whole);
    return text;
}

long svg_size(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (long)status.st_size : -1;
}

char *svg_read_base64(const char *path)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t size = 0;
    unsigned char *bytes = (unsigned char *)file_read(path, &size);
    if (!bytes)
        return NULL;
    char *text = memory_new(4 * ((size + 2) / 3) + 1, 1), *to = text;
    for (size_t i = 0; i < size; i += 3) {
        unsigned all = (unsigned)bytes[i] << 16;
        all |= i + 1 < size ? (unsigned)bytes[i + 1] << 8 : 0;
        all |= i + 2 < size ? bytes[i + 2] : 0;
        for (int k = 0; k < 4; k++)
            *to++ = digits[(all >> (18 - 6 * k)) & 63];
    }
    for (size_t missing = (3 - size % 3) % 3; missing > 0; missing--)
        to[-(long)missing] = '=';
    free(bytes);
    return text;
}
