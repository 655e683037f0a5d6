package interop

import (
	"context"
	"io"
	"net/http/httptest"
	"testing"

	"github.com/fiatjaf/eventstore"
	"github.com/fiatjaf/relayer/v2"
	gonostr "github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip11"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// advertised is how many subscriptions relays of this family say they allow.
const advertised = 20

// startRelayer runs the relayer library on eventstore's badger with its default limits: no NIP-77, and a live subscription that
// begins after the EOSE only. It returns its URL.
func startRelayer(t *testing.T, events []*nostr.Event) string {
	t.Helper()
	db := openBadger(t)
	for _, e := range events {
		if err := db.SaveEvent(t.Context(), foreign(t, e)); err != nil && err != eventstore.ErrDupEvent {
			t.Fatal(err)
		}
	}
	s, err := relayer.NewServer(&plainRelay{opened{db}})
	if err != nil {
		t.Fatal(err)
	}
	s.Log = silent{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return websocketURL(server)
}

// plainRelay takes everything.
type plainRelay struct{ store eventstore.Store }

func (r *plainRelay) Name() string                                               { return "plain" }
func (r *plainRelay) Init() error                                                { return nil }
func (r *plainRelay) Storage(context.Context) eventstore.Store                   { return r.store }
func (r *plainRelay) AcceptEvent(context.Context, *gonostr.Event) (bool, string) { return true, "" }
func (r *plainRelay) GetNIP11InformationDocument() nip11.RelayInformationDocument {
	return nip11.RelayInformationDocument{
		Name: "plain", SupportedNIPs: []any{1, 9, 11},
		Limitation: &nip11.RelayLimitationDocument{MaxSubscriptions: advertised, MaxLimit: queryLimit},
	}
}

// opened is a store that is open already.
type opened struct{ eventstore.Store }

func (opened) Init() error { return nil }

type silent struct{ io.Writer }

func (silent) Infof(string, ...any)    {}
func (silent) Warningf(string, ...any) {}
func (silent) Errorf(string, ...any)   {}
