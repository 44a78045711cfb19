# 10_memory: charts of lab 10, where memory goes
#
#     gnuplot -e "results='results/10_memory'" plots/10_memory.gp
#
# Draws into the folder of the results: breakdown, timeline and step_time, as every lab; owners (what each case holds, by owner), trade (memory
# against the step); and, if this run measured it, in_use (activations and buffers in the course of a
# step) and divided (a rank's memory by ranks, stage and precision).
lab = "10_memory"
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen(lab.".gp")]."."

timeline_cases = "baseline zero3 recompute_all"
pathology(case) = case eq "baseline" ? "none" : case eq "leak" || case eq "kept_gradients" || case eq "early_gather" ? "mistakes" : case eq "recompute_all" || case eq "recompute_sqrt" || case eq "recompute_attention" ? "recomputing" : case eq "offload" ? "a file" : "ZeRO"
breakdown_title = "Less memory costs transfer, or compute"
timeline_title = "A step with all memory, with less"
step_time_title = "What a step costs that holds less"
load plots."/charts.gp"

owners = "parameters gradients moments activations communication"
owner_look(owner) = word("#0072B2 #56B4E9 #CC79A7 #E69F00 #A6A6A6", place(owner, owners))
owner_said(owner) = owner eq "communication" ? "buffers for whole layers" : owner
# MB that rank 0 holds in each case, of an owner or of all of these: at the peak, or as predicted. In the order of the cases.
memory_csv = results."/memory.csv"
held_of(owner, name) = system('awk -F, -v owner='.owner.' -v name='.name.' -v owners='.in_shell(owners).' ''/^#/ { next } \
    !seen { seen = 1; for (i = 1; i <= NF; i++) at[$i] = i; next } \
    $at["rank"] == 0 && $at["layer"] == "" && $at["predicted_mb"] != "" && (owner == "all" ? index(owners, $at["owner"]) > 0 : owner == $at["owner"]) { \
        if (!($at["case"] in sum)) order[n++] = $at["case"]; sum[$at["case"]] += $at[name] } \
    END { for (i = 0; i < n; i++) printf "%s ", sum[order[i]] }'' <'.in_shell(memory_csv))
held = held_of("all", "at_peak_mb")
foreseen = held_of("all", "predicted_mb")

# ---- owners: what each case holds -------------------------------------------------------------
if (of_this_run(memory_csv) && words(held) == words(cases)) {
    shown = cases
    above = 52
    left = 170
    right = 90
    most_mb = 1.08 * largest(held." ".foreseen)
    eval page("What a rank holds at the peak of a step", "memory of rank 0 for its model (MB)", 26 * words(cases))
    set border 1
    set xrange [0 : most_mb]
    set yrange [words(cases) + 0.6 : 0.4]
    set xtics tick_of(most_mb, 8)
    unset ytics
    unset ylabel
    set grid x lt 1 lc rgb rule
    do for [i = 1:words(cases)] {
        set label label(word(cases, i)) at screen (left - 8.) / width, first i right noenhanced font "sans-serif,9"
        set label sprintf("%.1f MB", number(word(held, i))) at screen 1 - 16. / width, first i right font "sans-serif,9"
        x = number(word(foreseen, i))
        if (x == x) { set arrow from first x, first i - 0.42 to first x, first i + 0.42 front @mark_look }
    }
    eval key_clear
    do for [owner in owners] { eval key_entry("box", solid_look(owner_look(owner)), owner_said(owner)) }
    eval key_entry("standing", mark_look, "all, predicted")
    set print $stack
    print "from,to,row,owner"
    array reached[words(cases)]
    do for [i = 1:words(cases)] { reached[i] = 0 }
    do for [owner in owners] {
        parts_mb = held_of(owner, "at_peak_mb")
        do for [i = 1:words(cases)] {
            print sprintf("%g,%g,%d,%s", reached[i], reached[i] + number(word(parts_mb, i)), i, owner)
            reached[i] = reached[i] + number(word(parts_mb, i))
        }
    }
    unset print
    do for [format in formats] {
        eval output("owners", format)
        plot for [owner in owners] $stack using (strcol("owner") eq owner ? column("from") : NaN):"row":"from":"to":(column("row") - 0.32):(column("row") + 0.32) \
             with boxxyerror fs solid noborder lc rgb owner_look(owner) notitle
        unset output
    }

    # ---- trade: memory against the step -------------------------------------------------------
    array shape[13] = [7, 5, 9, 11, 13, 4, 6, 8, 10, 2, 12, 15, 3]
    kind_look(case) = pathology(case) eq "ZeRO" ? "#0072B2" : pathology(case) eq "recomputing" ? "#E69F00" : pathology(case) eq "mistakes" ? "#D55E00" : pathology(case) eq "a file" ? "#009E73" : "black"
    array trade_look[words(cases)]
    lowest_ms = 1e9
    do for [i = 1:words(cases)] {
        trade_look[i] = sprintf("%d %s", shape[(i - 1) % 13 + 1], kind_look(word(cases, i)))
        lowest_ms = number(word(step_ms, i)) > 0 && number(word(step_ms, i)) < lowest_ms ? number(word(step_ms, i)) : lowest_ms
    }
    highest_ms = largest(step_ms)
    body = 300
    left = 90
    right = 200
    eval page("Less memory, for how much of a step?", "memory of rank 0 for its model at the peak (MB)", body)
    set border 3
    span_ms = highest_ms - lowest_ms > 0.05 * highest_ms ? highest_ms - lowest_ms : 0.05 * highest_ms
    first_ms = lowest_ms - 0.15 * span_ms
    last_ms = highest_ms + 0.1 * span_ms
    set xrange [0 : most_mb]
    set yrange [first_ms : last_ms]
    set xtics tick_of(most_mb, 8)
    set ytics tick_of(last_ms - first_ms, 6)
    set format y "%g"
    set grid x y lt 1 lc rgb rule
    set ylabel "step of the slowest rank (ms)"
    ends = 0
    do for [i = 1:words(cases)] {
        if (number(word(step_ms, i)) > 0) {
            set label "" at first number(word(held, i)), first number(word(step_ms, i)) point pointtype int(word(trade_look[i], 1)) pointsize 1.3 lc rgb word(trade_look[i], 2) front
            dummy = ends_add(label(word(cases, i)), body * (number(word(step_ms, i)) - first_ms) / (last_ms - first_ms), trade_look[i])
        }
    }
    eval ends_labels(width - right + 8)
    do for [format in formats] {
        eval output("trade", format)
        plot NaN notitle
        unset output
    }
}

# ---- in_use: activations in the course of a step ------------------------------------------------
timeline_csv = results."/timeline.csv"
if (of_this_run(timeline_csv)) {
    watched = "baseline recompute_attention recompute_sqrt recompute_all"
    shown = watched
    watched_look(case) = word("#444444 #56B4E9 #E69F00 #D55E00", place(case, watched))
    most_mb = 1.1 * largest(column_of(timeline_csv, "activations_mb"))
    last_ms = system('awk -F, -v watched='.in_shell(watched).' ''/^#/ { next } index(watched, $1) && $2 + 0 > most { most = $2 } END { print most }'' <'.in_shell(timeline_csv))
    left = 90
    right = 40
    eval page("Activations grow in forward and go in backward", "time since the step began, in a step of its own (ms)", 260)
    set border 3
    set xrange [0 : 1.02 * number(last_ms)]
    set yrange [0 : most_mb]
    set xtics autofreq
    set ytics tick_of(most_mb, 6)
    set format y "%g"
    set grid y lt 1 lc rgb rule
    set ylabel "activations in use (MB)"
    # Milliseconds and MB at which backward begins, of a case.
    backward_at(case) = system('awk -F, -v name='.case.' ''$1 == name && $3 == "backward" { print $2, $7; exit }'' <'.in_shell(timeline_csv))
    do for [case in watched] {
        at = backward_at(case)
        if (words(at) == 2) { set label "" at first number(word(at, 1)), first number(word(at, 2)) point pointtype 7 pointsize 1 lc rgb watched_look(case) front }
    }
    eval key_clear
    do for [case in watched] { eval key_entry("lying", "nohead linewidth 2 lc rgb '".watched_look(case)."'", label(case)) }
    eval key_entry("point", "pointtype 7 pointsize 1 lc rgb 'black'", "backward begins")
    do for [format in formats] {
        eval output("in_use", format)
        plot for [case in watched] timeline_csv using (strcol("case") eq case ? column("at_ms") : NaN):"activations_mb" with steps linewidth 2 lc rgb watched_look(case) notitle
        unset output
    }
}

# ---- divided: what a rank holds, by ranks, stage and precision ----------------------------------
divided_csv = results."/divided.csv"
if (of_this_run(divided_csv)) {
    stage_look(stage) = word("#444444 #56B4E9 #E69F00 #D55E00", stage + 1)
    most_mb = 1.1 * largest(column_of(divided_csv, "predicted_mb"))
    left = 90
    right = 40
    eval page("More ranks hold less each, but activations stay", "ranks, each with its own batch", 260)
    set border 3
    set logscale x 2
    set xrange [0.9 : 80]
    set yrange [0 : most_mb]
    set xtics (1, 2, 4, 8, 16, 32, 64)
    set ytics tick_of(most_mb, 6)
    set format y "%g"
    set grid y lt 1 lc rgb rule
    set ylabel "a rank's memory for its model (MB)"
    eval key_clear
    do for [stage = 0:3] { eval key_entry("lying", "nohead linewidth 2 lc rgb '".stage_look(stage)."'", stage == 0 ? "all on each rank" : sprintf("ZeRO %d", stage)) }
    eval key_entry("lying", "nohead linewidth 2 dashtype 2 lc rgb 'black'", "mixed precision")
    eval key_entry("point", "pointtype 6 pointsize 1.3 lc rgb 'black'", "held")
    do for [format in formats] {
        eval output("divided", format)
        plot for [stage = 0:3] divided_csv using (strcol("precision") eq "fp32" && column("stage") == stage ? column("ranks") : NaN):"predicted_mb" with lines linewidth 2 lc rgb stage_look(stage) notitle, \
             for [stage = 0:3] divided_csv using (strcol("precision") eq "mixed" && column("stage") == stage ? column("ranks") : NaN):"predicted_mb" with lines linewidth 2 dashtype 2 lc rgb stage_look(stage) notitle, \
             divided_csv using "ranks":"held_mb" with points pointtype 6 pointsize 1.3 lc rgb "black" notitle
        unset output
    }
    unset logscale x
}
