package peer_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/mailbox"
	"github.com/graspd/graspd/internal/sync/peer"
)

// correspond makes the relay the mailbox of some who write there.
func (w *world) correspond() {
	fold := mailbox.New(service(w.t), nil, func(k nostr.Kind) bool { return k != nostr.KindRelayList }, mailbox.Bounds{})
	for i := range 1 + w.r.IntN(60) {
		fold.Add(w.shop.Mint.Event(nostr.KindRelayList, key(200+i), w.unix(), nostr.Tag{"r", string(here)}))
		for range 1 + w.r.IntN(3) {
			id := w.shop.Mint.Event(1, key(300), 1).ID
			if roots := w.roots(); len(roots) > 0 {
				id = roots[w.r.IntN(len(roots))].ID
			}
			fold.Add(w.shop.Mint.Event(nostr.KindComment, key(200+i), w.unix(), nostr.Tag{"E", id.String()}))
		}
	}
	for _, s := range fold.Changed() {
		w.letters = s
	}
}

// That a relay is somebody's mailbox too takes nothing from what it is wanted for otherwise, whatever it is like.
func TestLivesOfMailboxes(t *testing.T) {
	each(t, 50_000, max(10, *lives/6), mailboxLife)
	for _, seed := range []uint64{50121, 50372, 50452, 50460, 50645, 50709} {
		mailboxLife(t, seed, false)
	}
}

func mailboxLife(t testing.TB, seed uint64, telling bool) {
	w := birth(t, seed)
	w.logging = telling
	w.correspond()
	w.live()
	w.after(time.Minute, func() { // nobody writes there any more, and then they do again
		if w.want == nil {
			return
		}
		w.step(peer.Wanted{Want: w.want.WithMailbox(nil)})
		w.step(peer.Wanted{Want: w.want})
	})
	w.settle()
	if s := w.peer.Status(); w.letters.Size() == 0 || s.Mailbox != w.letters.Size() {
		t.Fatalf("it is the mailbox of %d, not %d", s.Mailbox, w.letters.Size())
	}
}
