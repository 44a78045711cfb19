/* markdown: a text in Markdown as a tree, by cmark-gfm, GitHub's own library. */
#ifndef LOCKSTEP_MARKDOWN_H
#define LOCKSTEP_MARKDOWN_H

#include <stdbool.h>

#include <cmark-gfm.h>

/* Reads a file, GitHub's tables included; ends the program when it cannot be read. Release with cmark_node_free(). */
cmark_node *markdown_read(const char *path);

/* A node as HTML; raw HTML in it stays, since lessons fold answers with <details>. Free it. */
char *markdown_html(cmark_node *node);

/* Its text without marks. Free it. */
char *markdown_text(cmark_node *node);

bool markdown_is_heading(cmark_node *node, int level);

/* Whether a paragraph holds nodes of that kind and nothing else. */
bool markdown_holds_only(cmark_node *paragraph, cmark_node_type kind);

/* All nodes of a type ("image", "table"), in order; the tree may then be changed. Free `at`. */
struct markdown_nodes {
    cmark_node **at;
    int count;
};
struct markdown_nodes markdown_find(cmark_node *tree, const char *type);

/* A block of HTML in the place of a node, which is released. */
void markdown_replace(cmark_node *node, const char *html);
cmark_node *markdown_block(const char *html);

/* The node's children in its place. */
void markdown_unwrap(cmark_node *node);

#endif
