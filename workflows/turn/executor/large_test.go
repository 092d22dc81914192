//go:build !race

package executor_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
)

func TestAProgramThatSaysNothingForEver(t *testing.T) {
	err := hear(t, strings.Repeat(`{"type":"x"}`+"\n", 1<<20+1))
	if fault.CodeOf(err) != "executor_failed" || !strings.Contains(err.Error(), "said more than") {
		t.Errorf("got %v", err)
	}
}
