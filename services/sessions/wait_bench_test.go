package sessions_test

import (
	"fmt"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/sqldb"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// BenchmarkListApprovals lists the newest of 10,000 that are pending: as their owner, as a role that may decide every hundredth, and as
// somebody who may see none, for whom all are looked at.
func BenchmarkListApprovals(b *testing.B) {
	for name, postgres := range map[string]bool{"sqlite": false, "postgres": true} {
		k := newKit(b, options{postgres: postgres, idle: true})
		st, err := store.Open(b.Context(), k.db)
		must(b, err)
		must(b, st.Write(b.Context(), func(tx *store.Tx) error {
			for i := range 10_000 {
				var roles []string
				if i%100 == 0 {
					roles = []string{"lead"}
				}
				if err := tx.AddWait(b.Context(), store.Wait{
					Tenant: authn.DefaultTenant, ID: fmt.Sprintf("apr_%05d", i), TurnID: fmt.Sprintf("trn_%05d", i), SessionID: "ses_1", Owner: "local",
					StepKey: "tool-1.0", Kind: 1, CreateTime: sqldb.Time(int64(1000 + i)), ExpireTime: sqldb.Time(1 << 60), Request: &store.WaitRequest{},
					Answer: &store.WaitAnswer{},
				}, roles); err != nil {
					return err
				}
			}
			return nil
		}))
		for who, c := range map[string]sessionsv1.ApprovalServiceClient{
			"owner": k.approvals, "role": k.approver(authn.User("ann", "lead")), "nobody": k.approver(authn.User("bob", "x")),
		} {
			b.Run(name+"/"+who, func(b *testing.B) {
				for b.Loop() {
					if _, err := c.ListApprovals(b.Context(), &sessionsv1.ListApprovalsRequest{
						Status: sessionsv1.ApprovalStatus_APPROVAL_STATUS_PENDING,
					}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
