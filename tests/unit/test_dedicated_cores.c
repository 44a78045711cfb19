#include "card/dedicated_cores.h"

#include "support/folder.h"
#include "support/unit.h"

#include <stdbool.h>
#include <stddef.h>

static const char FILE_NAME[] = "dedicated-cores.xml";

static bool serves(const char *folder, struct dedicated_cores wanted)
{
    char *path = dedicated_cores_find(folder, FILE_NAME, &wanted);
    const bool is_there = path != NULL;
    free(path);
    return is_there;
}

/* Labs take turns in one results folder. A lab with fewer ranks or smaller messages than an earlier one must not replace its platform file:
 * the machine cards of all labs so far would be of another platform, and measured again. */
TEST_IN_FOLDER(a_file_serves_fewer_ranks_and_smaller_messages)
{
    const char *folder = *state;
    assert_false(serves(folder, (struct dedicated_cores){ 4, 0, 1e6, NULL }));
    free(dedicated_cores_write(folder, FILE_NAME, &(struct dedicated_cores){ 4, 0, 1e6, NULL }));
    assert_true(serves(folder, (struct dedicated_cores){ 4, 0, 1e6, NULL }));
    assert_true(serves(folder, (struct dedicated_cores){ 1, 0, 0, NULL }));
    assert_true(serves(folder, (struct dedicated_cores){ 3, 0, 5e5, NULL }));
    assert_false(serves(folder, (struct dedicated_cores){ 5, 0, 1e6, NULL }));
    assert_false(serves(folder, (struct dedicated_cores){ 4, 0, 2e6, NULL }));
    assert_false(serves(folder, (struct dedicated_cores){ 4, 2, 1e6, NULL }));
}
