/* orphans: ends ranks that outlived their launcher. This process becomes the parent of such ranks, as their subreaper. */
#ifndef LOCKSTEP_ORPHANS_H
#define LOCKSTEP_ORPHANS_H

enum { CHILDREN_MOST = 4096 };

/* Children that existed before the job. A program that became this one by exec may have left some. */
struct earlier_children {
    int count, pids[CHILDREN_MOST];
};

/* Make this process the parent of orphans. Return its children so far. */
struct earlier_children orphans_adopt(void);

/* Kill all children except the earlier ones. Call this after the launcher has ended. */
void orphans_end(const struct earlier_children *earlier);

#endif
