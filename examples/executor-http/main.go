// Command executor-http is an agent that Windlass calls over HTTP: each round is one POST, answered with server-sent events.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/windlass-dev/windlass/examples/internal/abacus"
)

func main() {
	addr := flag.String("http", "127.0.0.1:9300", "address to serve on; port 0 picks one")
	state := flag.String("state", os.TempDir(), "folder for the memory of sessions")
	flag.Parse()
	if err := serve(*addr, abacus.Agent{Dir: *state}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(addr string, agent abacus.Agent) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("{\"url\":\"http://%s/run\"}\n", l.Addr())
	mux := http.NewServeMux()
	mux.HandleFunc("POST /run", func(w http.ResponseWriter, r *http.Request) { run(agent, w, r) })
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	return s.Serve(l)
}

func run(agent abacus.Agent, w http.ResponseWriter, r *http.Request) {
	var inv abacus.Invocation
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 16<<20)).Decode(&inv); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(e abacus.Event) {
		line, err := json.Marshal(e)
		if err != nil {
			return // events are maps of texts and numbers
		}
		fmt.Fprintf(w, "data: %s\n\n", line)
		_ = http.NewResponseController(w).Flush() // Windlass notices a caller that disconnected
	}
	if err := agent.Round(inv, send); err != nil {
		send(abacus.Event{"type": "error", "code": "memory", "message": err.Error(), "retryable": true})
		return
	}
	send(abacus.Event{"type": "end"})
}
