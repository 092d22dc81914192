package testpg

import (
	"net/url"
	"strings"
	"testing"
)

// NewRole returns the name of a role for this process, which CreateRole creates.
func NewRole() string { return "r" + strings.TrimPrefix(newName(), "wl") }

// CreateRole creates a role on the server of the database at base, and runs grants for it there. It is dropped with the server, or at Stop.
func CreateRole(base, role, grants string) error {
	if err := admin(base, "CREATE ROLE "+role+" LOGIN; "+grants); err != nil {
		return err
	}
	shared.Lock()
	defer shared.Unlock()
	shared.roles = append(shared.roles, role)
	return nil
}

// As returns the URL of a database for another role.
func As(t testing.TB, base, role string) string {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}
