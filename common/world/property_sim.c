#include "world/property_sim.h"

#include <stdlib.h>
#include <string.h>
#ifndef SIMGRID_LISTS_NAMES
#include <xbt/dict.h>
#endif

/* SimGrid 4 puts the file's outermost zone into its own zone "_world_". In earlier versions the file's zone is the root. */
static sg_netzone_t find_zone(void)
{
    sg_netzone_t root = sg_zone_get_root();
#ifdef SIMGRID_LISTS_ZONES
    int count = 0;
    if (strcmp(sg_zone_get_name(root), "_world_") == 0) {
        sg_netzone_t *children = sg_zone_get_childs(root, &count);
        if (count == 1)
            root = children[0];
        free(children);
    }
#endif
    return root;
}

sg_netzone_t property_zone(void)
{
    static sg_netzone_t
        zone; /* static: property_of() asks for each host, and SimGrid copies its list of zones each time */
    if (!zone)
        zone = find_zone();
    return zone;
}

const char *property_of(sg_host_t host, const char *name)
{
    const char *own = sg_host_get_property_value(host, name);
    return own ? own : sg_zone_get_property_value(property_zone(), name);
}

#ifdef SIMGRID_LISTS_NAMES
void property_each(sg_host_t host, void (*visit)(sg_host_t host, const char *name, const char *value))
{
    const char **names = sg_host_get_property_names(host, NULL); /* free the list, but not the names */
    for (const char **name = names; name && *name; name++)
        visit(host, *name, sg_host_get_property_value(host, *name));
    free(names);
}
#else
void property_each(sg_host_t host, void (*visit)(sg_host_t host, const char *name, const char *value))
{
    xbt_dict_t properties = sg_host_get_properties(host); /* a copy; free it */
    xbt_dict_cursor_t cursor = NULL;
    const char *name = NULL;
    void *value = NULL;
    xbt_dict_foreach(properties, cursor, name, value)
    {
        visit(host, name, value);
    }
    xbt_dict_free(&properties);
}
#endif
