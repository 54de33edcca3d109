#!/bin/bash
# build.sh ATTNC KERNEL [FLAG...]: the kernel at three levels in one object and in three, and the
# program that compares them, linked with the flags, as ./KERNEL.
set -e
here=$(dirname "$0")
attnc=$1 kernel=$2
shift 2
for level in 2 3 4; do
  "$attnc" compile "$here/kernels.attn" --spec-name "$kernel" --D 24 --Dv 40 --emit=obj \
    --march=x86-64-v$level --c-name v$level -o v$level.o --header v$level.h
done
"$attnc" compile "$here/kernels.attn" --spec-name "$kernel" --D 24 --Dv 40 --emit=obj \
  --march=x86-64-v2,x86-64-v4,x86-64-v3 --c-name fat -o fat.o --header fat.h
cc -std=gnu99 -O1 -Wall -Wextra -Werror -I. "$here/main.c" fat.o v2.o v3.o v4.o "$@" -o "$kernel"
