package inference

import (
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/modelcall"
)

// Config configures the inference service.
type Config struct {
	catalog.Config   `yaml:",inline"`
	modelcall.Limits `yaml:",inline"`
}
