package health

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
func checkMachine(ctx context.Context, dataDir string) []Finding {
	return append([]Finding{checkDataDir(dataDir), checkProgram()}, checkPorts(ctx)...)
}

func checkDataDir(path string) Finding {
	f := Finding{Check: "data directory", Outcome: OK, Detail: path + " can be written"}
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		f.Detail = path + " will be made"
		err = writable(filepath.Dir(filepath.Clean(path)))
	} else if err == nil {
		err = free(path)
	}
	switch {
	case errors.Is(err, datadir.ErrInUse):
		return Finding{f.Check, Broken, "a windlass is running on " + path + ", but not at the address asked", "Name its address with --server."}
	case err != nil:
		return Finding{f.Check, Broken, err.Error(), "Fix its permissions, or choose another directory with 'windlass up --data-dir'."}
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
func checkProgram() Finding {
	f := Finding{Check: "temporal program", Outcome: OK}
	if self, err := os.Executable(); err == nil {
		f.Detail = filepath.Join(filepath.Dir(self), devserver.Program)
		if _, err := os.Stat(f.Detail); err == nil {
			return f
		}
	}
	path, err := exec.LookPath(devserver.Program)
	if err != nil {
		return Finding{
			f.Check, Broken, devserver.Program + " is neither beside this program nor on PATH",
			"Run 'make build', or set temporal.address to a Temporal cluster.",
		}
	}
	f.Detail = path
	return f
}

// checkPorts tries the default ports of windlass up.
func checkPorts(ctx context.Context) []Finding {
	var out []Finding
	for _, p := range [][2]string{
		{"127.0.0.1:8080", "--http-addr"},
		{"127.0.0.1:9090", "--grpc-addr"},
		{"127.0.0.1:7233", "--temporal-addr"},
		{"127.0.0.1:8233", "--temporal-ui-addr"},
		{"127.0.0.1:8089", "--issuer-addr"},
	} {
		f := Finding{Check: "port " + p[0], Outcome: OK, Detail: "free"}
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", p[0])
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			f = Finding{f.Check, Broken, err.Error(), fmt.Sprintf("Stop what uses the port, or choose another one with 'windlass up %s'.", p[1])}
		}
		out = append(out, f)
	}
	return out
}
