package policy_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/sqldb"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy"
	"github.com/windlass-dev/windlass/services/policy/shield"
)

func TestCheckText(t *testing.T) {
	c := client(t, policy.Config{Shields: []shield.Config{
		{Name: "private", Detector: "pii", Action: "redact"},
		{Name: "falcon", Detector: "pattern", Pattern: "(?i)falcon", Stage: []string{"input", "output"}},
		{Name: "mail", Detector: "pattern", Pattern: "@", Stage: []string{"output"}},
		{Name: "seen", Detector: "email", Action: "flag"},
		{Name: "boss", Detector: "links", Hosts: []string{"ok.example"}, Action: "ask", ApproverRoles: []string{"lead"}},
	}})
	check := func(stage string, shields []string, texts ...string) (*policyv1.CheckTextResponse, error) {
		return c.CheckText(t.Context(), &policyv1.CheckTextRequest{Shields: shields, Stage: stage, Texts: texts})
	}
	for _, row := range []struct{ name, stage, shields, text, want string }{
		{"nothing found", "input", "private falcon", "hello", "  []"},
		{"redacted", "input", "private falcon", "I am a@b.cd", "redacted I am [redacted:email] [private redact [email]]"},
		{"blocked goes before redacted", "input", "private falcon", "a@b.cd Falcon", "blocked  [private redact [email] falcon block [pattern]]"},
		{"one that looks elsewhere", "tool", "private falcon", "Falcon", "  []"},
		{"of a result", "result", "falcon private", "Falcon is at a@b.cd", "redacted Falcon is at [redacted:email] [private redact [email]]"},
		{"what blocks sees the text itself", "output", "private mail", "a@b.cd", "blocked  [private redact [email] mail block [pattern]]"},
		{"a flag changes nothing", "input", "private seen", "a@b.cd", "redacted [redacted:email] [private redact [email] seen flag [email]]"},
		{
			"one that asks", "tool", "boss", "https://evil.example",
			"  [boss ask [url] shield:boss lead Shield \"boss\" found in the arguments: url.]",
		},
		{"one that asks about calls only", "output", "boss", "https://evil.example", "  []"},
	} {
		t.Run(row.name, func(t *testing.T) {
			resp, err := check(row.stage, strings.Fields(row.shields), "", row.text)
			if err != nil || len(resp.GetTexts()) != 2 || len(resp.GetTexts()[0].GetHits()) > 0 {
				t.Fatal(resp, err)
			}
			got := resp.GetTexts()[1]
			verdict := map[bool]string{true: "blocked"}[got.GetBlocked()] + map[bool]string{true: "redacted"}[got.GetRedacted()]
			var hits []string
			for _, h := range got.GetHits() {
				hit := fmt.Sprintf("%s %s %v", h.GetShield(), h.GetAction(), h.GetCategories())
				if r := h.GetApproval(); r != nil {
					hit += fmt.Sprintf(" %s %s %s", r.GetName(), strings.Join(r.GetApproverRoles(), ","), r.GetReason())
				}
				hits = append(hits, hit)
			}
			if text := fmt.Sprintf("%s %s %v", verdict, got.GetText(), hits); text != row.want {
				t.Errorf("%q, want %q", text, row.want)
			}
		})
	}
	resp, err := check("tool", []string{"falcon"})
	if err != nil || fmt.Sprint(resp.GetStages()) != "[input output]" || len(resp.GetTexts()) != 0 {
		t.Errorf("stages %v, %v", resp, err)
	}
	_, err = check("input", []string{"private", "nope"}, "x")
	if fault.CodeOf(err) != "invalid_blueprint" || !strings.Contains(err.Error(), `there is no shield "nope"`) {
		t.Errorf("an unknown shield: %v", err)
	}
	if _, err := policy.New(policy.Config{Shields: []shield.Config{{Name: "a", Detector: "pii"}, {Name: "a", Detector: "pii"}}},
		policy.Deps{DB: &sqldb.DB{}, Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("two shields of one name were taken")
	}
}
