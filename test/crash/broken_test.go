package crash

import (
	"slices"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness/netfault"
)

// breakTime is how long a link is broken, or the database frozen, during a turn: longer than a lease.
const breakTime = 3 * time.Second

// route is a connection between two parties that matters to a turn.
type route struct {
	from, to string
	// leeway is the allowed deviation if it is broken.
	leeway leeway
}

var routes = []route{
	{from: "sessions", to: "database"},
	{from: "registry", to: "database", leeway: leeway{inDoubt: true}},
	{from: "gateway", to: "sessions"},
	{from: "worker", to: "sessions"},
	{from: "worker", to: "inference"},
	{from: "worker", to: "registry", leeway: leeway{inDoubt: true}},
	{from: "registry", to: "mcpbridge", leeway: leeway{inDoubt: true, unreached: true}},
	{from: "mcpbridge", to: "tools", leeway: leeway{inDoubt: true, unreached: true}},
	{from: "inference", to: "model"},
	{from: "worker", to: "bus", leeway: leeway{lossy: true}},
	{from: "sessions", to: "bus", leeway: leeway{lossy: true}},
}

// brokenLinks are the cells in which all links of a route are broken, at each moment in another way.
func brokenLinks() []cell {
	var all []cell
	for i, m := range moments {
		for j, way := range routes {
			for k, mode := range netfault.Faults() {
				if k != (i+j)%len(netfault.Faults()) && !slices.Contains(shortLarge, linkCell(m, mode, way)) {
					continue
				}
				all = append(all, cell{linkCell(m, mode, way), func(t *testing.T, h *theatre, id string) (string, time.Duration) {
					return breakAt(t, h, id, m, way, mode)
				}})
			}
		}
	}
	return all
}

func linkCell(m moment, mode netfault.Mode, way route) string {
	return m.name + "/" + string(mode) + " " + way.from + "->" + way.to
}

// breakAt holds a turn at a moment, breaks a route, lets the turn continue, and repairs the route.
func breakAt(t *testing.T, h *theatre, id string, m moment, way route, mode netfault.Mode) (string, time.Duration) {
	r := h.trial(t, h.play(t, id, m.holdAt, m.toolWaits), m.agent)
	m.hold(r)
	links := h.Links(way.from, way.to)
	if len(links) == 0 {
		t.Fatalf("there is no link %s->%s", way.from, way.to)
	}
	h.breakLinks(links, mode)
	m.letGo(r)
	standStill(breakTime)
	h.heal(links)
	if r.watcher == nil {
		r.watch()
	}
	recovery := r.end()
	r.verify(way.leeway)
	return r.turn, recovery
}

func (h *theatre) breakLinks(links []*netfault.Link, mode netfault.Mode) {
	h.set(links, mode)
	h.count("links: "+string(mode), len(links))
}

func (h *theatre) heal(links []*netfault.Link) { h.set(links, netfault.Open) }

func (h *theatre) set(links []*netfault.Link, mode netfault.Mode) {
	for _, l := range links {
		if err := l.Set(mode); err != nil {
			panic(err) // its port was free before
		}
	}
}

// brokenDatabase are the cells in which the database server crashes and restarts, or freezes, at each moment.
func brokenDatabase() []cell {
	all := []cell{{"database away", databaseAway}}
	for i, m := range moments {
		all = append(all, cell{m.name + "/database restarted", func(t *testing.T, h *theatre, id string) (string, time.Duration) {
			return databaseAt(t, h, id, m, func(r *trial) {
				h.Database().Stop()
				h.Database().Start()
				m.letGo(r)
			})
		}})
		if i%4 == 0 {
			all = append(all, cell{m.name + "/database frozen", func(t *testing.T, h *theatre, id string) (string, time.Duration) {
				return databaseAt(t, h, id, m, func(r *trial) {
					h.Database().Freeze()
					m.letGo(r)
					standStill(frozenTime)
					h.Database().Thaw()
				})
			}})
		}
	}
	return all
}

// frozenTime is how long the database is frozen.
const frozenTime = 10 * time.Second

// databaseAt injects a database fault at a moment.
func databaseAt(t *testing.T, h *theatre, id string, m moment, happen func(r *trial)) (string, time.Duration) {
	r := h.trial(t, h.play(t, id, m.holdAt, m.toolWaits), m.agent)
	m.hold(r)
	happen(r)
	h.count("database faults", 1)
	if r.watcher == nil {
		r.watch()
	}
	recovery := r.end()
	r.verify(leeway{inDoubt: true, lossy: true})
	return r.turn, recovery
}

// standStill is the duration of a fault.
func standStill(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}
