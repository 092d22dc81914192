// Package workercomponent stands for the system worker that starts and stops workers in clouds.
package workercomponent

import "go.uber.org/fx"

// Module adds nothing to the server.
var Module = fx.Options()
