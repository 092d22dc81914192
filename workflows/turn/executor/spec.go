package executor

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/placeholder"
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

// newSpec resolves an executor, and refuses what may not run here. later gives what placeholders of sealed texts stand for, nil when the
// texts are not sealed. Its errors are final, except for one that says that stored secrets cannot be read now.
func (h *Host) newSpec(x *sessionsv1.Executor, tenant string, later placeholder.Lookup) (*spec, error) {
	t := texts{later: later, env: envref.New(envref.Config{
		Allow: h.cfg.EnvAllow, Owner: "worker", Setting: "worker.executors.env_allow", Vault: h.vault,
	}, tenant)}
	s := &spec{
		kind: x.GetKind(), dir: t.open("dir", x.GetDir(), false), url: t.open("url", x.GetUrl(), false),
		env: t.all("env", x.GetEnv()), headers: t.all("headers", x.GetHeaders()), timeout: time.Duration(x.GetTimeoutSeconds()) * time.Second,
	}
	for i, text := range x.GetCommand() {
		s.command = append(s.command, t.open(fmt.Sprintf("command[%d]", i), text, false))
	}
	if s.timeout == 0 {
		s.timeout = roundTimeout
	}
	if len(t.env.Wrong) > 0 {
		return nil, fault.InvalidFields(t.env.Wrong)
	}
	if t.env.Err != nil {
		return nil, away("the executor's secrets: %v", t.env.Err)
	}
	if s.kind == contract.ExecutorProcess {
		if err := s.allowed(h.cfg); err != nil {
			return nil, err
		}
	}
	s.redact = envref.Redactor(t.env.Secrets)
	return s, nil
}

// texts opens the texts of an executor.
type texts struct {
	later placeholder.Lookup
	env   *envref.Resolver // its Wrong takes what is wrong
}

// open returns a text with its placeholders replaced. With refs it may refer to the worker's environment and to secrets. The values of
// placeholders are not expanded again.
func (t texts) open(field, text string, refs bool) string {
	field = "executor." + field
	if t.later == nil {
		if refs {
			return t.env.Resolve(field, text)
		}
		return text
	}
	out, wrong := placeholder.Finish(text, func(r placeholder.Ref) (string, *placeholder.Error) {
		if refs && r.Namespace == contract.WorkerEnvNamespace {
			return t.env.Resolve(field, "${env:"+r.Path+"}"), nil
		}
		if refs && r.Namespace == contract.WorkerSecretNamespace {
			return t.env.Resolve(field, "${secret:"+r.Path+"}"), nil
		}
		return t.later(r)
	})
	for _, e := range wrong {
		t.env.Refuse(field, e.Error())
	}
	return out
}

func (t texts) all(field string, values map[string]string) map[string]string {
	out := make(map[string]string, len(values))
	for name, value := range values {
		out[name] = t.open(field+"."+name, value, true)
	}
	return out
}

// allowed refuses programs that the configuration does not let run.
func (s *spec) allowed(cfg Config) error {
	if len(s.command) == 0 || s.command[0] == "" {
		return fault.Invalid("executor.command", "is empty")
	}
	switch {
	case s.dir != "" && !filepath.IsAbs(s.dir):
		return fault.Invalid("executor.dir", "want an absolute path")
	case !cfg.Process:
		return failed("executors of kind process do not run on this worker").
			Hint("Set worker.executors.process to true in the worker's configuration, or reach the executor over http or grpc.")
	}
	return nil
}

// failed is an error that no retry repairs.
func failed(format string, args ...any) *fault.Error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_EXECUTOR_FAILED, format, args...)
}

// away is an error that may pass.
func away(format string, args ...any) *fault.Error {
	return fault.Unavailable(faultv1.Reason_REASON_EXECUTOR_UNAVAILABLE, format, args...)
}
