package executor

import (
	"path"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// spec is an agent's executor with all references resolved.
type spec struct {
	kind    string
	command []string
	dir     string
	url     string
	env     map[string]string
	headers map[string]string
	timeout time.Duration
	redact  func(string) string // takes secrets out of texts
}

// newSpec resolves an executor, and refuses what may not run here. Its errors are final.
func newSpec(x *sessionsv1.Executor, cfg Config) (*spec, error) {
	s := &spec{
		kind: x.GetKind(), command: x.GetCommand(), dir: x.GetDir(), url: x.GetUrl(), env: map[string]string{}, headers: map[string]string{},
		timeout: time.Duration(x.GetTimeoutSeconds()) * time.Second,
	}
	if s.timeout == 0 {
		s.timeout = roundTimeout
	}
	if s.kind == contract.ExecutorProcess {
		if err := allowed(x, cfg); err != nil {
			return nil, err
		}
	}
	r := envref.New(envref.Config{Allow: cfg.EnvAllow, Owner: "worker", Setting: "worker.executors.env_allow"})
	for name, value := range x.GetEnv() {
		s.env[name] = r.Resolve("executor.env."+name, value)
	}
	for name, value := range x.GetHeaders() {
		s.headers[name] = r.Resolve("executor.headers."+name, value)
	}
	if len(r.Wrong) > 0 {
		return nil, fault.InvalidFields(r.Wrong)
	}
	s.redact = envref.Redactor(r.Secrets)
	return s, nil
}

// allowed refuses programs that the configuration does not let run.
func allowed(x *sessionsv1.Executor, cfg Config) error {
	if len(x.GetCommand()) == 0 {
		return fault.Invalid("executor.command", "is empty")
	}
	program := x.GetCommand()[0]
	switch {
	case !cfg.Process:
		return failed("executors of kind process do not run on this worker").
			Hint("Set worker.executors.process to true in the worker's configuration, or reach the executor over http or grpc.")
	case len(cfg.Commands) > 0 && !slices.ContainsFunc(cfg.Commands, func(glob string) bool { ok, err := path.Match(glob, program); return ok && err == nil }):
		return failed("the program %q may not run as an executor on this worker", program).
			Hint("Add it to worker.executors.commands in the worker's configuration.")
	}
	return nil
}

// failed is an error that no repetition mends.
func failed(format string, args ...any) *fault.Error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_EXECUTOR_FAILED, format, args...)
}

// away is an error that may pass.
func away(format string, args ...any) *fault.Error {
	return fault.Unavailable(faultv1.Reason_REASON_EXECUTOR_UNAVAILABLE, format, args...)
}
