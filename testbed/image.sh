# shellcheck shell=bash
# The guest's image, for testbed/testbed: downloads Debian packages, unpacks them, and builds cpio archives of them.
# Everything lies below $work; the kernel unpacks archives that stand one after the other, so there is one per rate of change:
#   base.cpio             programs, libraries and kernel modules of the packages
#   litmus-KEY.cpio       litmus and its libraries
#   (per run)             init, the command, the secret, --with files

packages_file=$here/packages
root=$work/root
libraries=$root/usr/lib/x86_64-linux-gnu

# Kernel modules that are loaded at boot, with what they depend on. crc32_generic is not among the declared
# dependencies of rdma_rxe, but rxe asks the crypto layer for "crc32" when its first device is made.
modules=(virtio_pci virtio_net virtio_console 9p 9pnet_virtio crc32_generic rdma_rxe)
# Programs of the guest beside those of busybox.
programs=(rdma ibv_devices ibv_devinfo ibv_rc_pingpong)

sum() { cat "$@" | sha256sum | cut -c 1-16; }

# How to read a line of `packages`.
package_names() { sed -e 's/#.*//' -e '/^kernel:/d' -e '/^ *$/d' "$packages_file"; }
kernel_meta_package() { sed -n 's/^kernel: *//p' "$packages_file"; }

# Sets `apt` to the options that make apt-get and apt-cache work with package lists of our own, and updates those.
# apt-get update writes to /var/lib/apt otherwise, which needs root.
use_own_package_lists() {
  mkdir -p "$work/apt/state/lists/partial" "$work/apt/cache/archives/partial"
  apt=(-o "Dir::State=$work/apt/state" -o "Dir::State::lists=$work/apt/state/lists" -o "Dir::Cache=$work/apt/cache" -o Dir::State::status=/var/lib/dpkg/status)
  say "updating package lists of our own"
  apt-get "${apt[@]}" update -qq >"$work/apt/log" 2>&1 || skip "apt-get update failed: $(tail -n 1 "$work/apt/log")"
}

# The package of the newest kernel, or nothing if the package lists do not know it.
kernel_package() {
  apt-cache "${apt[@]}" depends "$(kernel_meta_package)" 2>/dev/null |
    awk '$1 == "Depends:" && $2 ~ /^linux-image-/ { print $2; exit }'
}

download() {
  local kernel names
  kernel=$(kernel_package)
  [ -n "$kernel" ] || return 1
  mapfile -t names < <(package_names)
  rm -rf "$work/debs" && mkdir -p "$work/debs"
  (cd "$work/debs" && apt-get "${apt[@]}" download -qq "$kernel" "${names[@]}") >"$work/download.log" 2>&1
}

fetch_packages() {
  local wanted
  wanted=$(sum "$packages_file")
  [ "$(cat "$work/fetched" 2>/dev/null)" = "$wanted" ] && return
  command -v apt-get >/dev/null || skip "no apt-get here: the guest is made of Debian packages"
  say "downloading Debian packages"
  apt=()
  # The host's package lists first; if there are none, or they are older than the mirror, our own.
  if ! download; then
    use_own_package_lists
    [ -n "$(kernel_package)" ] || skip "no package $(kernel_meta_package) in the package lists: the guest is made of Debian's"
    download || skip "packages cannot be downloaded: $(tail -n 1 "$work/download.log")"
  fi
  say "downloaded $(find "$work/debs" -name '*.deb' | wc -l) packages, $(du -cm "$work"/debs/*.deb | tail -n 1 | cut -f 1) MB"
  echo "$wanted" >"$work/fetched"
}

# One tree with merged /usr. Some packages still ship /lib and /sbin, so the links must be there first, and tar must
# keep them: otherwise their libraries end up where no linker looks.
unpack_packages() {
  local deb link
  rm -rf "$root" "$work/kernel"
  mkdir -p "$root"/usr/{bin,sbin,lib,lib64} "$work/kernel"
  for link in bin sbin lib lib64; do ln -s "usr/$link" "$root/$link"; done
  for deb in "$work"/debs/*.deb; do
    case $deb in
      */linux-image-*) dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$work/kernel" ;;
      *) dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --keep-directory-symlink --exclude='./usr/share/[dlm]o[ca]*' ;;
    esac
  done
}

# vmlinux, out of the compressed kernel: qemu starts it directly (PVH), which saves seconds of emulated decompression.
extract_kernel() {
  local compressed offset
  compressed=$(echo "$work"/kernel/boot/vmlinuz-*)
  while IFS=: read -r offset _; do
    tail -c "+$((offset + 1))" "$compressed" | xz -dc >"$work/vmlinux" 2>/dev/null || true
    [ "$(head -c 4 "$work/vmlinux")" = $'\x7fELF' ] && return
  done < <(LC_ALL=C grep -aboP '\xFD7zXZ\x00' "$compressed")
  cp "$compressed" "$work/vmlinux" # another compression: starts all the same, only later
}

# Copies kernel module $1 and what it depends on to $base/lib/modules, and appends their names to `order` there.
add_module() {
  local name=$1 file to=$base/usr/lib/modules needed
  [ -e "$to/$name.ko" ] && return
  file=$(find "$work/kernel/lib/modules" -name "${name//_/[_-]}.ko*" -print -quit)
  if [ -z "$file" ] && grep -qE "/${name//_/[_-]}\.ko" "$work"/kernel/lib/modules/*/modules.builtin; then return; fi
  [ -n "$file" ] || die 70 "the Debian kernel has no module $name"
  case $file in *.xz) xz -dc "$file" ;; *) cat "$file" ;; esac >"$to/$name.ko"
  for needed in $(grep -az '^depends=' "$to/$name.ko" | tr -d '\0' | sed 's/^depends=//; s/,/ /g'); do
    add_module "${needed//-/_}"
  done
  strip -g "$to/$name.ko" 2>/dev/null || true # also strips the signature, which would be checked at length
  echo "$name" >>"$to/order"
}

# The shared libraries of program $1, a path a line: those of the packages first, else the host's. A script has none.
libraries_of() {
  { LD_LIBRARY_PATH=$libraries ldd "$1" 2>/dev/null || true; } |
    awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\/.*ld-linux/ { print $1 }'
}

# Copies program $2 into /usr/bin below $1 with its libraries; $3, if given, is its name there.
add_program() {
  local to=$1 program=$2 library
  mkdir -p "$to"/usr/{bin,lib64,lib/x86_64-linux-gnu}
  cp -L "$program" "$to/usr/bin/${3:-${program##*/}}"
  while read -r library; do
    case $library in
      *ld-linux*) cp -L "$library" "$to/usr/lib64/" ;;
      *) cp -L "$library" "$to/usr/lib/x86_64-linux-gnu/" ;;
    esac
  done < <(libraries_of "$program")
}

# Folder $1 as a cpio archive on standard output.
archive() { (cd "$1" && find . | "$root/bin/busybox" cpio -o -H newc -R 0:0 2>/dev/null); }

build_base() {
  local base=$work/base name
  rm -rf "$base"
  mkdir -p "$base"/{proc,sys,dev,tmp,run,root,var/log,etc/testbed,etc/litmus,usr/sbin,usr/lib/modules}
  mkdir -p "$base"/usr/{bin,lib64,lib/x86_64-linux-gnu/libibverbs} "$base/etc/libibverbs.d"
  for name in bin sbin lib lib64; do ln -s "usr/$name" "$base/$name"; done
  cp "$root/bin/busybox" "$base/bin/busybox"
  for name in $("$root/bin/busybox" --list); do [ "$name" = busybox ] || ln -s busybox "$base/bin/$name"; done
  for name in "${programs[@]}"; do
    rm -f "$base/bin/$name"
    add_program "$base" "$(find "$root/usr/bin" "$root/usr/sbin" -name "$name" -print -quit)"
  done
  # What no ELF header names: the provider, which libibverbs finds by this file, and what glibc loads to end a thread.
  cp "$libraries"/libibverbs/librxe-rdmav*.so "$base/usr/lib/x86_64-linux-gnu/libibverbs/"
  cp "$root/etc/libibverbs.d/rxe.driver" "$base/etc/libibverbs.d/"
  cp -L /lib/x86_64-linux-gnu/libgcc_s.so.1 "$base/usr/lib/x86_64-linux-gnu/"
  for name in "${modules[@]}"; do add_module "$name"; done
  archive "$base" >"$work/base.cpio.part"
  mv "$work/base.cpio.part" "$work/base.cpio"
}

# Downloads, unpacks and builds what is not there yet.
fetch() {
  local wanted
  fetch_packages
  wanted=$(sum "$packages_file" "$here/image.sh")
  [ "$(cat "$work/built" 2>/dev/null)" = "$wanted" ] && return
  say "unpacking packages and building the guest's image"
  unpack_packages
  extract_kernel
  build_base
  rm -rf "$work/kernel" "$work"/litmus-*.cpio
  echo "$wanted" >"$work/built"
  say "built the guest's image: $(du -m "$work/base.cpio" | cut -f 1) MB, $(wc -l <"$work/base/usr/lib/modules/order") kernel modules"
}

# The archive of litmus, made anew when the binary or one of its libraries has changed. Sets `litmus_archive`.
build_litmus() {
  local key folder=$work/litmus
  key=$({ echo "$litmus_binary" && libraries_of "$litmus_binary"; } | xargs -d '\n' stat -L -c '%n %s %y %i' | sum)
  litmus_archive=$work/litmus-$key.cpio
  [ -e "$litmus_archive" ] && return
  rm -rf "$folder"
  find "$work" -maxdepth 1 -name 'litmus-*.cpio' -mtime +1 -delete
  add_program "$folder" "$litmus_binary" litmus
  strip "$folder/usr/bin/litmus" 2>/dev/null || true
  archive "$folder" >"$litmus_archive.part"
  rm -rf "$folder"
  mv "$litmus_archive.part" "$litmus_archive"
  say "put litmus into the image: $(du -m "$litmus_archive" | cut -f 1) MB"
}
