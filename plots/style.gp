# style: the common look of all charts, for gnuplot 5.4 or newer. A script sets `results`, the folder of the CSV files, and loads
# this file. Charts go to the same folder unless `charts` gives another.
#
# Each phase has a fixed colour of the Okabe-Ito set, the same in every chart. Waiting is also hatched, so that it stands out in
# grey print and for colour-blind readers. Exposed time that may be waiting or transfer is green and hatched the other way, and so
# is padding, in the colour of compute. Simulated charts have the same ink; a badge and the caption say that they are simulated.
# Greys are those that the report knows (tools/report/svg.c), so that charts suit dark pages, too.

set encoding utf8
set datafile separator comma
set datafile columnheaders      # columns are selected by name: a new column breaks nothing

if (!exists("charts")) charts = results
if (!exists("summary_csv")) summary_csv = results."/summary.csv"     # a row per case
ranks_csv = results."/ranks.csv"         # a row per case and rank
rounds_csv = results."/rounds.csv"       # a row per case and round
card_of_run = results."/card.csv"         # machine card behind the predictions
lanes_csv = results."/lanes.csv"         # one step of each case: a row per segment

# Quote any text for the shell: a folder may be called  it's $HOME.
escaped(text) = strstrt(text, "'") ? text[:strstrt(text, "'") - 1]."'\\''".escaped(text[strstrt(text, "'") + 1:]) : text
in_shell(text) = "'".escaped(text)."'"
there(path) = system("test -r ".in_shell(path)." && echo yes") eq "yes"
if (!there(summary_csv)) {
    print "cannot draw: there is no ".summary_csv." (run the lab first, or name its folder: results='...')"
    exit status 77
}

# ---- Reading the results --------------------------------------------------------------------
# A list is a string of words; "-" in it is a blank cell, and "~" a blank in a cell, which spaced() puts back.
column_of(csv, name) = system('awk -F, ''/^#/ { next } \
    !header { header = 1; for (i = 1; i <= NF; i++) if ($i == "'.name.'") at = i; next } \
    at { gsub(/ /, "~", $at); printf "%s ", $at == "" ? "-" : $at }'' <'.in_shell(csv))
spaced(word) = strstrt(word, "~") ? word[:strstrt(word, "~") - 1]." ".spaced(word[strstrt(word, "~") + 1:]) : word
# Return the text after "# key: " above the names; "" if absent. The key is no pattern: a case may be called v1.0.
head_of(csv, key) = system('awk -v key='.in_shell("# ".key.":").' ''!/^#/ { exit } \
    index($0, key) == 1 { $0 = substr($0, length(key) + 1); sub(/^ */, ""); print; exit }'' <'.in_shell(csv))
preamble(key) = head_of(summary_csv, key)

place(item, list) = sum [i = 1:words(list)] (word(list, i) eq item ? i : 0)     # 0: not in the list
has(item, list) = place(item, list) > 0
blank(name) = strcol(name) eq ""                                    # for the drawn row
known(name) = blank(name) ? -1 : column(name)                       # -1: left of the chart, not drawn
dotted(cell) = strstrt(cell, "e") == 0 || strstrt(cell, ".") > 0 ? cell : cell[:strstrt(cell, "e") - 1].".".cell[strstrt(cell, "e"):]
number(cell) = cell eq "" || cell eq "-" ? NaN : real(dotted(cell))            # gnuplot 5.4 reads 9.e-07 but not 9e-07
keep_larger(cell) = number(cell) > most ? (most = number(cell)) : most          # skips NaN
largest(list) = (most = 0, sum [i = 1:words(list)] keep_larger(word(list, i)), most)

# True if a table is from this run or one to which it added rounds, not left by another.
settings_of(csv) = there(csv) ? head_of(csv, "settings") : ""
of_this_run(csv) = settings_of(csv) ne "" && settings_of(csv) eq settings_of(summary_csv)

# ---- Colours, fills, words ------------------------------------------------------------------
phases = "data compute host transfer update padding wait exposed other"
phase(kind) = has(kind, "forward backward local") ? "compute" : kind eq "travel" ? "transfer" : kind
colour(phase) = word("#A6A6A6 #56B4E9 #0072B2 #E69F00 #009E73 #CC79A7 #0072B2 #D55E00 #009E73 #A6A6A6", 1 + place(phase, phases))
is_hatched(phase) = has(phase, "padding wait exposed")
fill(phase) = phase eq "wait" ? 4 : is_hatched(phase) ? 5 : 3       # gnuplot's patterns: 4 and 5 are hatched, 3 is solid
edge(phase) = is_hatched(phase) ? colour(phase) : "#FFFFFF"
said_of(phase) = phase eq "exposed" ? "wait or transfer" : phase eq "travel" ? "all-reduce" : phase
# Text colour on a phase. Almost white and almost black: the report inverts pure black and white on a dark page, but not these.
ink(phase) = has(phase, "compute transfer") ? "#FEFEFE" : "#010101"
grey = "#666666"
bar = "#A6A6A6"                 # a step up to the baseline's
more = "#444444"                # what it has beyond; also curves of measured values
rule = "#E4E4E4"                # grid lines
# Guides: of their own grey, because the svg terminal forgets the dashes of a line that has colour and width of the one before.
guide = "#808080"

# Three digits and no more than three decimals: steps of a GPU are shorter than a millisecond. 0.043, 0.427, 4.27, 42.7, 427.3
digits(x) = sprintf(x < 1 ? "%.3f" : x < 10 ? "%.2f" : x < 1000 ? "%.1f" : "%.0f", x)
# Milliseconds have the same decimals as in the terminal (common/base/number.c).
ms_digits(x) = sprintf(x < 0.0005 ? "%.1f" : x < 0.9995 ? "%.3f" : x < 9.995 ? "%.2f" : "%.1f", x)
size_word(bytes) = bytes < 1024 ? sprintf("%.0f B", bytes) : bytes < 1048576 ? sprintf("%.0f KiB", bytes / 1024) : sprintf("%.0f MiB", bytes / 1048576)
in_ms(x) = x == x ? ms_digits(x)." ms" : ""
in_time(ms) = ms < 0.1 ? digits(1e3 * ms)." µs" : digits(ms)." ms"
# Distance of ticks: 1, 2 or 5 times a power of ten, so that a range has about `count` of them.
ten_below(x) = 10 ** floor(log10(x))
nice(x) = x <= ten_below(x) ? ten_below(x) : x <= 2 * ten_below(x) ? 2 * ten_below(x) : x <= 5 * ten_below(x) ? 5 * ten_below(x) : 10 * ten_below(x)
tick_of(range, count) = range > 0 ? nice(1.0 * range / count) : 1
literal(text) = strstrt(text, "_") ? text[:strstrt(text, "_") - 1]."\\_".literal(text[strstrt(text, "_") + 1:]) : text
bold(text) = "{/:Bold ".literal(text)."}"           # in enhanced text a bare _ begins a subscript

# ---- The caption: machine and settings ------------------------------------------------------
cell(key) = word(column_of(summary_csv, key), 1)
stated(key) = preamble(key) ne "" ? preamble(key) : cell(key) eq "-" ? "" : cell(key)
counted(key, noun) = stated(key) eq "" ? "" : stated(key)." ".noun.(stated(key) eq "1" ? "" : "s")
also(text) = text eq "" ? "" : " · ".text
simulated = !has(cell("platform"), "here -")
observed = simulated ? "simulated" : "measured"
of_gpus = preamble("GPUs") ne ""
unit = of_gpus ? "GPU" : "core"
trained_on = of_gpus ? system('awk -F, ''/^#/ { next } !at { for (i = 1; i <= NF; i++) if ($i == "device") at = i; next } \
    { print $at; exit }'' <'.in_shell(summary_csv)) : ""
# Tables name the backend "mpi (Open MPI v4.1.4)", "nccl (NCCL 2.21.5, Open MPI v4.1.4)" or "sim (SimGrid 3.32)".
without_v(text) = strstrt(text, " v") ? text[:strstrt(text, " v")].text[strstrt(text, " v") + 2:] : text
library_in(backend) = strstrt(backend, " (") ? without_v(backend[strstrt(backend, " (") + 2:strlen(backend) - 1]) : ""
by_library(backend) = library_in(backend) eq "" ? "" : " by ".(backend[:3] eq "mpi" ? "MPI (" . library_in(backend) . ")" : library_in(backend))
# A modelled machine has no processor; its tables say "costs of platform blog" instead.
processor = stated("machine")[:9] eq "costs of " ? "" : stated("machine")
machine = (simulated ? "platform ".cell("platform").", simulated".by_library(stated("backend")).also(processor) : processor).also(preamble("device"))
ran_on = counted("ranks", "rank").(simulated ? "" : by_library(stated("backend"))).(stated("cores") eq "" ? "" : " on ".counted("cores", unit)).\
    also(stated("oversubscribed") eq "1" ? "more ranks than ".unit."s" : "").also(trained_on)
caption = ran_on.also(counted("steps", "step")).also(counted("rounds", "round"))

# ---- Names at the ends of lines ---------------------------------------------------------------
# Lines are named where they end, at the right of the chart. ends = 0; for each line ends_add(name, pixels above the bottom axis,
# "type colour" of its points or ""); then eval ends_labels(x): labels at x pixels from the left, at least 15 pixels apart. Names are black,
# which can be read on every page; the point before them has the line's colour.
array end_name[16]; array end_y[16]; array end_point[16]
ends_add(name, y, point) = (ends = ends + 1, end_name[ends] = name, end_y[ends] = y, end_point[ends] = point, ends)
# The highest line not yet labelled, of those below `limit`; 0 for none.
highest_below(limit, skip) = (found_end = 0, sum [i = 1:ends] (!has(sprintf("%d", i), skip) && (found_end == 0 || end_y[i] > end_y[found_end]) ? (found_end = i, 0) : 0), found_end)
place_end(y, limit) = y > limit - 15 ? limit - 15 : y
end_label(i, x, y) = sprintf("set label %s at screen %g, %g left front font 'sans-serif,9' noenhanced%s;", in_eval(end_name[i]), 1. * x / width, 1. * (below + y) / height, \
    end_point[i] eq "" ? "" : sprintf(" point pointtype %s pointsize 0.9 lc rgb '%s' offset 1, -0.25", word(end_point[i], 1), word(end_point[i], 2)))
ends_from(x, limit, done) = words(done) == ends ? "" : \
    (next_end = highest_below(limit, done), end_label(next_end, x, place_end(end_y[next_end], limit)).ends_from(x, place_end(end_y[next_end], limit), done.sprintf(" %d", next_end)))
ends_labels(x) = ends_from(x, 1e9, "")

# ---- Where two lines cross ----------------------------------------------------------------------
# A standing line where the crossover was predicted and one where it was found, each named beside itself: the left one at its left,
# if the text has room there. eval crossover(predicted, its text, found, its text, first and last x of a logarithmic axis, height).
cross_text(when, said) = "crossover ".when." at ".said
cross_pixels(x, first_x, last_x) = (log(x) - log(first_x)) / (log(last_x) - log(first_x)) * (width - left - right)
cross_is_wider(pixels, text) = pixels > 6.9 * strlen(text) + 12
cross_has_room(x, text, first_x, last_x) = cross_is_wider(cross_pixels(x, first_x, last_x), text)
cross_mark(x, text, look, y, is_left) = sprintf("set arrow from first %g, graph 0 to first %g, graph 1 nohead linewidth 1.5 lc rgb '%s';", x, x, look).\
    sprintf("set label %s at first %g, graph %g %s front boxed noenhanced font 'sans-serif,9';", in_eval(text), x, y, is_left ? "right offset -0.7, 0" : "left offset 0.7, 0")
# a is the left one of two lines; b is NaN if there is only one. If b's text would lie on a's, it stands a line nearer the middle.
cross_is_free(a, text_a, b, first_x, last_x) = cross_has_room(a, text_a, first_x, last_x) || cross_is_wider(cross_pixels(b, first_x, last_x) - cross_pixels(a, first_x, last_x), text_a)
crossover_of(a, text_a, look_a, b, text_b, look_b, first_x, last_x, y) = a != a ? "" : \
    cross_mark(a, text_a, look_a, y, cross_has_room(a, text_a, first_x, last_x)).(b != b ? "" : \
    cross_mark(b, text_b, look_b, cross_is_free(a, text_a, b, first_x, last_x) ? y : y + (y > 0.5 ? -0.06 : 0.06), 0))
crossover(p, said_p, f, said_f, first_x, last_x, y) = p <= f || f != f ? \
    crossover_of(p, cross_text("predicted", said_p), "black", f, cross_text(observed, said_f), guide, first_x, last_x, y) : \
    crossover_of(f, cross_text(observed, said_f), guide, p, cross_text("predicted", said_p), "black", first_x, last_x, y)

# ---- A key by hand ----------------------------------------------------------------------------
# gnuplot's key draws a standing mark as a lying line, and breaks lines where it likes. eval key_clear, then for each entry
# eval key_entry(kind, look, text): a "box", a "point", a "standing" or a "lying" line with the options `look`.
# Entries stand side by side, at most two lines of them, below the axis title.
key_clear = "key_next = 16; key_y = 73"
key_px(x, y) = sprintf("screen %g, screen %g", 1. * x / width, 1. * y / height)
solid_look(colour) = "fillstyle solid noborder fillcolor rgb '".colour."'"
phase_look(phase) = is_hatched(phase) ? sprintf("fillstyle pattern %d border lc rgb '%s' fillcolor rgb '%s'", fill(phase), edge(phase), colour(phase)) : solid_look(colour(phase))
mark_look = "nohead linewidth 2.5 lc rgb 'black'"       # a prediction
whisker_look = "heads size screen 0.003, 90 lc rgb more"
key_width(text) = 28 + 6.9 * strlen(text) + 20
key_mark(kind, look) = kind eq "box" ? "set object rectangle from ".key_px(key_x, key_y - 5)." to ".key_px(key_x + 20, key_y + 5)." noclip ".look.";" : \
    kind eq "point" ? "set label '' at ".key_px(key_x + 10, key_y)." point ".look.";" : \
    kind eq "standing" ? "set arrow from ".key_px(key_x + 10, key_y - 8)." to ".key_px(key_x + 10, key_y + 8)." ".look.";" : \
    "set arrow from ".key_px(key_x, key_y)." to ".key_px(key_x + 20, key_y)." ".look.";"
key_place(text) = (key_x = key_next > 16 && key_next + key_width(text) - 20 > width - 16 ? (key_y = key_y - 18, 16) : key_next, key_next = key_x + key_width(text), "")
key_entry(kind, look, text) = key_place(text).key_mark(kind, look)."set label ".in_eval(text)." at ".key_px(key_x + 28, key_y)." left noenhanced font 'sans-serif,9';"

# ---- A page ---------------------------------------------------------------------------------
# eval page("Title", "axis (unit)", 300) lays out a chart with 300 pixels of height for the data. Then, for each format,
# eval output("breakdown", format) begins results/breakdown.svg. Axis, legend and caption lie below the data at fixed heights, so
# that they never cover the data.
if (!exists("formats")) formats = "svg png"
width = 960
left = 90           # margins in pixels; charts with long names or numbers at the side set others
right = 24
above = 52
below = 132

# charts.csv lists the charts and the cases that each shows, for the report.
charts_csv = charts."/charts.csv"
set print charts_csv
print "chart,title,axis,cases"
set print

# Quote any text: for eval, where 'it''s' is one; as a cell of a table, where quotes are doubled, too.
doubled(text, mark) = strstrt(text, mark) ? text[:strstrt(text, mark)].mark.doubled(text[strstrt(text, mark) + 1:], mark) : text
in_eval(text) = "'".doubled(text, "'")."'"
in_table(text) = '"'.doubled(text, '"').'"'

page(title, axis, body) = \
    sprintf("height = %d; title_of_page = %s; axis_of_page = %s;", above + body + below, in_eval(title), in_eval(axis)).\
    "cases_of_page = exists('shown') ? shown : '';".\
    "unset label; unset arrow; unset object;".\
    "set label 1 bold(title_of_page) at screen 16. / width, 1 - 24. / height font 'sans-serif,15';".\
    (simulated ? "set label 4 'simulated' at screen 1 - 24. / width, 1 - 24. / height right "."font 'sans-serif:Bold,11'"." textcolor rgb '#555555' boxed;" : "").\
    "set label 2 machine at screen 16. / width, 30. / height font 'sans-serif,9' textcolor rgb grey noenhanced;".\
    "set label 3 caption at screen 16. / width, 14. / height font 'sans-serif,9' textcolor rgb grey noenhanced;".\
    "set xlabel axis_of_page;".\
    "set lmargin at screen 1. * left / width; set rmargin at screen 1 - 1. * right / width;".\
    "set tmargin at screen 1 - 1. * above / height; set bmargin at screen 1. * below / height;".\
    "set key at screen 8. / width, 66. / height left center"

# A PNG has twice the pixels, to stay sharp. The svg terminal does not know that a point is 4/3 pixels, nor the width of letters, so
# its legend gets more space.
output(name, format) = (format eq word(formats, 1) \
    ? "set print charts_csv append; print '".name.",'.in_table(title_of_page).','.in_table(axis_of_page).','.cases_of_page; set print;" : "").\
    (format eq "svg" \
    ? "set key width 2 spacing 1.2;".\
      sprintf("set terminal svg size %d,%d background 'white' font 'sans-serif,10' fontscale 1.333;", width, height) \
    : "set key width -1;".sprintf("set terminal pngcairo size %d,%d background 'white' font 'sans-serif,10'", 2 * width, 2 * height).\
      " fontscale 2 linewidth 2 pointscale 2;")."set output charts.'/".name.".".format."'"

set style fill solid border lc rgb "white"
set style textbox opaque fillcolor rgb "white" noborder margins 0.5, 0.2
set border 1 lc rgb grey
set tics nomirror scale 0.5 textcolor rgb "black"
set ytics scale 0 noenhanced
set format x "%h"               # the default begins with a blank for the sign, which shifts the label off its tick
set grid x lt 1 lc rgb rule
set key horizontal maxrows 1 Left reverse samplen 1.5 font "sans-serif,9"
