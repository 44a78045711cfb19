/* flight_json: a small JSON file as a tree, and its fields with their types checked. Every error ends the program with
 * STATUS_USAGE and one line that names file, field and reason. */
#ifndef LOCKSTEP_FLIGHT_JSON_H
#define LOCKSTEP_FLIGHT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yajl/yajl_tree.h>

/* Read a file. Refuse more than 256 MB, nesting of more than 64 levels, duplicate keys, and what is no JSON, such as NaN. Free
 * the tree with yajl_tree_free(). */
yajl_val flight_json_read(const char *path);

/* Return the field of an object; NULL if absent or null. */
yajl_val flight_json_field(yajl_val object, const char *key);

/* Return a field that must be there. `what`: "entry 17", for the message. */
yajl_val flight_json_need(const char *path, const char *what, yajl_val object, const char *key, yajl_type type);

/* Return a field as a whole number from `low` on, `otherwise` if it is absent. Numbers in quotes count. */
int64_t flight_json_whole(const char *path, const char *what, yajl_val object, const char *key, int64_t low,
                          int64_t otherwise);

/* Copy text, cut to `size`; letters that a terminal could take for commands become '?'. */
void flight_json_copy(char *to, size_t size, const char *text);

#endif
