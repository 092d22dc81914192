package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/windlass-dev/windlass/internal/datadir"
	"github.com/windlass-dev/windlass/internal/devserver"
)

// local reports whether a server's address is on this machine.
func local(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// checkMachine checks the prerequisites of windlass up.
func checkMachine(ctx context.Context, dataDir string) []finding {
	return append([]finding{checkDataDir(dataDir), checkProgram()}, checkPorts(ctx)...)
}

func checkDataDir(path string) finding {
	f := finding{Check: "data directory", Outcome: good, Detail: path + " can be written"}
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		f.Detail = path + " will be made"
		err = writable(filepath.Dir(filepath.Clean(path)))
	} else if err == nil {
		err = free(path)
	}
	switch {
	case errors.Is(err, datadir.ErrInUse):
		return finding{f.Check, bad, "a windlass is running on " + path + ", but not at the address asked", "Name its address with --server."}
	case err != nil:
		return finding{f.Check, bad, err.Error(), "Fix its permissions, or choose another directory with 'windlass up --data-dir'."}
	}
	return f
}

// free locks the directory as windlass up would, and releases it.
func free(path string) error {
	d, err := datadir.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(writable(path), d.Close())
}

func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".windlass-doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// checkProgram looks for the Temporal server where windlass up does.
func checkProgram() finding {
	f := finding{Check: "temporal program", Outcome: good}
	if self, err := os.Executable(); err == nil {
		f.Detail = filepath.Join(filepath.Dir(self), devserver.Program)
		if _, err := os.Stat(f.Detail); err == nil {
			return f
		}
	}
	path, err := exec.LookPath(devserver.Program)
	if err != nil {
		return finding{f.Check, bad, devserver.Program + " is neither beside this program nor on PATH", "Run 'make build', or set temporal.address to a Temporal cluster."}
	}
	f.Detail = path
	return f
}

// checkPorts tries the default ports of windlass up.
func checkPorts(ctx context.Context) []finding {
	var out []finding
	for _, p := range [][2]string{
		{"127.0.0.1:8080", "--http-addr"},
		{"127.0.0.1:9090", "--grpc-addr"},
		{"127.0.0.1:7233", "--temporal-addr"},
		{"127.0.0.1:8233", "--temporal-ui-addr"},
	} {
		f := finding{Check: "port " + p[0], Outcome: good, Detail: "free"}
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", p[0])
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			f = finding{f.Check, bad, err.Error(), fmt.Sprintf("Stop what uses the port, or choose another one with 'windlass up %s'.", p[1])}
		}
		out = append(out, f)
	}
	return out
}
