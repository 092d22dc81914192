package step

import (
	"os"
	"runtime"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/placeholder"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// instructions are those of a loaded agent, as the model is told them: with the second stage of placeholders resolved.
func (r *Runner) instructions(a *sessionsv1.Agent) (string, error) {
	return r.unseal(a.GetInstructions())
}

// unseal puts what only this worker knows into a text of a loaded agent that was sealed for it, see LoadTurnResponse.agent.
func (r *Runner) unseal(sealed string) (string, error) {
	text, wrong := placeholder.Finish(sealed, r.here)
	if len(wrong) > 0 {
		return "", fault.FailedPrecondition(faultv1.Reason_REASON_INVALID_BLUEPRINT, "the agent cannot be resolved at worker %s: %s", r.cfg.Owner, wrong[0].Error())
	}
	return text, nil
}

// here gives what ${runner.*} stands for.
func (r *Runner) here(ref placeholder.Ref) (string, *placeholder.Error) {
	if ref.Namespace != contract.RunnerNamespace {
		return "", placeholder.Wrong(ref, "was left for a worker, which knows ${runner.*} only")
	}
	switch ref.Path {
	case contract.RunnerWorkerID:
		return r.cfg.Owner, nil
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
