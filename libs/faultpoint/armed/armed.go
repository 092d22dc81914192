// Package armed controls the fault points of programs for tests, which are built with the tag "faults".
//
// A point is armed with an action in one of two ways:
//   - the variable WINDLASS_FAULT, a list such as "sessions.journaled:kill,policy.decision-stored:error:3", when the process starts;
//   - a file named like the point in the folder WINDLASS_FAULT_DIR, with the action as its content, at any time.
//
// An action is one of
//   - kill: the process kills itself at this line;
//   - stall: the line blocks until the file NAME.taken in WINDLASS_FAULT_DIR is removed;
//   - error: Fail returns an error (Hit ignores it);
//   - panic: the line panics;
//   - profile: the profiles of the process are written to the folder, POINT.PROFILE.DEBUG.profile;
//
// and a suffix ":N" delays it to the N-th hit. An armed action happens once: with a folder, once among all processes that share it,
// including restarted ones.
package armed

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

const (
	envArmed = "WINDLASS_FAULT"
	envDir   = "WINDLASS_FAULT_DIR"
	envClock = "WINDLASS_FAULT_CLOCK"
	// taken is the suffix of a control file whose action happened.
	taken = ".taken"
	// counting is its suffix while a hit is being counted.
	counting = ".counting"
	// stallPoll is how often a stalled line checks whether it may continue.
	stallPoll = 5 * time.Millisecond
)

// Install lets the environment arm the points of this program.
func Install() {
	faultpoint.Control(faultpoint.Controls{
		Pass:      func(p faultpoint.Point) error { return environment().fail(p) },
		Clock:     clock,
		Variables: []string{envArmed, envDir, envClock},
	})
}

// names are ROLE.WHAT.
var names = [...]string{
	faultpoint.Journaled:       "sessions.journaled",
	faultpoint.GatewayAnswered: "gateway.answered",
	faultpoint.Started:         "worker.started",
	faultpoint.ModelAsked:      "inference.model-asked",
	faultpoint.ModelSaid:       "inference.model-said",
	faultpoint.ModelDone:       "inference.model-done",
	faultpoint.InferOpened:     "worker.infer-opened",
	faultpoint.InferDone:       "worker.infer-done",
	faultpoint.CompactDone:     "worker.compact-done",
	faultpoint.PolicyDecided:   "policy.decision-stored",
	faultpoint.PolicyRecording: "policy.recording",
	faultpoint.ToolOpened:      "registry.tool-opened",
	faultpoint.BridgeToolDone:  "mcpbridge.tool-done",
	faultpoint.ToolDone:        "registry.tool-done",
	faultpoint.ToolClosed:      "registry.tool-closed",
	faultpoint.CallDone:        "worker.call-done",
	faultpoint.TurnEnded:       "sessions.turn-ended",
}

// Name returns what a point is called in variables and files.
func Name(p faultpoint.Point) string { return names[p] }

// control holds the armed actions of this process.
type control struct {
	dir string

	mu    sync.Mutex
	armed map[string]string // by the variable
}

var environment = sync.OnceValue(func() *control { return newControl(os.Getenv(envArmed), os.Getenv(envDir)) })

// newControl panics if it cannot parse the variable: a typo would make a test pass without its fault.
func newControl(list, dir string) *control {
	c := &control{dir: dir, armed: map[string]string{}}
	for one := range strings.SplitSeq(list, ",") {
		if one == "" {
			continue
		}
		name, action, _ := strings.Cut(one, ":")
		if _, _, err := parse(action); err != nil {
			panic("armed: " + envArmed + ": " + one + ": " + err.Error())
		}
		c.armed[name] = action
	}
	return c
}

// parse reads an action such as "kill" or "stall:2".
func parse(action string) (what string, nth int, err error) {
	what, count, counted := strings.Cut(strings.TrimSpace(action), ":")
	nth = 1
	if counted {
		if nth, err = strconv.Atoi(count); err != nil || nth < 1 {
			return "", 0, errors.New("the count must be a number from 1")
		}
	}
	switch what {
	case "kill", "stall", "error", "panic", "profile":
		return what, nth, nil
	}
	return "", 0, errors.New("the action must be kill, stall, error, panic or profile")
}

func (c *control) fail(p faultpoint.Point) error {
	switch c.take(p) {
	case "kill":
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			panic("armed: cannot kill this process: " + err.Error())
		}
		select {} // wait for the signal
	case "stall":
		c.stall(p)
	case "profile":
		c.profile(p)
	case "panic":
		panic("fault point " + Name(p))
	case "error":
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "fault point %s", Name(p))
	}
	return nil
}

// take returns the action that is due at a point, and disarms it.
func (c *control) take(p faultpoint.Point) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := Name(p)
	if action, ok := c.armed[name]; ok {
		what, nth, _ := parse(action) // validated in newControl
		if nth > 1 {
			c.armed[name] = what + ":" + strconv.Itoa(nth-1)
			return ""
		}
		delete(c.armed, name)
		if c.dir == "" {
			return what
		}
		// Once among all processes, including those restarted with the same variable.
		mark, err := os.OpenFile(c.path(p)+taken, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return ""
		}
		_ = mark.Close() // nothing was written
		return what
	}
	return c.takeFile(p)
}

// takeFile is take for a control file: the process whose rename succeeds takes it. The .taken mark appears only if an action happens, since
// tests wait for it and must not mistake a count for it.
func (c *control) takeFile(p faultpoint.Point) string {
	path := c.path(p)
	if c.dir == "" || os.Rename(path, path+counting) != nil {
		return ""
	}
	raw, err := os.ReadFile(path + counting)
	if err != nil {
		return ""
	}
	what, nth, err := parse(string(raw))
	if err != nil {
		panic("armed: " + path + ": " + err.Error())
	}
	if nth == 1 {
		sign(path + counting)
		if os.Rename(path+counting, path+taken) != nil {
			return "" // disarmed meanwhile
		}
		return what
	}
	//nolint:gosec // the test that starts the process names the folder
	if os.WriteFile(path+counting, []byte(what+":"+strconv.Itoa(nth-1)), 0o600) == nil {
		_ = os.Rename(path+counting, path) // if this fails the point stays disarmed, and the test notices
	}
	return ""
}

// sign writes this process's id into the mark. It does not create the file: the point may be disarmed by now.
func sign(path string) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return
	}
	_, _ = fmt.Fprint(f, os.Getpid()) // only tests read it, and they notice
	_ = f.Close()
}

func (c *control) stall(p faultpoint.Point) {
	tick := time.NewTicker(stallPoll)
	defer tick.Stop()
	for range tick.C {
		if _, err := os.Stat(c.path(p) + taken); errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
}

// profile writes what the runtime profiles of this process are, in binary form and as text.
func (c *control) profile(p faultpoint.Point) {
	for _, profile := range pprof.Profiles() {
		for _, debug := range []int{0, 1, 2} {
			var raw bytes.Buffer
			err := profile.WriteTo(&raw, debug)
			if err == nil {
				err = os.WriteFile(fmt.Sprintf("%s.%s.%d.profile", c.path(p), profile.Name(), debug), raw.Bytes(), 0o600)
			}
			if err != nil {
				panic("armed: cannot write a profile: " + err.Error())
			}
		}
	}
}

func (c *control) path(p faultpoint.Point) string { return filepath.Join(c.dir, Name(p)) }

// clock returns a clock that is ahead by the duration in the file that WINDLASS_FAULT_CLOCK names, such as "10m"; nil without the
// variable. The file may change at any time; while it does not exist, the clock is right.
func clock() func() time.Time {
	path := os.Getenv(envClock)
	if path == "" {
		return nil
	}
	return func() time.Time {
		text, err := os.ReadFile(path) //nolint:gosec // the test that starts the process names the file
		if errors.Is(err, fs.ErrNotExist) {
			return time.Now()
		}
		ahead, wrong := time.ParseDuration(strings.TrimSpace(string(text)))
		if err := errors.Join(err, wrong); err != nil {
			panic("armed: " + envClock + ": " + err.Error())
		}
		return time.Now().Add(ahead)
	}
}
