package hosting_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestNewRepositoriesOfAnAddress: an address, a network and an owner may begin so many repositories an hour, and hear when they may go on. The operator
// and owners whom the operator trusts are not bounded, nor are pushes to what is here.
func TestNewRepositoriesOfAnAddress(t *testing.T) {
	w := openWorld(t, hosting.Limits{Repositories: 10_000}, false, policy.Archive{}, false, extra{trusts: func(pk nostr.PubKey) bool { return pk == key(9) }})
	r := w.newRepo()
	tip := r.commit("one")
	r.must("repack", "-adq")
	pack := string(ok(r.onlyPack()))
	n := 0
	push := func(owner byte, from, network string, operator bool) string {
		n++
		e := w.announce(owner, fmt.Sprint("r", n), now)
		w.state(owner, fmt.Sprint("r", n), now, "refs/heads/main", tip)
		got := w.host.Push(t.Context(), githttp.PushCall{
			Of: addressOf(e), From: from, Network: network, Operator: operator, Pack: strings.NewReader(pack), Progress: func(string) {},
			Push: &gitwire.Push{Commands: []gitwire.Command{{Ref: "refs/heads/main", New: ok(gitwire.ParseObjectID([]byte(tip)))}}},
		})
		return got.Unpack
	}
	for i := range hosting.NewPerAddress {
		w.host.Begun(from("2001:db8:1:1::", "2001:db8:1::"), string(rune(i)))
	}
	if got := push(1, "2001:db8:1:1::", "2001:db8:1::", false); got != "100 new repositories of your address came within an hour, which is as many as may: push this one in a minute" {
		t.Errorf("of an address: %q", got)
	}
	if got := push(1, "2001:db8:1:2::", "2001:db8:1::", false); got != "" {
		t.Errorf("another address of its network: %q", got)
	}
	for i := range hosting.NewPerNetwork {
		w.host.Begun(from(fmt.Sprint(i), "2001:db8:2::"), string(rune(i)))
	}
	if got := push(1, "2001:db8:2:2::", "2001:db8:2::", false); !strings.HasPrefix(got, "400 new repositories of your network") {
		t.Errorf("of a network: %q", got)
	}
	owner := key(3)
	for i := range hosting.NewPerOwner + 9 {
		w.host.Begun(from(fmt.Sprint("of", i), fmt.Sprint("of", i)), owner.String())
	}
	if got := push(3, "192.0.2.7", "192.0.2.7", false); !strings.HasPrefix(got, "100 new repositories of this owner") || !strings.HasSuffix(got, "push this one in 6 minutes") {
		t.Errorf("of an owner: %q", got)
	}
	if got := push(3, "127.0.0.1", "127.0.0.1", true); got != "" {
		t.Errorf("the operator: %q", got)
	}
	if got := push(9, "2001:db8:1:1::", "2001:db8:1::", false); got != "" {
		t.Errorf("an owner whom the operator trusts: %q", got)
	}
	w.pass(time.Hour)
	if got := push(1, "2001:db8:1:1::", "2001:db8:1::", false); got != "" {
		t.Errorf("an hour later: %q", got)
	}
}

// TestNewcomersAreBounded: those who began repositories are told apart up to a bound, and share one allowance beyond.
func TestNewcomersAreBounded(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	for i := range hosting.NewKept {
		w.host.Begun(from(fmt.Sprint(i), fmt.Sprint(i)), fmt.Sprint(i))
	}
	if n := w.host.Newcomers(); n > hosting.NewKept+3 {
		t.Errorf("%d are told apart", n)
	}
	w.pass(2 * time.Hour)
	w.host.Begun(from("a", "a"), "a")
	if n := w.host.Newcomers(); n > 10 {
		t.Errorf("%d are remembered for ever", n)
	}
}
