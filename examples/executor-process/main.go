// Command executor-process is an agent that Windlass hosts as a program: it reads an invocation from standard input and writes events as
// lines to standard output. With --stay it waits for the results of its tool calls instead of being restarted.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/windlass-dev/windlass/examples/internal/abacus"
)

func main() {
	state := flag.String("state", os.TempDir(), "folder for the memory of sessions")
	stay := flag.Bool("stay", false, "wait for the results of tool calls")
	flag.Parse()
	if err := run(abacus.Agent{Dir: *state}, *stay); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(agent abacus.Agent, stay bool) error {
	in := bufio.NewReader(os.Stdin)
	var inv abacus.Invocation
	if err := readLine(in, &inv); err != nil {
		return err
	}
	for {
		session, calls, failed := inv.ExecutorSessionID, 0, false
		err := agent.Round(inv, func(e abacus.Event) {
			switch e["type"] {
			case "session":
				session, _ = e["executor_session_id"].(string)
			case "tool_call":
				calls++
			case "error":
				failed = true
			}
			write(e)
		})
		if err != nil || failed {
			return err
		}
		stays := stay && calls > 0
		write(abacus.Event{"type": "end", "stay": stays})
		if !stays {
			return nil
		}
		if err := results(in, &inv); err != nil {
			return err
		}
		inv.Mode, inv.ExecutorSessionID = "resume", session
	}
}

// results reads the results of the tool calls, up to the line that begins the next round.
func results(in *bufio.Reader, inv *abacus.Invocation) error {
	inv.Input, inv.ToolResults = nil, nil
	for {
		var line struct {
			Type         string `json:"type"`
			InvocationID string `json:"invocation_id"`
			abacus.ToolResult
		}
		if err := readLine(in, &line); err != nil {
			return err
		}
		switch line.Type {
		case "tool_result":
			inv.ToolResults = append(inv.ToolResults, line.ToolResult)
		case "input":
			inv.Input = append(inv.Input, abacus.Message{Text: line.Text})
		case "continue":
			inv.InvocationID = line.InvocationID
			return nil
		}
	}
}

func readLine(in *bufio.Reader, into any) error {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, into)
}

func write(e abacus.Event) {
	if err := json.NewEncoder(os.Stdout).Encode(e); err != nil {
		os.Exit(1) // the reader is gone
	}
}
