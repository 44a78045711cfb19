# Facts for tests (facts.sh) about lab 03.
# shellcheck shell=bash disable=SC2034
cases=9 asked=comm_ws4 other=comm_buckets
reordered='bucket$|ddp' rounded=bf16 cycles=(every_k:4) inseparable=no_progress
table=(sweep.csv bytes time_ms)
refused=(--bucket-mb 0)
toy+=(--comm-mb 1 --bucket-mb 1 --sweep-mb 1)
smallest=(--cases comm_ws4 --cases comm_buckets --input-dim 1 --comm-mb 1 --bucket-mb 1 --sweep-mb 0)
drawn=(comm_ws4 comm_buckets) shortest=(--comm-mb 1) longest=(--comm-mb 256)
what_if_ms=70.0
charted=('timeline buckets' 'sweep α = ' 'sweep β = ' 'sweep gradients, ' 'sweep extra message, ' 'sweep busbw')
