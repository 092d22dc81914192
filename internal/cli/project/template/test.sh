#!/bin/sh
# Tests the tool by itself, and then with the agent in a turn. It needs "windlass up" and "windlass apply ." before.
set -eu
windlass=${WINDLASS:-windlass}

expect() { # expect NAME TEXT COMMAND…: the command prints the text
	name=$1 text=$2
	shift 2
	got=$("$@" 2>&1) || true
	case $got in
	*"$text"*) echo "ok   $name" ;;
	*)
		echo "FAIL $name: want \"$text\", got: $got"
		exit 1
		;;
	esac
}

expect "tool {{.Name}}__count" "6 words, 18 characters" \
	"$windlass" tool invoke {{.Name}}__count '{"text":"to be or not to be"}'
expect "agent {{.Name}}" "6 words" \
	"$windlass" run {{.Name}} 'Count the words of the text "to be or not to be"'
