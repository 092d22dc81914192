package armed

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/faultpoint"
)

func TestVariableFiresTheNthTimeAndOnce(t *testing.T) {
	dir := t.TempDir()
	c := newControl("policy.decision-stored:error:2,worker.started:error", dir)
	for i, want := range []bool{false, true, false} {
		if err := c.fail(faultpoint.PolicyDecided); (err != nil) != want {
			t.Errorf("call %d: %v", i+1, err)
		}
	}
	again := newControl("policy.decision-stored:error", dir) // the process was restarted
	if err := again.fail(faultpoint.PolicyDecided); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	if err := again.fail(faultpoint.Started); err != nil {
		t.Errorf("another point: %v", err)
	}
}

func TestFileFiresTheNthTimeAndOnce(t *testing.T) {
	dir := t.TempDir()
	one, two := newControl("", dir), newControl("", dir)
	arm(t, dir, faultpoint.PolicyDecided, "error:3")
	for i, want := range []bool{false, false, true, false} {
		c := map[bool]*control{true: one, false: two}[i%2 == 0]
		if err := c.fail(faultpoint.PolicyDecided); (err != nil) != want {
			t.Errorf("call %d: %v", i+1, err)
		}
	}
}

func TestTheClockIsSetByAFile(t *testing.T) {
	t.Setenv(envClock, "")
	if clock() != nil {
		t.Error("there is a clock without the variable")
	}
	path := filepath.Join(t.TempDir(), "clock")
	t.Setenv(envClock, path)
	now := clock()
	if ahead := time.Until(now()); ahead > 0 {
		t.Errorf("without the file it is %v ahead", ahead)
	}
	if err := os.WriteFile(path, []byte("10m\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if before := time.Now(); now().Before(before.Add(10 * time.Minute)) {
		t.Error("it is not ten minutes ahead")
	}
}

func TestEachPointHasAName(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range faultpoint.Points() {
		if name := Name(p); name == "" || seen[name] {
			t.Errorf("point %d is called %q", p, name)
		} else {
			seen[name] = true
		}
	}
}

func TestStallEndsWhenItsFileIsRemoved(t *testing.T) {
	dir := t.TempDir()
	c := newControl("", dir)
	arm(t, dir, faultpoint.ModelDone, "stall")
	passed := make(chan struct{})
	go func() { defer close(passed); c.fail(faultpoint.ModelDone) }() //nolint:errcheck // a stall has no error
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		<-tick.C
		if _, err := os.Stat(filepath.Join(dir, Name(faultpoint.ModelDone)+taken)); err == nil {
			break
		}
	}
	select {
	case <-passed:
		t.Error("it did not stall")
	default:
	}
	if err := os.Remove(filepath.Join(dir, Name(faultpoint.ModelDone)+taken)); err != nil {
		t.Fatal(err)
	}
	<-passed
}

func TestTypingErrorsPanic(t *testing.T) {
	for _, list := range []string{"policy.decision-stored", "policy.decided:kil", "policy.decided:kill:0", "policy.decided:kill:x"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was taken", list)
				}
			}()
			newControl(list, "")
		}()
	}
}

func arm(t *testing.T, dir string, p faultpoint.Point, action string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, Name(p)), []byte(action), 0o600); err != nil {
		t.Fatal(err)
	}
}
