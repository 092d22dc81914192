package result_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/services/mcpbridge/result"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestNumbersStayAsTheyAreWritten(t *testing.T) {
	const numbers = `{"id":9007199254740993,"list":[1e400,-0],"price":3.14159265358979323846264338327950288}`
	raw, err := result.Parse([]byte(`{"content":[{"type":"later","id":9007199254740993}],"structuredContent":` + numbers + `}`))
	if err != nil {
		t.Fatal(err)
	}
	got := raw.ToProto(result.MaxBytes)
	if text := string(canon.ValueJSON(got.GetStructuredContent())); text != numbers {
		t.Errorf("structured: %s", text)
	}
	if text := got.GetContent()[0].GetText(); text != `{"type":"later","id":9007199254740993}` {
		t.Errorf("content of a kind that is not known: %s", text)
	}
}
