#!/bin/sh
# cuda-toolkit.sh: find what a CUDA build needs or install it into build/cuda, without root.
#   nvcc     12.8 or later (sm_100a, sm_120): $NVCC, PATH, $CUDA_HOME/bin, else pinned wheels of PyPI
#   cuda.h   of CUDA 12.9, from a pinned wheel: with 13.x headers gorgonia.org/cu does not compile
# Writes build/cuda/env, which sets NVCC, CUDA_INCLUDE and CUDA_BUILD (the assignments that put
# before `go build -tags cuda`). Prints what it takes.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
dir=$root/build/cuda
mkdir -p "$dir"

# pip_into DIR PACKAGE...: all or nothing. Without --no-deps pip mixes versions.
pip_into() {
	into=$1
	shift
	test -e "$into" && return 0
	command -v python3 >/dev/null 2>&1 || { echo "cuda-toolkit: python3 with pip is needed to install $*: install it, or a CUDA toolkit of 12.8 or later and set CUDA_HOME" >&2; exit 1; }
	rm -rf "$into.part"
	python3 -m pip install -q --no-deps --disable-pip-version-check --root-user-action=ignore --target "$into.part" "$@" ||
		{ echo "cuda-toolkit: installing $* failed: see pip's message above" >&2; exit 1; }
	mv "$into.part" "$into"
}

# new_enough NVCC: the release is 12.8 or later.
new_enough() {
	v=$("$1" --version 2>/dev/null | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\1 \2/p') || return 1
	test -n "$v" || return 1
	set -- $v
	test "$1" -gt 12 || { test "$1" -eq 12 && test "$2" -ge 8; }
}

nvcc=
for c in "${NVCC:-}" "$(command -v nvcc 2>/dev/null || true)" "${CUDA_HOME:+$CUDA_HOME/bin/nvcc}" /usr/local/cuda/bin/nvcc; do
	if [ -n "$c" ] && [ -x "$c" ]; then
		if new_enough "$c"; then
			nvcc=$c
			break
		fi
		echo "cuda-toolkit: $c is older than 12.8 and has no sm_100a and sm_120: passed over"
	fi
done
if [ -z "$nvcc" ]; then
	tree=$dir/toolkit-13.0
	test -e "$tree" || echo "cuda-toolkit: no nvcc found; installing 13.0 from PyPI into build/cuda (105 MB download, 271 MB on disk)"
	pip_into "$tree" nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85
	ln -sfn lib "$tree/nvidia/cu13/lib64" # where nvcc.profile looks
	nvcc=$tree/nvidia/cu13/bin/nvcc
	new_enough "$nvcc" || { echo "cuda-toolkit: $nvcc does not run: remove build/cuda and try again" >&2; exit 1; }
fi

headers=$dir/headers-12.9
test -e "$headers" || echo "cuda-toolkit: installing cuda.h 12.9 from PyPI into build/cuda (1 MB download, 4 MB on disk)"
pip_into "$headers" nvidia-cuda-runtime-cu12==12.9.79
include=$headers/nvidia/cuda_runtime/include
test -e "$include/cuda.h" || { echo "cuda-toolkit: $include/cuda.h is missing: remove build/cuda and try again" >&2; exit 1; }

# CGO_CPPFLAGS is part of every cgo package's cache key, so setting it compiles all CPU kernels
# once more; CPATH is not. But cu names system folders with -I, which come before CPATH: where one
# of them has a cuda.h, only CGO_CPPFLAGS comes first.
build="CPATH=$include"
for d in /usr/local/cuda/include /usr/local/cuda-11.0/targets/x86_64-linux/include /usr/local/cuda-10.2/include /usr/include; do
	test -e "$d/cuda.h" && build="CGO_CPPFLAGS=-I$include"
done
printf 'NVCC=%s\nCUDA_INCLUDE=%s\nCUDA_BUILD=%s\n' "$nvcc" "$include" "$build" >"$dir/env"
echo "cuda-toolkit: $("$nvcc" --version | sed -n 's/.*, V\([0-9.]*\).*/nvcc \1/p') at $nvcc; on disk: $(du -sh "$dir" | cut -f1) in build/cuda"
