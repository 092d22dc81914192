#!/bin/sh
# keep-running.sh PROGRAM [ARG ...]: starts PROGRAM again, after a second, whenever it ends; ends when it is told to.
# A program that ends at once is a program that cannot start, so the pause grows to ten seconds.
set -u

child=
trap 'trap - TERM INT; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null; wait "$child" 2>/dev/null; exit 0' TERM INT
pause=1
while :; do
	began=$(date +%s)
	"$@" &
	child=$!
	wait "$child"
	status=$?
	[ $(($(date +%s) - began)) -lt 10 ] || pause=1
	echo "keep-running: $1 ended with status $status; starting it again in $pause s" >&2
	sleep "$pause" &
	child=$!
	wait "$child"
	[ "$pause" -ge 10 ] || pause=$((pause * 2))
done
