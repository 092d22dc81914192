package once

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/test/harness"
)

// serveStdio is an MCP server over stdio. A call does what its key names, and is written down before it is answered.
func serveStdio() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		var r request
		if json.Unmarshal(line, &r) != nil || r.ID == nil {
			continue
		}
		if r.Method != "tools/call" {
			fmt.Println(r.reply(os.Getenv("ERA") == "modern"))
			continue
		}
		note(r.key())
		_, body, _ := strings.Cut(r.key(), "/")
		switch body {
		case "closed":
			os.Exit(3)
		case "half":
			fmt.Print(strings.ReplaceAll(bodies[body].text, "ID", string(r.ID)))
			os.Exit(3)
		default:
			fmt.Println(strings.ReplaceAll(bodies[body].text, "ID", string(r.ID)))
		}
	}
}

// note appends a line to the file of acts, which records what was done even if the process dies.
func note(line string) {
	f, err := os.OpenFile(os.Getenv("ACTS"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, line)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		panic(err)
	}
}

// noted counts the lines of the file of acts.
func noted(t *testing.T, file, line string) (n int) {
	t.Helper()
	all, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for l := range bytes.SplitSeq(all, []byte("\n")) {
		if string(l) == line {
			n++
		}
	}
	return n
}

func TestCallsOverStdio(t *testing.T) {
	t.Parallel()
	m := newMesh(t)
	file := filepath.Join(t.TempDir(), "acts")
	self, err := os.Executable()
	harness.Must(t, err)
	var wg sync.WaitGroup
	begin := make(chan struct{}) // all sources are there
	for _, era := range []string{"legacy", "modern"} {
		for _, tool := range []string{read, idempotent, once} {
			source := era + tool
			env := map[string]string{"WINDLASS_TEST_SERVER": "stdio", "ERA": era, "ACTS": file}
			m.source(&registryv1.Source{Name: source, Command: []string{self}, Env: env})
			m.source(&registryv1.Source{Name: "hasty" + source, Command: []string{self}, Env: env, CallTimeoutSeconds: 1})
			call := func(from, body string, silent bool) {
				k := source + "/" + body
				got := m.call(from, tool, k)
				c := &script{status: 200, body: body, acts: noted(t, file, k)}
				c.check(t, source+", "+body, tool, k, got, silent)
			}
			wg.Go(func() {
				<-begin
				for _, body := range []string{"result", "error", "closed", "half"} {
					call(source, body, false)
				}
			})
			wg.Go(func() {
				<-begin
				for _, body := range []string{"null id", "foreign result", "text"} { // nobody knows whose answer that was to be
					call("hasty"+source, body, true)
				}
			})
		}
	}
	close(begin)
	wg.Wait()
}
