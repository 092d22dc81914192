//go:build faults

package faultpoint

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
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// Enabled reports whether points can be armed in this build.
const Enabled = true

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

// Variables returns the environment variables that arm points.
func Variables() []string { return []string{envArmed, envDir, envClock} }

// control holds the armed actions of this process.
type control struct {
	dir string

	mu    sync.Mutex
	armed map[Point]string // by the variable
}

var environment = sync.OnceValue(func() *control { return newControl(os.Getenv(envArmed), os.Getenv(envDir)) })

// newControl panics if it cannot parse the variable: a typo would make a test pass without its fault.
func newControl(list, dir string) *control {
	c := &control{dir: dir, armed: map[Point]string{}}
	for one := range strings.SplitSeq(list, ",") {
		if one == "" {
			continue
		}
		name, action, _ := strings.Cut(one, ":")
		if _, _, err := parse(action); err != nil {
			panic("faultpoint: " + envArmed + ": " + one + ": " + err.Error())
		}
		c.armed[Point(name)] = action
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

// Hit passes a point. It may block or never return.
func Hit(p Point) { _ = environment().fail(p) }

// Fail passes a point that may also return an error.
func Fail(p Point) error { return environment().fail(p) }

func (c *control) fail(p Point) error {
	switch c.take(p) {
	case "kill":
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			panic("faultpoint: cannot kill this process: " + err.Error())
		}
		select {} // wait for the signal
	case "stall":
		c.stall(p)
	case "profile":
		c.profile(p)
	case "panic":
		panic("fault point " + string(p))
	case "error":
		return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "fault point %s", p)
	}
	return nil
}

// take returns the action that is due at a point, and disarms it.
func (c *control) take(p Point) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if action, ok := c.armed[p]; ok {
		what, nth, _ := parse(action) // validated in newControl
		if nth > 1 {
			c.armed[p] = what + ":" + strconv.Itoa(nth-1)
			return ""
		}
		delete(c.armed, p)
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
func (c *control) takeFile(p Point) string {
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
		panic("faultpoint: " + path + ": " + err.Error())
	}
	if nth == 1 {
		sign(path + counting)
		if os.Rename(path+counting, path+taken) != nil {
			return "" // disarmed meanwhile
		}
		return what
	}
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

func (c *control) stall(p Point) {
	tick := time.NewTicker(stallPoll)
	defer tick.Stop()
	for range tick.C {
		if _, err := os.Stat(c.path(p) + taken); errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
}

// profile writes what the runtime profiles of this process are, in binary form and as text.
func (c *control) profile(p Point) {
	for _, profile := range pprof.Profiles() {
		for _, debug := range []int{0, 1, 2} {
			var raw bytes.Buffer
			err := profile.WriteTo(&raw, debug)
			if err == nil {
				err = os.WriteFile(fmt.Sprintf("%s.%s.%d.profile", c.path(p), profile.Name(), debug), raw.Bytes(), 0o600)
			}
			if err != nil {
				panic("faultpoint: cannot write a profile: " + err.Error())
			}
		}
	}
}

func (c *control) path(p Point) string { return filepath.Join(c.dir, string(p)) }

// Clock returns a clock that is ahead by the duration in the file that WINDLASS_FAULT_CLOCK names, such as "10m"; nil without the
// variable. The file may change at any time; while it does not exist, the clock is right.
func Clock() func() time.Time {
	path := os.Getenv(envClock)
	if path == "" {
		return nil
	}
	return func() time.Time {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return time.Now()
		}
		ahead, wrong := time.ParseDuration(strings.TrimSpace(string(text)))
		if err := errors.Join(err, wrong); err != nil {
			panic("faultpoint: " + envClock + ": " + err.Error())
		}
		return time.Now().Add(ahead)
	}
}
