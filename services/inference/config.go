package inference

import (
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/modelcall"
	"github.com/windlass-dev/windlass/services/inference/route"
)

// Config configures the inference service.
type Config struct {
	catalog.Config   `yaml:",inline"`
	modelcall.Limits `yaml:",inline"`
	Routes           []route.Config `yaml:"routes" doc:"Which models turns call, in order. The first route that matches a turn replaces the model and the fallbacks of its agent. Tenants can have further ones (windlass route)."`
	MaxRoutes        int            `yaml:"max_routes" default:"200" doc:"Maximum number of routes that a tenant creates with the API."`
}
