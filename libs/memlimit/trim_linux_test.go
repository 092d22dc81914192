package memlimit_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/memlimit"
)

// mapped returns how many KiB of files are resident in this process.
func mapped(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc here")
	}
	_, rest, _ := strings.Cut(string(status), "RssFile:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTrimReturnsCodeOfTheStart(t *testing.T) {
	before := mapped(t)
	memlimit.Trim()
	if after := mapped(t); after >= before*9/10 {
		t.Errorf("%d KiB of files were resident, %d KiB are", before, after)
	}
}
