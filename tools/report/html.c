#include "html.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Write links to all pages. */
static void put_navigation(FILE *out, const struct html_site *site, int which)
{
    fputs("<a class=\"skip\" href=\"#content\">To the content</a>\n<nav aria-label=\"Pages\"><ul>\n", out);
    for (int i = 0; i < site->count; i++) {
        fprintf(out, "<li><a href=\"%s\"%s>", site->links[i].file, i == which ? " aria-current=\"page\"" : "");
        html_text(out, site->links[i].title);
        fputs("</a></li>\n", out);
    }
    fputs("</ul></nav>\n", out);
}

FILE *html_begin(struct html_site *site, int which)
{
    FILE *out = file_set_begin(&site->pages, site->folder, site->links[which].file);
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n<title>",
          out);
    html_text(out, site->links[which].title);
    const char *file = site->links[which].file; /* "cheat_sheet.html": the look of a page is that of its class */
    fprintf(out, "%s</title>\n<style>\n%s</style>\n</head>\n<body class=\"%.*s\">\n", which == 0 ? "" : " · Lockstep",
            site->look, (int)strcspn(file, "."), file);
    if (site->count > 1)
        put_navigation(out, site, which);
    fputs("<main id=\"content\">\n", out);
    return out;
}

static void put_way(FILE *out, const struct html_link *link, const char *word)
{
    fprintf(out, "<a href=\"%s\" rel=\"%s\">%s: ", link->file, word, word[0] == 'p' ? "Before" : "Next");
    html_text(out, link->title);
    fputs("</a>\n", out);
}

long html_end(FILE *out, const struct html_site *site, int which)
{
    fputs("</main>\n<footer>\n", out);
    if (which > 0)
        put_way(out, &site->links[which - 1], "prev");
    if (which + 1 < site->count)
        put_way(out, &site->links[which + 1], "next");
    fputs("</footer>\n</body>\n</html>\n", out);
    return ftell(out);
}

void html_text(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*text, out);
        }
}

void html_link(FILE *out, const char *path, const char *text)
{
    fputs("<a href=\"", out);
    for (; *path; path++)
        if (isalnum((unsigned char)*path) || strchr("/._-", *path))
            fputc(*path, out);
        else
            fprintf(out, "%%%02X", (unsigned)(unsigned char)*path);
    fputs("\">", out);
    html_text(out, text);
    fputs("</a>", out);
}

/* --- tables ------------------------------------------------------------------------------------------------------ */

void html_table(FILE *out, const char *caption)
{
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"", out);
    html_text(out, caption ? caption : "table");
    fputs("\">\n<table>", out);
    if (caption) {
        fputs("<caption>", out);
        html_text(out, caption);
        fputs("</caption>", out);
    }
}

void html_row(FILE *out)
{
    fputs("\n<tr>", out);
}

void html_head(FILE *out, const char *text)
{
    fputs("<th scope=\"col\">", out);
    html_text(out, text);
    fputs("</th>", out);
}

void html_heads(FILE *out, const char *const *texts, size_t count)
{
    html_row(out);
    for (size_t i = 0; i < count; i++)
        html_head(out, texts[i]);
}

void html_cell(FILE *out, const char *text)
{
    fputs("<td>", out);
    html_text(out, text);
    fputs("</td>", out);
}

void html_long_cell(FILE *out, const char *text)
{
    fputs("<td class=\"long\">", out);
    html_text(out, text);
    fputs("</td>", out);
}

void html_number(FILE *out, double value, int decimals)
{
    fputs("<td class=\"n\">", out);
    if (!isnan(value))
        fprintf(out, "%.*f", decimals, value);
    fputs("</td>", out);
}

void html_table_end(FILE *out)
{
    fputs("\n</table>\n</div>\n", out);
}
