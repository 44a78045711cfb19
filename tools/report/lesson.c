#include "lesson.h"

#include "die.h"
#include "html.h"
#include "memory.h"
#include "svg.h"
#include "tables.h"

#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MOST = 512 }; /* of one kind in a lesson */

/* Raw HTML is let through: lessons fold answers with <details>. */
static const int render_options = CMARK_OPT_UNSAFE;

/* --- reading ----------------------------------------------------------------------------------------------------- */

static cmark_node *parse(const char *path)
{
    FILE *in = fopen(path, "rb");
    if (!in)
        die(STATUS_USAGE, "%s cannot be read: %s", path, strerror(errno));
    cmark_gfm_core_extensions_ensure_registered();
    cmark_parser *parser = cmark_parser_new(CMARK_OPT_DEFAULT);
    cmark_parser_attach_syntax_extension(parser, cmark_find_syntax_extension("table"));
    char bytes[65536];
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, in)) > 0;)
        cmark_parser_feed(parser, bytes, got);
    fclose(in);
    cmark_node *document = cmark_parser_finish(parser);
    cmark_parser_free(parser);
    return document;
}

static char *render(cmark_node *node)
{
    return cmark_render_html(node, render_options, NULL);
}

/* The text of a node without its marks. New memory. */
static char *plain_text(cmark_node *node)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cmark_iter *iter = cmark_iter_new(node);
    for (cmark_event_type event; (event = cmark_iter_next(iter)) != CMARK_EVENT_DONE;) {
        cmark_node *at = cmark_iter_get_node(iter);
        if (event != CMARK_EVENT_ENTER)
            continue;
        if (cmark_node_get_type(at) == CMARK_NODE_TEXT || cmark_node_get_type(at) == CMARK_NODE_CODE)
            fputs(cmark_node_get_literal(at), out);
        else if (cmark_node_get_type(at) == CMARK_NODE_SOFTBREAK)
            fputc(' ', out);
    }
    cmark_iter_free(iter);
    fclose(out);
    return text;
}

static bool is_heading(cmark_node *node, int level)
{
    return cmark_node_get_type(node) == CMARK_NODE_HEADING && cmark_node_get_heading_level(node) == level;
}

struct lesson lesson_open(const char *folder, const char *stem)
{
    char *path = memory_text("%s/%s.md", folder, stem);
    struct lesson lesson = { .folder = memory_text("%s", folder),
                             .stem = memory_text("%s", stem),
                             .document = parse(path) };
    cmark_node *first = cmark_node_first_child(lesson.document);
    if (!first || !is_heading(first, 1))
        die(STATUS_USAGE, "%s does not begin with a heading, # …", path);
    lesson.title = plain_text(first);
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

char *lesson_section(const struct lesson *lesson, int n)
{
    cmark_node *node = cmark_node_first_child(lesson->document);
    for (; node; node = cmark_node_next(node))
        if (is_heading(node, 2) && --n == 0)
            break;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (node = node ? cmark_node_next(node) : NULL; node && !is_heading(node, 2); node = cmark_node_next(node))
        if (cmark_node_get_type(node) == CMARK_NODE_PARAGRAPH) {
            char *html = render(node);
            fputs(html, out);
            free(html);
        }
    fclose(out);
    return text;
}

/* --- what stands where ------------------------------------------------------------------------------------------- */

/* The nodes of a kind, in order; the document may then be changed. */
struct nodes {
    cmark_node *at[NODES_MOST];
    int count;
};

static struct nodes find_nodes(cmark_node *document, const char *type)
{
    struct nodes nodes = { 0 };
    cmark_iter *iter = cmark_iter_new(document);
    for (cmark_event_type event; (event = cmark_iter_next(iter)) != CMARK_EVENT_DONE;) {
        cmark_node *node = cmark_iter_get_node(iter);
        if (event == CMARK_EVENT_ENTER && strcmp(cmark_node_get_type_string(node), type) == 0 &&
            nodes.count < NODES_MOST)
            nodes.at[nodes.count++] = node;
    }
    cmark_iter_free(iter);
    return nodes;
}

/* "01_straggler_timeline" of img/01_straggler_timeline.png; NULL where it is no such picture. New memory. */
static char *picture_of(cmark_node *image)
{
    const char *url = cmark_node_get_url(image), *dot = strrchr(url, '.');
    if (strncmp(url, "img/", 4) != 0 || !dot || strcmp(dot, ".png") != 0)
        return NULL;
    return memory_text("%.*s", (int)(dot - url - 4), url + 4);
}

/* The chart of a picture's name, which begins with the lab's; else NULL. Points into the name. */
static const char *chart_in(const char *picture, const char *lab)
{
    size_t length = strlen(lab);
    return strncmp(picture, lab, length) == 0 && picture[length] == '_' ? picture + length + 1 : NULL;
}

char *lesson_first_chart(const struct lesson *lesson)
{
    struct nodes images = find_nodes(lesson->document, "image");
    char *picture = images.count > 0 ? picture_of(images.at[0]) : NULL;
    const char *chart = picture ? chart_in(picture, lesson->stem) : NULL;
    char *found = chart ? memory_text("%s", chart) : NULL;
    free(picture);
    return found;
}

static bool holds_only(cmark_node *paragraph, cmark_node_type kind)
{
    bool has_any = false;
    for (cmark_node *child = cmark_node_first_child(paragraph); child; child = cmark_node_next(child)) {
        if (cmark_node_get_type(child) == CMARK_NODE_SOFTBREAK)
            continue;
        if (cmark_node_get_type(child) != kind)
            return false;
        has_any = true;
    }
    return has_any;
}

static cmark_node *new_html(const char *html)
{
    cmark_node *node = cmark_node_new(CMARK_NODE_HTML_BLOCK);
    cmark_node_set_literal(node, html);
    return node;
}

static void replace(cmark_node *node, const char *html)
{
    cmark_node_replace(node, new_html(html));
    cmark_node_free(node);
}

/* --- pictures ---------------------------------------------------------------------------------------------------- */

/* Charts of no lab: where the results have them. */
static char *path_of_other(const char *picture)
{
    if (strcmp(picture, "blog_machine") == 0)
        return memory_text("platforms/blog/%s.svg", picture);
    return strncmp(picture, "scale_", 6) == 0 ? memory_text("scale/%s.svg", picture) : NULL;
}

static bool put_of_run(FILE *out, const struct filling *filling, struct figures *figures, const char *picture,
                       const char *alt)
{
    const char *chart = filling->findings ? chart_in(picture, filling->findings->lab) : NULL;
    bool was_put = false;
    for (int i = 0; chart && i < filling->findings->count && !was_put; i++)
        was_put = figure_put(out, figures, &filling->findings->at[i], chart, true);
    char *path = chart ? NULL : path_of_other(picture);
    if (path)
        was_put = figure_put_path(out, figures, path, alt, "<strong>This run, simulated.</strong>");
    free(path);
    return was_put;
}

static void put_committed(FILE *out, const struct lesson *lesson, const char *picture, const char *alt)
{
    char *path = memory_text("%s/img/%s.png", lesson->folder, picture), *bytes = svg_read_base64(path);
    if (!bytes)
        die(STATUS_USAGE, "%s cannot be read, and %s.md shows it", path, lesson->stem);
    fputs("<figure>\n<div class=\"chart plate\"><img alt=\"", out);
    html_text(out, alt);
    fprintf(out, "\" src=\"data:image/png;base64,%s\"></div>\n", bytes);
    fputs("<figcaption><strong>The lesson's own picture</strong>; this run has none.</figcaption>\n</figure>\n", out);
    free(bytes);
    free(path);
}

/* A paragraph of pictures, and the caption behind it; returns whether there was one, which is gone. */
static bool fill_pictures(struct lesson *lesson, const struct filling *filling, struct figures *figures,
                          cmark_node *paragraph)
{
    char *html = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&html, &size);
    for (cmark_node *child = cmark_node_first_child(paragraph); child; child = cmark_node_next(child)) {
        char *picture = cmark_node_get_type(child) == CMARK_NODE_IMAGE ? picture_of(child) : NULL;
        char *alt = picture ? plain_text(child) : NULL;
        if (picture && !put_of_run(out, filling, figures, picture, alt))
            put_committed(out, lesson, picture, alt);
        free(picture);
        free(alt);
    }
    cmark_node *caption = cmark_node_next(paragraph);
    bool has_caption =
        caption && cmark_node_get_type(caption) == CMARK_NODE_PARAGRAPH && holds_only(caption, CMARK_NODE_EMPH);
    if (has_caption) {
        char *said = plain_text(caption);
        fputs("<p class=\"note\">Where this page tells numbers without saying whose, they are of the lesson's own "
              "pictures: ",
              out);
        html_text(out, said);
        fputs("</p>\n", out);
        free(said);
        cmark_node_free(caption);
    }
    fclose(out);
    replace(paragraph, html);
    free(html);
    return has_caption;
}

/* --- tables, links ----------------------------------------------------------------------------------------------- */

/* The word behind "this run:" in a comment; NULL where it is another one. New memory. */
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

static void fill_table(const struct lesson *lesson, const struct filling *filling, struct figures *figures,
                       cmark_node *block)
{
    char *asked = table_asked(block), *html = NULL;
    if (!asked)
        return;
    size_t size = 0;
    FILE *out = open_memstream(&html, &size);
    bool was_put = false;
    for (int i = 0; filling->findings && i < filling->findings->count && !was_put; i++) {
        const struct finding *finding = &filling->findings->at[i];
        was_put = strcmp(asked, "cases") == 0;
        if (was_put)
            tables_cases(out, finding);
        else if (strcmp(asked, "claims") != 0)
            was_put = tables_other(out, finding, asked);
        if (was_put)
            figure_note(figures, finding, asked);
    }
    if (strcmp(asked, "claims") == 0)
        was_put = tables_claims(out, filling->claims, lesson->stem);
    if (!was_put)
        fputs("<p class=\"note\">This run's table comes here; the lab was not run yet.</p>\n", out);
    fclose(out);
    replace(block, html);
    free(html);
    free(asked);
}

static bool has_page(const char *const *stems, const char *stem, size_t length)
{
    for (; *stems; stems++)
        if (strlen(*stems) == length && strncmp(*stems, stem, length) == 0)
            return true;
    return false;
}

/* Other lessons are pages; files of the source are not among the results, so that their names stay, and no way there. */
static void fill_link(const struct filling *filling, cmark_node *link)
{
    const char *url = cmark_node_get_url(link);
    size_t length = strcspn(url, ".#");
    if (strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0)
        return;
    if (strncmp(url + length, ".md", 3) == 0 && has_page(filling->stems, url, length)) {
        char *page = memory_text("%.*s.html%s", (int)length, url, url + length + strlen(".md"));
        cmark_node_set_url(link, page);
        free(page);
    } else if (strcmp(url, "README.md") == 0) {
        cmark_node_set_url(link, "index.html");
    } else {
        for (cmark_node *child; (child = cmark_node_first_child(link));)
            cmark_node_insert_before(link, child);
        cmark_node_free(link);
    }
}

/* Gives a heading the name that GitHub gives it: links lead there. "3. Machine and model" is 3-machine-and-model. */
static void name_heading(cmark_node *heading)
{
    char *text = plain_text(heading), *to = text;
    for (const char *from = text; *from; from++)
        if (*from == ' ')
            *to++ = '-';
        else if (isalnum((unsigned char)*from) || strchr("-_", *from) || (unsigned char)*from >= 0x80)
            *to++ = (char)tolower((unsigned char)*from);
    *to = '\0';
    char *html = memory_text("<a id=\"%s\"></a>", text);
    cmark_node *anchor = cmark_node_new(CMARK_NODE_HTML_INLINE);
    cmark_node_set_literal(anchor, html);
    cmark_node_prepend_child(heading, anchor);
    free(html);
    free(text);
}

void lesson_put(FILE *out, struct lesson *lesson, const struct filling *filling, struct figures *figures)
{
    struct nodes paragraphs = find_nodes(lesson->document, "paragraph");
    struct nodes blocks = find_nodes(lesson->document, "html_block");
    struct nodes tables = find_nodes(lesson->document, "table"), links = find_nodes(lesson->document, "link");
    struct nodes headings = find_nodes(lesson->document, "heading");
    for (int i = 0; i < headings.count; i++)
        name_heading(headings.at[i]);
    for (int i = 0; i < links.count; i++)
        fill_link(filling, links.at[i]);
    for (int i = 0; i < tables.count; i++) {
        cmark_node_insert_before(tables.at[i], new_html("<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                                                        "aria-label=\"table\">"));
        cmark_node_insert_after(tables.at[i], new_html("</div>"));
    }
    for (int i = 0; i < blocks.count; i++)
        fill_table(lesson, filling, figures, blocks.at[i]);
    for (int i = 0; i < paragraphs.count; i++)
        if (holds_only(paragraphs.at[i], CMARK_NODE_IMAGE))
            i += fill_pictures(lesson, filling, figures, paragraphs.at[i]);
    char *html = render(lesson->document);
    fputs(html, out);
    free(html);
}
