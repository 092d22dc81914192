package turn

import (
	"errors"
	"fmt"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

func TestFailureOf(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		code string
	}{
		{"out of time", temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, nil), engine.CodeDeadline},
		{"the last attempt of a local activity was cut off", fmt.Errorf("begin: %w", toTemporal(errDrained)), engine.CodeDeadline},
		{"refused", temporal.NewApplicationError("no such agent", "not_found"), "not_found"},
		{"anything else", errors.New("boom"), "internal"},
	} {
		if got := failureOf(tt.err); got.GetCode() != tt.code || got.GetMessage() == "" {
			t.Errorf("%s: %v, want %s", tt.name, got, tt.code)
		}
	}
}
