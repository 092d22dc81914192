package gateway_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/libs/config"
)

func TestGatewayURLIsTheRootOfAHost(t *testing.T) {
	for text, ok := range map[string]bool{
		"": true, "https://example.com": true, "https://example.com/": true, "http://127.0.0.1:8080": true,
		"https://example.com/mesh": false, "https://example.com/mesh/": false, "https://example.com//": false,
		"https://example.com/?a=b": false, "https://example.com/#a": false, "https://user@example.com": false, "example.com": false,
		"ftp://example.com": false,
	} {
		cfg := config.Default[gateway.Config]()
		cfg.URL = text
		_, err := gateway.New(cfg, depsOn(nil))
		refused := err != nil && strings.Contains(err.Error(), "gateway.url")
		if refused == ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
