/* train: the headers that a training step needs. A lab includes this and lab.h, nothing else. */
#ifndef LOCKSTEP_TRAIN_H
#define LOCKSTEP_TRAIN_H

#include "analysis/block_results.h"
#include "base/evidence.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/stats.h"
#include "card/brief.h"
#include "card/gradient_costs.h"
#include "card/handoff.h"
#include "card/sweep.h"
#include "card/sweep_table.h"
#include "card/worker_queue.h"
#include "collective/buckets.h"
#include "collective/collective.h"
#include "collective/join.h"
#include "collective/low_rank.h"
#include "collective/p2p.h"
#include "collective/reducer.h"
#include "collective/zero.h"
#include "device/device.h"
#include "feed/batch_source.h"
#include "feed/batch_table.h"
#include "feed/ladder.h"
#include "feed/shard_make.h"
#include "feed/shard_map.h"
#include "feed/widen.h"
#include "model/branch_cost.h"
#include "model/sequence_loader.h"
#include "model/sequence_recipe.h"
#include "model/shape_bench.h"
#include "model/stall.h"
#include "model/student.h"
#include "model/token_table.h"
#include "model/trainer.h"
#include "model/worker_loader.h"
#include "world/async_helper.h"

enum { MIB = 1 << 20 };

#endif
