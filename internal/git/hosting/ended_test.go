package hosting_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestACopyThatIsEndedIsMadeLater: a copy whose context ends leaves nothing behind, and the repository that follows gets all by the next one.
func TestACopyThatIsEndedIsMadeLater(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	pk, mk := key(2), key(1)
	mine, r := w.announce(1, "tool", now, nostr.Tag{"maintainers", pk.String()}), w.newRepo()
	w.state(1, "tool", now, "refs/heads/main", r.commit("one"))
	r.must("push", w.cloneURL(mine), "main")
	theirs := w.announce(2, "tool", now, nostr.Tag{"maintainers", mk.String()})
	ctx, end := context.WithCancelCause(t.Context())
	left := errors.New("the client left")
	w.copies.mu.Lock()
	w.copies.begins = func() { end(left) }
	w.copies.mu.Unlock()
	if err := w.host.Align(ctx, addressOf(mine)); !errors.Is(err, left) && !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	w.nothingIsLeft()
	if err := w.host.Align(t.Context(), addressOf(mine)); err != nil {
		t.Error(err)
	}
	w.eventually("all is there", func() bool { return strings.Contains(w.lsRemote(w.cloneURL(theirs)), "refs/heads/main") })
}
