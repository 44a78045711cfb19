# Facts for tests (facts.sh) about lab @NN@.
# shellcheck shell=bash disable=SC2034
cases=3 asked=fault other=seldom
cycles=(seldom:4)
refused=(--stall-ms -1)
toy+=(--stall-ms 4)
smallest=(--cases fault --input-dim 1 --stall-ms 0)
drawn=(fault seldom) shortest=(--stall-ms 0) longest=(--stall-ms 5000)
what_if_ms=32.0
