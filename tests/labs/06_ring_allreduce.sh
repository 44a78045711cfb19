# Facts for tests (facts.sh) about lab 06.
# shellcheck shell=bash disable=SC2034
cases=4 asked=by_gather other=by_ring
reordered=.
table=(sweep.csv bytes ring_ms)
refused=(--sweep-mb -1)
toy+=(--sweep-mb 1)
smallest=(--cases by_gather --cases by_ring --input-dim 1 --sweep-mb 0)
drawn=(by_gather by_ring) shortest=(--sweep-mb 1) longest=(--sweep-mb 64)
what_if_ms=45.0 # all ranks are alike: the case's own step
charted=('sweep gather' 'sweep doubling' 'sweep ring' 'sweep library' 'sweep crossover predicted at ')
