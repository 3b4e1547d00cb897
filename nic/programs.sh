# For scripts that run programs of Debian's packages on the software NIC: `$litmus` is the binary, with the
# library beside it or in LITMUS_NIC_LIB.

# A name of its own: other programs on this machine are not met.
network=test-$$
port=$((20000 + $$ % 20000))
nic() { "$litmus" -q nic --network "$network" "$@"; }
say() { printf -- '-- %s\n' "$*"; }
skip() { echo "$0: SKIPPED: $*" >&2; exit 77; }
fail() { echo "$0: FAILED: $*" >&2; exit 1; }

# A server and a client of the same program: pair OPTIONS_OF_NIC -- PROGRAM ARGUMENTS
pair() {
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  say "$*"
  port=$((port + 1))
  nic "${options[@]}" -- timeout 120 "$@" -p $port >/dev/null 2>&1 &
  local server=$! code=1
  for _ in $(seq 50); do
    sleep 0.2
    if nic "${options[@]}" -- timeout 120 "$@" -p $port localhost >/dev/null 2>&1; then code=0; break; fi
    kill -0 $server 2>/dev/null || break
  done
  wait $server || code=1
  [ $code = 0 ] || fail "$*"
}

# What ibverbs-utils and perftest have.
utilities_and_perftest() {
  local kind
  say devices
  nic -- ibv_devices | grep -q litmus0 || fail ibv_devices
  nic --devices 2 --ports 2 -- ibv_devinfo -v | grep -c PORT_ACTIVE | grep -qx 4 || fail ibv_devinfo

  pair -- ibv_rc_pingpong -c -n 10000
  pair -- ibv_rc_pingpong -c -e
  pair -- ibv_rc_pingpong -c -g 0
  pair --ethernet -- ibv_rc_pingpong -c -g 0
  pair -- ibv_rc_pingpong -c -s 1048576 -n 50
  # All sizes; and both directions, many queue pairs, and requests by `ibv_post_send`.
  for kind in write read send; do
    pair -- ib_${kind}_bw -n 10 -a
    pair -- ib_${kind}_bw -n 500 -b -q 8 --use_old_post_send
    pair -- ib_${kind}_lat -n 10 -a
    pair -- ib_${kind}_lat -n 100 --use_old_post_send
  done
  for kind in CMP_AND_SWAP FETCH_AND_ADD; do
    pair -- ib_atomic_bw -n 500 -b -q 8 -A $kind
    pair -- ib_atomic_bw -n 500 -A $kind --use_old_post_send
    pair -- ib_atomic_lat -n 100 -A $kind
    pair -- ib_atomic_lat -n 100 -A $kind --use_old_post_send
  done
  pair --preset calm -- ib_send_lat -n 100 -e
}

# pyverbs' own tests: so many must pass at least, and all others are in nic/pyverbs.txt. Some read memory as soon
# as an atomic has completed. With `calm`, its effect is there.
pyverbs_tests() {
  local least=$1 tests line
  say "pyverbs' own tests"
  tests=$(mktemp -d)
  cp /usr/share/doc/rdma-core/tests/* "$tests"
  gunzip "$tests"/*.gz
  rm "$tests"/test_{mlx5,efa}*
  # Newer ones ask for the kernel's links. It has none of this device.
  mkdir "$tests/bin"
  printf '#!/bin/sh\necho "[]"\n' >"$tests/bin/rdma"
  chmod +x "$tests/bin/rdma"
  PATH=$tests/bin:$PATH nic --preset calm -- timeout 300 /usr/bin/python3 "$tests/run_tests.py" -v >"$tests/said" 2>&1 || true
  [ "$(grep -c ' ok$' "$tests/said")" -ge "$least" ] || { tail "$tests/said" >&2; fail "pyverbs: few tests passed"; }
  sed 's/: .*//' nic/pyverbs.txt >"$tests/known"
  while read -r line; do
    grep -qFf "$tests/known" <<<"$line" || fail "pyverbs: $line"
  done < <(grep -E "^(FAIL|ERROR): |skipped ['\"]" "$tests/said")
  rm -r "$tests"
}
