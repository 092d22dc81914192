package e2e

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// sum is the README's question: the scripted model finds the calculator for it.
const sum = "What is 17 * 23?"

func TestReadmeTurnStreamsTokensToolCallAndAnswer(t *testing.T) {
	t.Parallel()
	c := client(t)
	session := c.Session("assistant")
	// Of a turn that is over, deltas are gone: the watcher is there before the turn, which it proves by the event of another one.
	w := c.Watch("/v1/sessions/" + session + "/events")
	ended := func(turn string) func(harness.Event) bool {
		return func(e harness.Event) bool { return e.TurnID == turn && e.Type == "turn.completed" }
	}
	w.Until("the end of the first turn", ended(c.Turn(session, "say:hello")))
	turn := c.Turn(session, "What is 23 * 17?") // which no other test asks: its result is not in the cache
	w.Until("the end of the turn", ended(turn))
	events := slices.DeleteFunc(w.Events(), func(e harness.Event) bool { return e.TurnID != turn })
	harness.CheckStream(t, events)
	at := map[string]int{}
	for i, e := range events {
		if _, seen := at[e.Type]; !seen {
			at[e.Type] = i
		}
		switch e.Type {
		case "turn.started":
			if e.Data.Str("agent_id") != "assistant" || e.Data.Str("model") != "builtin/scripted" {
				t.Errorf("turn.started = %v", e.Data)
			}
		case "tool_call.started":
			if e.Data.Str("tool") != "calculator__evaluate" {
				t.Errorf("tool_call.started = %v", e.Data)
			}
		case "tool_call.completed":
			result, _ := e.Data["result"].(map[string]any)
			content, _ := result["content"].([]any)
			if result["is_error"] == true || !strings.Contains(text(content), "391") {
				t.Errorf("tool_call.completed = %v", e.Data)
			}
		case "turn.completed":
			if e.Data.Str("stop_reason") != "end" || !strings.Contains(e.Data.Str("output"), "391") {
				t.Errorf("turn.completed = %v", e.Data)
			}
		}
	}
	order := []string{
		"turn.queued", "turn.started", "tool_call.started", "tool_call.executing", "tool_call.completed", "message.delta",
		"turn.completed",
	}
	for i, typ := range order {
		if _, seen := at[typ]; !seen || i > 0 && at[typ] < at[order[i-1]] {
			t.Errorf("no %s in its place (want %v)", typ, order)
		}
	}
	got := c.Wait(turn)
	if got.Str("status") != "completed" || !strings.Contains(got.Str("output"), "391") ||
		got["last_seq"] != float64(events[len(events)-1].Seq) {
		t.Errorf("turn = %v", got)
	}
}

func TestReadmeChatAnswersInOneCall(t *testing.T) {
	t.Parallel()
	c := client(t)
	first := c.Must("POST", "/v1/chat", harness.JSON{"message": sum})
	tools, _ := first["tools_used"].([]any)
	if !strings.Contains(first.Str("answer"), "391") || len(tools) != 1 || tools[0] != "calculator__evaluate" ||
		first.Str("status") != "completed" {
		t.Errorf("answer = %v", first)
	}
	if ms, ok := first["latency_ms"].(float64); !ok || ms < 0 || first.Str("session_id") == "" || first.Str("turn_id") == "" {
		t.Errorf("answer = %v", first)
	}
	second := c.Must("POST", "/v1/chat", harness.JSON{"message": "say:again", "session_id": first.Str("session_id")})
	if second.Str("session_id") != first.Str("session_id") || second.Str("answer") != "again" ||
		second.Str("turn_id") == first.Str("turn_id") {
		t.Errorf("second answer = %v", second)
	}
	list, _ := c.Must("GET", "/v1/sessions/"+first.Str("session_id")+"/messages", nil)["messages"].([]any)
	var roles []string
	for _, m := range list {
		message, _ := m.(map[string]any)
		roles = append(roles, harness.JSON(message).Str("role"))
	}
	if got := strings.Join(roles, " "); got != "user assistant tool assistant user assistant" {
		t.Errorf("messages are of %s", got)
	}
}

// What `windlass up` prints for people must work as it stands, pasted into a shell.
func TestPrintedCommandsWork(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	p := harness.Launch(t, "windlass up for people", nil, harness.Bin(t, "windlass"), "up", "--data-dir", t.TempDir(), "--http-addr",
		"127.0.0.1:0",
		"--grpc-addr", "127.0.0.1:0", "--temporal-addr", "127.0.0.1:0", "--temporal-ui-addr", "127.0.0.1:0", "--issuer-addr",
		"127.0.0.1:0")
	printed := awaitLog(t, p, "/turns\n")
	for _, want := range []string{"Windlass is ready.", "http://127.0.0.1:", "Temporal UI", "builtin/scripted (scripted answers, no AI"} {
		if !strings.Contains(printed, want) {
			t.Errorf("no %q in\n%s", want, printed)
		}
	}
	at := strings.Index(printed, "  S=$(curl")
	if at < 0 {
		t.Fatalf("no curl lines in\n%s", printed)
	}
	lines, _, _ := strings.Cut(printed[at:], "/turns\n") // what stands behind them is the log's
	out, errs := run(t, 0, "", "sh", "-c", lines+"/turns\n")
	for _, want := range []string{"event: message.completed", "event: tool_call.completed", "event: turn.completed", "391", "event: end"} {
		if !strings.Contains(out, want) {
			t.Errorf("curl shows no %q:\n%s%s", want, out, errs)
		}
	}
	_, rest, found := strings.Cut(printed, "  windlass chat ")
	line, _, _ := strings.Cut(rest, "\n")
	if !found {
		t.Fatalf("no chat line in\n%s", printed)
	}
	out, _ = run(t, 0, sum+"\n", harness.Bin(t, "windlass"), append([]string{"chat"}, strings.Fields(line)...)...)
	if !strings.Contains(out, "391") {
		t.Errorf("windlass chat %s answers %q", line, out)
	}
	if code := p.Stop(); code != 0 {
		t.Errorf("a clean stop exits with %d", code)
	}
}

func TestChatAsAProcess(t *testing.T) {
	t.Parallel()
	windlass, server := harness.Bin(t, "windlass"), shared().Client.Base
	out, errs := run(t, 0, "", windlass, "chat", "--server", server, sum)
	if !strings.Contains(out, "[tool] calculator__evaluate") || !strings.Contains(out, "391") {
		t.Errorf("it shows %q", out)
	}
	_, session, found := strings.Cut(strings.TrimSpace(errs), "--session ")
	if !found {
		t.Fatalf("it does not say how to go on: %q", errs)
	}
	out, _ = run(t, 0, "say:one\n\nsay:two\n", windlass, "chat", "--server", server, "--session", session)
	if out != "one\ntwo\n" {
		t.Errorf("two lines get %q", out)
	}
	c := client(t)
	turns, _ := c.Must("GET", "/v1/sessions/"+session+"/turns", nil)["turns"].([]any)
	if len(turns) != 3 {
		t.Errorf("%d turns in the session, want 3", len(turns))
	}
	if _, errs := run(t, 5, "", windlass, "chat", "--server", server, "fail:always say:x"); !strings.Contains(errs, "failed") {
		t.Errorf("a turn that fails says %q", errs)
	}
	if _, errs := run(t, 3, "", windlass, "chat", "--server", server, "--session", "ses_nope", "hi"); !strings.Contains(errs, "ses_nope") ||
		strings.Contains(errs, "Go on with") {
		t.Errorf("an unknown session says %q", errs)
	}
}

// run runs a program to its end, in an empty environment.
func run(t *testing.T, code int, stdin, program string, args ...string) (stdout, stderr string) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + t.TempDir(), harness.RaceOptions}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		t.Errorf("%s %q: %v, want exit code %d\n%s%s", program, args, err, code, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

// awaitLog waits until a process has written a text, and gives all that it wrote.
func awaitLog(t *testing.T, p *harness.Process, want string) string {
	t.Helper()
	await(t, "the text "+want, func() bool { return strings.Contains(p.Log(), want) })
	return p.Log()
}

// await looks again and again until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(time.Minute)
	for !holds() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("%s does not come", what)
		}
	}
}
