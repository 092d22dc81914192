package bff

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// TestS20LoginsReturnToOwnPathsOnly covers open redirects: what browsers take for another host leads to the first page.
func TestS20LoginsReturnToOwnPathsOnly(t *testing.T) {
	for to, want := range map[string]string{
		"/turns/trn_1?x=1": "/turns/trn_1?x=1", "": "/", "inbox": "/", "https://evil.example": "/", "//evil.example": "/",
		`/\evil.example`: "/", "/\t/evil.example": "/", "///evil.example": "/", "javascript:alert(1)": "/", "/login": "/",
		"/%2F/evil.example": "/", "/a\r\nSet-Cookie: x=1": "/", "/..//evil.example": "/..//evil.example", // http.Redirect cleans the last
	} {
		if got := ownPath(to); got != want {
			t.Errorf("%q leads to %q, want %q", to, got, want)
		}
	}
}
