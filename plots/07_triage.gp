# 07_triage: charts of lab 07
#
#     gnuplot -e "results='results/07_triage'" plots/07_triage.gp
#
# Draws breakdown, timeline and step_time into the folder of the results, as every lab; and series, roofline and launch_sweep, if this
# run measured them.
lab = "07_triage"
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen(lab.".gp")]."."

timeline_cases = "baseline data_workers0 launch_eager memory_fp32"
pathology(case) = case eq "baseline" ? "none" : root(case)
breakdown_title = "Slow samples fill data; launches and large tensors local"
timeline_title = "One slow step has three possible causes"
step_time_title = "What each cause costs, and what helps"
load plots."/charts.gp"

# ---- series: the first steps of each data case ---------------------------------------------------------------------------
# A panel per case, three beside each other; the panels of a row share a scale. Workers take turns: so mean and median are those of
# whole turns, as many as the table has, up to its last step; their lines show which steps these are.
series_csv = results."/series.csv"
setting(name) = system('awk -v name=--'.name.' ''!/^# settings: / { if (/^#/) next; exit } \
    { for (i = 2; i < NF; i++) if ($i == name) { print $(i + 1); exit } }'' <'.in_shell(series_csv))
workers_of(case) = strstrt(case, "_workers0") ? "0" : strstrt(case, "_few") ? setting("workers-few") : strstrt(case, "_many") ? setting("workers-many") : ""
made_by(case) = workers_of(case) eq "" ? "" : workers_of(case) eq "0" ? ", no workers" : workers_of(case) eq "1" ? ", 1 worker" : ", ".workers_of(case)." workers"
# Steps, first of them in whole turns, mean and median from that one on, longest step; "0 0 - - 0" without steps.
series_numbers(case) = system('awk -F, -v one='.in_shell(case).' -v turn='.(workers_of(case) eq "" ? "1" : workers_of(case)).' ''/^#/ { next } \
    !seen { seen = 1; for (i = 1; i <= NF; i++) at[$i] = i; next } \
    $at["case"] == one && $at["step_ms"] != "" { of[n++] = $at["step_ms"] + 0; \
        for (i = 1; i <= 2; i++) { x = $at[i == 1 ? "step_ms" : "predicted_step_ms"] + 0; if (x > most) most = x } } \
    END { if (turn < 1 || turn > n) turn = 1; first = n % turn; m = n - first; if (!n) { print "0 0 - - 0"; exit } \
        for (i = 0; i < m; i++) { x = of[first + i]; sum += x; for (j = i; j && by[j - 1] > x; j--) by[j] = by[j - 1]; by[j] = x } \
        print n, first, sum / m, (by[int((m - 1) / 2)] + by[int(m / 2)]) / 2, most + 0 }'' <'.in_shell(series_csv))
if (of_this_run(series_csv)) {
    shown = ""
    numbers_by_case = ""                   # five words for each case
    do for [case in "data_workers0 data_few data_many busy_workers0 busy_few busy_many"] {
        numbers = series_numbers(case)
        if (int(word(numbers, 1)) > 0) { shown = shown." ".case; numbers_by_case = numbers_by_case." ".numbers }
    }
}
if (of_this_run(series_csv) && words(shown) > 0) {
    panel_number(case, n) = number(word(numbers_by_case, 5 * place(case, shown) - 5 + n))
    row_of(case) = has(case, "busy_workers0 busy_few busy_many") && strstrt(shown, "data_") ? 1 : 0
    steps_drawn = 0
    array most_of[2]
    most_of[1] = 0; most_of[2] = 0
    do for [case in shown] {
        steps_drawn = panel_number(case, 1) > steps_drawn ? panel_number(case, 1) : steps_drawn
        most_of[row_of(case) + 1] = panel_number(case, 5) > most_of[row_of(case) + 1] ? panel_number(case, 5) : most_of[row_of(case) + 1]
    }
    rows_drawn = strstrt(shown, "data_") && strstrt(shown, "busy_") ? 2 : 1
    panel_steps = steps_drawn > 8 ? steps_drawn : 8         # room for the heading
    do for [r = 1:2] { most_of[r] = most_of[r] > 0 ? most_of[r] : 1 }
    column_of_panel(case) = place(case, "data_workers0 data_few data_many busy_workers0 busy_few busy_many") - 1 - (strstrt(case, "busy") == 1 ? 3 : 0)
    # Layout: a panel is panel_steps wide, with a gap; a row is 1 high, below 0.55 for its heading.
    gap = 0.08 * panel_steps
    x_of(case, step) = column_of_panel(case) * (panel_steps + gap) + step
    floor_of(r) = (rows_drawn - 1 - r) * 1.55
    y_of(case, ms) = floor_of(row_of(case)) + ms / most_of[row_of(case) + 1]
    mean_colour = "#D55E00"
    median_colour = "#CC79A7"
    left = 90
    right = 24
    body = rows_drawn == 2 ? 400 : 200
    eval page("The median step hides that a job waits for its data", sprintf("training step (the first %.0f of each case)", steps_drawn), body)
    set border 0
    unset logscale
    set xrange [-0.7 : 3 * panel_steps + 2 * gap - 0.3]
    set yrange [0 : rows_drawn * 1.55 - 0.05]
    unset grid
    set xtics () scale 0
    set ytics ()
    set ylabel "step (ms)"
    do for [r = 0:rows_drawn - 1] {
        do for [t = 0:4] {
            tick = tick_of(most_of[r + 1], 3) * t
            if (tick <= 1.001 * most_of[r + 1]) {
                set ytics add (sprintf("%g", tick) floor_of(r) + tick / most_of[r + 1])
                set arrow from graph 0, first floor_of(r) + tick / most_of[r + 1] to graph 1, first floor_of(r) + tick / most_of[r + 1] nohead back linewidth 1 lc rgb rule
            }
        }
    }
    do for [case in shown] {
        do for [step = 0:steps_drawn - 1:4] { set xtics add (sprintf("%d", step) x_of(case, step)) }
        from_x = x_of(case, panel_number(case, 2) - 0.5)
        to_x = x_of(case, panel_number(case, 1) - 0.5)
        mean_at = y_of(case, panel_number(case, 3))
        median_at = y_of(case, panel_number(case, 4))
        set arrow from first from_x, first mean_at to first to_x, first mean_at nohead front linewidth 2 lc rgb mean_colour
        set arrow from first from_x, first median_at to first to_x, first median_at nohead front linewidth 2 dashtype 2 lc rgb median_colour
        head_y = floor_of(row_of(case)) + 1
        set label bold(root(case).made_by(case)) at first x_of(case, -0.5), first head_y + 0.32 left font "sans-serif,9"
        set label "median ".in_ms(panel_number(case, 4)).", mean ".in_ms(panel_number(case, 3)) at first x_of(case, -0.5), first head_y + 0.14 left font "sans-serif,9"
        if (label(case) ne case) { set label case at first x_of(case, panel_steps - 0.5), first head_y + 0.32 right noenhanced font "sans-serif,8" textcolor rgb grey }
    }
    eval key_clear
    eval key_entry("box", solid_look(colour("data")), "data")
    eval key_entry("box", solid_look(colour("compute")), "compute, update")
    if (largest(column_of(series_csv, "predicted_step_ms")) > 0) { eval key_entry("lying", mark_look, "predicted") }
    eval key_entry("lying", "nohead linewidth 2 lc rgb '".mean_colour."'", "mean of the steps under the line")
    eval key_entry("lying", "nohead linewidth 2 dashtype 2 lc rgb '".median_colour."'", "median of them")
    in_panel(unused) = has(strcol("case"), shown) && !blank("step_ms")
    bar_x(unused) = in_panel(0) ? x_of(strcol("case"), column("step")) : NaN
    bar_y(name) = y_of(strcol("case"), column(name))
    do for [format in formats] {
        eval output("series", format)
        plot series_csv using (bar_x(0)):(bar_y("data_ms")):(bar_x(0) - 0.36):(bar_x(0) + 0.36):(floor_of(row_of(strcol("case")))):(bar_y("data_ms")) \
                 with boxxyerror fillstyle solid noborder lc rgb colour("data") notitle, \
             series_csv using (bar_x(0)):(bar_y("data_ms")):(bar_x(0) - 0.36):(bar_x(0) + 0.36):(bar_y("data_ms")):(bar_y("step_ms")) \
                 with boxxyerror fillstyle solid noborder lc rgb colour("compute") notitle, \
             series_csv using (bar_x(0) - 0.42):(blank("predicted_step_ms") ? -1 : bar_y("predicted_step_ms")):(0.84):(0) \
                 with vectors nohead linewidth 2.5 lc rgb "black" notitle
        unset output
    }
    set border 1
    set tics nomirror scale 0.5
    set ytics scale 0 noenhanced
    set xtics autofreq
    set grid x lt 1 lc rgb rule
    unset ylabel
}

# ---- roofline: the model, and the branch of each case, below what this machine can do ------------------------------------------------
# No work on tensors beyond the cache is faster than the memory's line; what lies above that line stays in the cache. Small marks are
# single operations (operations.csv) of memory_fp32 and launch_eager, and the product of a hidden layer.
operations_csv = results."/operations.csv"
roofline_csv = results."/roofline.csv"
if (of_this_run(roofline_csv)) {
    drawn_cases = column_of(roofline_csv, "case")
    intensities = column_of(roofline_csv, "flops_per_byte")
    rates = column_of(roofline_csv, "GFLOP_per_s")
    memory_line = number(word(column_of(roofline_csv, "memory_GB_per_s"), 1))
    top_line = number(word(column_of(roofline_csv, "product_GFLOP_per_s"), 1))
    shown = ""
    by_height = ""                      # rows of the table, the fastest first
    first_x = 1e99; last_x = 0; first_y = 1e99; last_y = 0
    do for [i = 1:words(drawn_cases)] {
        x = number(word(intensities, i)); y_here = number(word(rates, i))
        if (x > 0 && y_here > 0) {
            shown = shown." ".word(drawn_cases, i)
            first_x = x < first_x ? x : first_x; last_x = x > last_x ? x : last_x
            first_y = y_here < first_y ? y_here : first_y; last_y = y_here > last_y ? y_here : last_y
            before = ""; after = ""
            do for [j in by_height] {
                if (number(word(rates, int(j))) >= y_here) { before = before." ".j } else { after = after." ".j }
            }
            by_height = before.sprintf(" %d", i).after
        }
    }
}
if (of_this_run(roofline_csv) && words(shown) > 0) {
    has_lines = memory_line > 0 && top_line > 0
    single_cases = of_this_run(operations_csv) ? column_of(operations_csv, "case") : ""
    product_x = 0
    do for [i = 1:words(single_cases)] {
        x = number(word(column_of(operations_csv, "flops_per_byte"), i)); y_here = number(word(column_of(operations_csv, "GFLOP_per_s"), i))
        if (has(word(single_cases, i), "baseline memory_fp32 launch_eager") && x > 0 && y_here > 0) {
            if (word(single_cases, i) eq "baseline") { product_x = x; product_y = y_here }
            first_x = x < first_x ? x : first_x; last_x = x > last_x ? x : last_x
            first_y = y_here < first_y ? y_here : first_y; last_y = y_here > last_y ? y_here : last_y
        }
    }
    if (has_lines) {
        ridge = top_line / memory_line
        first_x = ridge < first_x ? ridge : first_x; last_x = ridge > last_x ? ridge : last_x
        last_y = top_line > last_y ? top_line : last_y
        first_y = memory_line * first_x < first_y ? memory_line * first_x : first_y
    }
    first_x = first_x / 2; last_x = last_x * 2; first_y = first_y / 2; last_y = last_y * 2
    left = 90
    right = 24
    body = 360
    eval page("Memory bounds large tensors; launches bound tiny operations", "arithmetic per byte (FLOP/byte, log scale)", body)
    set border 3
    set logscale xy
    set xrange [first_x : last_x]
    set yrange [first_y : last_y]
    set xtics (0.01, 0.1, 1, 10, 100, 1000, 1e4)
    set ytics (0.001, 0.01, 0.1, 1, 10, 100, 1000, 1e4, 1e5)
    set format "%g"
    set grid y lt 1 lc rgb rule
    set ylabel "arithmetic (GFLOP/s, log scale)"
    wide(text) = 6.5 * strlen(text)
    inner = 1. * (width - left - right)
    said_at(text, x, y, side) = sprintf("set label %s at screen %g, screen %g %s front boxed noenhanced font 'sans-serif,9';", in_eval(text), 1. * x / width, 1. * (below + y) / height, side)
    x_pixel(x) = left + log(x / first_x) / log(last_x / first_x) * inner
    y_pixel(y) = body * log(y / first_y) / log(last_y / first_y)
    eval key_clear
    eval key_entry("point", "pointtype 7 pointsize 1.1 lc rgb '".colour("compute")."'", observed)
    eval key_entry("point", "pointtype 6 pointsize 1.1 linewidth 2 lc rgb '".colour("compute")."'", observed.", faster than the memory: its tensors stay in the cache")
    singles = words(single_cases) > 0 ? "memory_fp32 launch_eager baseline" : ""
    singles_csv = words(singles) > 0 ? operations_csv : roofline_csv
    mark_of(case) = word("2 1 4", place(case, "memory_fp32 launch_eager baseline"))
    shade_of(case) = word("#D55E00 #CC79A7 #009E73", place(case, "memory_fp32 launch_eager baseline"))
    do for [case in singles] { eval key_entry("point", "pointtype ".mark_of(case)." pointsize 0.8 linewidth 1.5 lc rgb '".shade_of(case)."'", case eq "baseline" ? "product of a hidden layer" : "one operation (".label(case).")") }
    # Labels stand at the right of their points, or at the left where the page ends or a point is, from the top down, 15 pixels apart and
    # 12 from points.
    array dot_x[words(drawn_cases)]; array dot_y[words(drawn_cases)]
    do for [j in by_height] { i = int(j); dot_x[i] = x_pixel(number(word(intensities, i))); dot_y[i] = y_pixel(number(word(rates, i))) }
    array label_from[words(drawn_cases) + 2]; array label_to[words(drawn_cases) + 2]; array label_y[words(drawn_cases) + 2]
    placed = 0
    if (has_lines) {
        set arrow from first first_x, first memory_line * first_x to first ridge, first top_line nohead back linewidth 2 lc rgb guide
        set arrow from first ridge, first top_line to first last_x, first top_line nohead back linewidth 2 lc rgb guide
        top_said = "matrix products: ".digits(top_line)." GFLOP/s"
        top_x = x_pixel(ridge) + wide(top_said) < width - right ? x_pixel(ridge) : width - right - wide(top_said)
        top_y = y_pixel(top_line)
        if (product_x > 0) {    # not on the product's mark
            mark_x = x_pixel(product_x)
            is_covered = top_x - 8 < mark_x && mark_x < top_x + wide(top_said) + 8 && abs(top_y + 12 - y_pixel(product_y)) < 13
            if (is_covered && mark_x + 12 + wide(top_said) < width - right) { top_x = mark_x + 12 }
        }
        eval said_at(top_said, top_x, top_y + 12, "left")
        placed = 1
        label_from[1] = top_x; label_to[1] = top_x + wide(top_said); label_y[1] = top_y + 12
        memory_x = first_x * (last_x / first_x) ** 0.03
        memory_said = "memory: ".digits(memory_line)." GB/s"
        eval said_at(memory_said, x_pixel(memory_x) + 14, y_pixel(memory_line * memory_x), "left")
        placed = 2
        label_from[2] = x_pixel(memory_x) + 14; label_to[2] = label_from[2] + wide(memory_said); label_y[2] = y_pixel(memory_line * memory_x)
    }
    do for [j in by_height] {
        i = int(j)
        said = label(word(drawn_cases, i)).(word(drawn_cases, i) eq word(cases, 1) ? ", slow and busy samples" : "")   # they compute the same
        point_x = dot_x[i]
        at_y = dot_y[i]
        is_right = point_x + 15 + wide(said) < width - 4
        do for [other in by_height] {
            k = int(other)
            is_in_way = point_x + 7 < dot_x[k] && dot_x[k] < point_x + 19 + wide(said) && abs(at_y - dot_y[k]) < 11.9
            if (is_in_way && point_x - 17 - wide(said) > left) { is_right = 0 }
        }
        from_px = is_right ? point_x + 13 : point_x - 13 - wide(said)
        if (has_lines && from_px + wide(said) > x_pixel(ridge) && abs(at_y - top_y) < 11) { at_y = top_y - 12 }     # not on the line
        do for [pass = 1:placed] {
            do for [k = 1:placed] {
                if (from_px < label_to[k] + 4 && label_from[k] < from_px + wide(said) + 4 && abs(at_y - label_y[k]) < 14.9) { at_y = label_y[k] - 15 }
            }
            do for [other in by_height] {       # not on another point
                k = int(other)
                if (from_px < dot_x[k] + 6 && dot_x[k] - 6 < from_px + wide(said) && abs(at_y - dot_y[k]) < 11.9) { at_y = at_y < dot_y[k] ? dot_y[k] - 12 : dot_y[k] + 12 }
            }
        }
        placed = placed + 1
        label_from[placed] = from_px; label_to[placed] = from_px + wide(said); label_y[placed] = at_y
        eval said_at(said, is_right ? point_x + 13 : point_x - 13, at_y, is_right ? "left" : "right")
    }
    is_fast(unused) = has_lines && column("GB_per_s") > memory_line
    point_of(fast) = blank("GFLOP_per_s") || is_fast(0) != fast ? first_x / 10 : column("flops_per_byte")     # left of the chart
    single_x(case) = words(singles) == 0 || strcol("case") ne case || column("flops_per_byte") <= 0 ? first_x / 10 : column("flops_per_byte")
    do for [format in formats] {
        eval output("roofline", format)
        plot for [case in "memory_fp32 launch_eager baseline"] singles_csv using (single_x(case)):"GFLOP_per_s" \
                 with points pointtype int(mark_of(case)) pointsize 0.8 linewidth 1.5 lc rgb shade_of(case) notitle, \
             roofline_csv using (point_of(0)):"GFLOP_per_s" with points pointtype 7 pointsize 1.1 lc rgb colour("compute") notitle, \
             roofline_csv using (point_of(1)):"GFLOP_per_s" with points pointtype 6 pointsize 1.1 linewidth 2 lc rgb colour("compute") notitle
        unset output
    }
    unset logscale
    unset ylabel
}

# ---- launch_sweep: an operation on tensors of growing size ------------------------------------------------------------
# Crossover: the size at which an eager operation takes twice the time of the smallest, between two sizes in proportion, as the lab
# prints it (find_doubling() in labs/07_triage_tables.c): from there on arithmetic takes longer than dispatch.
launch_csv = results."/launch_sweep.csv"
doubled_at(name) = system('awk -F, ''/^#/ { next } !seen { seen = 1; for (i = 1; i <= NF; i++) at[$i] = i; next } \
    { x = $at["floats"] + 0; y = $at["'.name.'"] + 0; if (!n++) twice = 2 * y; else if (!done && twice > 0 && y >= twice) \
        { print x0 + (x - x0) * (twice - y0) / (y - y0); done = 1 } x0 = x; y0 = y } END { if (!done) print "-" }'' <'.in_shell(launch_csv))
if (of_this_run(launch_csv) && words(column_of(launch_csv, "floats")) > 1) {
    sizes = column_of(launch_csv, "floats")
    ways = "eager replay"
    shade(way) = word("#D55E00 #0072B2", place(way, ways))
    said_way(way) = word("eager~operation replayed", place(way, ways))
    least = 1e99; highest = 0
    do for [way in ways] {
        do for [time in column_of(launch_csv, way."_ns").column_of(launch_csv, way."_predicted_ns")] {
            least = number(time) > 0 && number(time) < least ? number(time) : least
            highest = number(time) > highest ? number(time) : highest
        }
    }
    least = least < 1e99 ? least / 2 : 1
    highest = highest > 0 ? 3 * highest : 10
    # Eager and predicted, the time grows in proportion to the floats from the cost of dispatch on.
    guess = column_of(launch_csv, "eager_predicted_ns")
    dispatch_ns = number(word(guess, 1)) - (number(word(guess, 2)) - number(word(guess, 1))) * number(word(sizes, 1)) / (number(word(sizes, 2)) - number(word(sizes, 1)))
    predicted_at = number(doubled_at("eager_predicted_ns"))
    found_at = number(doubled_at("eager_ns"))
    foreseen = largest(guess) > 0
    guess_ns(way) = blank(way."_predicted_ns") ? least / 10 : column(way."_predicted_ns")      # below the chart
    shown = ""
    body = 330
    left = 100
    right = 130
    eval page("A small tensor costs its dispatch, a large one its arithmetic", "size of the tensor (floats, log scale)", body)
    set border 3
    set logscale xy
    first_x = number(word(sizes, 1)) / 1.5
    last_x = largest(sizes) * 1.5
    set xrange [first_x : last_x]
    set yrange [least : highest]
    set grid y lt 1 lc rgb rule
    set xtics ()
    do for [size in sizes] { set xtics add (size number(size)) }
    set format y "%g"
    set ytics (0.1, 1, 10, 100, 1000, 10000, "1e5" 1e5, "1e6" 1e6, "1e7" 1e7)
    set ylabel "time of an operation (ns, log scale)" offset -1, 0
    ends = 0
    do for [way in ways] {
        last = number(word(column_of(launch_csv, way."_ns"), words(sizes)))
        if (last > 0) { dummy = ends_add(spaced(said_way(way)), body * log10(last / least) / log10(highest / least), "7 ".shade(way)) }
    }
    if (dispatch_ns > least) {
        set arrow from graph 0, first dispatch_ns to graph 1, first dispatch_ns nohead back linewidth 1.5 dashtype 3 lc rgb guide
        dummy = ends_add("dispatch: ".digits(dispatch_ns)." ns", body * log10(dispatch_ns / least) / log10(highest / least), "")
    }
    eval ends_labels(width - right + 8)
    eval crossover(predicted_at, sprintf("%.0f floats", predicted_at), found_at, sprintf("%.0f floats", found_at), first_x, last_x, 0.95)
    do for [format in formats] {
        eval output("launch_sweep", format)
        plot for [way in ways] launch_csv using "floats":(guess_ns(way)) with lines linewidth 1.5 lc rgb shade(way) notitle, \
             for [way in ways] launch_csv using "floats":(column(way."_ns")) with points pointtype 7 pointsize 0.9 lc rgb shade(way) notitle, \
             NaN with points pointtype 7 pointsize 0.9 lc rgb more title observed, \
             NaN with lines linewidth 1.5 lc rgb more title foreseen ? "predicted" : ""
        unset output
    }
}
