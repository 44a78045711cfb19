# Facts for tests (facts.sh) about lab 01.
# shellcheck shell=bash disable=SC2034
cases=17 asked=skew_ws4 other=busy
reordered='_share$' changed=every_k cycles=(every_k:4)
refused=(--sleep-ms -1)
toy+=(--sleep-ms 4)
smallest=(--cases skew_ws4 --input-dim 1 --sleep-ms 0)
drawn=(skew_ws4 skew_prefetch) shortest=(--sleep-ms 0) longest=(--sleep-ms 5000)
what_if_ms=32.0
judged_steps=() # stalls of random ranks need many
