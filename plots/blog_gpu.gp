# blog_gpu: the four charts of the post about profiling a training job on a GPU, its numbers beside ours
#
#     gnuplot -e "results='results/platforms/blog_gpu'" plots/blog_gpu.gp
#
# Draws data_pipeline, data_jitter, torch_throughput and kernel_amp from blog_gpu.csv and blog_gpu_series.csv (columns:
# tools/platforms/blog_gpu.c) into that folder. A bar is ours: grey where the published mean set a parameter, so that both agree by
# construction, blue where it was predicted. A hollow diamond is the post's.
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen("blog_gpu.gp")]."."
if (!exists("results")) results = "results/platforms/blog_gpu"
summary_csv = results."/blog_gpu.csv"
series_csv = results."/blog_gpu_series.csv"
load plots."/style.gp"

simulated = 0                   # no badge: the titles and the key say what is computed
machine = "published: GeForce RTX 5080, PyTorch 2.10 · ours: computed from seven of the post's numbers (tools/platforms/gpu_post.h)"
slugs = column_of(summary_csv, "slug")
roles = column_of(summary_csv, "role")
number_of(name, slug) = number(word(column_of(summary_csv, name), place(slug, slugs)))
role_of(slug) = word(roles, place(slug, slugs))
ours_of(role) = role eq "fitted" ? bar : colour("compute")
post_point_of(look) = "pointtype 12 pointsize 1.5 linewidth 1.5 lc rgb '".look."'"     # gnuplot's point 12 is a hollow diamond
post_point = post_point_of("black")
roles_key(which) = (strstrt(which, "predicted") ? key_entry("box", solid_look(ours_of("predicted")), "ours, predicted") : "").\
    (strstrt(which, "fitted") ? key_entry("box", solid_look(ours_of("fitted")), "ours, fitted to the post's") : "").\
    key_entry("point", post_point, "the post's")
left = 190
right = 150
unset key

# A chart of lying bars: the cases of a list, the columns published_NAME and our_NAME.
row_y(list, slug) = place(slug, list)
named(slug) = slug eq "data_workers0" ? "no worker" : slug eq "data_workers4" ? "4 workers" : slug eq "data_workers8" ? "8 workers" : \
    slug eq "torch_eager" ? "eager, batch 256" : slug eq "torch_batch1024" ? "eager, batch 1024" : slug eq "kernel_fp32" ? "float32" : "bfloat16"
drawn(list) = has(strcol("slug"), list) ? row_y(list, strcol("slug")) : NaN
of_role(list, role) = strcol("role") eq role ? drawn(list) : NaN
bars(chart, title, axis, list, name) = \
    sprintf("chart = %s; list = %s; name = %s;", in_eval(chart), in_eval(list), in_eval(name)).page(title, axis, 62 * words(list)).";".key_clear
number_at(slug) = sprintf("set label %s at screen %g, first %g right textcolor rgb 'black';", \
    in_eval(name eq "ms" ? in_ms(number_of("our_ms", slug)).sprintf(" (%+.1f %%)", 100 * number_of("error", slug)) : sprintf("%.0f", number_of("our_".name, slug))), \
    1 - 16. / width, row_y(list, slug))
name_at(slug) = sprintf("set label %s at screen %g, first %g right;", in_eval(named(slug)), 1. * (left - 12) / width, row_y(list, slug))
show(most) = sprintf("set yrange [%g : 0.4]; unset ytics; set xrange [0 : %g]; set grid noytics xtics; set border 1 lc rgb grey;", words(list) + 0.6, most)
plot_bars = "do for [slug in list] { eval name_at(slug); eval number_at(slug) }; do for [format in formats] { eval output(chart, format); ".\
    "plot for [role in 'fitted predicted'] summary_csv using (0):(of_role(list, role)):(0):(column('our_'.name)):(of_role(list, role) - 0.3):(of_role(list, role) + 0.3) ".\
    "with boxxyerror fillstyle solid noborder fillcolor rgb ours_of(role) notitle, ".\
    "summary_csv using (column('published_'.name)):(drawn(list)) with points @post_point notitle; unset output }"

# ---- data_pipeline: means of the steps that the post counts ----------------------------------------
data = "data_workers0 data_workers4 data_workers8"
caption = sprintf("10 steps: %.1fx and %.1fx; with the first 2: %.1fx and %.1fx, as 8 or 16 batches may be made beside those; a long job: at most 4x and 8x", \
    number_of("published_ms", "data_workers0") / number_of("published_ms", "data_workers4"), number_of("published_ms", "data_workers0") / number_of("published_ms", "data_workers8"), \
    number_of("published_all_ms", "data_workers0") / number_of("published_all_ms", "data_workers4"), number_of("published_all_ms", "data_workers0") / number_of("published_all_ms", "data_workers8"))
eval bars("data_pipeline", "Few steps flatter workers: earlier batches count as free", "mean step (ms)", data, "ms")
eval roles_key("predicted fitted")
eval show(700)
eval plot_bars

# ---- data_jitter: every step ------------------------------------------------------------------------
right = 36
left = 90
caption = sprintf("medians: %.0f, %.2f and %.2f ms, which hide the waiting · workers begin together, so they finish together: one long step in 4 or 8", \
    number_of("published_p50_ms", "data_workers0"), number_of("published_p50_ms", "data_workers4"), number_of("published_p50_ms", "data_workers8"))
eval page("Workers that begin together: one long step in four or eight", "step", 300)
eval key_clear
look_of(slug) = slug eq "data_workers0" ? bar : slug eq "data_workers4" ? "#010101" : colour("compute")
do for [slug in data] {
    eval key_entry("lying", "nohead linewidth 2 lc rgb '".look_of(slug)."'", "ours, ".named(slug))
    if (slug ne "data_workers0") { eval key_entry("point", post_point_of(look_of(slug)), "the post's") }
}
set yrange [1 : 1500]
set logscale y
set ytics scale 0 (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
set ylabel "step (ms)"
set xrange [-0.4 : 11.4]
set xtics 0, 1, 11
set grid noxtics ytics
in_series(slug) = strcol("slug") eq slug ? column("step") : NaN
do for [format in formats] {
    eval output("data_jitter", format)
    plot for [slug in data] series_csv using (in_series(slug)):(column("our_ms")) with lines linewidth 2 lc rgb look_of(slug) notitle, \
         for [slug in data] series_csv using (blank("published_ms") ? NaN : in_series(slug)):(column("published_ms")) \
             with points pointtype 12 pointsize 1.5 linewidth 1.5 lc rgb look_of(slug) notitle
    unset output
}
unset logscale y
unset ylabel
set xtics autofreq

# ---- torch_throughput ---------------------------------------------------------------------------------
left = 190
right = 150
torch = "torch_eager torch_batch1024"
caption = sprintf("the step grows from %.2f to %.2f ms: step time and throughput move apart · 1024 samples may wait for the two workers", \
    number_of("published_ms", "torch_eager"), number_of("published_ms", "torch_batch1024"))
eval bars("torch_throughput", "Four times the batch: longer steps, more samples a second", "samples per second", torch, "samples_per_s")
eval roles_key("fitted")
eval show(130000)
eval plot_bars

# ---- kernel_amp -----------------------------------------------------------------------------------------
kernel = "kernel_fp32 kernel_bf16"
caption = sprintf("medians: %.2f and %.2f ms. Predicted from the loader alone: what two workers need for 512 samples, whatever the kernels do", \
    number_of("published_p50_ms", "kernel_fp32"), number_of("published_p50_ms", "kernel_bf16"))
eval bars("kernel_amp", "Half the bytes, no gain: both may wait for the loader", "mean step (ms)", kernel, "ms")
eval roles_key("predicted")
eval show(6)
eval plot_bars
