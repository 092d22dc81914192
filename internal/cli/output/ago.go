package output

import (
	"fmt"
	"time"
)

// Ago formats the time since t.
func Ago(now, t time.Time) string {
	d := now.Sub(t)
	switch {
	case t.IsZero() || t.Unix() <= 0:
		return ""
	case d < 0:
		return "0s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}
