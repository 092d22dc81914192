package registry_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/canon"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// TestNumbersArriveAsTheyAreWritten sends numbers that a double does not hold, and gets such numbers back.
func TestNumbersArriveAsTheyAreWritten(t *testing.T) {
	w, api := newWorld(t), newPetAPI(t)
	api.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":9007199254740993,"price":1.10,"far":1e400}`)
	}
	r := w.start(config())
	r.createAPI(&registryv1.Source{Name: "pets", Url: api.URL + "/openapi.json"})
	arguments := `{"id":"x","body":{"name":"n","owner":9007199254740993,"price":1.10,"list":[-0,123456789012345678901234567890]}}`
	sent := `PUT /v1/pets/x {"list":[-0,123456789012345678901234567890],"name":"n","owner":9007199254740993,"price":1.10}`
	parsed, err := canon.ParseStruct([]byte(arguments))
	if err != nil {
		t.Fatal(err)
	}
	for name, req := range map[string]*registryv1.InvokeToolRequest{
		"as REST sends them": {Name: "pets__putPet", Arguments: parsed},
		"as text":            {Name: "pets__putPet", ArgumentsJson: arguments},
	} {
		got, err := r.tools.InvokeTool(t.Context(), req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := `{"far":1e400,"id":9007199254740993,"price":1.10}`
		if text := string(canon.ValueJSON(got.GetStructuredContent())); text != want || got.GetStructuredContentJson() != want {
			t.Errorf("%s: the result is %s and %s", name, text, got.GetStructuredContentJson())
		}
		api.set(func() {
			if last := api.requests[len(api.requests)-1]; last != sent {
				t.Errorf("%s: the API got %s", name, last)
			}
		})
	}
	if s := r.callAPI("pets__getPet", `{"id":9007199254740993}`); !strings.Contains(s.text(), "9007199254740993") {
		t.Errorf("in a path: %+v", s)
	}
	api.set(func() {
		if last := api.requests[len(api.requests)-1]; last != "GET /v1/pets/9007199254740993 " {
			t.Errorf("in a path the API got %s", last)
		}
	})
	both := &registryv1.InvokeToolRequest{Name: "pets__putPet", ArgumentsJson: arguments, Arguments: &structpb.Struct{}}
	if _, err := r.tools.InvokeTool(t.Context(), both); err == nil || !strings.Contains(err.Error(), "arguments_json") {
		t.Errorf("both forms: %v", err)
	}
}
