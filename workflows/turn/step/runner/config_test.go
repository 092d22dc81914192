package runner_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/workflows/turn/step/runner"
)

func TestMoreAttemptsThanACallTakesAreRefused(t *testing.T) {
	_, err := runner.New(runner.Config{Owner: "worker", InferAttempts: 300}, runner.Deps{})
	if err == nil || !strings.Contains(err.Error(), "model_attempts 300 is more than 256") {
		t.Error(err)
	}
}
