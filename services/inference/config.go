package inference

import (
	"time"

	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/modelcall"
)

// Config configures the inference service.
type Config struct {
	// Config says which providers and models there are.
	catalog.Config `yaml:",inline"`
	// Limits bound model calls.
	modelcall.Limits `yaml:",inline"`
}

// DefaultConfig returns the defaults, which detect providers.
func DefaultConfig() Config {
	return Config{
		Config: catalog.Config{Detect: true, Currency: "USD"},
		Limits: modelcall.Limits{FirstTokenTimeout: 30 * time.Second, IdleTimeout: 20 * time.Second, MaxResponse: 64 << 20},
	}
}
