package interop

import (
	"slices"
	"testing"
	"time"

	"github.com/fiatjaf/eventstore"
	gonostr "github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip11"
	"github.com/nbd-wtf/go-nostr/nip77"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// alone starts a graspd that has no other relay, with one repository on it.
func alone(t *testing.T) (n *node, client *gonostr.Relay, repository *nostr.Event) {
	t.Helper()
	n = serve(t, t.TempDir(), domain, "--sync=false")
	client = connect(t, n.url)
	repository = sign(key(1), time.Now().Unix()-100, 30617, nostr.Tag{"d", "project"}, nostr.Tag{"relays", service})
	publish(t, client, repository)
	return n, client, repository
}

func TestClientPublishesAndReads(t *testing.T) {
	n, client, repository := alone(t)
	reader := connect(t, n.url)
	s := subscribe(t, reader, gonostr.Filter{Tags: gonostr.TagMap{"a": {repository.Address()}}})
	issue := sign(key(2), time.Now().Unix(), 1621, nostr.Tag{"a", repository.Address()})
	publish(t, client, issue)
	await(t, s, issue)
	got, err := reader.QuerySync(t.Context(), gonostr.Filter{Kinds: []int{1621}, Limit: 10})
	if err != nil || len(got) != 1 || got[0].ID != issue.ID.String() {
		t.Fatalf("stored issues: %v, %v", got, err)
	}
	if ok, err := got[0].CheckSignature(); !ok || err != nil || !got[0].CheckID() {
		t.Errorf("the issue came back changed: %v", got[0])
	}
	stranger := sign(key(3), time.Now().Unix(), 1)
	if err := client.Publish(t.Context(), *foreign(t, stranger)); err == nil {
		t.Error("a note about nothing is accepted")
	}
}

func TestClientDeletes(t *testing.T) {
	n, client, repository := alone(t)
	issue := sign(key(2), time.Now().Unix()-10, 1621, nostr.Tag{"a", repository.Address()})
	publish(t, client, issue)
	deletion := sign(key(2), time.Now().Unix(), 5, nostr.Tag{"e", issue.ID.String()}, nostr.Tag{"k", "1621"})
	publish(t, client, deletion)
	got, err := connect(t, n.url).QuerySync(t.Context(), gonostr.Filter{Authors: []string{key(2).PubKey().String()}})
	if err != nil || len(got) != 1 || got[0].ID != deletion.ID.String() {
		t.Errorf("left of the author: %v, %v", got, err)
	}
	if err := client.Publish(t.Context(), *foreign(t, issue)); err == nil {
		t.Error("the deleted issue is accepted again")
	}
}

func TestClientReconcilesBothWays(t *testing.T) {
	n, client, repository := alone(t)
	mine := openBadger(t)
	store := eventstore.RelayWrapper{Store: mine}
	var all []*nostr.Event
	now := time.Now().Unix() // once, or two of them may be the same
	for i := range 120 {     // the client loses some where it has to ask for more than 50 at once
		e := sign(key(2), now-int64(i), 1621, nostr.Tag{"a", repository.Address()})
		all = append(all, e)
		if i%3 != 0 {
			publish(t, client, e)
		}
		if i%3 != 1 {
			if err := mine.SaveEvent(t.Context(), foreign(t, e)); err != nil {
				t.Fatal(err)
			}
		}
	}
	f := gonostr.Filter{Kinds: []int{1621}}
	done := make(chan error, 1) // nothing else ends the client when an answer fails to come
	go func() { done <- nip77.NegentropySync(t.Context(), store, n.url, f, nip77.Both) }()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatal("the client does not come to an end")
	}
	if have, need := difference(t, n.url, f, all); len(have)+len(need) > 0 {
		t.Errorf("graspd lacks %d issues and has %d too many", len(have), len(need))
	}
	got, err := store.QuerySync(t.Context(), gonostr.Filter{Kinds: []int{1621}, Limit: len(all)})
	if err != nil || len(got) != len(all) {
		t.Errorf("the client has %d of %d issues, %v", len(got), len(all), err)
	}
}

func TestClientReadsTheInformationDocument(t *testing.T) {
	n := serve(t, t.TempDir(), domain, "--name", "a relay", "--contact", "mailto:operator@example.org")
	info, err := nip11.Fetch(t.Context(), n.url)
	if err != nil {
		t.Fatal(err)
	}
	if info.Name != "a relay" || info.Contact != "mailto:operator@example.org" || info.Software == "" || info.Version == "" {
		t.Errorf("%+v", info)
	}
	for _, nip := range []any{1, 9, 11, 77} {
		if !slices.ContainsFunc(info.SupportedNIPs, func(n any) bool { return n == nip || n == float64(nip.(int)) }) {
			t.Errorf("NIP-%d is not told: %v", nip, info.SupportedNIPs)
		}
	}
	if l := info.Limitation; l == nil || l.MaxMessageLength == 0 || l.MaxSubscriptions == 0 || l.MaxLimit == 0 || !l.RestrictedWrites {
		t.Errorf("limits: %+v", l)
	}
}
