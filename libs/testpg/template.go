package testpg

import (
	"fmt"
	"net/url"
	"sync"
	"testing"
)

// Template is a database that is filled once per process; tests get copies of it.
type Template struct {
	fill func(url string) error

	mu   sync.Mutex
	name string
	// strategy is the option of CREATE DATABASE with which it is copied.
	strategy string
	// server is the server that holds the database: a test process may stop one and start another.
	server string
}

// NewTemplate returns a template that fill creates in an empty database. fill must close its connections.
func NewTemplate(fill func(url string) error) *Template { return &Template{fill: fill} }

// URL returns the URL of a fresh copy, which is dropped when the test ends. Without a server it skips or fails like URL.
func (p *Template) URL(t testing.TB) string {
	t.Helper()
	base := running(t)
	name, err := p.on(base)
	if err != nil {
		t.Fatalf("make template database: %v", err)
	}
	return database(t, base, " TEMPLATE "+name+p.strategy)
}

// on returns the template's name on a server, and creates it if the server has none.
func (p *Template) on(base string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == base {
		return p.name, nil
	}
	name := newName()
	p.strategy = " STRATEGY file_copy" // takes half the time of the default, but PostgreSQL knows it from 15 on
	if err := admin(base, "CREATE DATABASE "+name+p.strategy); err != nil {
		p.strategy = ""
		if err := admin(base, "CREATE DATABASE "+name); err != nil {
			return "", err
		}
	}
	dropAtStop(name)
	url, err := named(base, name)
	if err != nil {
		return "", err
	}
	if err := p.fill(url); err != nil {
		return "", fmt.Errorf("fill: %w", err)
	}
	p.name, p.server = name, base
	return name, nil
}

// named returns the URL of another database of a server.
func named(base, name string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", fmt.Errorf("parse %s: %w", EnvURL, err)
	}
	u.Path = "/" + name
	return u.String(), nil
}

// dropAtStop makes Stop drop a database.
func dropAtStop(name string) {
	shared.Lock()
	defer shared.Unlock()
	shared.templates = append(shared.templates, name)
}
