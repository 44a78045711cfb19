# 09_ddp_inside: charts of lab 09, sums during backward
#
#     gnuplot -e "results='results/09_ddp_inside'" plots/09_ddp_inside.gp
#
# Draws into the folder of the results: breakdown, timeline and step_time, as every lab; and, if this run measured them, cap_sweep (the step by
# size of buckets) and buckets (when each bucket is ready and when its sum travels).
lab = "09_ddp_inside"
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen(lab.".gp")]."."

told_best = "baseline per_tensor best_bucket"
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
    set yrange [0 : *]
    set grid y lt 1 lc rgb rule
    set xtics ()
    set xtics add ("a tensor" shown(number(word(caps, 1))))
    span = largest(caps) / second
    told = 0
    do for [i = 2:words(caps)] {
        cap = number(word(caps, i))
        if (cap >= (span > 64 ? 6 : 1.9) * told) { set xtics add (size_word(cap) cap); told = cap }
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
