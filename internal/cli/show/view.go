package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/output"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// View shows the events of one turn to a person: streamed text and tool cards on a terminal, whole lines elsewhere.
type View struct {
	out    io.Writer
	live   bool
	colour bool
	// text is what was printed of the open message; line means that the cursor is after text.
	text string
	line bool
	// calls are the open tool calls by id.
	calls map[string]*turnv1.ToolCallStarted
	// head is the call whose card's head was printed last, with nothing below it.
	head string
	// warned are the warnings that were shown: each model call repeats its own.
	warned map[string]bool
	err    error
}

// NewView returns a View that writes to the output of a.
func NewView(a *app.App) *View {
	return &View{
		out: a.Out, live: a.Terminal, colour: a.Colour(),
		calls: map[string]*turnv1.ToolCallStarted{}, warned: map[string]bool{},
	}
}

// Event shows one event. It returns write errors.
func (v *View) Event(ev *turnv1.Event) error {
	switch d := ev.GetData().(type) {
	case *turnv1.Event_MessageStarted:
		v.text = ""
	case *turnv1.Event_MessageReset:
		if v.text != "" {
			v.remark("another attempt")
		}
		v.text = ""
	case *turnv1.Event_MessageDelta:
		if v.live {
			v.write(output.Text(d.MessageDelta.GetText()))
			v.text += d.MessageDelta.GetText()
		}
	case *turnv1.Event_MessageCompleted:
		v.message(d.MessageCompleted.GetMessage())
		v.warn(d.MessageCompleted.GetWarnings())
	case *turnv1.Event_ToolCallStarted:
		v.calls[d.ToolCallStarted.GetCallId()] = d.ToolCallStarted
		if v.live {
			v.print(v.dim("┌ ") + v.bold(output.Line(d.ToolCallStarted.GetTool())) + " " + output.Short(arguments(d.ToolCallStarted), eventWidth))
			v.head = d.ToolCallStarted.GetCallId()
		}
	case *turnv1.Event_ToolCallCompleted:
		v.outcome(d.ToolCallCompleted.GetResult().GetCallId(), d.ToolCallCompleted.GetResult().GetTool(), resultText(d.ToolCallCompleted))
	case *turnv1.Event_ToolCallUnresolved:
		v.outcome(d.ToolCallUnresolved.GetCallId(), d.ToolCallUnresolved.GetTool(), "? "+unresolvedText(d.ToolCallUnresolved))
		v.waits(ev)
	case *turnv1.Event_ApprovalRequested, *turnv1.Event_ApprovalResolved, *turnv1.Event_InputRequested, *turnv1.Event_InputProvided,
		*turnv1.Event_ToolCallResolved, *turnv1.Event_InputAccepted, *turnv1.Event_AuthRequired, *turnv1.Event_AuthResolved:
		v.waits(ev)
	case *turnv1.Event_TurnRecovered:
		v.remark("a worker was lost, another one goes on")
	case *turnv1.Event_TurnEnded:
		v.fresh()
		if d.TurnEnded.GetStatus() == turnv1.TurnStatus_TURN_STATUS_COMPLETED && d.TurnEnded.GetStopReason() != "end" {
			v.remark("stopped: " + d.TurnEnded.GetStopReason())
		}
	}
	return v.err
}

// message shows the part of a whole message that was not shown yet.
func (v *View) message(m *turnv1.Message) {
	if m.GetRole() != turnv1.Role_ROLE_ASSISTANT {
		return
	}
	full := Parts(m.GetContent())
	rest, continues := strings.CutPrefix(full, v.text)
	if !continues {
		v.fresh()
		rest = full
	}
	v.write(output.Text(rest))
	v.fresh()
	v.text = ""
	if sources := Sources(m.GetContent()); len(sources) > 0 {
		v.print("Sources:")
		for _, line := range sources {
			v.print("  " + output.Line(line))
		}
	}
}

// warn shows what a model was not offered, once.
func (v *View) warn(warnings []string) {
	for _, w := range warnings {
		if !v.warned[w] {
			v.warned[w] = true
			v.remark("warning: " + w)
		}
	}
}

// outcome shows how a tool call ended: the foot of its card, or all of it on one line.
func (v *View) outcome(id, tool, text string) {
	started := v.calls[id]
	below := v.head == id
	delete(v.calls, id)
	switch {
	case !v.live && started != nil:
		v.print("[tool] " + output.Line(tool) + " " + output.Short(arguments(started), eventWidth) + " " + text)
	case !v.live:
		v.print("[tool] " + output.Line(tool) + " " + text)
	case below:
		v.print(v.dim("└ ") + text)
	default:
		v.print(v.dim("└ ") + output.Line(tool) + " " + text)
	}
}

// waits shows what the turn waits for, and input sent to it.
func (v *View) waits(ev *turnv1.Event) {
	if text := waitRemark(ev); text != "" {
		v.remark(text)
	}
}

func (v *View) remark(text string) { v.print(v.dim("(" + output.Line(text) + ")")) }

// print writes a whole line.
func (v *View) print(line string) {
	v.fresh()
	v.write(line + "\n")
}

// fresh moves to the beginning of a line.
func (v *View) fresh() {
	if v.line {
		v.write("\n")
	}
}

func (v *View) write(s string) {
	if s == "" || v.err != nil {
		return
	}
	v.head = ""
	_, v.err = fmt.Fprint(v.out, s)
	v.line = !strings.HasSuffix(s, "\n")
}

func (v *View) dim(s string) string  { return v.style("2", s) }
func (v *View) bold(s string) string { return v.style("1", s) }

func (v *View) style(code, s string) string {
	if !v.colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
