/* train: the headers that a training step needs. A lab includes this and lab.h, nothing else. */
#ifndef LOCKSTEP_TRAIN_H
#define LOCKSTEP_TRAIN_H

#include "base/memory.h"
#include "card/sweep.h"
#include "card/sweep_table.h"
#include "collective/buckets.h"
#include "collective/collective.h"
#include "collective/p2p.h"
#include "device/device.h"
#include "model/sequence_loader.h"
#include "model/sequence_recipe.h"
#include "model/stall.h"
#include "model/token_table.h"
#include "model/trainer.h"

enum { MIB = 1 << 20 };

#endif
