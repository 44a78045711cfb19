/* replay.c: main() of a target without a fuzzer. Runs the target on each file of the given folders. */
#include "fuzz.h"

#include "base/files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int read = 0;
    for (int i = 1; i < argc; i++) {
        struct dirent **entries;
        int count = scandir(argv[i], &entries, NULL, alphasort);
        for (int e = 0; e < count; e++) {
            char path[4096];
            size_t size = 0;
            snprintf(path, sizeof path, "%s/%s", argv[i], entries[e]->d_name);
            char *bytes = entries[e]->d_name[0] == '.' ? NULL : file_read(path, &size);
            if (bytes) {
                printf("%s\n", path);
                fflush(stdout); /* so that after a crash the last printed file is the cause */
                LLVMFuzzerTestOneInput((const uint8_t *)bytes, size);
                read++;
            }
            free(bytes);
            free(entries[e]);
        }
        if (count >= 0)
            free(entries);
    }
    printf("%d inputs read\n", read);
    return read > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
