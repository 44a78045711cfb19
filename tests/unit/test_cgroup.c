/* test_cgroup.c: test limits of control groups, read from a test folder in place of /: version 2, version 1, both, and
 * containers. */
#include "base/cgroup.h"

#include "base/files.h"
#include "base/memory.h"
#include "support/unit.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static void put(const char *root, const char *folder, const char *name, const char *text)
{
    char *full = memory_text("%s/%s", root, folder);
    struct file file = file_begin(full, name);
    fputs(text, file.out);
    file_commit(&file);
    free(full);
}

TEST_IN_FOLDER(no_groups_are_no_limit)
{
    assert_true(isinf(cgroup_cpus(*state)));
    assert_true(isinf(cgroup_memory(*state)));
}

TEST_IN_FOLDER(the_tightest_of_a_group_and_those_above_holds)
{
    put(*state, "proc/self", "cgroup", "0::/a/b\n");
    put(*state, "sys/fs/cgroup/a/b", "memory.max", "max\n");
    put(*state, "sys/fs/cgroup/a/b", "memory.current", "1000\n");
    put(*state, "sys/fs/cgroup/a/b", "cpu.max", "max 100000\n");
    assert_true(isinf(cgroup_memory(*state)));
    assert_true(isinf(cgroup_cpus(*state)));
    put(*state, "sys/fs/cgroup/a", "memory.max", "9000000\n");
    put(*state, "sys/fs/cgroup/a", "memory.current", "5000000\n");
    put(*state, "sys/fs/cgroup/a", "cpu.max", "250000 100000\n");
    assert_true(cgroup_memory(*state) == 4e6);
    assert_true(cgroup_cpus(*state) == 2.5);
    put(*state, "sys/fs/cgroup/a/b", "memory.max", "2001000\n");
    put(*state, "sys/fs/cgroup/a/b", "cpu.max", "50000 100000\n");
    assert_true(cgroup_memory(*state) == 2e6);
    assert_true(cgroup_cpus(*state) == 0.5);
}

TEST_IN_FOLDER(pages_of_files_can_be_given_up)
{
    put(*state, "proc/self", "cgroup", "0::/\n");
    put(*state, "sys/fs/cgroup", "memory.max", "9000000\n");
    put(*state, "sys/fs/cgroup", "memory.current", "8000000\n");
    put(*state, "sys/fs/cgroup", "memory.stat", "anon 5\ninactive_file 2000000\nactive_file 500000\nfile 7\n");
    assert_true(cgroup_memory(*state) == 3.5e6);
    put(*state, "sys/fs/cgroup", "memory.current", "9900000\n");
    put(*state, "sys/fs/cgroup", "memory.stat", "inactive_file 0\n");
    assert_true(cgroup_memory(*state) == 0);
}

TEST_IN_FOLDER(a_container_sees_its_group_at_the_root)
{
    put(*state, "proc/self", "cgroup", "0::/docker/1234\n");
    put(*state, "sys/fs/cgroup", "memory.max", "3000000\n");
    put(*state, "sys/fs/cgroup", "memory.current", "1000000\n");
    put(*state, "sys/fs/cgroup", "cpu.max", "150000 100000\n");
    assert_true(cgroup_memory(*state) == 2e6);
    assert_true(cgroup_cpus(*state) == 1.5);
}

TEST_IN_FOLDER(version_1_has_a_hierarchy_for_each_controller)
{
    put(*state, "proc/self", "cgroup", "5:memory:/jobs/7\n4:cpuset:/\n3:cpu,cpuacct:/jobs\n0::/\n");
    put(*state, "sys/fs/cgroup/memory/jobs/7", "memory.limit_in_bytes", "9223372036854771712\n");
    put(*state, "sys/fs/cgroup/memory/jobs/7", "memory.usage_in_bytes", "1000000\n");
    put(*state, "sys/fs/cgroup/cpu/jobs", "cpu.cfs_quota_us", "-1\n");
    put(*state, "sys/fs/cgroup/cpu/jobs", "cpu.cfs_period_us", "100000\n");
    assert_true(isinf(cgroup_memory(*state)));
    assert_true(isinf(cgroup_cpus(*state)));
    put(*state, "sys/fs/cgroup/memory/jobs", "memory.limit_in_bytes", "8000000\n");
    put(*state, "sys/fs/cgroup/memory/jobs", "memory.usage_in_bytes", "7000000\n");
    put(*state, "sys/fs/cgroup/memory/jobs", "memory.stat", "inactive_file 1\ntotal_inactive_file 1000000\n");
    put(*state, "sys/fs/cgroup/cpu/jobs", "cpu.cfs_quota_us", "300000\n");
    assert_true(cgroup_memory(*state) == 2e6);
    assert_true(cgroup_cpus(*state) == 3);
}
