#!/usr/bin/env bash
# Checks ridge on a machine with an NVIDIA GPU, from a binary built elsewhere (make device-bundle): no Go, no network. Within
# nine minutes it verifies every kernel and lets compute-sanitizer look at the small shapes, at the same time since nothing is
# timed there; then it calibrates quick, measures peers side by side with ridge's kernels and runs fusion quick. Each part has
# its own time and its own file, so what was done stays when a part fails or all is cut off.
#
#   scripts/device-check.sh [FOLDER]      results go there (default $OUT, else device-check/)
#
# RIDGE    the binary; default: ridge beside this script, ../bin/ridge, or ../bin/device.tar.gz unpacked
# DEVICE   cuda:0            SECONDS_IN_ALL  540
# PARTS    verify memcheck racecheck, which run together and before the others whatever their place, and calibrate peers fusion in
#          the order in which they run
# SHAPES   full, or tiny for a machine that has no GPU and plays one
# PYTHON   python3
#
# Exit code 0: what ran found nothing. 1: a part failed, the verification did not end, or there is no such device. 2: nonsense was asked for.
set -u
shopt -s extglob
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-${OUT:-device-check}}
device=${DEVICE:-cuda:0} total=${SECONDS_IN_ALL:-540} shapes=${SHAPES:-full} python=${PYTHON:-python3}
parts=${PARTS:-verify memcheck racecheck calibrate peers fusion}
began=$SECONDS reserve=12 # for the table and the files, and for a part that is slow to end
case $total in '' | *[!0-9]*) echo "device-check: SECONDS_IN_ALL=$total: expected a number of seconds" >&2; exit 2 ;; esac
for p in $parts; do
  case $p in verify | calibrate | peers | fusion | memcheck | racecheck) ;; *) echo "device-check: PARTS has \"$p\": expected some of verify calibrate peers fusion memcheck racecheck" >&2; exit 2 ;; esac
done
mkdir -p "$out" && out=$(cd "$out" && pwd) || { echo "device-check: cannot make $out: give another folder" >&2; exit 2; }
tmp=$(mktemp -d) || exit 2
rm -rf "$out"/{check,verify,calibration,peers,fusion}.json "$out"/{verify,calibration,fusion}.jsonl "$out"/{sanitizer,log}.txt "$out/running" # of an earlier check
log=$out/log.txt
running=$out/running # data of the part that runs, with its journal: what is there should everything be killed at once
: >"$log"

left() { echo $((total - (SECONDS - began))); }

# A part's allowance in seconds. The longest of those that run together and the others add up to less than nine minutes; a part that needs less leaves
# the rest to the others. On an H200 verify took 15 s and memcheck 27 beside racecheck, that more than 95, calibrate 33, the peers 1.6 a row.
allowance() {
  case $1 in
  verify) echo 80 ;; memcheck) echo 100 ;; racecheck) echo 170 ;; calibrate) echo 80 ;; peers) echo 180 ;; fusion) echo 85 ;;
  esac
}

names=() states=() took=() notes=()
record() { # name state seconds note
  names+=("$1") states+=("$2") took+=("$3") notes+=("$4")
  printf '%-10s %-9s %4s s  %s\n' "$1" "$2" "$3" "$4"
  document
}

text() { printf '%s' "$1" | tr '\n\t' '  ' | tr -d '\000-\037\177-\377' | sed 's/\\/\\\\/g; s/"/\\"/g' | cut -c1-2000; }

facts=""
fact() { facts="$facts${facts:+,}\"$1\":\"$(text "$2")\""; }

# document writes check.json as it stands: whole or not at all.
document() {
  {
    printf '{"schema":"ridge.devicecheck/1","device":"%s","seconds":%d,"facts":{%s},"parts":[' "$(text "$device")" $((SECONDS - began)) "$facts"
    for i in "${!names[@]}"; do
      [ "$i" = 0 ] || printf ','
      printf '{"name":"%s","state":"%s","seconds":%d,"note":"%s"}' "${names[i]}" "${states[i]}" "${took[i]}" "$(text "${notes[i]}")"
    done
    printf ']}\n'
  } >"$tmp/check.json" && cp "$tmp/check.json" "$out/check.json.part" && mv "$out/check.json.part" "$out/check.json"
}

# What a machine that plays a GPU can do in a test: a precision and a suite.
narrow="" quick="" only=""
if [ "$shapes" = tiny ]; then
  narrow="--precision fp64,int64" quick="--operations blas --precision fp64" only="--patterns elementwise --precision bf16 --warmup 0 --trials 1"
fi

# What came from outside ends the part that runs; the table and the files are still made.
stopped="" child="" together=()
on_signal() {
  stopped=1
  # shellcheck disable=SC2086
  [ -n "$child${together[*]}" ] && kill -TERM $child "${together[@]}" 2>/dev/null
}
trap on_signal TERM INT HUP
trap 'rm -rf "$tmp"' EXIT

# within SECONDS COMMAND…: its status; 124 when it was cut off, 143 when all was. What no signal ends, since it waits in the
# driver, is left behind: the other parts go on.
within() {
  local n=$1 rc end
  shift
  end=$((SECONDS + n + 8))
  timeout -s TERM -k 6 "$n" "$@" </dev/null >>"$log" 2>&1 &
  child=$!
  while kill -0 "$child" 2>/dev/null; do
    if [ "$SECONDS" -ge "$end" ]; then
      disown "$child"
      child=""
      return 137
    fi
    sleep 0.2
  done
  wait "$child"
  rc=$?
  child=""
  return $rc
}

last_line() { grep -av '^ *$' "$log" | tail -n 1 | cut -c1-300; }

# run NAME FILE COMMAND…: one part; FILE is what it leaves in the folder.
run() {
  local name=$1 file=$2 n rc start=$SECONDS note state
  shift 2
  n=$(($(left) - reserve))
  [ "$n" -gt "$(allowance "$name")" ] && n=$(allowance "$name")
  if [ -n "$stopped" ]; then record "$name" skipped 0 "the check was ended before it"; return; fi
  if [ "$n" -lt 5 ]; then record "$name" skipped 0 "no time was left for it"; return; fi
  printf '\n== %s (%s s): %s\n' "$name" "$n" "$*" >>"$log"
  within "$n" "$@"
  rc=$?
  note=""
  case $rc in
  0) state=ok ;;
  124 | 137) state="cut off" note="after $n s" ;;
  143) state="cut off" note="the check was ended" ;;
  *) state=failed note="status $rc: $(last_line)" ;;
  esac
  [ -n "$stopped" ] && state="cut off" note="the check was ended"
  if [ -n "$file" ] && [ ! -s "$out/$file" ]; then
    note="$note${note:+; }$file was not written"
    [ "$state" = ok ] && state=failed
    for j in "$running"/runs/*.jsonl; do [ -s "$j" ] && mv "$j" "$out/${file%.json}.jsonl" && note="$note, its journal is there"; done
  fi
  rm -rf "$running"
  record "$name" "$state" $((SECONDS - start)) "$note"
}

# findings of compute-sanitizer in its report, by its summary, else those that it named before it was cut off; "" where there are neither.
findings() {
  awk '/(ERROR|RACECHECK) SUMMARY: [0-9]/ {sub(/.*SUMMARY: /, ""); sum += $1; told = 1}
    /^========= (Invalid |Program hit |(Error|Warning): (Race|Potential))/ {named++}
    END {if (told) print sum; else if (named) print named}' "$1" 2>/dev/null
}

# watched TOOL FILE: looks at ridge's worker under that tool, which launches the kernels, until the sanitizer's libraries are seen in it. FILE then
# holds "yes", "no" where a worker was seen without them all the time.
watched() {
  local p tool=$1
  shift
  while :; do
    for p in /proc/[0-9]*; do
      case $(tr '\0' ' ' 2>/dev/null <"$p/cmdline") in "$ridge worker"*) ;; *) continue ;; esac
      tr '\0' '\n' 2>/dev/null <"$p/environ" | grep -aqx "RIDGE_WATCHED_BY=$tool" || continue
      if grep -aqiE 'sanitizer|InjectionTarget' "$p/maps" 2>/dev/null; then echo yes >"$1"; return; fi
      echo no >"$1"
    done
    sleep 0.5
  done
}

sanitize() { # tool
  local tool=$1 n start=$SECONDS report=$tmp/$1.txt rc count watcher seen more='' state=ok note unable='device not supported|driver( version)?( is)? not supported|unsupported driver'
  n=$(($(left) - reserve))
  [ "$n" -gt "$(allowance "$tool")" ] && n=$(allowance "$tool")
  if [ -n "$stopped" ]; then record "$tool" skipped 0 "the check was ended before it"; return; fi
  if ! command -v compute-sanitizer >/dev/null; then record "$tool" skipped 0 "compute-sanitizer is not installed here"; return; fi
  if [ "$n" -lt 10 ]; then record "$tool" skipped 0 "no time was left for it"; return; fi
  printf '\n== %s (%s s)\n' "$tool" "$n" >>"$log"
  watched "$tool" "$tmp/$tool.seen" 2>/dev/null &
  watcher=$!
  [ "$tool" = memcheck ] && more="--report-api-errors no" # ridge tells those, and some it asks for
  # Round the worker, since the tool does not follow the way in which ridge starts it. ridge ends before its time does, with what it has
  # verified, so that the tool can write its report. Each worker's has the number of a process.
  # shellcheck disable=SC2086
  within "$n" env RIDGE_WATCHED_BY="$tool" timeout --foreground -s TERM -k 16 "$((n > 30 ? n - 16 : n))" "$ridge" verify --device "$device" --quiet $narrow --data-dir "$tmp/$tool" --output "$tmp/$tool.json" \
    --under "compute-sanitizer --tool $tool --target-processes application-only --print-limit 20 --check-exit-code no --require-cuda-init no
      --destroy-on-device-error kernel --show-backtrace device $more --log-file $report.%p"
  rc=$?
  cat "$report".* >"$report" 2>/dev/null
  { kill "$watcher" && wait "$watcher"; } 2>/dev/null
  seen=$(cat "$tmp/$tool.seen" 2>/dev/null)
  count=$(findings "$report")
  { printf '== %s, status %s\n' "$tool" "$rc"; head -c 2000000 "$report" 2>/dev/null; } >"$tmp/$tool.findings"
  note="${count:-no} findings"
  # Of the whole tool alone: its library also says "not supported" of debug formats and of single calls.
  if [ "${count:-0}" = 0 ] && grep -aqiE "$unable" "$report" 2>/dev/null; then
    state=skipped note="it does not work here: $(grep -aiE "$unable" "$report" | head -n 1 | cut -c1-200)"
  elif [ "$rc" = 124 ] || [ "$rc" = 137 ] || [ -n "$stopped" ]; then
    state="cut off" note="$note up to the end of its time"
    [ "${count:-0}" -gt 0 ] && state=failed
  elif [ -z "$count" ]; then
    state=failed note="it gave no summary, status $rc: $(last_line)"
  elif [ "$count" -gt 0 ] || [ "$rc" != 0 ]; then
    state=failed note="$note, status $rc: $(grep -a '=====' "$report" | grep -av SUMMARY | sed -n 2p | cut -c1-200)"
  fi
  if [ "$seen" != yes ] && { [ "$state" = ok ] || [ "$state" = "cut off" ]; }; then
    state=failed
    case $seen in
    no) note="$note, but its libraries were not in ridge's worker: nobody watched the kernels" ;;
    *) note="$note, but no worker of ridge was seen: nobody watched kernels" ;;
    esac
  fi
  record "$tool" "$state" $((SECONDS - start)) "$note"
}

# part NAME: runs it.
part() {
  local n
  case $1 in
  verify)
    # shellcheck disable=SC2086
    run verify verify.json "$ridge" verify --device "$device" --quiet $narrow --data-dir "$running" --output "$out/verify.json"
    ;;
  calibrate)
    # shellcheck disable=SC2086
    run calibrate calibration.json "$ridge" calibrate --quick --force --quiet --device "$device" $quick --data-dir "$running" --output "$out/calibration.json"
    ;;
  peers)
    if ! command -v "$python" >/dev/null; then record peers skipped 0 "$python is not installed here"; return; fi
    n=$(($(left) - reserve - 8))
    [ "$n" -gt 170 ] && n=170
    run peers peers.json "$python" -u "$here/device-peers.py" --ridge "$ridge" --device "$device" --shapes "$shapes" --seconds "$n" --output "$out/peers.json"
    ;;
  fusion)
    # shellcheck disable=SC2086
    run fusion fusion.json "$ridge" fusion --quick --force --quiet --device "$device" $only --data-dir "$running" --output "$out/fusion.json"
    ;;
  memcheck | racecheck) sanitize "$1" ;;
  esac
}

# beside NAME: part NAME in a process of its own, whose record and log lie in files until gather takes them.
beside() {
  log=$tmp/$1.log
  record() { printf '%s\n' "$2" "$3" "$4" >"$tmp/$1.record"; }
  trap on_signal TERM INT HUP
  together=()
  : >"$log"
  part "$1"
}

# gather NAME: what a part that ran beside others left.
gather() {
  local f=() recorded="failed
0
it ended without a word"
  cat "$tmp/$1.log" >>"$log" 2>/dev/null
  [ -s "$tmp/$1.findings" ] && cat "$tmp/$1.findings" >>"$out/sanitizer.txt"
  [ -s "$tmp/$1.record" ] && recorded=$(cat "$tmp/$1.record")
  mapfile -t f <<<"$recorded"
  record "$1" "${f[0]}" "${f[1]}" "${f[*]:2}"
}

find_ridge() {
  local x
  for x in "${RIDGE:-}" "$here/ridge" "$here/../bin/ridge"; do
    [ -n "$x" ] && [ -x "$x" ] && { ridge=$(cd "$(dirname "$x")" && pwd)/$(basename "$x"); return; }
  done
  if [ -s "$here/../bin/device.tar.gz" ] && tar -xzf "$here/../bin/device.tar.gz" -C "$tmp" && [ -x "$tmp/device/ridge" ]; then
    ridge=$tmp/device/ridge
    return
  fi
  echo "device-check: no ridge: set RIDGE, or make device-bundle where Go is and bring bin/device.tar.gz" >&2
  exit 2
}

find_ridge
fact ridge "$(timeout -k 1 10 "$ridge" --version 2>&1 | head -n 1)"
fact driver "$(timeout -k 1 10 nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,power.limit,mig.mode.current --format=csv,noheader 2>&1 | head -n 8)"
fact nvcc "$(timeout -k 1 10 nvcc --version 2>&1 | tail -n 1)"
fact sanitizer "$(timeout -k 1 10 compute-sanitizer --version 2>&1 | sed -n '$p')"
fact kernel "$(uname -srm)"
fact checkout "$(git -C "$here" describe --always --dirty 2>&1 | head -n 1)" # of these scripts: ridge says its own
listed=$(timeout -k 1 20 "$ridge" list devices 2>&1 </dev/null)
printf '%s\n' "$listed" >>"$log"
fact devices "$listed"
usable=1
case $listed in *"$device"*) ;; *) usable="" ;; esac
document

# Torch comes from a disk that may be slow: it is read while ridge verifies, which times nothing, and not in the time of the peers.
case " $parts " in *" verify "*" peers "*) [ -z "$usable" ] || nice "$python" -c 'import torch' >/dev/null 2>&1 </dev/null & ;; esac

untimed="" timed=""
for p in $parts; do
  if [ -z "$usable" ]; then
    record "$p" skipped 0 "ridge has no device $device here: $(printf '%s' "$listed" | grep -ai 'nvidia\|cuda' | head -n 1 | cut -c1-250)"
    continue
  fi
  case $p in verify | memcheck | racecheck) untimed="$untimed $p" ;; *) timed="$timed $p" ;; esac
done

for p in $untimed; do
  beside "$p" &
  together+=($!)
done
while kill -0 "${together[@]}" 2>/dev/null; do sleep 0.2; done
together=()
for p in $untimed; do gather "$p"; done

for p in $timed; do part "$p"; done

# Nothing above 16 MiB: what a machine that is lent gives back.
for f in "$out"/*; do
  if [ ! -f "$f" ] || [ "$(wc -c <"$f")" -le 16000000 ]; then continue; fi
  cut=$f
  [ "${f%.json}" != "$f" ] && cut=${f%.json}.cut.txt # no JSON any more
  head -c 15000000 "$f" >"$tmp/cut" && rm -f "$f" && mv "$tmp/cut" "$cut"
done
document

echo
if command -v "$python" >/dev/null && [ -s "$out/peers.json" ]; then timeout -k 1 5 "$python" "$here/device-peers.py" --table "$out/peers.json"; fi
printf '\n%-10s %-9s %6s  %s\n' part state seconds note
bad=0
for i in "${!names[@]}"; do
  printf '%-10s %-9s %6s  %s\n' "${names[i]}" "${states[i]}" "${took[i]}" "${notes[i]}"
  [ "${states[i]}" = failed ] && bad=1
  [ "${names[i]} ${states[i]}" = "verify cut off" ] && bad=1 # kernels that nobody has verified
done
echo "files in $out: $(cd "$out" && ls | tr '\n' ' ') ($((SECONDS - began)) s)"
[ -n "$stopped" ] && exit 143
[ -z "$usable" ] && exit 1
exit $bad
