# shellcheck shell=bash
# The VMs of one run, for testbed/testbed: boots them, talks with their init, and leaves nothing behind.
# Each VM reports its events as lines `NODE EVENT …` through one pipe; orders go to it through a pipe of its own.

qemu_pids=() copier_pids=() partial_event=''
now=0 # milliseconds, set by now_ms
now_ms() { now=$((${EPOCHREALTIME/[.,]/} / 1000)); }
seconds() { printf '%d.%d s' $(($1 / 1000)) $(($1 % 1000 / 100)); }

# An image of only what this run needs: `init`, its settings, the secret, and --with files.
prepare_image() {
  local folder=$1 layer=$run_folder/layer addresses='' agents=no node file words=''
  fetch
  build_litmus
  mkdir -p "$layer"/etc/{testbed,litmus} "$layer/usr/bin"
  cp "$here/init" "$layer/init"
  cp "$here/on" "$layer/usr/bin/on"
  (umask 077 && od -An -N 32 -tx1 /dev/urandom | tr -d ' \n' >"$layer/etc/litmus/secret")
  for ((node = 1; node <= nodes; node++)); do addresses+=${addresses:+,}10.9.0.$node:18515; done
  if "$litmus_binary" agent --help >/dev/null 2>&1; then agents=yes; else
    say "this litmus has no command 'agent': there will be none"
    [ ${#schedule[@]} -eq 0 ] || die 64 "without agents there is none to kill, stop or restart"
  fi
  for file in "${command[@]}"; do words+=" '${file//\'/\'\\\'\'}'"; done
  cat >"$layer/etc/testbed/settings" <<END
nodes=$nodes
agents=$agents
addresses=$addresses
folder='${folder//\'/\'\\\'\'}'
set --$words
END
  for file in "${extra_files[@]}"; do add_program "$layer" "$file"; done
  cat "$work/base.cpio" "$litmus_archive" <(archive "$layer") >"$run_folder/image.cpio"
}

# KVM where it works, else emulation. A /dev/kvm may be there without virtualization behind it.
accelerator() {
  if grep -qwE 'vmx|svm' /proc/cpuinfo && [ -w /dev/kvm ] &&
    echo quit | qemu -accel kvm -machine none -nodefaults -display none -monitor stdio >/dev/null 2>&1; then
    echo kvm
  else
    echo tcg,thread=multi
  fi
}

# A kernel parameter: the rate of the time stamp counter, which an emulated guest takes from the host as it is. It would
# measure it, and on a busy host be wrong now and then: its clock then runs several times too fast, and every timeout with
# it. The host's own clock frequency is that rate if the host is a VM itself, as it mostly is where there is no KVM.
counter_rate() {
  [[ $acceleration == tcg* ]] && grep -qw hypervisor /proc/cpuinfo || return 0
  awk '/^cpu MHz/ { printf "tsc_early_khz=%d", $4 * 1000; exit }' /proc/cpuinfo
}

qemu() { LD_LIBRARY_PATH=$libraries "$root/usr/bin/qemu-system-x86_64" "$@"; }

network_card() { echo "-device virtio-net-pci,romfile=,netdev=$1,mac=52:54:00:00:00:0$2"; }
# An end of a link between two VMs: datagrams over unix sockets. Own name, the other's name.
link() { echo "-netdev dgram,id=$1,local.type=unix,local.path=$run_folder/$2,remote.type=unix,remote.path=$run_folder/$3"; }

# The network of VM $1. Two are linked directly; of more, the process of the first holds a hub.
network() {
  local other
  if [ "$nodes" -eq 2 ]; then
    echo "$(link net "net$1" "net$((3 - $1))") $(network_card net "$1")"
  elif [ "$1" -gt 1 ]; then
    echo "$(link net "net$1" "hub$1") $(network_card net "$1")"
  else
    echo "-netdev hubport,id=net,hubid=0 $(network_card net 1)"
    for ((other = 2; other <= nodes; other++)); do
      echo "$(link "link$other" "hub$other" "net$other") -netdev hubport,id=port$other,hubid=0,netdev=link$other"
    done
  fi
}

# boot NODE ARGUMENT…
# shellcheck disable=SC2054 # the commas are qemu's
boot() {
  local node=$1 arguments
  shift
  read -r -d '' -a arguments < <(network "$node") || true
  mkfifo "$run_folder/control$node.in"
  ln -s events "$run_folder/control$node.out"
  arguments+=(
    -L "$root/usr/share/qemu" -L "$root/usr/share/seabios"
    -machine pc -accel "$acceleration" -cpu max -smp "$cpus" -m "$memory"
    -nodefaults -no-user-config -display none -monitor none -no-reboot -serial "file:$run_folder/console$node.log"
    -kernel "$work/vmlinux" -initrd "$run_folder/image.cpio"
    -append "console=ttyS0 quiet panic=-1 rdinit=/init mitigations=off nokaslr tsc=reliable no_timer_check cryptomgr.notests random.trust_cpu=on acpi=noirq $(counter_rate) node=$node"
    -device virtio-serial-pci,max_ports=5
    -chardev "pipe,id=control,path=$run_folder/control$node" -device virtserialport,nr=1,chardev=control
    -chardev "file,id=log,path=$run_folder/agent$node.log" -device virtserialport,nr=2,chardev=log
  )
  # setpriv: whatever ends this script ends the VM too.
  LD_LIBRARY_PATH=$libraries setpriv --pdeathsig KILL "$root/usr/bin/qemu-system-x86_64" "${arguments[@]}" "$@" \
    </dev/null >"$run_folder/qemu$node.log" 2>&1 {events}>&- &
  qemu_pids[node]=$!
}

boot_all() {
  local folder=$1 node acceleration
  acceleration=$(accelerator)
  mkfifo "$run_folder/events" "$run_folder/stdout" "$run_folder/stderr"
  exec {events}<>"$run_folder/events"
  cat "$run_folder/stdout" {events}>&- &
  copier_pids+=($!)
  cat "$run_folder/stderr" >&2 {events}>&- &
  copier_pids+=($!)
  boot 1 \
    -chardev "file,id=stdout,path=$run_folder/stdout" -device virtserialport,nr=3,chardev=stdout \
    -chardev "file,id=stderr,path=$run_folder/stderr" -device virtserialport,nr=4,chardev=stderr \
    -fsdev "local,id=folder,path=${folder//,/,,},security_model=none" -device virtio-9p-pci,fsdev=folder,mount_tag=folder
  for ((node = 2; node <= nodes; node++)); do boot "$node"; done
}

# Waits 0.2 s for an event, and sets `from`, `event` and `detail`. False: none came. The time may be up in the middle of a
# line; what came of it is kept.
# shellcheck disable=SC2034 # not every caller uses all three
next_event() {
  local line
  if ! IFS= read -r -t 0.2 -u "$events" line; then
    partial_event+=$line
    return 1
  fi
  read -r from event detail <<<"$partial_event$line"
  partial_event=''
}

order() { echo "$2" 1<>"$run_folder/control$1.in"; }

# A VM has failed: says why, with the end of its console.
failed() {
  say "VM $1: $2; its console ends with:"
  tail -n 30 "$run_folder/console$1.log" "$run_folder/qemu$1.log" 2>/dev/null | tr -d '\r' >&2
  exit 70
}

await_ready() {
  local limit=$((60 + 30 * nodes)) deadline node from event detail
  local -A pending=()
  for ((node = 1; node <= nodes; node++)); do pending[$node]=yes; done
  now_ms && deadline=$((now + limit * 1000))
  while [ ${#pending[@]} -gt 0 ]; do
    if next_event; then
      [ "$event" != ready ] || unset "pending[$from]"
      continue
    fi
    now_ms
    for node in "${!pending[@]}"; do
      kill -0 "${qemu_pids[node]}" 2>/dev/null || failed "$node" "ended while it booted"
      [ "$now" -lt "$deadline" ] || failed "$node" "not ready after $limit s"
    done
  done
}

# Sends the orders of the schedule that are due, `$1` ms after the command has started, and keeps the others.
send_due_orders() {
  local entry at node what later=()
  for entry in "${schedule[@]}"; do
    read -r at node what <<<"$entry"
    if [ "$1" -ge $((at * 1000)) ]; then
      say "$what the agent of node $node, ${at} s after the start"
      order "$node" "$what"
    else
      later+=("$entry")
    fi
  done
  schedule=("${later[@]}")
}

# Runs the command to its end and exits with its exit code.
# shellcheck disable=SC2034 # `from` is not used
run_command() {
  local from event detail code='' started
  order 1 run
  now_ms && started=$now
  while [ -z "$code" ]; do
    if next_event; then
      case $event in
        started) now_ms && started=$now ;;
        exit) code=$detail ;;
      esac
    elif ! kill -0 "${qemu_pids[1]}" 2>/dev/null; then
      failed 1 "ended before the command did"
    fi
    now_ms
    send_due_orders $((now - started))
    if [ "$timeout" -gt 0 ] && [ $((now - started)) -ge $((timeout * 1000)) ] && [ -z "$code" ]; then
      say "the command did not end within $timeout s"
      code=124
    fi
  done
  now_ms && say "the command ended with $code after $(seconds $((now - started)))"
  finish
  [ "$code" -eq 0 ] || show_agent_logs
  exit "$code"
}

# Lets every VM complete its log, ends them, and waits until the last output has passed.
finish() {
  local event node running=0 deadline
  for ((node = 1; node <= nodes; node++)); do
    kill -0 "${qemu_pids[node]}" 2>/dev/null && order "$node" quit && running=$((running + 1))
  done
  now_ms && deadline=$((now + 3000))
  while [ "$running" -gt 0 ] && now_ms && [ "$now" -lt "$deadline" ]; do
    if next_event && [ "$event" = bye ]; then running=$((running - 1)); fi
  done
  end_machines
  wait "${copier_pids[@]}" || true
}

end_machines() {
  [ ${#qemu_pids[@]} -gt 0 ] || return 0
  kill -KILL "${qemu_pids[@]}" 2>/dev/null || true
  wait "${qemu_pids[@]}" 2>/dev/null || true # bash would report each death
}

show_agent_logs() {
  local node
  for ((node = 1; node <= nodes; node++)); do
    [ -s "$run_folder/agent$node.log" ] || continue
    say "the agent's log on node $node ends with (all of it: $work/last/agent$node.log)"
    tail -n 40 "$run_folder/agent$node.log" >&2
  done
}

# On every exit: no process and no temporary file is left; the logs of this run take the place of the last one's.
clean_up() {
  trap '' INT TERM HUP
  end_machines
  kill "${copier_pids[@]}" 2>/dev/null || true
  if [ -n "$run_folder" ]; then
    rm -rf "$work/last" && mkdir -p "$work/last"
    mv "$run_folder"/*.log "$work/last/" 2>/dev/null || true
    rm -rf "$run_folder"
  fi
}
