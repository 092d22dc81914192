package testmain_test

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// childEnv makes this program the tests that another one of it looks at.
const childEnv = "TESTMAIN_CHILD"

func TestTheOrderIsThatOfTheSeed(t *testing.T) {
	for _, row := range []struct {
		name, seed, says string
		ok               bool
	}{
		{name: "without a seed as written", says: "PASS", ok: true},
		{name: "of a seed", seed: "20260102", says: "-test.shuffle 20260102", ok: true},
		{name: "of no number", seed: "tuesday", says: "tuesday"},
	} {
		t.Run(row.name, func(t *testing.T) {
			out, err := child(t, "order", testmain.ShuffleEnv+"="+row.seed)
			if (err == nil) != row.ok || !strings.Contains(out, row.says) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

func TestGoroutinesThatAreLeftFail(t *testing.T) {
	if out, err := child(t, "leak", testmain.ShuffleEnv+"="); err == nil || !strings.Contains(out, "goleak") {
		t.Errorf("%v: %s", err, out)
	}
}

func child(t *testing.T, mode string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(append(os.Environ(), childEnv+"="+mode), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestChild(t *testing.T) {
	switch os.Getenv(childEnv) {
	case "order":
		if seed := os.Getenv(testmain.ShuffleEnv); seed != "" && flag.Lookup("test.shuffle").Value.String() != seed {
			t.Errorf("-test.shuffle is not %s", seed)
		}
	case "leak":
		go func() { select {} }()
	}
}
