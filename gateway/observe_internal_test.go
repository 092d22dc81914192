package gateway

import "testing"

// TestTokensAreNotRecorded: neither the API's path of a shared conversation nor that of its page is in a trace.
func TestTokensAreNotRecorded(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/v1/shared/q0V5": "/v1/shared/", "/v1/shared/q0V5/events": "/v1/shared/", "/shared/q0V5": "/shared/",
		"/v1/sessions/ses_1": "/v1/sessions/ses_1",
	} {
		if got := recorded(path); got != want {
			t.Errorf("%s is recorded as %s, want %s", path, got, want)
		}
	}
}
