package harness

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/faultpoint/armed"
)

// allowFaults sets the folder in which the fault points of the mesh's processes are armed.
func (m *Mesh) allowFaults() {
	m.t.Helper()
	m.faults = filepath.Join(m.dir, "faults")
	if err := os.MkdirAll(m.faults, 0o700); err != nil {
		m.t.Fatal(err)
	}
	m.env = append(m.env, "WINDLASS_FAULT_DIR="+m.faults)
}

func (m *Mesh) daemon() string {
	if m.faults != "" {
		return FaultsBin(m.t, "windlassd")
	}
	if m.options.Plain {
		return PlainBin(m.t, "windlassd")
	}
	return Bin(m.t, "windlassd")
}

// Arm sets the action of the next process that hits a point: "kill", "stall" or "error"; a suffix ":N" selects the N-th hit.
func (m *Mesh) Arm(p faultpoint.Point, action string) {
	m.t.Helper()
	m.Disarm(p)
	// Write to a temporary file first: the point must never be read half.
	path := filepath.Join(m.faults, armed.Name(p))
	if err := os.WriteFile(path+".new", []byte(action), 0o600); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		m.t.Fatal(err)
	}
}

// Disarm disarms a point, and releases a process that stalls there.
func (m *Mesh) Disarm(p faultpoint.Point) {
	m.t.Helper()
	path := filepath.Join(m.faults, armed.Name(p))
	for _, path := range []string{path, path + ".counting", m.takenPath(p)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			m.t.Fatal(err)
		}
	}
}

// Taken reports whether a process hit an armed point.
func (m *Mesh) Taken(p faultpoint.Point) bool {
	_, err := os.Stat(m.takenPath(p))
	return err == nil
}

// AwaitTaken waits until a process has hit an armed point, and reports whether that was in time.
func (m *Mesh) AwaitTaken(p faultpoint.Point, patience time.Duration) bool {
	return Eventually(patience, func() bool { return m.Taken(p) })
}

// TakenBy returns the process that hit an armed point, if any.
func (m *Mesh) TakenBy(p faultpoint.Point) (name string, taken bool) {
	raw, err := os.ReadFile(m.takenPath(p))
	if err != nil {
		return "", false
	}
	for name, process := range m.procs {
		if strconv.Itoa(process.PID()) == string(raw) {
			return name, true
		}
	}
	return "", false
}

func (m *Mesh) takenPath(p faultpoint.Point) string {
	return filepath.Join(m.faults, armed.Name(p)+".taken")
}

// Eventually polls until the condition holds, and reports whether that was in time.
func Eventually(patience time.Duration, yes func() bool) bool {
	timeout := time.After(patience)
	// Soon at first, and then less often: most questions are calls of a mesh, which needs the processor for what is waited for.
	for pause := 5 * time.Millisecond; !yes(); pause = min(pause*3/2, 40*time.Millisecond) {
		next := time.NewTimer(pause)
		select {
		case <-next.C:
		case <-timeout:
			next.Stop()
			return false
		}
	}
	return true
}
