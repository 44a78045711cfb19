# Facts for tests (facts.sh) about lab 05.
# shellcheck shell=bash disable=SC2034
cases=11 baseline=fixed_sample_ws4 asked=variable_sample_ws4 other=variable_bucket_ws4
changed='^[^f]' uneven='token|filled' reference='^fixed' one_loss='variable_sample_ws4 packed'
quick_window=10
refused=(--num-heads 3)
toy=(--batch-size 2 --hidden-dim 8 --num-heads 2 --vocab-size 40 --min-seq-len 3 --max-seq-len 12 --fixed-seq-len 6
    --max-tokens-per-batch 30)
smallest=(--cases variable_token_ws4 --cases packed --num-heads 1 --vocab-size 2 --min-seq-len 1 --max-seq-len 1
    --fixed-seq-len 1 --max-tokens-per-batch 1)
largest=(--vocab-size 1048576)
drawn=(variable_sample_ws4 global_bucket) shortest=(--batch-size 1) longest=(--batch-size 64) few_steps=(--quick) judged_steps=(--quick)
what_if_ms=28.5 # from the median rank's batches
charted=('timeline padding' 'timeline tokens of this step' 'timeline + [0-9]* padding' 'strategies_epoch token budget')
