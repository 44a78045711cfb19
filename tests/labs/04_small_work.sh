# Facts for tests (facts.sh) about lab 04.
# shellcheck shell=bash disable=SC2034
cases=10 baseline=weak_ws4 asked=small_ws4 other=small_accumulate
on_one_rank='ws1$' on_half_the_ranks='ws2$' reference='ws1$' micro_batches='accumulate|sum_each'
reordered='strong_ws[12]|accumulate|sum_each' changed='weak_ws[12]|small_ws4|larger'
refused=(--micro-batches 3)
smallest=(--cases small_ws4 --cases larger_batch --input-dim 1 --micro-batches 1 --larger 1)
drawn=(weak_ws1 weak_ws2 small_ws4) shortest=(--batch-size 4) longest=(--batch-size 4096)
what_if_ms=22.4
charted=('step_over_batch crossover predicted at B = ' 'step_over_batch 4 ranks, B samples each'
    'step_over_batch one rank, 4 × B samples' 'timeline  for 512 samples on 4 ranks')
