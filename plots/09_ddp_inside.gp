# 09_ddp_inside: charts of lab 09, sums during backward
#
#     gnuplot -e "results='results/09_ddp_inside'" plots/09_ddp_inside.gp
#
# Draws into the folder of the results: breakdown, timeline and step_time, as every lab; and, if this run measured them, cap_sweep (the step by
# size of buckets) and buckets (when each bucket is ready and when its sum travels).
lab = "09_ddp_inside"
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen(lab.".gp")]."."

timeline_cases = "baseline per_tensor best_bucket"
pathology(case) = case eq "baseline" ? "none" : case eq "wrong_order" || case eq "rebuilt" ? "order" : case eq "bf16_wire" || case eq "low_rank" ? "fewer bytes" : "buckets"
beside_name = "sums"
breakdown_title = "Many buckets: less or more is exposed"
timeline_title = "Sums that start during backward"
step_time_title = "The step by size and order of buckets"
timeline_note = "sums: all-reduces in flight"
load plots."/charts.gp"

# ---- cap_sweep: the step by the size of buckets ----------------------------------------------------
sweep_csv = results."/cap_sweep.csv"
best_csv = results."/best.csv"
if (of_this_run(sweep_csv) && of_this_run(best_csv)) {
    caps = column_of(sweep_csv, "cap_bytes")
    predicted_at = number(word(column_of(best_csv, "predicted_cap_bytes"), 1))
    body = 260
    left = 90
    right = 40
    eval page("Too small costs latency, too large hides nothing", "largest size of a bucket (log scale)", body)
    set border 3
    set logscale x
    # A bucket for each tensor has a tiny cap: it stands left of the next one, not to scale.
    second = number(word(caps, words(caps) > 1 ? 2 : 1))
    mib_word(bytes) = bytes < 1048576 ? size_word(bytes) : sprintf("%.1f MiB", bytes / 1048576)
    shown(cap) = cap < second / 4 ? second / 4 : cap
    set xrange [shown(number(word(caps, 1))) / 1.3 : largest(caps) * 1.3]
    set yrange [0 : 1.2 * largest(column_of(sweep_csv, "predicted_ms")." ".column_of(sweep_csv, "step_ms"))] # room for the label
    set grid y lt 1 lc rgb rule
    set xtics ()
    set xtics add ("a tensor" shown(number(word(caps, 1))))
    span = largest(caps) / second
    last_tic = 0
    do for [i = 2:words(caps)] {
        cap = number(word(caps, i))
        if (cap >= (span > 64 ? 6 : 1.9) * last_tic) { set xtics add (size_word(cap) cap); last_tic = cap }
    }
    set format y "%g"
    set ytics autofreq
    set ylabel "step (ms)"
    set arrow from shown(predicted_at), graph 0 to shown(predicted_at), graph 0.9 nohead dashtype 3 lc rgb more
    set label "predicted best, ".mib_word(predicted_at) at shown(predicted_at), graph 0.95 center font "sans-serif,9"
    do for [format in formats] {
        eval output("cap_sweep", format)
        plot sweep_csv using (shown(column("cap_bytes"))):(column("predicted_ms")) with lines linewidth 1.5 lc rgb "black" title "predicted", \
             sweep_csv using (shown(column("cap_bytes"))):(column("step_ms")) with points pointtype 7 pointsize 1 lc rgb "#0072B2" title observed
        unset output
    }
    unset arrow
    unset logscale
}

# ---- buckets: lanes of a step's buckets ------------------------------------------------------------
buckets_csv = results."/buckets.csv"
if (of_this_run(buckets_csv)) {
    cases_here = column_of(buckets_csv, "case")
    lanes = words(cases_here)
    rows_of(case) = sum [k = 1:lanes] (word(cases_here, k) eq case ? 1 : 0)
    ready = column_of(buckets_csv, "ready_ms")
    starts = column_of(buckets_csv, "start_ms")
    ends = column_of(buckets_csv, "end_ms")
    backwards = column_of(buckets_csv, "backward_ms")
    groups = sum [k = 1:lanes] (k == 1 || word(cases_here, k) ne word(cases_here, k - 1) ? 1 : 0)     # a gap above each case but the first
    body = 12 * (lanes + groups) + 8
    left = 130
    right = 40
    eval page("A bucket starts when backward has filled it", "time since backward began (ms)", body)
    set border 1
    unset ytics
    set yrange [lanes + groups : 0]
    set xrange [0 : 1.05 * largest(ends)]
    set xtics autofreq
    unset grid
    unset ylabel
    set print $bars
    print "row,ready,start,end,backward"
    last = ""
    gaps = -1
    do for [i = 1:lanes] {
        if (word(cases_here, i) ne last) {
            last = word(cases_here, i)
            gaps = gaps + 1
            top = i + gaps - 0.5
            set label label(last) at screen (left - 8.) / width, first i + gaps right font "sans-serif,9"
            set arrow from number(word(backwards, i)), first top to number(word(backwards, i)), first top + rows_of(last) nohead front linewidth 1.5 lc rgb more
        }
        print sprintf("%d,%s,%s,%s,%s", i + gaps, word(ready, i), word(starts, i), word(ends, i), word(backwards, i))
    }
    unset print
    do for [format in formats] {
        eval output("buckets", format)
        plot $bars using (column("start")):(column("row")):(column("start")):(column("end")):(column("row") - 0.3):(column("row") + 0.3) \
                 with boxxyerror fs solid noborder lc rgb "#009E73" title "sum started … noticed as done", \
             $bars using "ready":"row" with points pointtype 7 pointsize 0.5 lc rgb "black" title "bucket ready", \
             NaN with lines linewidth 1.5 lc rgb more title "end of backward"
        unset output
    }
}

# ---- to_target: samples and time until the target, by the size of the batch; AdamW without a warm-up ---------------------------
scaling_csv = results."/scaling.csv"
learning_csv = results."/learning.csv"
rules = "none square_root linear"
rule_said(rule) = rule eq "none" ? "rate as for × 1" : rule eq "linear" ? "rate × batch" : "rate × √batch"
rule_look(rule) = word("#E69F00 #0072B2 #D55E00", place(rule, rules))
rule_point(rule) = word("5 7 9", place(rule, rules))
# Rows of AdamW without a warm-up: of a rule, to which × 1 belongs whatever the rule, and of one batch or all (0).
awk_rows(rule, factor, what) = 'awk -F, -v rule='.rule.' -v factor='.factor.' ''/^#/ { next } !seen { seen = 1; for (i = 1; i <= NF; i++) at[$i] = i; head = $0; next } \
    $at["optimizer"] == "adamw" && $at["warm_up_samples"] == 0 && ($at["factor"] == 1 || $at["rule"] == rule) && (factor == 0 || $at["factor"] == factor) { '.what.' }'' <'
rows_of(csv, rule, factor) = "< ".awk_rows(rule, factor, 'if (head) print head; head = ""; print').in_shell(csv)
# "factor value factor value …" of those that have one
listed(csv, rule, name) = system(awk_rows(rule, "0", 'if ($at["'.name.'"] != "") printf "%s %s ", $at["factor"], $at["'.name.'"]').in_shell(csv))
if_there(name) = blank(name) ? NaN : column(name)
last_of(list) = words(list) ? number(word(list, words(list))) : NaN
first_of(list) = words(list) ? number(word(list, 2)) : NaN
all_values(csv, name) = listed(csv, "none", name).listed(csv, "square_root", name).listed(csv, "linear", name)
least_of(list) = (low_of = NaN, sum [i = 1:words(list) / 2] (number(word(list, 2 * i)) < low_of || low_of != low_of ? (low_of = number(word(list, 2 * i)), 0) : 0), low_of)
most_of(list) = (high_of = NaN, sum [i = 1:words(list) / 2] (number(word(list, 2 * i)) > high_of || high_of != high_of ? (high_of = number(word(list, 2 * i)), 0) : 0), high_of)
panel_top(panel) = 1 - 1. * (above + (panel - 1) * (panel_height + between)) / height
share_of(y, low, high) = (log(y) - log(low)) / (log(high) - log(low))

if (of_this_run(scaling_csv)) {
    panel_height = 200
    between = 40
    left = 110
    right = 200
    below = below + 16
    caption_of_step = caption
    seeds = word(column_of(scaling_csv, "seeds"), 1)
    caption = caption.also("small networks, medians of ".seeds." seeds; their steps take as long as this lab's")
    target_title = "Larger batches: fewer steps at first, then only more samples"
    ways = column_of(scaling_csv, "ranks")
    parts = column_of(scaling_csv, "micro_batches")
    factors = column_of(scaling_csv, "factor")
    row_of(k) = (row_found = 0, sum [i = 1:words(factors)] (row_found == 0 && int(number(word(factors, i))) == k ? (row_found = i, 0) : 0), row_found)
    way_of(k) = word(ways, row_of(k))." rank".(word(ways, row_of(k)) eq "1" ? "" : "s").(word(parts, row_of(k)) eq "1" ? "" : " × ".word(parts, row_of(k)))
    top_factor = int(largest(factors))
    set border 3
    set grid noxtics y lt 1 lc rgb rule
    array panel_column[2] = ["samples", "time_ms"]
    array panel_axis[2] = ["samples until the target", "time until the target (ms)"]
    do for [format in formats] {
        eval page(target_title, "batch, and how it is reached", 2 * panel_height + between)
        eval output("to_target", format)
        set multiplot
        set xrange [1 : 2]; set yrange [1 : 2]      # those of the chart before may not suit a logarithmic axis
        set logscale xy
        set xrange [0.93 : top_factor * 1.07]
        do for [panel = 1:2] {
            set tmargin at screen panel_top(panel); set bmargin at screen panel_top(panel) - 1. * panel_height / height
            values = all_values(scaling_csv, panel_column[panel]).(panel == 1 ? listed(scaling_csv, "square_root", "samples_low").listed(scaling_csv, "square_root", "samples_high").listed(scaling_csv, "none", "predicted_samples") : "")
            one = first_of(listed(scaling_csv, "none", panel_column[panel]))
            ideal = panel == 1 ? one : one / top_factor
            low_end = least_of(values." x ".sprintf("%g", ideal)) / 1.2
            high_end = most_of(values) * 1.2
            set yrange [low_end : high_end]
            set xtics nomirror ()
            do for [i = 0:int(log(top_factor) / log(2) + 0.5)] { set xtics add (panel == 1 ? "" : sprintf("× %d\n%s", 2 ** i, way_of(2 ** i)) 2 ** i) }
            set ytics nomirror scale 0 ()
            do for [power = int(floor(log10(low_end))):int(ceil(log10(high_end)))] for [digit in "1 2 5"] {
                tick = number(digit) * 10. ** power
                if (tick >= low_end && tick <= high_end) { set ytics add (sprintf("%g", tick) tick) }
            }
            if (panel == 1) { unset xlabel } else { set xlabel axis_of_page offset 0, -1 }
            set ylabel panel_axis[panel] offset -1, 0       # clear of wide numbers
            y_of(value) = panel_height * share_of(value, low_end, high_end) + (panel == 1 ? panel_height + between : 0)
            ends = 0
            do for [rule in rules] {
                found = listed(scaling_csv, rule, panel_column[panel])
                if (words(found) > 2 && int(number(word(found, words(found) - 1))) == top_factor) { dummy = ends_add(rule_said(rule), y_of(last_of(found)), rule_point(rule)." ".rule_look(rule)) }
            }
            last_predicted = last_of(listed(scaling_csv, "none", "predicted_samples"))
            if (panel == 1 && last_predicted == last_predicted) { dummy = ends_add("— predicted by × 1's noise", y_of(last_predicted), "") }
            if (ideal == ideal) {
                dummy = ends_add(panel == 1 ? "as many as × 1" : "ideal: time / batch", y_of(ideal), "")
                set arrow from first 1, first one to first top_factor, first ideal nohead dashtype 2 lc rgb guide
            }
            eval ends_labels(width - right + 8)
            if (panel == 1) {
                eval key_clear
                eval key_entry("standing", whisker_look, "from the luckiest to the unluckiest seed, rate × √batch")
            }
            plot for [k = 1:panel == 1] rows_of(scaling_csv, "square_root", "0") using "factor":(if_there("samples")):(if_there("samples_low")):(if_there("samples_high")) \
                     with yerrorbars pointtype -1 lc rgb more notitle, \
                 for [k = 1:panel == 1] rows_of(scaling_csv, "none", "0") using "factor":(if_there("predicted_samples")) with lines linewidth 1.5 lc rgb "black" notitle, \
                 for [rule in rules] rows_of(scaling_csv, rule, "0") using "factor":(if_there(panel_column[panel])) \
                     with linespoints pointtype int(rule_point(rule)) pointsize 0.9 linewidth 1.5 lc rgb rule_look(rule) notitle
            unset label; unset arrow; unset object
        }
        unset multiplot
        unset output
    }
    unset logscale
    below = below - 16
    caption = caption_of_step
    set xlabel offset 0, 0
}

# ---- learning: loss against samples, and against time, by rule ----------------------------------------------------------------
if (of_this_run(learning_csv)) {
    panel_height = 190
    between = 56
    left = 70
    right = 80
    beside_panel = 24
    panel_width = (width - left - right - 2 * beside_panel) / 3.
    above = above + 14          # for the names of the columns
    learning_title = "Larger batches learn less from each sample, least with the wrong rate"
    caption_of_step = caption
    caption = caption.also("AdamW, no warm-up; medians of all seeds")
    points = column_of(learning_csv, "samples")
    times = column_of(learning_csv, "time_ms")
    losses = column_of(learning_csv, "loss")
    low_end = 0.02
    high_end = 2
    batches = "1 2 4 8 16"
    # Colours from light to dark, so that greys keep the order; each has its own type of point.
    batch_look(k) = word("#56B4E9 #E69F00 #009E73 #D55E00 #0072B2", place(k, batches))
    batch_point(k) = word("6 5 9 13 7", place(k, batches))
    array row_column[2] = ["samples", "time_ms"]
    array row_axis[2] = ["samples (log scale)", "time (ms, log scale)"]
    least_time = largest(times)
    do for [time in times] { if (number(time) > 0 && number(time) < least_time) { least_time = number(time) } }
    set border 3
    set grid x y lt 1 lc rgb rule
    do for [format in formats] {
        eval page(learning_title, "loss against samples, and against time", 2 * panel_height + between)
        eval output("learning", format)
        set multiplot
        set xrange [1 : 2]; set yrange [1 : 2]
        set logscale xy
        do for [row = 1:2] {
            do for [place_of_rule = 1:3] {
                rule = word(rules, place_of_rule)
                x_left = left + (place_of_rule - 1) * (panel_width + beside_panel)
                set lmargin at screen 1. * x_left / width; set rmargin at screen (x_left + panel_width) / width
                set tmargin at screen panel_top(row); set bmargin at screen panel_top(row) - 1. * panel_height / height
                set yrange [low_end : high_end]
                set ytics nomirror scale 0 ()
                do for [tick in "0.02 0.05 0.1 0.2 0.5 1 2"] { set ytics add (place_of_rule == 1 ? tick : "" number(tick)) }
                if (place_of_rule == 1) { set ylabel "loss (log scale)" } else { unset ylabel }
                if (row == 1) {
                    set xrange [largest(points) / 16 / 1.1 : largest(points) * 1.1]
                    set xtics nomirror ()
                    do for [i = 1:3:2] { set xtics add (sprintf("%d", largest(points) / 16 * 2 ** i) largest(points) / 16 * 2 ** i) }
                } else {
                    set xrange [least_time / 1.1 : largest(times) * 1.1]
                    set xtics nomirror ()
                    do for [power = int(floor(log10(least_time))):int(ceil(log10(largest(times))))] { set xtics add (sprintf("%g", 10. ** power) 10. ** power) }
                }
                set xlabel row_axis[row]
                if (row == 1) { set label 50 rule_said(rule) at graph 0, graph 1.05 left font "sans-serif:Bold,9" } else { unset label 50 }
                set arrow from graph 0, first 0.05 to graph 1, first 0.05 nohead dashtype 2 lc rgb guide
                if (place_of_rule == 1 && row == 1) { set label 51 "target" at graph 0.02, first 0.05 left offset 0, 0.5 font "sans-serif,9" textcolor rgb grey } else { unset label 51 }
                if (place_of_rule == 3) {
                    ends = 0
                    do for [k in batches] {
                        final = last_of("x ".system(awk_rows("linear", k, 'if ($at["samples"] == '.sprintf("%g", largest(points)).') print $at["loss"]').in_shell(learning_csv)))
                        if (final == final) { dummy = ends_add("× ".k, panel_height * share_of(final > high_end ? high_end : final < low_end ? low_end : final, low_end, high_end) + (row == 1 ? panel_height + between : 0), batch_point(k)." ".batch_look(k)) }
                    }
                    if (row == 1) { eval ends_labels(width - right + 8) }
                }
                if (row == 1 && place_of_rule == 1) {
                    eval key_clear
                    do for [k in batches] { eval key_entry("point", "pointtype ".batch_point(k)." pointsize 0.9 lc rgb '".batch_look(k)."'", "batch × ".k) }
                }
                plot for [k in batches] rows_of(learning_csv, rule, k) using (if_there(row_column[row])):(if_there("loss")) \
                         with linespoints pointtype int(batch_point(k)) pointsize 0.6 pointinterval 3 linewidth 1.5 lc rgb batch_look(k) notitle
                unset label; unset arrow; unset object
            }
        }
        unset multiplot
        unset output
    }
    unset logscale
    above = above - 14
    caption = caption_of_step
}
