package process_test

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/windlass-dev/windlass/libs/process"
)

func TestS21ProgramsHaveLimits(t *testing.T) {
	cfg := config("deaf")
	cfg.Limits = process.Limits{AddressSpace: 1 << 52, Memory: 1 << 51, CPU: time.Hour, Files: 321, Processes: 4321}
	p, err := process.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Max address space": "4503599627370496", "Max data size": "2251799813685248", "Max cpu time": "3600", "Max open files": "321",
		"Max processes": "4321", "Max core file size": "0",
	} {
		if !regexp.MustCompile(name + ` +` + want + ` +` + want + ` `).Match(limits) {
			t.Errorf("no %s of %s in\n%s", name, want, limits)
		}
	}
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil || own.Cur == 321 {
		t.Errorf("our own limit is %+v, %v", own, err)
	}
}

func TestS21ACPULimitEndsAProgram(t *testing.T) {
	cfg := config("busy")
	cfg.Limits.CPU = time.Second
	p, err := process.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, _ = bufio.NewReader(p.Reader()).ReadString('\n') // until its end
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Fatal("it is still running")
	}
	if p.Code() != -1 {
		t.Errorf("it ended with %d: %v", p.Code(), p.Exit())
	}
}

func TestLimitsAreChecked(t *testing.T) {
	for _, bad := range []process.Limits{{Files: -1}, {Memory: -1}, {CPU: 1500 * time.Millisecond}} {
		if bad.Check() == nil {
			t.Errorf("%+v passes", bad)
		}
	}
}
