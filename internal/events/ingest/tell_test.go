package ingest_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
)

// At the level debug every stored event is a line that says how it came and who brought it; others are none.
func TestStoredEventsAreLoggedForDebugging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo} {
			var log bytes.Buffer
			w := newWorld(t, setup{config: ingest.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))}})
			now := time.Now()
			repo := announcement(1, "tool", now)
			w.want(w.publish(w.client(), repo), policy.Accept)
			w.want(w.publish(w.client(), repo), policy.Duplicate)
			p := w.door.Source(ingest.SourceConfig{Label: "wss://a.example"})
			for i, from := range []store.Source{store.Live, store.Catchup, store.Daily} {
				if err := p.Submit(t.Context(), issue(2, repo, now, strings.Repeat("x", i+1)), from, nil); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Second)
			w.end()
			wants := []string{`"event from a client" event=` + repo.ID.String() + " kind=30617 from=client", `"event by live" event=`, `"event by catchup" event=`, `"event by daily resync" event=`, "kind=1621 from=wss://a.example"}
			if level == slog.LevelInfo {
				if log.Len() > 0 {
					t.Errorf("more than was asked for:\n%s", &log)
				}
				continue
			}
			for _, want := range wants {
				if !strings.Contains(log.String(), want) {
					t.Errorf("no %q in\n%s", want, &log)
				}
			}
			if n := strings.Count(log.String(), "\n"); n != 4 {
				t.Errorf("%d lines", n)
			}
		}
	})
}
