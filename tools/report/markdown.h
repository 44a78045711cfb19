/* markdown: parses Markdown into a tree, with cmark-gfm, GitHub's own library. */
#ifndef LOCKSTEP_MARKDOWN_H
#define LOCKSTEP_MARKDOWN_H

#include <stdbool.h>

#include <cmark-gfm.h>

/* Parse a file, with GitHub's tables. End the program if it cannot be read. Release with cmark_node_free(). */
cmark_node *markdown_read(const char *path);

/* Return a node as HTML. Raw HTML is kept: lessons collapse answers with <details>. Free it. */
char *markdown_html(cmark_node *node);

/* Return the plain text of a node. Free it. */
char *markdown_text(cmark_node *node);

bool markdown_is_heading(cmark_node *node, int level);

/* True if a paragraph contains only nodes of this kind. */
bool markdown_holds_only(cmark_node *paragraph, cmark_node_type kind);

/* List all nodes of a type ("image", "table") in order; the tree may be changed afterwards. Free `at`. */
struct markdown_nodes {
    cmark_node **at;
    int count;
};
struct markdown_nodes markdown_find(cmark_node *tree, const char *type);

/* Replace a node by a block of HTML; release the node. */
void markdown_replace(cmark_node *node, const char *html);
cmark_node *markdown_block(const char *html);

/* Replace a node by its children; release the node. */
void markdown_unwrap(cmark_node *node);

#endif
