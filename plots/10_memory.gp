# 10_memory: charts of lab 10, where memory goes
#
#     gnuplot -e "results='results/10_memory'" plots/10_memory.gp
#
# Draws into the folder of the results: breakdown, timeline and step_time, as every lab; owners (what each case holds, by owner), trade (memory
# against the step); and, if this run measured it, in_use (activations and buffers in the course of a step).
lab = "10_memory"
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen(lab.".gp")]."."

told_best = "baseline zero3 recompute_all"
pathology(case) = case eq "baseline" ? "none" : case eq "leak" || case eq "kept_gradients" || case eq "early_gather" ? "mistakes" : case eq "recompute_all" || case eq "recompute_sqrt" || case eq "recompute_attention" ? "recomputing" : "ZeRO"
breakdown_title = "Less memory costs transfer, or compute"
timeline_title = "A step with all memory, with less"
step_time_title = "What a step costs that holds less"
load plots."/charts.gp"
