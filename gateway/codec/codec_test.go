package codec_test

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/libs/canon"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// args returns a struct with values that look like our enums and are not.
func args(t *testing.T) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(map[string]any{
		"strategy": "STRATEGY_REACT",
		"a\"}]":    []any{"{", 1.5, nil, true, map[string]any{"effect": "once"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRoundTrip(t *testing.T) {
	temperature := 0.5
	for name, m := range map[string]proto.Message{
		"enum": &sessionsv1.Agent{
			Id: "a", Strategy: turnv1.Strategy_STRATEGY_REACT, Temperature: &temperature,
			Labels: map[string]string{"strategy": "STRATEGY_REACT"},
		},
		"enum unset":   &sessionsv1.Agent{Id: "STRATEGY_REACT", Instructions: "\"strategy\":\"STRATEGY_REACT\" \\ \u2028 <é>"},
		"enum unknown": &sessionsv1.Agent{Id: "a", Strategy: 99},
		"enum in a map": &registryv1.Source{
			Name:    "s",
			Effects: map[string]turnv1.EffectClass{"a\"b": turnv1.EffectClass_EFFECT_CLASS_ONCE, "c": 0},
		},
		"enum in a list": &registryv1.ListToolsResponse{Tools: []*registryv1.Tool{
			{Name: "a", Effect: turnv1.EffectClass_EFFECT_CLASS_READ},
			{Name: "b"},
			{},
		}},
		"free JSON beside": &turnv1.ToolCallStarted{CallId: "c", Arguments: args(t), Effect: turnv1.EffectClass_EFFECT_CLASS_IDEMPOTENT},
		"deep": &turnv1.MessageCompleted{Message: &turnv1.Message{
			Role:       turnv1.Role_ROLE_TOOL,
			ToolResult: &turnv1.ToolResult{StructuredContent: structpb.NewStructValue(args(t))},
		}},
		"no enum":            &sessionsv1.Session{Id: "s"},
		"empty":              &sessionsv1.Agent{},
		"unpopulated nested": &sessionsv1.ListAgentsResponse{Agents: []*sessionsv1.Agent{{}, {Limits: &sessionsv1.Limits{}}}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := codec.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid(text) || strings.Contains(string(text), "\n") {
				t.Fatalf("not one line of JSON: %s", text)
			}
			back := m.ProtoReflect().New().Interface()
			if err := codec.Unmarshal(text, back); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if !proto.Equal(m, back) {
				t.Errorf("got %v\nwant %v\ntext %s", back, m, text)
			}
		})
	}
}

func TestEnumsAreShort(t *testing.T) {
	text, err := codec.Marshal(&turnv1.ToolCallStarted{Arguments: args(t), Effect: turnv1.EffectClass_EFFECT_CLASS_ONCE})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	inner, _ := got["arguments"].(map[string]any)
	if got["effect"] != "once" || inner["strategy"] != "STRATEGY_REACT" {
		t.Errorf("got %s", text)
	}
}

func TestUnmarshalKnownPassesOver(t *testing.T) {
	text := []byte(`{"id":"a","strategy":"react","new":{"x":["y"]}}`)
	var a sessionsv1.Agent
	if err := codec.Unmarshal(text, &a); err == nil {
		t.Error("Unmarshal took an unknown field")
	}
	if err := codec.UnmarshalKnown(text, &a); err != nil || a.GetStrategy() != turnv1.Strategy_STRATEGY_REACT {
		t.Errorf("got %v, %v", &a, err)
	}
}

func FuzzUnmarshal(f *testing.F) {
	for _, s := range []string{
		`{"id":"a","strategy":"react","effects":{"a":"once"}}`, `{"a\u0022":"\\\"","strategy":[{"x":"}"}]}`, `{`, `[]`, `null`, "\xff", ``,
		`{"effects":{"x":{"y":[]}},"tools":[["once"]],"limits":[1,{"a":2}]}`, ` {"strategy" : "react" , "id": 1e9 } `,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, m := range []proto.Message{
			&sessionsv1.Agent{}, &registryv1.Source{}, &sessionsv1.CreateTurnRequest{},
			&registryv1.InvokeToolRequest{},
		} {
			err := codec.Unmarshal(data, m)
			if e := codec.Explain(data, m.ProtoReflect().Descriptor()); (e != nil) != (err != nil) {
				t.Fatalf("Unmarshal: %v, Explain: %v", err, e)
			}
			if err != nil {
				continue
			}
			text, err := codec.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			back := m.ProtoReflect().New().Interface()
			if err := codec.Unmarshal(text, back); err != nil || !proto.Equal(m, back) {
				t.Fatalf("%s came back as %v: %v", text, back, err)
			}
		}
	})
}

func TestAnUnspecifiedEnumIsNull(t *testing.T) {
	text, err := codec.Marshal(&sessionsv1.Agent{Id: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"strategy":null`) {
		t.Errorf("got %s", text)
	}
	var back sessionsv1.Agent
	if err := codec.Unmarshal(text, &back); err != nil || back.GetStrategy() != 0 {
		t.Errorf("read back: %v, %v", err, &back)
	}
}

func TestNumbersStayAsTheyAreWritten(t *testing.T) {
	arguments := `{"a":9007199254740993,"b":[1.10,-0,1e400,{"c":123456789012345678901234567890}],"d":7,"e":"9007199254740993","f":1.5}`
	var req registryv1.InvokeToolRequest
	if err := codec.Unmarshal([]byte(`{"name":"t","arguments":`+arguments+`}`), &req); err != nil {
		t.Fatal(err)
	}
	if got := string(canon.StructJSON(req.GetArguments())); got != arguments {
		t.Errorf("read as %s", got)
	}
	for _, m := range []proto.Message{
		&req, &turnv1.ToolCallStarted{Arguments: req.GetArguments()},
		&turnv1.Event{Data: &turnv1.Event_ApprovalRequested{ApprovalRequested: &turnv1.ApprovalRequested{Arguments: req.GetArguments()}}},
	} {
		raw, err := proto.Marshal(m) // as it is stored, and sent between processes
		if err != nil {
			t.Fatal(err)
		}
		back := m.ProtoReflect().New().Interface()
		if err := proto.Unmarshal(raw, back); err != nil {
			t.Fatal(err)
		}
		text, err := codec.Marshal(back)
		if err != nil {
			t.Fatal(err)
		}
		for _, number := range []string{`"a":9007199254740993`, `1.10,-0,1e400`, `"c":123456789012345678901234567890`, `"e":"9007199254740993"`} {
			if !strings.Contains(string(text), number) {
				t.Errorf("%s is missing in %s", number, text)
			}
		}
	}
}
