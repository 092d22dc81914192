package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Words of a turn that runs another one again, see windlass.turn.v1.TurnRerun.
const (
	ToolsRecorded   = "recorded"
	ToolsLive       = "live"
	MissingFail     = "fail"
	MissingLiveRead = "live_read"
)

// CallHash stands for a tool and its arguments, whatever their order and white space.
func CallHash(call *turnv1.ToolCall) string {
	arguments := []byte(call.GetArgumentsJson())
	var value any
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	if d.Decode(&value) == nil && !d.More() {
		if canonical, err := json.Marshal(value); err == nil { // keys sorted
			arguments = canonical
		}
	}
	sum := sha256.Sum256(append([]byte(call.GetTool()+"\x00"), arguments...))
	return hex.EncodeToString(sum[:16])
}

// Sent reports whether a round of a tool call that ended with a wait of this kind has sent the call: the tool asked a question, or its
// outcome is unknown. Such a round counts the call, and later rounds do not count it again.
func Sent(kind turnv1.WaitKind) bool {
	return kind == turnv1.WaitKind_WAIT_KIND_INPUT || kind == turnv1.WaitKind_WAIT_KIND_RESOLUTION
}
