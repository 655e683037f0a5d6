package logs_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/operate/logs"
)

// clock is set by hand.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func lines(b *bytes.Buffer) int { return strings.Count(b.String(), "\n") }

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		name string
		conf logs.Config
		want string
	}{
		{"text", logs.Config{}, `level=WARN msg="connection failed" component=peer relay=wss://a.example attempt=3 wait=5.8s` + "\n"},
		{"json", logs.Config{Format: logs.JSON, Terminal: true}, `"level":"WARN","msg":"connection failed","component":"peer","relay":"wss://a.example","attempt":3,"wait":5.826429589}` + "\n"},
		{"terminal", logs.Config{Terminal: true}, " WARN  connection failed  relay=wss://a.example attempt=3 wait=5.8s\n"},
	} {
		var out bytes.Buffer
		log := logs.New(&out, c.conf).With("component", "peer", "relay", "wss://a.example")
		log.Debug("below the level")
		log.Warn("connection failed", "attempt", 3, "wait", 5826429589*time.Nanosecond)
		if !strings.HasSuffix(out.String(), c.want) || lines(&out) != 1 {
			t.Errorf("%s: %q", c.name, out.String())
		}
	}
}

func TestTerminalLineWithNothingToAdd(t *testing.T) {
	var out bytes.Buffer
	log := logs.New(&out, logs.Config{Terminal: true}).With("component", "store")
	for _, want := range []string{"all is well", "and stays so"} {
		out.Reset()
		log.Info(want)
		if got := out.String(); len(got) < 9 || got[8:] != " INFO  "+want+"\n" {
			t.Errorf("%q", got)
		}
	}
}

func TestNoFloods(t *testing.T) {
	c := &clock{time.Unix(1_000_000, 0)}
	var out bytes.Buffer
	log := logs.New(&out, logs.Config{Level: slog.LevelDebug, Now: c.now})
	for range 500 {
		log.Error("cannot be read", "relay", "wss://a.example")
	}
	if lines(&out) != 20 {
		t.Errorf("%d lines of one sort", lines(&out))
	}
	log.Error("cannot be read", "relay", "wss://b.example")
	log.With("relay", "wss://c.example").Error("cannot be read")
	log.Error("cannot be written", "relay", "wss://a.example")
	if lines(&out) != 23 {
		t.Errorf("%d lines with three of other sorts", lines(&out))
	}
	out.Reset()
	c.t = c.t.Add(3 * time.Minute)
	log.With("relay", "wss://a.example").Error("cannot be read")
	log.Error("cannot be read", "relay", "wss://a.example")
	if got := out.String(); lines(&out) != 1 || !strings.Contains(got, " left_out=480\n") {
		t.Errorf("after a while: %q", got)
	}
	out.Reset()
	c.t = c.t.Add(3 * time.Minute)
	log.Error("cannot be read", "relay", "wss://a.example")
	if got := out.String(); !strings.Contains(got, " left_out=1\n") {
		t.Errorf("the count goes on: %q", got)
	}
	out.Reset()
	for range 500 {
		log.Debug("event by live")
	}
	if lines(&out) != 500 {
		t.Errorf("%d of 500 lines for whoever searches", lines(&out))
	}
}

func TestNothingIsSavedUp(t *testing.T) {
	c := &clock{time.Unix(1_000_000, 0)}
	var out bytes.Buffer
	log := logs.New(&out, logs.Config{Now: c.now})
	log.Warn("connection failed")
	c.t = c.t.Add(24 * time.Hour)
	out.Reset()
	for range 100 {
		log.Warn("connection failed")
	}
	if lines(&out) != 20 {
		t.Errorf("%d lines after a quiet day", lines(&out))
	}
}

func TestNoFloodsFromManyRelays(t *testing.T) {
	c := &clock{time.Unix(1_000_000, 0)}
	var out bytes.Buffer
	log := logs.New(&out, logs.Config{Now: c.now})
	for i := range 30_000 {
		log.Warn("connection failed", "relay", fmt.Sprintf("wss://%d.example", i))
	}
	if lines(&out) != 1000 {
		t.Errorf("%d lines at once", lines(&out))
	}
	out.Reset()
	c.t = c.t.Add(36 * time.Minute)
	for i := range 30_000 {
		log.Warn("connection failed", "relay", fmt.Sprintf("wss://%d.example", 30_000+i))
	}
	if got := out.String(); lines(&out) != 600 || !strings.Contains(got, " left_out=29000\n") {
		t.Errorf("%d lines after 36 minutes", lines(&out))
	}
}

func TestClockSetBack(t *testing.T) {
	c := &clock{time.Unix(1_000_000, 0)}
	var out bytes.Buffer
	log := logs.New(&out, logs.Config{Now: c.now})
	for range 100 {
		c.t = c.t.Add(-time.Hour)
		log.Warn("connection failed")
	}
	if lines(&out) != 20 {
		t.Errorf("%d lines", lines(&out))
	}
}
