package outbound_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/services/mcpbridge/outbound"
)

func TestRetryAfterIsRead(t *testing.T) {
	for text, want := range map[string]float64{"": 0, "7": 7, "-3": 0, "soon": 0, "99999999": 86400, "Mon, 02 Jan 2006 15:04:05 GMT": 0} {
		if got := outbound.RetryAfter(text).Seconds(); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestRefusalsAreDescribed(t *testing.T) {
	for text, got := range map[string]string{
		"wants other scopes (status 403): a b": outbound.Refusal(403, &[]string{"a", "b"}),
		"wants other scopes (status 403)":      outbound.Refusal(403, &[]string{}),
		"forbids access (status 403)":          outbound.Refusal(403, nil),
		"wants authentication (status 401)":    outbound.Refusal(401, nil),
		"refused the request (status 418)":     outbound.Refusal(418, nil),
	} {
		if !strings.Contains(got, text) || strings.HasSuffix(got, ": ") {
			t.Errorf("%q, want %q", got, text)
		}
	}
}
