package sessions

import (
	"context"
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/placeholder"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// maxExecutorSession bounds an executor's own id of a session, in bytes.
const maxExecutorSession = 512

// checkExecutor finds what is wrong with an agent's executor. The prefix is the path of the agent.
func checkExecutor(prefix string, a *sessionsv1.Agent) []fault.Field {
	x := a.GetExecutor()
	if x == nil {
		return nil
	}
	prefix += "executor."
	var wrong []fault.Field
	bad := func(field, message string) {
		wrong = append(wrong, fault.Field{Path: prefix + field, Message: message})
	}
	process, remote := x.GetKind() == contract.ExecutorProcess, x.GetKind() == contract.ExecutorHTTP || x.GetKind() == contract.ExecutorGRPC
	if !process && (len(x.GetCommand()) > 0 || len(x.GetEnv()) > 0 || x.GetDir() != "") {
		bad("command", `command, env and dir belong to an executor of kind "process"`)
	}
	if !remote && (x.GetUrl() != "" || len(x.GetHeaders()) > 0) {
		bad("url", `url and headers belong to an executor of kind "http" or "grpc"`)
	}
	switch {
	case process && (len(x.GetCommand()) == 0 || strings.TrimSpace(x.GetCommand()[0]) == ""):
		bad("command", `an executor of kind "process" needs a program, for example ["python3", "agent.py"]`)
	case process && x.GetDir() != "" && !filepath.IsAbs(x.GetDir()) && !placeholder.In(x.GetDir()): // the worker looks at what they come to
		bad("dir", "want an absolute path")
	case remote:
		if message := wrongExecutorURL(x.GetKind(), blueprint.Shape(x.GetUrl())); message != "" {
			bad("url", message)
		}
	}
	worker := envref.Place{Owner: "worker", Prefix: "WINDLASS_EXECUTOR_"}
	wrong = append(wrong, worker.CheckVariables(prefix+"env", x.GetEnv())...)
	wrong = append(wrong, worker.CheckHeaders(prefix+"headers", x.GetHeaders())...)
	if (process || remote) && a.GetStrategy() != turnv1.Strategy_STRATEGY_UNSPECIFIED && a.GetStrategy() != turnv1.Strategy_STRATEGY_REACT {
		wrong = append(wrong, fault.Field{
			Path: strings.TrimSuffix(prefix, "executor.") + "strategy", Message: "the executor decides how it thinks: leave strategy out",
		})
	}
	for _, text := range append([]string{x.GetDir(), x.GetUrl()}, x.GetCommand()...) {
		if strings.ContainsRune(text, 0) {
			bad("command", "NUL bytes are not allowed")
		}
	}
	return wrong
}

// wrongExecutorURL says what is wrong with the address of an http or grpc executor, "" if nothing is.
func wrongExecutorURL(kind, text string) string {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return "is missing: where is the executor?"
	case err != nil:
		return "not a valid URL"
	case u.User != nil:
		return "credentials do not belong into the URL; use a header with ${env:NAME}"
	case kind == contract.ExecutorHTTP && (u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == ""):
		return "want an absolute http or https address"
	case kind == contract.ExecutorGRPC:
		_, port, err := net.SplitHostPort(u.Host)
		if u.Scheme != "grpc" && u.Scheme != "grpcs" || err != nil || port == "" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
			return "want grpc://host:port, or grpcs://host:port with TLS"
		}
	}
	return ""
}

// attach keeps what an executor.attached event tells. Other events pass.
func attach(tx *journal.Tx, t store.Turn, e *turnv1.Event) error {
	a := e.GetExecutorAttached()
	if a == nil {
		return nil
	}
	if id := a.GetExecutorSessionId(); id == "" || len(id) > maxExecutorSession || !access.Storable(id) {
		return fault.Invalid("events", "executor_session_id must have 1 to %d bytes, and no NUL", maxExecutorSession)
	}
	return tx.PutExecutor(tx.Context(), store.Executor{
		Tenant: t.Tenant, SessionID: t.SessionID, Hash: a.GetExecutorHash(), ExecutorSessionID: a.GetExecutorSessionId(), UpdateUs: tx.NowUs,
	})
}

// executorSession is what the agent's executor calls the session of a turn, "" for an agent without one, and when it has told nothing.
func (s *Service) executorSession(ctx context.Context, t store.Turn, a *sessionsv1.Agent) (string, error) {
	if !contract.Hosted(a) {
		return "", nil
	}
	kept, err := s.store.Executor(ctx, t.Tenant, t.SessionID)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && kept.Hash != contract.ExecutorHash(a.GetExecutor()):
		return "", nil
	case err != nil:
		return "", err
	}
	return kept.ExecutorSessionID, nil
}
