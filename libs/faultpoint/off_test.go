//go:build !faults

package faultpoint_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/faultpoint"
)

// Without the tag a point does nothing, whatever the environment says.
func TestPointsAreOff(t *testing.T) {
	t.Setenv("WINDLASS_FAULT", "policy.decision-stored:kill")
	if faultpoint.Enabled {
		t.Error("points are enabled")
	}
	faultpoint.Hit(faultpoint.PolicyDecided)
	if err := faultpoint.Fail(faultpoint.PolicyDecided); err != nil {
		t.Error(err)
	}
}
