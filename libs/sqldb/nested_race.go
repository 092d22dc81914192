//go:build race

package sqldb

import (
	"bytes"
	"runtime"
	"sync"
)

// open holds the goroutines that have a transaction open, in programs built with the race detector, as tests are.
var open sync.Map //nolint:gochecknoglobals // goroutines belong to the process

// nested returns a function that marks the end of a transaction of this goroutine, and panics if it has one open.
func nested(what string) (end func()) {
	refuseNested(what)
	id := goroutine()
	open.Store(id, what)
	return func() { open.Delete(id) }
}

// refuseNested panics if this goroutine has a transaction open. A statement beside it needs a second connection of the pool: where all
// connections are taken by transactions that do the same, none of them ever ends. It also does not see what the transaction has written.
func refuseNested(what string) {
	if in, ok := open.Load(goroutine()); ok {
		panic("sqldb: " + what + " while this goroutine is in a " + in.(string) + ": use the transaction instead")
	}
}

// goroutine returns the number that the runtime prints for the current goroutine.
func goroutine() string {
	var buf [64]byte
	text := buf[:runtime.Stack(buf[:], false)]
	text = bytes.TrimPrefix(text, []byte("goroutine "))
	number, _, _ := bytes.Cut(text, []byte(" "))
	return string(number)
}
