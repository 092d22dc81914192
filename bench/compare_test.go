package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestComparisonTellsTheChangeOfEachRow(t *testing.T) {
	before, after := found(20*time.Millisecond, 50*time.Millisecond, 100<<20).deployments[0],
		found(20*time.Millisecond, 60*time.Millisecond, 150<<20).deployments[0]
	before.name, after.name = "old", "new"
	c := &comparison{builds: [2]*deployment{before, after}}
	for _, text := range []string{c.text(), c.markdown()} {
		for _, want := range []string{"first text p50", "+0.0 %", "turn p50", "+20.0 %", "turns/s", "150.00 MiB", "+50.0 %"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
	if err := c.check(); err != nil {
		t.Errorf("check: %v", err)
	}
}

func TestComparisonTellsItsNoise(t *testing.T) {
	half := func(d time.Duration) outcome { return outcome{samples: []sample{{total: d}}, elapsed: time.Second} }
	median := func(o outcome) float64 { return float64(spreadOf(o.samples, totalOf).p50) }
	steady := row{halves: [2]outcome{half(100), half(101)}}
	shaken := row{halves: [2]outcome{half(120), half(100)}}
	for want, builds := range map[string][]row{"±1.0 %": {steady, steady}, "±20.0 %": {steady, shaken}, "": {{}, steady}} {
		if got := noise(median, builds...); got != want {
			t.Errorf("noise %q, want %q", got, want)
		}
	}
}

func TestAgainstStandsAlone(t *testing.T) {
	for _, with := range []string{"-hostile", "-all", "-split", "-postgres=x"} {
		if _, err := parse([]string{"-against", "old", with}, io.Discard); err == nil || !strings.Contains(err.Error(), "-against") {
			t.Errorf("%s: %v", with, err)
		}
	}
	if o, err := parse([]string{"-against", "old"}, io.Discard); err != nil || o.against != "old" {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestSecurityStandsAlone(t *testing.T) {
	for _, with := range []string{"-hostile", "-all", "-split", "-postgres=x", "-against=x"} {
		if _, err := parse([]string{"-security", with}, io.Discard); err == nil || !strings.Contains(err.Error(), "leave out") {
			t.Errorf("%s: %v", with, err)
		}
	}
	o, err := parse([]string{"-security"}, io.Discard)
	if v := o.variants(); err != nil || !v[0].options.open || v[1].options.open || v[0].deployment != splitMesh {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestSecurityMayCostFivePercent(t *testing.T) {
	for total, want := range map[time.Duration]bool{52 * time.Millisecond: true, 60 * time.Millisecond: false} {
		before, after := found(20*time.Millisecond, 50*time.Millisecond, 100<<20).deployments[0],
			found(20*time.Millisecond, total, 100<<20).deployments[0]
		c := &comparison{builds: [2]*deployment{before, after}, loss: maxLoss}
		if err := c.check(); (err == nil) != want || err != nil && !errors.Is(err, errReach) {
			t.Errorf("%v instead of 50 ms: %v", total, err)
		}
	}
}
