package interop

import (
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"testing"

	successor "fiatjaf.com/nostr"
	"fiatjaf.com/nostr/eventstore/boltdb"
	"fiatjaf.com/nostr/khatru"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// small stays well below what the successor of khatru reconciles: the newest queryLimit*20 events of a filter.
var small = size{40, 400, 1200, 200}

const queryLimit = 500

// An empty graspd fills itself from khatru as it lives on in fiatjaf.com/nostr.
func TestMirrorsTheSuccessorOfKhatru(t *testing.T) {
	m := newMirror(t, small, func(events []*nostr.Event) string { return startSuccessor(t, events) })
	m.fill(t)
	t.Run("live within a second", m.live)
	m.stop(t)
	t.Run("restart fetches nothing", m.restartReconciles)
}

// startSuccessor runs it on bolt, holding events as they are.
func startSuccessor(t *testing.T, events []*nostr.Event) string {
	t.Helper()
	db := &boltdb.BoltBackend{Path: filepath.Join(t.TempDir(), "bolt")}
	if err := db.Init(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	for _, e := range events {
		var f successor.Event
		if err := json.Unmarshal(e.AppendJSON(nil), &f); err != nil {
			t.Fatal(err)
		}
		if err := db.SaveEvent(f); err != nil {
			t.Fatal(err)
		}
	}
	r := khatru.NewRelay()
	r.Log = log.New(io.Discard, "", 0)
	r.UseEventstore(db, queryLimit)
	r.Negentropy = true
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	return websocketURL(s)
}
