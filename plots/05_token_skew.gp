# 05_token_skew: charts of lab 05, texts of different length
#
#     gnuplot -e "results='results/05_token_skew'" plots/05_token_skew.gp
#
# Draws into the folder of the results: breakdown, timeline and step_time; the five charts of the post, from this machine's
# tables; strategies_epoch, all strategies over a whole epoch. blog='FILE' gives other published values.
lab = "05_token_skew"
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen(lab.".gp")]."."

timeline_cases = "fixed_sample_ws4 epoch_sample epoch_bucket"
pathology(case) = case eq "fixed_sample_ws4" ? "none" : strstrt(case, "epoch") ? "epoch" : strstrt(case, "packed") ? "packed" : "padded"
breakdown_title = "Padding is computed, not waited for: it is part of compute"
timeline_title = "Padding costs time, and the longest batch delays all ranks"
step_time_title = "What a step costs, by the texts that each rank gets"
shows_more = 0                          # a longer step may train on more tokens
load plots."/charts.gp"

# Charts with `count` rows of equal height, named on the left.
left = 170
fresh_rows(count) = sprintf("set yrange [%d.6 : 0.4]; set ytics ();", count)
number_at_the_end(text, row) = sprintf("set label '%s' at screen 1 - 24. / width, first %d right;", text, row)

# ---- Four published quantities per strategy -----------------------------------------------------
bar_cases = "fixed_sample_ws4 variable_sample_ws4 variable_bucket_ws4 variable_token_ws4"
bars = ""                               # published cases that were run
do for [case in bar_cases] { if (has(case, cases)) { bars = bars." ".case } }

array of_bars[4] = ["strategy_step_time", "strategy_useful_tokens_per_s", "strategy_padding_ratio", "strategy_token_spread"]
array bar_column[4] = ["slowest_step_ms", "useful_tokens_per_s", "padding_ratio", "rank_token_spread"]
array bar_scale[4] = [1, 0.001, 100, 1]
array bar_title[4] = ["Unequal texts cost time; better batches save it", "Useful tokens per second", \
    "Padding is computed and trains nothing", "Equal numbers of texts are not equal work"]
array bar_axis[4] = ["step time of the slowest rank (ms)", "useful tokens per second (thousands)", \
    "padding (% of the tokens that are computed)", "useful tokens per step: the most of a rank less the fewest"]
thousands(x) = sprintf(x < 10000 ? "%.0f thousand" : "%.0f", x)          # GPUs reach millions; the axis names the unit
array bar_text[4] = ["in_ms(value)", "thousands(value)", "sprintf('%.1f %%', value)", "sprintf('%.1f', value)"]

# A published time or rate is drawn relative to the first case; counted tokens are the same everywhere.
published_bar(case, list, here, is_counted) = !words(published) || (!is_counted && case eq word(bars, 1)) ? NaN : \
    is_counted ? published_at(case, list) : number(word(here, place(word(bars, 1), cases))) * published_at(case, list) / published_at(word(bars, 1), list)
label_width(cases) = (most = 0, sum [i = 1:words(cases)] keep_larger(sprintf("%d", strlen(label(word(cases, i))))), 7.6 * most + 30)
keep_most(most, value) = value > most ? value : most
y(offset) = has(strcol("case"), bars) ? place(strcol("case"), bars) + offset : NaN
right = 130
left = label_width(bars)
do for [chart = 1:4] {
    is_counted = chart > 2              # tokens are the same on every machine
    values = column_of(summary_csv, bar_column[chart])
    scaled(cell) = number(cell) * bar_scale[chart]
    eval page(bar_title[chart], bar_axis[chart], 40 * words(bars))
    eval fresh_rows(words(bars))
    most_here = 0
    do for [i = 1:words(bars)] {
        value = scaled(word(values, place(word(bars, i), cases)))
        set ytics add (label(word(bars, i)) i)
        eval "text = ".bar_text[chart]
        eval number_at_the_end(text, i)
        most_here = keep_most(most_here, value)
    }
    published_values = words(published) ? column_of(blog, bar_column[chart]) : ""
    do for [case in bars] { most_here = keep_most(most_here, published_bar(case, published_values, values, is_counted) * bar_scale[chart]) }
    set xrange [0 : most_here > 0 ? 1.04 * most_here : 1]
    do for [format in formats] {
        eval output(of_bars[chart], format)
        plot summary_csv using (0):(y(0)):(0):(column(bar_column[chart]) * bar_scale[chart]):(y(-0.3)):(y(0.3)) \
                 with boxxyerror fs solid noborder lc rgb bar title is_counted ? "counted" : observed, \
             for [k = 1:words(published) > 0] blog using (is_alike(0) && has(strcol("case"), bars) ? published_bar(strcol("case"), published_values, values, is_counted) * bar_scale[chart] : NaN):(y(0)) \
                 with points pointtype 13 pointsize 1.2 lc rgb "white" notitle, \
             for [k = 1:words(published) > 0] blog using (is_alike(0) && has(strcol("case"), bars) ? published_bar(strcol("case"), published_values, values, is_counted) * bar_scale[chart] : NaN):(y(0)) \
                 with points pointtype 12 pointsize 1.3 linewidth 1.5 lc rgb "black" title is_counted ? "published" : "published, relative to the first row"
        unset output
    }
}

# ---- Work of each rank: useful tokens and padding ------------------------------------------------
pair = ""
do for [case in "variable_sample_ws4 variable_token_ws4"] { if (has(case, cases)) { pair = pair." ".case } }
y(offset) = has(strcol("case"), pair) ? (place(strcol("case"), pair) - 1) * (ranks + 1.4) + column("rank") + offset : NaN
right = 24
left = 90
useful_colour = "#0072B2"      # counted, hence equal on every machine: the colour of measured values
eval page("Much of eight texts is padding; under a token budget, little", "tokens of each rank, mean step", \
    24 * (words(pair) * (ranks + 1.4) + 0.2))
set yrange [words(pair) * (ranks + 1.4) - 1.4 : -1.6]
set ytics ()
set xrange [0 : 1.12 * largest(column_of(ranks_csv, "padded_tokens"))]
do for [i = 1:words(pair)] {
    set label bold(label(word(pair, i))) at graph 0, first (i - 1) * (ranks + 1.4) - 1
    do for [rank = 0:ranks - 1] { set ytics add (sprintf("rank %d", rank) (i - 1) * (ranks + 1.4) + rank) }
}
do for [k = 1:words(pair) > 0] {
    do for [format in formats] {
        eval output("sample_vs_token_rank_work", format)
        plot ranks_csv using (0):(y(0)):(0):(column("tokens")):(y(-0.38)):(y(0.38)) \
                 with boxxyerror fs pattern 3 border lc rgb "white" lc rgb useful_colour title "useful tokens", \
             ranks_csv using (0):(y(0)):(column("tokens")):(column("padded_tokens")):(y(-0.38)):(y(0.38)) \
                 with boxxyerror fs pattern fill("padding") border lc rgb useful_colour lc rgb useful_colour title "padding", \
             ranks_csv using (column("padded_tokens")):(y(0)):(sprintf("%.0f", column("padded_tokens"))) \
                 with labels left offset 0.5, 0 notitle
        unset output
    }
}

# ---- All strategies over an epoch ---------------------------------------------------------------
strategies_csv = results."/strategies.csv"
epochs = there(strategies_csv) ? column_of(strategies_csv, "case") : ""
epoch_case(case) = case eq "bucket_independent" ? "epoch_bucket_indep" : case eq "token_independent" ? "epoch_token_indep" : \
    case[1:9] eq "variable_" ? "epoch_".case[10:strlen(case) - 4] : "epoch_".case
epoch_cases = ""
were_run = 0
do for [case in epochs] { were_run = were_run || has(epoch_case(case), cases) }
# Draw the measured epochs; if none was measured, draw the predictions of all. The strategies' labels are those of their short cases.
rows = ""
do for [case in epochs] { if (!were_run || has(epoch_case(case), cases)) { rows = rows." ".case; epoch_cases = epoch_cases." ".epoch_case(case) } }

y(offset) = has(strcol("case"), epoch_cases) ? place(strcol("case"), epoch_cases) + offset : NaN
row_of(case, offset) = has(case, rows) ? place(case, rows) + offset : NaN
without_epoch(label, case) = label[1:7] eq "epoch: " ? label[8:] : case
useful(cell) = column("useful_tokens_per_s") / 1000
padded_rate(cell) = column("padded_tokens_per_s") / 1000
# Tokens per second if ranks computed while they wait.
without_waiting(cell) = padded_rate(0) * column("slowest_step_ms") / (column("slowest_step_ms") - column("wait_ms"))
# Tokens per second for a step of `step` ms: a prediction's (charts.gp), or the one that a ratio to the baseline gives. -1, left of the
# chart, if unknown. (gnuplot 6 warns if all points are NaN, also in a plot for [k = 1:0].)
at_step(step) = step > 0 ? useful(0) * column("slowest_step_ms") / step : -1
at_ratio(name) = blank(name) ? -1 : at_step(baseline_ms * column(name))
right = 130
left = label_width(rows)
epoch_steps = epochs eq "" ? "" : column_of(strategies_csv, "epoch_steps")
fewest_steps = largest(epoch_steps)
do for [steps in epoch_steps] { if (number(steps) < fewest_steps) { fewest_steps = number(steps) } }
caption = ran_on.sprintf(" · an epoch of each: %d to %d steps", fewest_steps, largest(epoch_steps))
if (words(rows)) {
    eval page(were_run ? "Useful tokens/s, and what padding and wait took" : \
        "Useful tokens/s over an epoch, predicted (this run measured none)", "tokens per second (thousands)", 34 * words(rows))
    eval fresh_rows(words(rows))
    unset ytics
    rates = column_of(summary_csv, "useful_tokens_per_s")
    foreseen = column_of(strategies_csv, "predicted_tokens_per_s")
    if (were_run) { set xrange [0:*] } else { set xrange [0 : 1.04 * largest(foreseen) / 1000] } # gnuplot reads plots for [k = 1:0] too
    do for [i = 1:words(rows)] {
        named = has(word(rows, i), cases) ? label(word(rows, i)) : without_epoch(label(word(epoch_cases, i)), word(rows, i))
        set label named at screen 1. * (left - 10) / width, first i - 0.12 right noenhanced
        if (named ne word(rows, i)) { set label (were_run ? word(epoch_cases, i) : word(rows, i)) at screen 1. * (left - 10) / width, first i + 0.28 right noenhanced font "sans-serif,8" textcolor rgb grey }
        at = place(word(epoch_cases, i), cases)
        eval number_at_the_end(thousands((at ? number(word(rates, at)) : number(word(foreseen, place(word(rows, i), epochs)))) / 1000), i)
    }
    eval key_clear
    if (were_run) {
        eval key_entry("box", solid_look(useful_colour), "useful")
        eval key_entry("box", phase_look("padding"), "padding")
        eval key_entry("box", phase_look("wait"), "wait")
    } else { eval key_entry("box", solid_look(bar), "useful, predicted") }
    if (were_run && intervals) { eval key_entry("lying", whisker_look, "95 % interval") }
    if (were_run) { eval key_entry("standing", mark_look, "predicted") }
    if (were_run && drifted) { eval key_entry("standing", frozen_look, "predicted, unscaled") }
    do for [format in formats] {
        eval output("strategies_epoch", format)
        plot for [k = 1:were_run] summary_csv using (0):(y(0)):(0):(useful(0)):(y(-0.3)):(y(0.3)) \
                 with boxxyerror fs pattern 3 border lc rgb edge("compute") lc rgb useful_colour notitle, \
             for [k = 1:were_run] summary_csv using (0):(y(0)):(useful(0)):(padded_rate(0)):(y(-0.3)):(y(0.3)) \
                 with boxxyerror fs pattern fill("padding") border lc rgb useful_colour lc rgb useful_colour notitle, \
             for [k = 1:were_run] summary_csv using (0):(y(0)):(padded_rate(0)):(without_waiting(0)):(y(-0.3)):(y(0.3)) \
                 with boxxyerror fs pattern fill("wait") border lc rgb colour("wait") lc rgb colour("wait") notitle, \
             for [k = 1:!were_run] strategies_csv using (0):(row_of(strcol("case"), 0)):(0):(column("predicted_tokens_per_s") / 1000):(row_of(strcol("case"), -0.3)):(row_of(strcol("case"), 0.3)) \
                 with boxxyerror fs solid noborder lc rgb bar notitle, \
             for [k = 1:were_run && intervals] summary_csv \
                 using (blank("vs_baseline_low") ? -1 : useful(0)):(y(0.38)):(at_ratio("vs_baseline_high")):(at_ratio("vs_baseline_low")) \
                 with xerrorbars pointtype 0 lc rgb more notitle, \
             for [k = 1:were_run && drifted] summary_csv using (at_step(frozen_at(0))):(y(-0.48)):(0):(0.96) \
                 with vectors nohead linewidth 1.2 dashtype 3 lc rgb "black" notitle, \
             for [k = 1:were_run] summary_csv using (at_step(predicted_then(0))):(y(-0.4)):(0):(0.8) \
                 with vectors nohead linewidth 2.5 lc rgb "black" notitle
        unset output
    }
}
