/* svg: a chart of gnuplot's inside a page. */
#ifndef LOCKSTEP_SVG_H
#define LOCKSTEP_SVG_H

#include <stdio.h>

/* The chart of that path, made fit for a page: without its own background, size and blanks; names of its parts begin with
 * `prefix`, so that two charts of a page do not meet; black, white and greys are the page's (--ink, --paper …), so that it
 * is read on a dark page too. `alt` says in words what is to be seen. New memory; NULL when there is no such file,
 * or only a part of it. */
char *svg_read(const char *path, const char *prefix, const char *alt);

/* Bytes of the file; -1 when there is none. */
long svg_size(const char *path);

/* A picture of that path, in base64. New memory; NULL when there is no such file. */
char *svg_read_base64(const char *path);

#endif
