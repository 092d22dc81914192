package stack_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/libs/stack"
)

//go:noinline
func deep(n int) int {
	var frame [256]byte
	if n == 0 {
		return int(frame[n])
	}
	return deep(n-1) + int(frame[n%len(frame)])
}

func BenchmarkGoroutine(b *testing.B) {
	for name, grow := range map[string]func(){"as it comes": func() {}, "grown": stack.Grow, "grown deep": stack.GrowDeep} {
		b.Run(name, func(b *testing.B) {
			var done sync.WaitGroup
			for b.Loop() {
				done.Go(func() {
					grow()
					deep(40)
				})
				done.Wait()
			}
		})
	}
}

func TestApart(t *testing.T) {
	bad := errors.New("bad")
	if err := stack.Apart(func() error { return bad }); !errors.Is(err, bad) {
		t.Errorf("got %v", err)
	}
	defer func() {
		if p, _ := recover().(error); !errors.Is(p, bad) {
			t.Errorf("the caller's panic is %v", p)
		}
	}()
	_ = stack.Apart(func() error { panic(bad) })
}
