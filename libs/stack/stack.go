// Package stack makes room on the stacks of goroutines that are short-lived and go deep.
package stack

import "runtime"

// depth is enough for a call through interceptors and validation to a database statement: twice as much made a turn no faster.
const depth = 14 << 10

// Grow makes room on the calling goroutine's stack for a deep call. A goroutine begins with a few KiB, and each time that is too little the runtime
// copies the stack to one of twice the size and adjusts all frames on it: 40 µs on the way down to a database. Here the frames are few still, so it is
// done once and costs 2 µs. Call it first thing in a goroutine that a turn waits for; it changes nothing else.
//
//go:noinline
func Grow() {
	var room [depth]byte
	runtime.KeepAlive(&room)
}
