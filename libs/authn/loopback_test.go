package authn_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
)

func TestLoopbackName(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:8080": true, "localhost.:80": true, "a.localhost:1": true, "127.0.0.1": true, "127.9.8.7:80": true,
		"[::1]:8080": true, "[::1]": true, "::1": true, "[::ffff:127.0.0.1]:80": true,
		"": false, "evil.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "10.0.0.1:80": false,
		"notlocalhost": false, "0.0.0.0:80": false, "[::]:80": false,
	} {
		if got := authn.LoopbackName(host); got != want {
			t.Errorf("LoopbackName(%q) = %t", host, got)
		}
	}
}
