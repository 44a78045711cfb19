# 02_rank0_host: charts of lab 02, work of rank 0 on the host
#
#     gnuplot -e "results='results/02_rank0_host'" plots/02_rank0_host.gp
#
# Draws breakdown, timeline and step_time into the folder of the results. blog='FILE' gives other published values.
lab = "02_rank0_host"
if (!exists("plots")) plots = ARG0[:strlen(ARG0) - strlen(lab.".gp")]."."

timeline_cases = "baseline barrier_ws4 sleep_no_barrier barrier_two_late two_late_no_barrier sleep_helper"
pathology(case) = root(case)
breakdown_title = "One rank works, all others wait"
timeline_title = "Without the barrier, the wait moves into the next all-reduce"
step_time_title = "What the work of rank 0 costs, and what each fix saves"
load plots."/charts.gp"
