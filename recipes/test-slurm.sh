# shellcheck shell=bash disable=SC2154
# The part of recipes/test that has a Slurm cluster.

# until_true SECONDS COMMAND…
until_true() {
  local tries=$(($1 * 5))
  shift
  while ! "$@" && [ "$tries" -gt 0 ]; do
    tries=$((tries - 1))
    sleep 0.2
  done
  [ "$tries" -gt 0 ]
}
# Of a job: its state; of the merge, which is the last job: its exit code, once it has ended.
state() { scontrol --oneliner show job "$1" 2>/dev/null | grep -o 'JobState=[A-Z]*' | head -1 | cut -d= -f2; }
is_running() { [ "$(state "$1")" = RUNNING ]; }
is_requeued() { [ "$(state "$1")" = PENDING ]; }
# A node cannot be resumed while it is still cleaning up, nor when it has come back by itself.
is_back() {
  scontrol update nodename="$1" state=resume 2>/dev/null || true
  sinfo -h -n "$1" -o %t | grep -qE '^(idle|mix|alloc)$'
}
no_job_is_left() { [ -z "$(squeue -h)" ]; }
job_of() { sed -n 's/^parts .*: job //p' said; }
merge_of() { sed -n 's/^Submitted batch job //p' said; }
exit_of() { scontrol --oneliner show job "$1" | grep -o 'ExitCode=[0-9]*:[0-9]*' | head -1; }

expect "the suite, submitted" "$(exit_code "$here/slurm" 8 by-slurm "${whole[@]}")" 0
until_true 60 no_job_is_left || echo "jobs are left: $(squeue)"
expect "the suite, the job's status" "$(state "$(merge_of)") $(exit_of "$(merge_of)")" "COMPLETED ExitCode=0:0"
same "the suite" by-slurm/merged suite.json
expect "both nodes worked" "$(cat by-slurm/log-[1-8] | grep -o '(node[12])' | sort -u | tr '\n' ' ')" "(node1) (node2) "

# A part again, as a requeued task would do it: the same bytes in the same place, and merge takes copies that are equal.
expect "a part again" \
  "$(LITMUS_SHARDS=8 LITMUS_PARTS=again exit_code sbatch --wait --array=3 --output=again.log "$here/shard" "${whole[@]}")" 0
same "a part again" again/3-of-8 by-slurm/3-of-8
"$LITMUS_BIN" merge by-slurm/*-of-8 again/3-of-8 --format json >again.json 2>said
expect "two copies, said" "$(grep -c 'part 3 is there twice, and equal' said)" 1
same "two copies" again.json suite.json
# Without LITMUS_SHARDS an array of two tasks is two parts of two: of another whole.
expect "two parts of two" "$(LITMUS_PARTS=again exit_code sbatch --wait --array=1-2 --output=again.log "$here/shard" "${whole[@]}")" 0
expect "parts of other wholes" "$(exit_code "$LITMUS_BIN" merge by-slurm/*-of-8 again/1-of-2)" 65
expect "parts of other wholes, said" "$(grep -c 'other-whole' said)" 1

# A violation in one part is in the status of its task, does not keep the merge from running, and is in the status of that.
expect "a wrong verdict, submitted" "$(exit_code "$here/slurm" 8 wrong "${wrong[@]}")" 0
array=$(job_of) merge=$(merge_of)
until_true 60 no_job_is_left || echo "jobs are left: $(squeue)"
expect "a wrong verdict, the tasks' status" \
  "$(scontrol --oneliner show job "$array" | grep -o 'JobState=[A-Z]* .*ExitCode=[0-9:]*' | grep -c 'FAILED.*ExitCode=1:0')" 1
expect "a wrong verdict, the merge's status" "$(state "$merge") $(exit_of "$merge")" "FAILED ExitCode=1:0"
same "a wrong verdict" wrong/merged wrong.json

# Parts 5 and 6 hang half way. The node of one is lost, and Slurm does the part again; the other is canceled, and missing.
cat >hanging <<'END_OF_HANGING'
#!/bin/sh
case "$*" in
  *"--shard 5/8") [ -n "$SLURM_RESTART_COUNT" ] || hang=yes ;;
  *"--shard 6/8") hang=yes ;;
esac
[ -z "$hang" ] || { printf '{"schema":'; sleep 300; }
END_OF_HANGING
printf 'exec %q "$@"\n' "$LITMUS_BIN" >>hanging
chmod +x hanging
expect "hanging, submitted" "$(LITMUS_BIN=$PWD/hanging exit_code "$here/slurm" 8 lost "${whole[@]}")" 0
array=$(job_of) merge=$(merge_of)
until_true 60 is_running "${array}_5" && until_true 60 is_running "${array}_6" || echo "they do not run: $(squeue)"
until_true 10 test -e lost/log-5
node=$(squeue -h -j "${array}_5" -o %N)
scontrol update nodename="$node" state=down reason=test
until_true 10 is_requeued "${array}_5" || squeue
scancel "${array}_6"
until_true 30 is_back "$node" || sinfo
until_true 60 no_job_is_left || echo "jobs are left: $(squeue)"
expect "a lost node: the part is done again" "$(grep -o 'attempt [0-9]' lost/log-5 | tr '\n' ' ')" "attempt 1 attempt 2 "
expect "a missing part: the merge's status" "$(state "$merge") $(exit_of "$merge")" "FAILED ExitCode=65:0"
expect "a missing part, said" "$(grep -c '1 part missing: 6/8' lost/log-merge)" 1
expect "a missing part: nothing is written" "$(ls lost)" "$(printf '%s-of-8\n' 1 2 3 4 5 7 8; printf 'log-%s\n' {1..8} merge)"
expect "again, submitted" "$(exit_code "$here/slurm" 8 lost "${whole[@]}")" 0
expect "again, only what is missing" "$(grep -o '^parts .* of 8' said)" "parts 6 of 8"
until_true 60 no_job_is_left || echo "jobs are left: $(squeue)"
same "a node and a part were lost" lost/merged suite.json

# litmus run ends in order when it is told to stop; what it has then is no part.
expect "long runs, submitted" \
  "$(LITMUS_PARTS=stopped exit_code sbatch --array=1-2 --output=stopped.log "$here/shard" run few --seed 1 -n 1000000000 --record '{part}')" 0
array=$(merge_of)
until_true 30 is_running "${array}_1" && until_true 30 is_running "${array}_2" || echo "they do not run: $(squeue)"
sleep 1
scancel "$array"
until_true 30 no_job_is_left || echo "jobs are left: $(squeue)"
expect "stopped: no part" "$(ls stopped)" ""
