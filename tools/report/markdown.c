#include "markdown.h"
#include "base/memory.h"

#include "base/die.h"
#include "base/files.h"

#include <cmark-gfm-core-extensions.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cmark_node *markdown_read(const char *path)
{
    size_t size = 0;
    char *text = file_read(path, &size);
    if (!text)
        die(STATUS_USAGE, "%s cannot be read: %s", path, strerror(errno));
    cmark_gfm_core_extensions_ensure_registered();
    cmark_parser *parser = cmark_parser_new(CMARK_OPT_DEFAULT);
    cmark_parser_attach_syntax_extension(parser, cmark_find_syntax_extension("table"));
    cmark_parser_feed(parser, text, size);
    free(text);
    cmark_node *document = cmark_parser_finish(parser);
    cmark_parser_free(parser);
    return document;
}

char *markdown_html(cmark_node *node)
{
    return cmark_render_html(node, CMARK_OPT_UNSAFE, NULL);
}

char *markdown_text(cmark_node *node)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = memory_stream(&text, &size);
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

bool markdown_is_heading(cmark_node *node, int level)
{
    return cmark_node_get_type(node) == CMARK_NODE_HEADING && cmark_node_get_heading_level(node) == level;
}

bool markdown_holds_only(cmark_node *paragraph, cmark_node_type kind)
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

struct markdown_nodes markdown_find(cmark_node *tree, const char *type)
{
    struct markdown_nodes nodes = { 0 };
    cmark_iter *iter = cmark_iter_new(tree);
    for (cmark_event_type event; (event = cmark_iter_next(iter)) != CMARK_EVENT_DONE;) {
        cmark_node *node = cmark_iter_get_node(iter);
        if (event != CMARK_EVENT_ENTER || strcmp(cmark_node_get_type_string(node), type) != 0)
            continue;
        nodes.at = memory_grow(nodes.at, ((size_t)nodes.count + 1) * sizeof(cmark_node *));
        nodes.at[nodes.count++] = node;
    }
    cmark_iter_free(iter);
    return nodes;
}

cmark_node *markdown_block(const char *html)
{
    cmark_node *node = cmark_node_new(CMARK_NODE_HTML_BLOCK);
    cmark_node_set_literal(node, html);
    return node;
}

void markdown_replace(cmark_node *node, const char *html)
{
    cmark_node_replace(node, markdown_block(html));
    cmark_node_free(node);
}

void markdown_unwrap(cmark_node *node)
{
    for (cmark_node *child; (child = cmark_node_first_child(node));)
        cmark_node_insert_before(node, child);
    cmark_node_free(node);
}
