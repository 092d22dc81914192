package sessions_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// atOnce makes the same call 20 times at the same time, and counts the answers by code.
func atOnce(call func() error) map[string]int {
	var mu sync.Mutex
	var all sync.WaitGroup
	codes := map[string]int{}
	begin := make(chan struct{})
	for range 20 {
		all.Go(func() {
			<-begin
			err := call()
			mu.Lock()
			defer mu.Unlock()
			code := "ok"
			if err != nil {
				code = fault.CodeOf(err)
			}
			codes[code]++
		})
	}
	close(begin)
	all.Wait()
	return codes
}

// TestEqualCreatesAtOnce: one of them makes it, the others are told that it is there.
func TestEqualCreatesAtOnce(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		o := hooked()
		o.postgres, o.conns = postgres, 16
		k := newKit(t, o)
		k.agent("assistant")
		for name, create := range map[string]func(id string) error{
			"agent": func(id string) error {
				_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{Id: id}})
				return err
			},
			"schedule": func(id string) error {
				_, err := k.schedules().CreateSchedule(t.Context(), &sessionsv1.CreateScheduleRequest{Schedule: &sessionsv1.Schedule{
					Id: id, AgentId: "assistant", Input: "hello", Cron: "0 9 * * *",
				}})
				return err
			},
			"webhook": func(id string) error {
				_, err := k.webhooks().CreateWebhook(t.Context(), &sessionsv1.CreateWebhookRequest{Webhook: &sessionsv1.Webhook{
					Id: id, Url: "https://example.com/hooks",
				}})
				return err
			},
		} {
			for round := range 3 {
				id := fmt.Sprintf("%s%d", name, round)
				if got := atOnce(func() error { return create(id) }); got["ok"] != 1 || got["already_exists"] != 19 {
					t.Errorf("20 creates of %s at once: %v", id, got)
				}
			}
		}
	})
}

// TestOneBundleAppliedAtOnce: applying a bundle again changes nothing, so all of them succeed.
func TestOneBundleAppliedAtOnce(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		o := hooked()
		o.postgres, o.conns = postgres, 16
		k := newKit(t, o)
		for round := range 3 {
			yaml := strings.NewReplacer("morning", fmt.Sprintf("morning%d", round), "reporter", fmt.Sprintf("reporter%d", round), "pager",
				fmt.Sprintf("pager%d", round)).
				Replace(clockBundle) + fmt.Sprintf("---\nkind: source\nsource_kind: mcp\nname: notes%d\nurl: http://127.0.0.1:9/mcp\n", round)
			var mu sync.Mutex
			made := map[string]int{}
			got := atOnce(func() error {
				out, err := k.agents.ApplyBundle(t.Context(), &sessionsv1.ApplyBundleRequest{Yaml: yaml})
				mu.Lock()
				defer mu.Unlock()
				for _, a := range out.GetApplied() {
					if enum.Name(a.GetAction()) == "created" {
						made[a.GetKind()]++
					}
					if a.GetRevision() > 1 {
						err = errors.Join(err, fmt.Errorf("%s is at revision %d", a.GetId(), a.GetRevision()))
					}
				}
				return err
			})
			if got["ok"] != 20 {
				t.Errorf("one bundle applied 20 times at once: %v", got)
			}
			if want := fmt.Sprint(map[string]int{"agent": 1, "schedule": 1, "source": 1, "webhook": 1}); fmt.Sprint(made) != want {
				t.Errorf("created %v, want %s", made, want)
			}
		}
	})
}
