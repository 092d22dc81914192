package mcpbridge

import "testing"

func TestRetryAfterIsRead(t *testing.T) {
	for text, want := range map[string]float64{"": 0, "7": 7, "-3": 0, "soon": 0, "99999999": 86400, "Mon, 02 Jan 2006 15:04:05 GMT": 0} {
		if got := retryAfter(text).Seconds(); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
