package policy

import (
	"errors"
	"fmt"

	"golang.org/x/time/rate"

	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/services/policy/connection"
	connections "github.com/windlass-dev/windlass/services/policy/connection/store"
	"github.com/windlass-dev/windlass/services/policy/decide"
	"github.com/windlass-dev/windlass/services/policy/events"
	"github.com/windlass-dev/windlass/services/policy/grant"
	"github.com/windlass-dev/windlass/services/policy/grant/exchange"
	grants "github.com/windlass-dev/windlass/services/policy/grant/store"
	"github.com/windlass-dev/windlass/services/policy/quota"
	"github.com/windlass-dev/windlass/services/policy/vault"
)

// makeConnections makes what connects users to sources, if there is what that needs.
func (s *Service) makeConnections(deps Deps) (err error) {
	if deps.Peers.Logins == nil || deps.Egress == nil {
		return nil
	}
	v := s.rooms.Vault
	s.rooms.Connections, err = connection.New(s.cfg.Connections, connection.Deps{
		Store: connections.New(deps.DB, v), Logins: registryLogins{deps.Peers.Logins}, Secrets: vault.References{Vault: v}, Egress: deps.Egress,
		Notice: deps.Peers.Connected, Log: deps.Log,
	})
	return err
}

// exchanges reports whether any issuer exchanges tokens.
func (d GrantDeps) exchanges() bool {
	for _, i := range d.Issuers {
		if i.Exchange.Enabled() {
			return true
		}
	}
	return false
}

// makeGrants makes the service of grants. Without a master key, no tokens can be stored.
func (s *Service) makeGrants(deps Deps, hasMaster bool) error {
	if deps.Grants.exchanges() && !hasMaster {
		return errors.New("identity.issuers[].exchange needs policy.vault.master_key: the tokens of turns are stored encrypted")
	}
	issuers, err := exchange.New(deps.Grants.Issuers, exchange.Deps{Dialer: deps.Grants.Egress, Now: deps.DB.Now, Log: deps.Log})
	if err != nil {
		return err
	}
	s.rooms.Grants = grant.New(s.cfg.Grants, grant.Deps{
		Store: grants.New(deps.DB, s.rooms.Vault), Issuers: issuers, Tokens: deps.Grants.Tokens, Waiting: waitingTurns{deps.Peers.Sessions},
		Log: deps.Log,
	})
	return nil
}

// makeDecisions makes what decides and records.
func (s *Service) makeDecisions(deps Deps) (err error) {
	cfg, st, now := s.cfg, s.rooms.Store, deps.DB.Now
	if s.rooms.Recorder, err = decide.NewRecorder(st, cfg.InputRetention); err != nil {
		return err
	}
	book, err := quota.NewBook(cfg.Quotas, deps.DB, st)
	if err != nil {
		return err
	}
	s.rooms.Decider, err = decide.NewDecider(cfg.PermissionsMaxAge, decide.Deps{
		Engine: s.rooms.Engine, Policies: st, Quotas: book, Bus: deps.Bus, Log: deps.Log,
	})
	if err != nil {
		return err
	}
	s.rooms.Quotas = quota.New(book, deps.Peers.Turns, st.EventLog(), s.rooms.Decider.Changed)
	s.rooms.Events, err = eventlog.NewLog(events.Config(cfg.EventRetention), st.EventLog(), deps.Bus, deps.Log)
	if err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	limit := rate.NewLimiter(rate.Limit(cfg.DenialsPerSecond), cfg.DenialsPerSecond)
	s.rooms.Denials, err = decide.NewDenials(s.rooms.Recorder, s.rooms.Decider, limit, now)
	return err
}
