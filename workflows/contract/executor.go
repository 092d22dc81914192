package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Kinds of executors other than the built-in engine, see windlass.sessions.v1.Executor.
const (
	ExecutorProcess = "process"
	ExecutorHTTP    = "http"
	ExecutorGRPC    = "grpc"
)

// Hosted reports whether an executor thinks in the place of the agent's model.
func Hosted(a *sessionsv1.Agent) bool {
	switch a.GetExecutor().GetKind() {
	case ExecutorProcess, ExecutorHTTP, ExecutorGRPC:
		return true
	}
	return false
}

// ExecutorHash stands for what an executor is: its command or address. Environment, headers and times may change without making it
// another one.
func ExecutorHash(x *sessionsv1.Executor) string {
	parts := append([]string{x.GetKind(), x.GetUrl(), x.GetDir()}, x.GetCommand()...)
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}
