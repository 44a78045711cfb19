#include "lesson.h"

#include "base/die.h"
#include "base/memory.h"
#include "html.h"
#include "svg.h"
#include "tables.h"
#include "verdicts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct lesson lesson_open(const char *folder, const char *stem)
{
    char *path = memory_text("%s/%s.md", folder, stem);
    struct lesson lesson = { .folder = memory_text("%s", folder),
                             .stem = memory_text("%s", stem),
                             .document = markdown_read(path) };
    cmark_node *first = cmark_node_first_child(lesson.document);
    if (!first || !markdown_is_heading(first, 1))
        die(STATUS_USAGE, "%s does not begin with a heading; give it one, # and a title", path);
    lesson.title = markdown_text(first);
    free(path);
    return lesson;
}

void lesson_close(struct lesson *lesson)
{
    cmark_node_free(lesson->document);
    free(lesson->folder);
    free(lesson->stem);
    free(lesson->title);
}

/* --- pictures ---------------------------------------------------------------------------------------------------- */

/* Return "01_straggler_timeline" for img/01_straggler_timeline.png, in new memory; NULL for other pictures. */
static char *picture_of(cmark_node *image)
{
    const char *url = cmark_node_get_url(image), *dot = strrchr(url, '.');
    if (strncmp(url, "img/", 4) != 0 || !dot || strcmp(dot, ".png") != 0)
        return NULL;
    return memory_text("%.*s", (int)(dot - url - 4), url + 4);
}

/* Return the chart in a picture's name that begins with the lab's; else NULL. Points into the name. */
static const char *chart_in(const char *picture, const char *lab)
{
    size_t length = strlen(lab);
    return strncmp(picture, lab, length) == 0 && picture[length] == '_' ? picture + length + 1 : NULL;
}

char *lesson_first_chart(const struct lesson *lesson)
{
    struct markdown_nodes images = markdown_find(lesson->document, "image");
    char *picture = images.count > 0 ? picture_of(images.at[0]) : NULL;
    const char *chart = picture ? chart_in(picture, lesson->stem) : NULL;
    char *found = chart ? memory_text("%s", chart) : NULL;
    free(picture);
    free(images.at);
    return found;
}

/* Return the path below the results of a chart that belongs to no lab; NULL if unknown. New memory. */
static char *path_of_other(const char *picture)
{
    static const char post[] = "blog_gpu_";
    if (strcmp(picture, "blog_machine") == 0)
        return memory_text("platforms/blog/%s.svg", picture);
    if (strncmp(picture, post, strlen(post)) == 0)
        return memory_text("platforms/blog_gpu/%s.svg", picture + strlen(post));
    return strncmp(picture, "scale_", 6) == 0 ? memory_text("scale/%s.svg", picture) : NULL;
}

static bool put_of_run(FILE *out, const struct lab_findings *findings, struct figures *figures, const char *picture,
                       const char *alt)
{
    const char *chart = findings ? chart_in(picture, findings->lab) : NULL;
    bool was_put = false;
    for (int i = 0; chart && i < findings->count && !was_put; i++)
        was_put = figure_put(out, figures, &findings->at[i], chart, true);
    char *path = chart ? NULL : path_of_other(picture);
    if (path)
        was_put = figure_put_path(out, figures, path, alt, "<strong>This run, simulated.</strong>");
    free(path);
    return was_put;
}

/* Return the lesson's own picture as a data URL, so that a page needs no other file. Free it. */
static char *data_of(const struct lesson *lesson, const char *picture)
{
    char *path = memory_text("%s/img/%s.png", lesson->folder, picture), *bytes = svg_read_base64(path);
    if (!bytes)
        die(STATUS_USAGE, "%s cannot be read, and %s.md shows it", path, lesson->stem);
    char *data = memory_text("data:image/png;base64,%s", bytes);
    free(bytes);
    free(path);
    return data;
}

static void put_committed(FILE *out, const struct lesson *lesson, struct figures *figures, const char *picture,
                          const char *alt, bool is_of_lab)
{
    char *data = data_of(lesson, picture);
    figures->bytes += (long)strlen(data);
    fputs("<figure>\n<div class=\"chart plate\"><img alt=\"", out);
    html_text(out, alt);
    fprintf(out, "\" src=\"%s\"></div>\n", data);
    fprintf(out, "<figcaption><strong>The lesson's own picture</strong>%s.</figcaption>\n</figure>\n",
            is_of_lab ? "; this run has none" : "");
    free(data);
}

/* Replace a paragraph of pictures and the caption that follows. Return true if there was a caption; its node was released. */
static bool fill_pictures(struct lesson *lesson, const struct lab_findings *findings, struct figures *figures,
                          cmark_node *paragraph)
{
    char *html = NULL;
    size_t size = 0;
    FILE *out = memory_stream(&html, &size);
    for (cmark_node *child = cmark_node_first_child(paragraph); child; child = cmark_node_next(child)) {
        if (cmark_node_get_type(child) != CMARK_NODE_IMAGE)
            continue;
        char *picture = picture_of(child), *alt = markdown_text(child);
        if (!picture)
            html_text(out, alt); /* external picture: nothing is fetched */
        else if (!put_of_run(out, findings, figures, picture, alt))
            put_committed(out, lesson, figures, picture, alt, findings != NULL);
        free(picture);
        free(alt);
    }
    cmark_node *caption = cmark_node_next(paragraph);
    bool has_caption = caption && cmark_node_get_type(caption) == CMARK_NODE_PARAGRAPH &&
                       markdown_holds_only(caption, CMARK_NODE_EMPH);
    if (has_caption) {
        char *said = markdown_text(caption);
        fputs("<p class=\"note\">Numbers in the text below are those of the lesson's own run: ", out);
        html_text(out, said);
        fputs("</p>\n", out);
        free(said);
        cmark_node_free(caption);
    }
    fclose(out);
    markdown_replace(paragraph, html);
    free(html);
    return has_caption;
}

/* Embed pictures within text or tables; replace an external picture by its alternative text. */
static void fill_single_pictures(struct lesson *lesson)
{
    struct markdown_nodes images = markdown_find(lesson->document, "image");
    for (int i = 0; i < images.count; i++) {
        char *picture = picture_of(images.at[i]);
        if (picture) {
            char *data = data_of(lesson, picture);
            cmark_node_set_url(images.at[i], data);
            free(data);
        } else {
            markdown_unwrap(images.at[i]);
        }
        free(picture);
    }
    free(images.at);
}

/* --- tables, links ----------------------------------------------------------------------------------------------- */

/* Return, in new memory, the word after "this run:" in an HTML comment; NULL for other blocks. */
static char *table_asked(cmark_node *block)
{
    static const char begin[] = "<!-- this run:";
    const char *text = cmark_node_get_literal(block);
    if (strncmp(text, begin, sizeof begin - 1) != 0)
        return NULL;
    text += sizeof begin - 1;
    text += strspn(text, " ");
    return memory_text("%.*s", (int)strcspn(text, " \n"), text);
}

static bool put_table(FILE *out, const struct lesson *lesson, const struct lab_findings *findings,
                      const struct csv_table *claims, struct figures *figures, const char *asked)
{
    if (strcmp(asked, "claims") == 0)
        return verdicts_of_lab(out, claims, lesson->stem);
    for (int i = 0; findings && i < findings->count; i++) {
        const struct finding *finding = &findings->at[i];
        bool are_cases = strcmp(asked, "cases") == 0;
        if (are_cases)
            tables_cases(out, finding);
        if (are_cases || tables_other(out, finding, asked)) {
            figure_note(figures, finding, asked);
            return true;
        }
    }
    return false;
}

static void fill_table(const struct lesson *lesson, const struct lab_findings *findings, const struct csv_table *claims,
                       struct figures *figures, cmark_node *block)
{
    char *asked = table_asked(block), *html = NULL;
    if (!asked)
        return;
    size_t size = 0;
    FILE *out = memory_stream(&html, &size);
    if (!put_table(out, lesson, findings, claims, figures, asked)) {
        bool was_run = findings && findings->count > 0;
        fprintf(out, "<p class=\"note\">This run's table of %s comes here; %s.</p>\n", asked,
                was_run ? "it wrote none" : "the lab was not run yet");
    }
    fclose(out);
    markdown_replace(block, html);
    free(html);
    free(asked);
}

static bool has_page(const struct lesson *all, int count, const char *stem, size_t length)
{
    for (int i = 0; i < count; i++)
        if (strlen(all[i].stem) == length && strncmp(all[i].stem, stem, length) == 0)
            return true;
    return false;
}

static void link_one(const struct lesson *all, int count, cmark_node *link)
{
    const char *url = cmark_node_get_url(link);
    url += strncmp(url, "./", 2) == 0 ? 2 : 0;
    size_t length = strcspn(url, ".#");
    if (url[0] == '#' || strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0)
        return;
    if (strncmp(url + length, ".md", 3) == 0 && has_page(all, count, url, length)) {
        char *page = memory_text("%.*s.html%s", (int)length, url, url + length + strlen(".md"));
        cmark_node_set_url(link, page);
        free(page);
    } else if (strcmp(url, "README.md") == 0) {
        cmark_node_set_url(link, "index.html");
    } else {
        markdown_unwrap(link);
    }
}

void lesson_link(struct lesson *lesson, const struct lesson *all, int count)
{
    struct markdown_nodes links = markdown_find(lesson->document, "link");
    for (int i = 0; i < links.count; i++)
        link_one(all, count, links.at[i]);
    free(links.at);
}

/* Return, in new memory, GitHub's anchor of a heading: "3. Machine and model" gives 3-machine-and-model. */
static char *name_of(cmark_node *heading)
{
    char *text = markdown_text(heading), *to = text;
    for (const char *from = text; *from; from++)
        if (*from == ' ')
            *to++ = '-';
        else if (isalnum((unsigned char)*from) || strchr("-_", *from) || (unsigned char)*from >= 0x80)
            *to++ = (char)tolower((unsigned char)*from);
    *to = '\0';
    return text;
}

/* Add an anchor to each heading. The second of equal headings is name-1, and so on. */
static void name_headings(struct lesson *lesson)
{
    struct markdown_nodes headings = markdown_find(lesson->document, "heading");
    char **names = memory_new((size_t)headings.count + 1, sizeof *names);
    for (int i = 0; i < headings.count; i++) {
        int before = 0;
        names[i] = name_of(headings.at[i]);
        for (int j = 0; j < i; j++)
            before += strcmp(names[j], names[i]) == 0;
        char *html =
            before ? memory_text("<a id=\"%s-%d\"></a>", names[i], before) : memory_text("<a id=\"%s\"></a>", names[i]);
        cmark_node *anchor = cmark_node_new(CMARK_NODE_HTML_INLINE);
        cmark_node_set_literal(anchor, html);
        cmark_node_prepend_child(headings.at[i], anchor);
        free(html);
    }
    for (int i = 0; i < headings.count; i++)
        free(names[i]);
    free(names);
    free(headings.at);
}

/* --- whole lesson --------------------------------------------------------------------------------------------------- */

void lesson_put(FILE *out, struct lesson *lesson, const struct lab_findings *findings, const struct csv_table *claims,
                struct figures *figures)
{
    struct markdown_nodes paragraphs = markdown_find(lesson->document, "paragraph");
    struct markdown_nodes blocks = markdown_find(lesson->document, "html_block");
    struct markdown_nodes tables = markdown_find(lesson->document, "table");
    name_headings(lesson);
    for (int i = 0; i < tables.count; i++) {
        cmark_node_insert_before(tables.at[i], markdown_block("<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
                                                              "aria-label=\"table\">"));
        cmark_node_insert_after(tables.at[i], markdown_block("</div>"));
    }
    for (int i = 0; i < blocks.count; i++)
        fill_table(lesson, findings, claims, figures, blocks.at[i]);
    for (int i = 0; i < paragraphs.count; i++)
        if (markdown_holds_only(paragraphs.at[i], CMARK_NODE_IMAGE))
            i += fill_pictures(lesson, findings, figures, paragraphs.at[i]);
    fill_single_pictures(lesson);
    char *html = markdown_html(lesson->document);
    fputs(html, out);
    free(html);
    free(paragraphs.at);
    free(blocks.at);
    free(tables.at);
}
