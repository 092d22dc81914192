package testpoll_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/windlass-dev/windlass/libs/testpoll"
)

// recorder is a test that is under way. It ends with a panic.
type recorder struct {
	testing.TB
	said string
}

func (*recorder) Helper() {}

func (r *recorder) Fatalf(format string, _ ...any) {
	r.said = format
	panic(r)
}

func TestUntilReturnsOnceTheConditionHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		checks := 0
		testpoll.Until(t, "three checks", func() bool {
			checks++
			return checks == 3
		})
		if checks != 3 {
			t.Errorf("%d checks", checks)
		}
	})
}

func TestUntilEndsATestThatWaitsTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		defer func() {
			if recover() != r || !strings.Contains(r.said, "not within") {
				t.Errorf("it ended with %q", r.said)
			}
		}()
		testpoll.Until(r, "never", func() bool { return false })
	})
}
