/* test_rank_name.c: test which rank a file's name gives. */
#include "blame/rank_name.h"
#include "support/unit.h"

TEST(test_names)
{
    static const struct {
        const char *path;
        int rank;
    } files[] = {
        { "rank0.json", 0 },
        { "job/rank12.json.gz", 12 },
        { "sampled_rank-0.json.gz", 0 }, /* as in the tests of HolisticTraceAnalysis */
        { "/tmp/nccl_trace_rank_3", 3 }, /* TORCH_NCCL_DEBUG_INFO_TEMP_FILE's default */
        { "dump_rank3.json", 3 },
        { "rank5_of_8.json", 5 },
        { "rank1_again_rank2.json", 2 },
        { "rank007.json", 7 },
        { "rank1/rank2/trace3.json", 3 }, /* folders do not count */
        { "rank3/trace.json", -1 },
        { "per_rank_dump4.json", 4 }, /* no number behind `rank` */
        { "dump7.json", 7 },
        { "dump7", 7 },
        { "host3_worker_12.2.json", 12 },
        { "job.5.json", -1 }, /* a time stands behind dots */
        { "trace.json", -1 },
        { "", -1 },
        { "7", 7 },
        { "node1_4567.1700000000000.pt.trace.json", -1 }, /* a process */
        { "rank3.1700000000000.pt.trace.json.gz", 3 },    /* worker_name="rank3" */
        { "rank1000000.json", 1000000 },
        { "rank1000001.json", -1 },
        { "rank99999999999999999999.json", -1 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        print_message("%s\n", files[i].path);
        assert_int_equal(rank_of_name(files[i].path), files[i].rank);
    }
}
