package contract

import (
	"fmt"
	"strings"
)

const toolKey = "tool-"

// WaitKey is the key under which the end of the wait is recorded that the tool step with the given key ended with: "tool-1.0" has "wait-1.0".
// It is "" for a key that is no tool step's.
func WaitKey(tool string) string {
	rest, ok := strings.CutPrefix(tool, toolKey)
	if !ok {
		return ""
	}
	return "wait-" + rest
}

// SteerKey is the key under which input n (from 1) of a running turn is recorded.
func SteerKey(n int) string { return fmt.Sprintf("steer-%d", n) }
