package pinned

import (
	"os"
	"runtime"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/placeholder"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// Instructions returns those of a loaded agent, as a model reads them: with the second stage of placeholders resolved.
func (c *Cache) Instructions(a *sessionsv1.Agent) (string, error) {
	return c.unseal(a.GetInstructions())
}

// unseal resolves in a text of a loaded agent what only this worker knows, see LoadTurnResponse.agent.
func (c *Cache) unseal(sealed string) (string, error) {
	lookup := c.resolve
	if lookup == nil {
		lookup = c.Here
	}
	text, wrong := placeholder.Finish(sealed, lookup)
	if len(wrong) > 0 {
		return "", fault.FailedPrecondition(
			faultv1.Reason_REASON_INVALID_BLUEPRINT, "the agent cannot be resolved at worker %s: %s", c.worker, wrong[0].Error(),
		)
	}
	return text, nil
}

// Worker returns the name of this worker.
func (c *Cache) Worker() string { return c.worker }

// Here returns what ${runner.*} stands for.
func (c *Cache) Here(ref placeholder.Ref) (string, *placeholder.Error) {
	if ref.Namespace != contract.RunnerNamespace {
		return "", placeholder.Wrong(ref, "was left for a worker, which knows ${runner.*} only")
	}
	switch ref.Path {
	case contract.RunnerWorkerID:
		return c.worker, nil
	case contract.RunnerHost:
		name, err := os.Hostname()
		if err != nil {
			return "", placeholder.Wrong(ref, "has no value: the machine has no name")
		}
		return name, nil
	case contract.RunnerOS:
		return runtime.GOOS, nil
	case contract.RunnerArch:
		return runtime.GOARCH, nil
	default:
		return "", placeholder.Wrong(ref, "is not known at this worker")
	}
}
