# Facts for tests (facts.sh) about lab 02.
# shellcheck shell=bash disable=SC2034
cases=13 asked=barrier_ws4 other=barrier_busy
cycles=(every_n:4)
refused=(--barrier-every 0)
toy+=(--barrier-sleep-ms 2)
smallest=(--cases barrier_ws4 --input-dim 1 --barrier-sleep-ms 0)
drawn=(barrier_ws4 sleep_helper) shortest=(--barrier-sleep-ms 0) longest=(--barrier-sleep-ms 5000)
what_if_ms=34.0 # the barrier's two messages stay
