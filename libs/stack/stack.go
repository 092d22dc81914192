// Package stack sizes the stacks of goroutines with deep call chains.
//
// A goroutine starts with a few KiB. Each time that is too little the runtime copies the stack to one of twice the size and adjusts all
// frames: 40 µs on the way down to a database. At the start of a goroutine there are few frames, so one early copy costs 2 µs. A stack only
// becomes smaller when the garbage collector finds that most of it is unused, which it does rarely in a process that does little.
package stack

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// shallow makes a stack of 8 KiB, deep one of 32 KiB: SQLite's interpreter, in the middle of a write to the database of another role, needs
// more than 16 KiB.
const (
	shallow = 6 << 10
	deep    = 28 << 10
)

// Grow grows the calling goroutine's stack for a call through interceptors and validation. Call it first in a goroutine that a turn waits
// for; it has no other effect.
//
//go:noinline
func Grow() {
	var room [shallow]byte
	runtime.KeepAlive(&room)
}

// GrowDeep is Grow for a goroutine that is over soon and uses a database.
//
//go:noinline
func GrowDeep() {
	var room [deep]byte
	runtime.KeepAlive(&room)
}

// Apart runs f in a goroutine of its own, and returns when it does. A goroutine that waits for hours afterwards keeps a small stack. A
// panic of f continues here, with the stack on which it began.
func Apart(f func() error) error {
	var panicked any
	err := errors.New("stack: the function has ended its goroutine")
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			switch p := recover().(type) {
			case nil:
			case error:
				panicked = fmt.Errorf("%w\n\n%s", p, debug.Stack())
			default:
				panicked = fmt.Errorf("%v\n\n%s", p, debug.Stack())
			}
		}()
		GrowDeep()
		err = f()
	}()
	<-done
	if panicked != nil {
		panic(panicked)
	}
	return err
}
