/* svg: embeds gnuplot's charts in a page. */
#ifndef LOCKSTEP_SVG_H
#define LOCKSTEP_SVG_H

#include <stdio.h>

/* Return, in new memory, a chart prepared for a page: without background, size and superfluous blanks. Element ids begin with
 * `prefix`, to be unique within the page. Black, white and greys become the page's colours (--ink, --paper …), so that the chart
 * is legible on a dark page. `alt` is the text alternative. NULL if the file is missing or incomplete. */
char *svg_read(const char *path, const char *prefix, const char *alt);

/* Return the size of a file in bytes; -1 if missing. */
long svg_size(const char *path);

/* Return a file in base64, in new memory; NULL if missing. */
char *svg_read_base64(const char *path);

#endif
