//go:build unix

package serve

import (
	"log/slog"
	"os"
	"strings"
	"syscall"

	"github.com/windlass-dev/windlass/internal/embedded"
)

// killed returns what ends this process as SIGKILL does and starts it again: execve drops its memory, its threads and its connections at
// once, and nothing of the program runs before that. The new process takes the same addresses, so that open pages find it.
func killed(log *slog.Logger) func(embedded.Ready) {
	return func(r embedded.Ready) {
		self, err := os.Executable()
		if err == nil {
			err = syscall.Exec(self, append(os.Args[:1:1], withAddresses(os.Args[1:], r)...), os.Environ()) //nolint:gosec // this program
		}
		log.Error("cannot restart", "error", err)
	}
}

// withAddresses adds the addresses of a running mesh to the arguments it was started with: of a flag that occurs twice the last one counts.
func withAddresses(args []string, r embedded.Ready) []string {
	_, web, _ := strings.Cut(r.URL, "://")
	added := []string{"--http-addr", web, "--grpc-addr", r.GRPC}
	if r.Issuer != "" {
		added = append(added, "--issuer-addr", strings.TrimPrefix(r.Issuer, "http://"))
	}
	if r.TemporalPID != 0 {
		_, ui, _ := strings.Cut(r.TemporalUI, "://")
		added = append(added, "--temporal-addr", r.Temporal, "--temporal-ui-addr", ui)
	}
	return append(args[:len(args):len(args)], added...)
}
