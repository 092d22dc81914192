package command

import (
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func TestATimeMayBeHowLongAgoItWas(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	for text, want := range map[string]string{
		"2h": "2026-01-02T13:04:05Z", "-2h": "2026-01-02T13:04:05Z", "2026-01-02T15:04:05+01:00": "2026-01-02T15:04:05+01:00",
		"yesterday": "", "": "",
	} {
		cmd := &cobra.Command{}
		cmd.Flags().String("since", text, "")
		c := &Call{Cmd: cmd, Now: now}
		if got, err := c.Time("since"); (err == nil) != (want != "") || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
