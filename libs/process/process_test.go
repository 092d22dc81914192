//go:build unix

package process_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/process"
	"github.com/windlass-dev/windlass/libs/testmain"
)

// TestMain runs this program as the child if a test asks for one.
func TestMain(m *testing.M) {
	if mode := os.Getenv("CHILD"); mode != "" {
		child(mode)
		return
	}
	testmain.Verify(m)
}

func child(mode string) {
	switch mode {
	case "stubborn": // ignores SIGTERM, and so does its child
		signal.Ignore(syscall.SIGTERM)
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{"CHILD=stubborn grandchild"}
		cmd.Stdout = os.Stdout
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Println(cmd.Process.Pid)
		forever()
	case "stubborn grandchild":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		forever()
	case "leaving": // exits and leaves a child that holds its output
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{"CHILD=stubborn grandchild"}
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Println(cmd.Process.Pid)
		os.Exit(7)
	case "deaf": // does not read its input
		fmt.Println("up")
		forever()
	case "mute": // closes its output and keeps running
		os.Stdout.Close()
		forever()
	case "busy":
		for { //nolint:staticcheck // until it is killed
		}
	case "silent": // closes its output and exits at the end of its input
		os.Stdout.Close()
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "noisy":
		for i := range 500 {
			fmt.Fprintln(os.Stderr, "line", i, strings.Repeat("x", 5000))
		}
		fmt.Println("up")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "parent": // starts a child as the bridge does, and waits to be killed
		p, err := process.Start(config("deaf"))
		if err != nil {
			panic(err)
		}
		line, err := bufio.NewReader(p.Reader()).ReadString('\n')
		if err != nil || line != "up\n" {
			panic(line)
		}
		fmt.Println(p.Pid())
		forever()
	case "lines":
		fmt.Println(`{"jsonrpc":"2.0","id":1,"result":"small"}`)
		fmt.Println(`{"jsonrpc":"2.0","id":2,"result":"` + strings.Repeat("x", 300_000) + `"}`)
		fmt.Println(`{"result":"` + strings.Repeat("x", 300_000) + `","jsonrpc":"2.0","id":3}`)
		fmt.Println(`{"jsonrpc":"2.0","method":"note","params":"` + strings.Repeat("x", 300_000) + `"}`)
		fmt.Println(`{"jsonrpc":"2.0","id":4,"result":"last"}`)
	}
}

// forever blocks without triggering the runtime's deadlock detector.
func forever() {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	_, _ = r.Read(make([]byte, 1)) // nobody writes
	runtime.KeepAlive(w)
}

func config(mode string) process.Config {
	return process.Config{
		Path: os.Args[0], Env: []string{"CHILD=" + mode}, Line: func(string) {}, MaxLine: 200_000, TooLong: process.TooLargeAnswer,
		WriteTimeout: 200 * time.Millisecond, Grace: 200 * time.Millisecond,
	}
}

func start(t *testing.T, cfg process.Config) *process.Process {
	t.Helper()
	p, err := process.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func readPid(t *testing.T, r io.Reader) int {
	t.Helper()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// gone waits for the end of a process that is not our child.
func gone(t *testing.T, pid int) {
	t.Helper()
	tick, limit := time.NewTicker(5*time.Millisecond), time.NewTimer(time.Minute)
	defer tick.Stop()
	defer limit.Stop()
	for {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if syscall.Kill(pid, 0) == syscall.ESRCH || err == nil && strings.Contains(string(text), ") Z ") {
			return // a zombie that nobody reaps
		}
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("process %d lives", pid)
		}
	}
}

func TestCloseEndsTheWholeGroup(t *testing.T) {
	p := start(t, config("stubborn"))
	grandchild := readPid(t, p.Reader())
	p.Close()
	if p.Exit() == nil || !strings.Contains(p.Exit().Error(), "killed") {
		t.Errorf("got %v", p.Exit())
	}
	gone(t, grandchild)
}

func TestAnEndTakesWhatItLeftBehind(t *testing.T) {
	p := start(t, config("leaving"))
	grandchild := readPid(t, p.Reader())
	<-p.Done()
	if !strings.Contains(p.Exit().Error(), "exit status 7") {
		t.Errorf("got %v", p.Exit())
	}
	gone(t, grandchild)
}

func TestADeathOfOursTakesTheChild(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = []string{"CHILD=parent"}
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	grandchild := readPid(t, out)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // "signal: killed"
	gone(t, grandchild)
}

func TestAProcessThatDoesNotReadIsKilled(t *testing.T) {
	p := start(t, config("deaf"))
	_, err := p.Writer().Write(make([]byte, 4<<20))
	if _, ok := errors.AsType[*process.NotWrittenError](err); !ok {
		t.Errorf("got %v", err)
	}
	<-p.Done()
}

func TestAProcessThatClosesItsOutputIsEnded(t *testing.T) {
	p := start(t, config("mute"))
	if _, err := p.Reader().Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("got %v", err)
	}
	<-p.Done()
}

func TestLinesOverTheLimitBecomeErrors(t *testing.T) {
	p := start(t, config("lines"))
	all, err := io.ReadAll(p.Reader())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"jsonrpc":"2.0","id":1,"result":"small"}
{"jsonrpc":"2.0","id":2,"error":{"code":-32098,"message":"larger than 200000 bytes"}}
{"jsonrpc":"2.0","id":3,"error":{"code":-32098,"message":"larger than 200000 bytes"}}
{"jsonrpc":"2.0","id":4,"result":"last"}
`
	if string(all) != want {
		t.Errorf("got %.1000s", all)
	}
}

func TestErrorOutputIsBounded(t *testing.T) {
	var mu sync.Mutex
	var lines []string
	cfg := config("noisy")
	cfg.Line = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}
	p := start(t, cfg)
	if _, err := p.Reader().Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	p.Close()
	mu.Lock()
	defer mu.Unlock()
	if len(lines) < 100 || len(lines) > 400 {
		t.Errorf("got %d of 500 lines", len(lines))
	}
	for _, line := range lines {
		if len(line) > 1024 {
			t.Errorf("got a line of %d bytes", len(line))
		}
	}
	if tail := p.Tail(); len(tail) != 8 || !strings.HasPrefix(tail[7], "line 499") {
		t.Errorf("tail: %.200v", tail)
	}
}

func TestAProgramThatIsNotThere(t *testing.T) {
	cfg := config("deaf")
	cfg.Path = "/nowhere/program"
	if _, err := process.Start(cfg); err == nil {
		t.Error("started")
	}
}
