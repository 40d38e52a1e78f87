#!/bin/sh
# cuda-symbols.sh: write cuda/driver/symbols.h, the driver functions that gorgonia.org/cu and
# cuda/driver/ext.c call. Run after a change of either; needs scripts/cuda-toolkit.sh.
set -eu
cd "$(dirname "$0")/.."
. build/cuda/env
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT
archive=$(CPATH=$CUDA_INCLUDE go list -tags cuda -export -f '{{.Export}}' gorgonia.org/cu)
(cd "$tmp" && ar x "$archive")
${CC:-gcc} -I"$CUDA_INCLUDE" -c -o "$tmp/ext.o" cuda/driver/ext.c
{
	echo "// Driver functions that gorgonia.org/cu and ext.c call, by scripts/cuda-symbols.sh."
	nm "$tmp"/*.o 2>/dev/null | awk '$1=="U"&&$2~/^cu[A-Z]/{u[$2]} $2=="T"{t[$3]} END{for(n in u)if(!(n in t)&&n!="cuInit")print "F(" n ")"}' | LC_ALL=C sort
} >"$tmp/symbols.h"
mv "$tmp/symbols.h" cuda/driver/symbols.h
echo "cuda-symbols: $(grep -c '^F' cuda/driver/symbols.h) functions"
