#include "model/token_table.h"

void token_table_batches(struct csv *csv, const char *name, const struct batch_schedule *schedule, int steps)
{
    for (int step = 0; step < steps; step++)
        for (int rank = 0; rank < schedule->ranks; rank++) {
            const struct token_batch *batch = batch_schedule_batch(schedule, rank, step);
            do {
                csv_text(csv, "case", name);
                csv_integer(csv, "step", step);
                csv_integer(csv, "rank", rank);
                csv_integer(csv, "useful_tokens", batch->useful);
                csv_integer(csv, "padded_tokens", batch->padded);
                csv_integer(csv, "samples", batch->samples);
                csv_integer(csv, "max_len", batch->longest);
            } while (csv_end_row(csv));
        }
}

void token_table_epoch(struct csv *csv, const struct token_epoch *epoch)
{
    csv_index(csv, "epoch_steps", epoch ? epoch->steps : -1);
    csv_index(csv, "most_batches", epoch ? epoch->most_batches : -1);
    csv_index(csv, "dropped_samples", epoch ? epoch->dropped_texts : -1);
    csv_index(csv, "dropped_tokens", epoch ? epoch->dropped_tokens : -1);
}

void token_table_means(struct csv *csv, const struct batch_schedule *schedule)
{
    const struct token_epoch epoch = token_epoch_of(schedule);
    struct token_means means = batch_schedule_means(schedule, 0, epoch.steps);
    token_table_epoch(csv, &epoch);
    csv_number(csv, "useful_tokens", means.useful);
    csv_number(csv, "padded_tokens", means.padded);
    csv_number(csv, "padding_ratio", means.padding_ratio);
    csv_number(csv, "rank_token_spread", means.spread);
    csv_number(csv, "most_padded_tokens", means.most_padded);
    csv_number(csv, "padded_balance", means.padded_balance);
    csv_number(csv, "pairs_balance", means.pairs_balance);
    csv_number(csv, "unequal_weight", means.unequal_weight);
}
