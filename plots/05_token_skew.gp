# 05_token_skew: charts of lab 05, sequences of different length
#
#     gnuplot -e "results='results/05_token_skew'" plots/05_token_skew.gp
#
# Draws into the folder of the results: breakdown, timeline and step_time; the five charts of the post, from this machine's
# tables; strategies_epoch, all strategies over a whole epoch. blog='FILE' gives other published values.
lab = "05_token_skew"
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen(lab.".gp")]."."

told_best = "fixed_sample_ws4 variable_sample_ws4 global_bucket"
pathology_word = "of many lengths"
pathology(case) = case eq "fixed_sample_ws4" ? "none" : strstrt(case, "epoch") ? "epoch" : strstrt(case, "packed") ? "packed" : "padded"
breakdown_title = "Padding is computed, not waited for: it is part of compute"
timeline_title = "Every rank has eight texts, and one has the longest"
step_time_title = "What a step costs, by the texts that each rank gets"
load plots."/charts.gp"

# Charts with `count` rows of equal height, named on the left.
left = 170
fresh_rows(count) = sprintf("set yrange [%d.6 : 0.4]; set ytics ();", count)
number_at_the_end(text, row) = sprintf("set label '%s' at screen 1 - 24. / width, first %d right;", text, row)

# ---- Four published quantities per strategy -----------------------------------------------------
told_cases = "fixed_sample_ws4 variable_sample_ws4 variable_bucket_ws4 variable_token_ws4"
array told_names[4] = ["Uniform lengths", "Variable + fixed batch", "+ bucketing", "+ token budget"]
bars = ""                               # published cases that were run
do for [case in told_cases] { if (has(case, cases)) { bars = bars." ".case } }

array of_bars[4] = ["strategy_step_time", "strategy_useful_tokens_per_s", "strategy_padding_ratio", "strategy_token_spread"]
array bar_column[4] = ["slowest_step_ms", "useful_tokens_per_s", "padding_ratio", "rank_token_spread"]
array bar_scale[4] = [1, 0.001, 100, 1]
array bar_title[4] = ["Unequal texts cost time; better batches save it", "Useful tokens per second", \
    "Padding is computed and trains nothing", "Equal numbers of texts are not equal work"]
array bar_axis[4] = ["step time of the slowest rank (ms)", "useful tokens per second (thousands)", \
    "padding (% of the tokens that are computed)", "useful tokens per step: the most of a rank less the fewest"]
thousands(x) = sprintf(x < 10000 ? "%.0f thousand" : "%.0f", x)          # GPUs reach millions; the axis names the unit
array bar_text[4] = ["in_ms(value)", "thousands(value)", "sprintf('%.1f %%', value)", "sprintf('%.1f', value)"]

blog_cases = column_of(blog, "case")    # one row each: no other lab has cases with these names
keep_most(most, value) = value > most ? value : most
y(offset) = has(strcol("case"), bars) ? place(strcol("case"), bars) + offset : NaN
right = 130
do for [chart = 1:4] {
    is_counted = chart > 2              # tokens are the same on every machine
    values = column_of(summary_csv, bar_column[chart])
    scaled(cell) = number(cell) * bar_scale[chart]
    eval page(bar_title[chart], bar_axis[chart], 40 * words(bars))
    eval fresh_rows(words(bars))
    most_here = 0
    do for [i = 1:words(bars)] {
        value = scaled(word(values, place(word(bars, i), cases)))
        set ytics add (told_names[place(word(bars, i), told_cases)] i)
        eval "text = ".bar_text[chart]
        eval number_at_the_end(text, i)
        most_here = keep_most(most_here, value)
    }
    published_values = column_of(blog, bar_column[chart])
    do for [i = 1:words(blog_cases)] {
        if (has(word(blog_cases, i), bars) && has(word(blog_cases, i), published)) { most_here = keep_most(most_here, scaled(word(published_values, i))) }
    }
    set xrange [0 : most_here > 0 ? 1.04 * most_here : 1]
    do for [format in formats] {
        eval output(of_bars[chart], format)
        plot summary_csv using (0):(y(0)):(0):(column(bar_column[chart]) * bar_scale[chart]):(y(-0.3)):(y(0.3)) \
                 with boxxyerror fs solid border lc rgb "#808080" lc rgb simulated && !is_counted ? "#EEEEEE" : "#D0D0D0" \
                 dashtype simulated && !is_counted ? 2 : 1 title is_counted ? "counted" : simulated ? "simulated" : "measured", \
             for [k = 1:words(published) > 0] blog using (is_alike(0) ? column(bar_column[chart]) * bar_scale[chart] : NaN):(y(0)) \
                 with points pointtype 12 pointsize 1.3 linewidth 1.5 lc rgb "black" title "the blog"
        unset output
    }
}

# ---- Work of each rank: useful tokens and padding ------------------------------------------------
pair = ""
do for [case in "variable_sample_ws4 variable_token_ws4"] { if (has(case, cases)) { pair = pair." ".case } }
pair_name(case) = told_names[place(case, told_cases)]
y(offset) = has(strcol("case"), pair) ? (place(strcol("case"), pair) - 1) * (ranks + 1.4) + column("rank") + offset : NaN
right = 24
useful_colour = "#0072B2"      # counted, hence equal on every machine: the colour of measured values
eval page("Much of eight texts is padding; under a token budget, little", "tokens of each rank, mean step", \
    24 * (words(pair) * (ranks + 1.4) + 0.2))
set yrange [words(pair) * (ranks + 1.4) - 1.4 : -1.6]
set ytics ()
set xrange [0 : 1.12 * largest(column_of(ranks_csv, "padded_tokens"))]
do for [i = 1:words(pair)] {
    set label bold(pair_name(word(pair, i))) at graph 0, first (i - 1) * (ranks + 1.4) - 1
    do for [rank = 0:ranks - 1] { set ytics add (sprintf("rank %d", rank) (i - 1) * (ranks + 1.4) + rank) }
}
do for [k = 1:words(pair) > 0] {
    do for [format in formats] {
        eval output("sample_vs_token_rank_work", format)
        plot ranks_csv using (0):(y(0)):(0):(column("tokens")):(y(-0.38)):(y(0.38)) \
                 with boxxyerror fs pattern 3 border lc rgb "white" lc rgb useful_colour title "useful tokens", \
             ranks_csv using (0):(y(0)):(column("tokens")):(column("padded_tokens")):(y(-0.38)):(y(0.38)) \
                 with boxxyerror fs pattern 4 border lc rgb useful_colour lc rgb useful_colour title "padding", \
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
do for [case in epochs] { epoch_cases = epoch_cases." ".epoch_case(case) }
were_run = 0
do for [case in epoch_cases] { were_run = were_run || has(case, cases) }

y(offset) = has(strcol("case"), epoch_cases) ? place(strcol("case"), epoch_cases) + offset : NaN
row_of(case, offset) = place(case, epochs) + offset
useful(cell) = column("useful_tokens_per_s") / 1000
padded(cell) = column("padded_tokens_per_s") / 1000
# Tokens per second if ranks computed while they wait.
without_waiting(cell) = padded(0) * column("slowest_step_ms") / (column("slowest_step_ms") - column("wait_ms"))
# Tokens per second for the step that a ratio to the baseline gives; -1, left of the chart, if blank. (gnuplot 6 warns if all
# points are NaN, also in a plot for [k = 1:0].)
at_ratio(name) = blank(name) ? -1 : useful(0) * column("slowest_step_ms") / (baseline_ms * column(name))
useful_colour = colour("compute")
right = 130
epoch_steps = epochs eq "" ? "" : column_of(strategies_csv, "epoch_steps")
fewest_steps = largest(epoch_steps)
do for [steps in epoch_steps] { if (number(steps) < fewest_steps) { fewest_steps = number(steps) } }
caption = ran_on.sprintf(" · an epoch of each: %d to %d steps", fewest_steps, largest(epoch_steps))
if (epochs ne "") {
    eval page(were_run ? "A whole epoch: what is left of the ranks after padding and waiting" : \
        "A whole epoch, predicted (this run measured none)", "tokens per second (thousands)", 28 * words(epochs))
    eval fresh_rows(words(epochs))
    set xrange [0:*]
    rates = column_of(summary_csv, "useful_tokens_per_s")
    foreseen = column_of(strategies_csv, "predicted_tokens_per_s")
    do for [i = 1:words(epochs)] {
        set ytics add (word(epochs, i) i)
        at = place(word(epoch_cases, i), cases)
        eval number_at_the_end(at ? thousands(number(word(rates, at)) / 1000) : \
            sprintf("formula: %.0f", number(word(foreseen, i)) / 1000), i)
    }
    do for [format in formats] {
        eval output("strategies_epoch", format)
        plot for [k = 1:were_run] summary_csv using (0):(y(0)):(0):(useful(0)):(y(-0.32)):(y(0.32)) \
                 with boxxyerror fs pattern 3 border lc rgb edge("compute") lc rgb useful_colour dashtype dashes title "useful", \
             for [k = 1:were_run] summary_csv using (0):(y(0)):(useful(0)):(padded(0)):(y(-0.32)):(y(0.32)) \
                 with boxxyerror fs pattern 4 border lc rgb useful_colour lc rgb useful_colour title "padding", \
             for [k = 1:were_run] summary_csv using (0):(y(0)):(padded(0)):(without_waiting(0)):(y(-0.32)):(y(0.32)) \
                 with boxxyerror fs pattern 4 border lc rgb colour("wait") lc rgb colour("wait") title "waiting", \
             for [k = 1:were_run && intervals] summary_csv \
                 using (blank("vs_baseline_low") ? -1 : useful(0)):(y(0)):(at_ratio("vs_baseline_high")):(at_ratio("vs_baseline_low")) \
                 with xerrorbars pointtype 0 lc rgb "black" title "95 % interval", \
             strategies_csv using (column("predicted_tokens_per_s") / 1000):(row_of(strcol("case"), -0.45)):(0):(0.9) \
                 with vectors nohead linewidth 2.5 lc rgb "black" title "predicted"
        unset output
    }
}
