/* device_cpu_layer_norm: the loops of pointwise.h's LAYER_NORM, which go row by row, in both storages. */
#ifndef LOCKSTEP_DEVICE_CPU_LAYER_NORM_H
#define LOCKSTEP_DEVICE_CPU_LAYER_NORM_H

#include "device/pointwise.h"

void layer_norm_forward(const struct pointwise *call);
void layer_norm_backward(const struct pointwise_back *call);

#endif
