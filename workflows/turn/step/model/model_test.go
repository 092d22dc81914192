package model_test

import (
	"testing"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/model"
)

func TestAReservationBoundsTheAnswer(t *testing.T) {
	for _, tt := range []struct{ asked, reserved, want int32 }{
		{asked: 0, reserved: 0, want: 0},
		{asked: 100, reserved: 0, want: 100},
		{asked: 0, reserved: 70, want: 70},
		{asked: 100, reserved: 70, want: 70},
		{asked: 50, reserved: 70, want: 50},
	} {
		req := &inferencev1.GenerateRequest{MaxOutputTokens: tt.asked}
		model.Bound(req, &step.Lease{MaxOutputTokens: tt.reserved})
		if req.GetMaxOutputTokens() != tt.want {
			t.Errorf("asked for %d, reserved %d: %d", tt.asked, tt.reserved, req.GetMaxOutputTokens())
		}
	}
}
