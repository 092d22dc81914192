package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/test/harness"
)

func TestMain(m *testing.M) {
	if driver := os.Getenv(driverEnv); driver != "" {
		os.Exit(driveScenario(driver))
	}
	testmain.Shuffle()
	code := m.Run()
	if owner.end(code != 0) {
		code = max(code, 1)
	}
	testpg.Stop()
	os.Exit(code)
}

// owner owns what several tests share, and ends it after the last of them.
var owner = &keeper{}

// shared is the one `windlass up` for all tests that mind no neighbours.
var shared = sync.OnceValue(func() *harness.Embedded {
	return harness.Up(owner, owner.TempDir(), nil)
})

// client speaks to the shared mesh for one test.
func client(t *testing.T) *harness.Client {
	t.Helper()
	return harness.NewClient(t, shared().Client.Base)
}

// keeper stands in for a test where the harness wants one: nothing ends with the test that came first.
type keeper struct {
	testing.TB
	mu       sync.Mutex
	cleanups []func()
	failed   bool
}

// end cleans up and reports whether something went wrong; failed makes processes show their logs.
func (k *keeper) end(failed bool) bool {
	k.mu.Lock()
	k.failed = k.failed || failed
	cleanups := k.cleanups
	k.mu.Unlock()
	for _, f := range slices.Backward(cleanups) {
		f()
	}
	return k.Failed()
}

func (k *keeper) Helper()                  {}
func (k *keeper) Name() string             { return "shared" }
func (k *keeper) Context() context.Context { return context.Background() }
func (k *keeper) Logf(f string, a ...any)  { fmt.Printf(f+"\n", a...) }
func (k *keeper) Fatal(a ...any)           { panic(fmt.Sprint(a...)) }
func (k *keeper) Fatalf(f string, a ...any) {
	panic(fmt.Sprintf(f, a...))
}

func (k *keeper) Errorf(f string, a ...any) {
	k.Logf(f, a...)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failed = true
}

func (k *keeper) Failed() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.failed
}

func (k *keeper) Cleanup(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cleanups = append(k.cleanups, f)
}

func (k *keeper) TempDir() string {
	dir, err := os.MkdirTemp("", "windlass-e2e-")
	if err != nil {
		panic(err)
	}
	k.Cleanup(func() { _ = os.RemoveAll(dir) }) // the system's temporary folder
	return dir
}
