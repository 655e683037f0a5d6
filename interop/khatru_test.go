package interop

import (
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	dgbadger "github.com/dgraph-io/badger/v4"
	"github.com/fiatjaf/eventstore"
	"github.com/fiatjaf/eventstore/badger"
	"github.com/fiatjaf/khatru"
	gonostr "github.com/nbd-wtf/go-nostr"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// startKhatru runs khatru on eventstore's badger with the limits that both have by default, holding events as they are: also those
// that khatru would have replaced or deleted had it received them in their order. It returns its URL.
func startKhatru(t *testing.T, negentropy bool, events []*nostr.Event) string {
	t.Helper()
	db := openBadger(t)
	for _, e := range events {
		if err := db.SaveEvent(t.Context(), foreign(t, e)); err != nil && err != eventstore.ErrDupEvent {
			t.Fatal(err)
		}
	}
	r := khatru.NewRelay()
	r.Log = log.New(io.Discard, "", 0)
	r.Negentropy = negentropy
	if negentropy {
		r.Info.AddSupportedNIP(77)
	}
	r.StoreEvent = append(r.StoreEvent, db.SaveEvent)
	r.QueryEvents = append(r.QueryEvents, db.QueryEvents)
	r.CountEvents = append(r.CountEvents, db.CountEvents)
	r.DeleteEvent = append(r.DeleteEvent, db.DeleteEvent)
	r.ReplaceEvent = append(r.ReplaceEvent, db.ReplaceEvent)
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	return websocketURL(s)
}

// openBadger opens a store of its own, with its default limits.
func openBadger(t *testing.T) *badger.BadgerBackend {
	t.Helper()
	db := &badger.BadgerBackend{Path: t.TempDir(), BadgerOptionsModifier: func(o dgbadger.Options) dgbadger.Options {
		return o.WithLogger(nil)
	}}
	if err := db.Init(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func websocketURL(s *httptest.Server) string { return "ws" + strings.TrimPrefix(s.URL, "http") }

// foreign is an event as go-nostr has it.
func foreign(t *testing.T, e *nostr.Event) *gonostr.Event {
	t.Helper()
	var f gonostr.Event
	if err := json.Unmarshal(e.AppendJSON(nil), &f); err != nil {
		t.Fatal(err)
	}
	return &f
}
