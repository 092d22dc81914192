package faultpoint_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/faultpoint"
)

// Without controls a point does nothing, whatever the environment says.
func TestPointsAreOff(t *testing.T) {
	t.Setenv("WINDLASS_FAULT", "policy.decision-stored:kill")
	if v := faultpoint.Variables(); v != nil || faultpoint.Clock() != nil {
		t.Errorf("points are controlled by %q", v)
	}
	faultpoint.Hit(faultpoint.PolicyDecided)
	if err := faultpoint.Fail(faultpoint.PolicyDecided); err != nil {
		t.Error(err)
	}
}
