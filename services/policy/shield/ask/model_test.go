package ask_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/policy/shield"
	"github.com/windlass-dev/windlass/services/policy/shield/ask"
)

// guard is a model that objects to words that are names of categories.
type guard struct {
	asked []string
	fails []error
}

func (g *guard) Moderate(_ context.Context, req *inferencev1.ModerateRequest, _ ...grpc.CallOption) (*inferencev1.ModerateResponse, error) {
	g.asked = append(g.asked, fmt.Sprint(req.GetModel(), " ", int(req.GetForm()), " ", req.GetTexts()))
	if len(g.fails) > 0 {
		err := g.fails[0]
		g.fails = g.fails[1:]
		return nil, err
	}
	out := &inferencev1.ModerateResponse{}
	for _, text := range req.GetTexts() {
		r := &inferencev1.ModerationResult{Flagged: strings.Contains(text, "bad")}
		for _, name := range []string{"S1", "S2"} {
			if strings.Contains(text, name) {
				r.Flagged, r.Categories = true, append(r.Categories, name)
			}
		}
		out.Results = append(out.Results, r)
	}
	return out, nil
}

func newGuard(t *testing.T, cfg shield.Config, g *guard) *ask.Shield {
	t.Helper()
	cfg.Name, cfg.Model = "judge", "local/guard"
	s, err := shield.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	out, err := ask.New(s.Config, ask.Deps{Models: g, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAModelIsAskedAboutTexts(t *testing.T) {
	for _, row := range []struct {
		name   string
		cfg    shield.Config
		stage  string
		texts  []string
		want   string
		asked  string
		repeat int // questions when asked twice
	}{
		{
			"each text alone",
			shield.Config{Detector: shield.Guard},
			shield.Input,
			[]string{"fine", "S2 S1", "bad"},
			"allow[] block[S1 S2] block[flagged]", "local/guard 1 [fine S2 S1 bad]", 1,
		},
		{
			"categories that matter",
			shield.Config{Detector: shield.Moderation, Categories: []string{"s2"}, Action: shield.Flag},
			shield.Output,
			[]string{"S1", "S1 S2", "bad"},
			"allow[] flag[S2] flag[flagged]", "local/guard 2 [S1 S1 S2 bad]", 1,
		},
		{
			"a call is one text",
			shield.Config{Detector: shield.Guard, Action: shield.Ask},
			shield.Tool,
			[]string{"to", "S1"},
			"ask[S1] ask[S1]", "local/guard 1 [to\nS1]", 2,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := &guard{}
			s := newGuard(t, row.cfg, g)
			q := question(row.texts...)
			q.Stage = row.stage
			for range 2 {
				got, err := s.Check(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				var said []string
				for _, a := range got {
					said = append(said, fmt.Sprint(a.Action, a.Categories))
				}
				if text := strings.Join(said, " "); text != row.want {
					t.Errorf("%s, want %s", text, row.want)
				}
			}
			if g.asked[0] != row.asked || len(g.asked) != row.repeat {
				t.Errorf("asked %q, want %q", g.asked, row.asked)
			}
		})
	}
}

func TestAModelThatFails(t *testing.T) {
	away := fault.Unavailable(faultv1.Reason_REASON_MODEL_UNAVAILABLE, "it is away")
	rejected := fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, "no such model")
	for _, row := range []struct {
		name  string
		fails []error
		open  bool
		want  string
		asked int
	}{
		{"once", []error{away}, false, "[{allow []   false}] <nil>", 2},
		{"twice", []error{away, away}, false, `[] shield "judge" could not check the input: the model "local/guard" cannot be asked: it is away`, 2},
		{"for good", []error{rejected}, false, `[] shield "judge" could not check the input: the model "local/guard" cannot be asked: no such model`, 1},
		{"open", []error{rejected}, true, `[{flag [unchecked] the model "local/guard" cannot be asked: no such model  true}] <nil>`, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := &guard{fails: row.fails}
			cfg := shield.Config{Detector: shield.Guard}
			if row.open {
				cfg.OnError = shield.Open
			}
			got, err := newGuard(t, cfg, g).Check(t.Context(), question("hello"))
			if text := fmt.Sprint(got, " ", err); text != row.want || len(g.asked) != row.asked {
				t.Errorf("%s after %d requests, want %s", text, len(g.asked), row.want)
			}
		})
	}
}
