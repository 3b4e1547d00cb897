# shellcheck shell=bash
# A Slurm cluster on this machine's loopback for recipes/test: munged, slurmctld and two slurmd, all of them this user's, with
# everything they have in the folder that is given. Nothing of the system's own Slurm is used or changed.

daemons=()

# What is missing to start a cluster; nothing if nothing is.
cluster_lacks() {
  local tool
  PATH=$PATH:/usr/sbin:/sbin
  for tool in munged slurmctld slurmd sbatch scontrol squeue scancel; do
    command -v "$tool" >/dev/null || echo "$tool"
  done
}

# A port that nobody listens on.
free_port() {
  local port
  for _ in {1..100}; do
    port=$((20000 + RANDOM % 10000))
    case " $* " in *" $port "*) continue ;; esac
    (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  echo "$port"
}

# daemon LOG COMMAND…: in the foreground of a process of ours, so that its id is known.
daemon() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 </dev/null &
  daemons+=($!)
}

# cluster_start FOLDER: false if it did not come up; the logs are in the folder.
cluster_start() {
  local folder=$1 user host control first second
  user=$(id -un) host=$(hostname -s)
  control=$(free_port) first=$(free_port "$control")
  second=$(free_port "$control" "$first")
  # munged insists on folders, up to the root, that others cannot write to (or that are sticky), and on a secret key.
  mkdir -m 755 "$folder" "$folder/munge"
  mkdir "$folder/state" "$folder/spool.node1" "$folder/spool.node2"
  (umask 077 && head -c 1024 /dev/urandom >"$folder/munge/key")
  # Two slurmd share this host, told apart by their ports. Each node has one core, so that both have to work. A credential lives
  # for five seconds, since a job that is started again has to wait for so long.
  cat >"$folder/slurm.conf" <<CONF
ClusterName=recipes
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$control
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket,cred_expire=5
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
KillWait=2
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1
NodeName=node1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$first CPUs=1
NodeName=node2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$second CPUs=1
PartitionName=all Nodes=node[1-2] Default=YES MaxTime=INFINITE State=UP
CONF
  export SLURM_CONF=$folder/slurm.conf
  daemon "$folder/munged.out" munged --foreground --key-file="$folder/munge/key" --socket="$folder/munge/socket" \
    --pid-file="$folder/munge/pid" --log-file="$folder/munge/log" --seed-file="$folder/munge/seed"
  for _ in {1..50}; do [ -S "$folder/munge/socket" ] || sleep 0.1; done
  [ -S "$folder/munge/socket" ] || return 1
  daemon "$folder/slurmctld.out" slurmctld -D -c -f "$SLURM_CONF"
  daemon "$folder/node1.out" slurmd -D -N node1 -f "$SLURM_CONF"
  daemon "$folder/node2.out" slurmd -D -N node2 -f "$SLURM_CONF"
  local until=$((SECONDS + 30))
  while [ "$SECONDS" -lt "$until" ]; do
    if [ "$(timeout 5 sinfo -h -N -t idle -o %N 2>/dev/null | tr '\n' ' ')" = "node1 node2 " ]; then return; fi
    sleep 0.5
  done
  return 1
}

# Ends every job, then the daemons, the last one first.
cluster_stop() {
  local index
  if [ ${#daemons[@]} -gt 1 ] && [ -n "${SLURM_CONF:-}" ]; then
    timeout 5 scancel --user="$(id -un)" 2>/dev/null || true
    for _ in {1..50}; do
      if [ -z "$(timeout 5 squeue -h 2>/dev/null)" ]; then break; fi
      sleep 0.2
    done
  fi
  for ((index = ${#daemons[@]} - 1; index >= 0; index--)); do
    kill "${daemons[index]}" 2>/dev/null || true
  done
  for _ in {1..50}; do
    if ! kill -0 "${daemons[@]}" 2>/dev/null; then break; fi
    sleep 0.1
  done
  for index in "${daemons[@]}"; do
    kill -KILL "$index" 2>/dev/null || true
    wait "$index" 2>/dev/null || true
  done
  daemons=()
}
