package hosting_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
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
	t.Parallel()
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
	for i := range hosting.NewcomersKept {
		w.host.Begun(from(fmt.Sprint(i), fmt.Sprint(i)), fmt.Sprint(i))
	}
	if n := w.host.Newcomers(); n > hosting.NewcomersKept+3 {
		t.Errorf("%d are told apart", n)
	}
	w.pass(2 * time.Hour)
	w.host.Begun(from("a", "a"), "a")
	if n := w.host.Newcomers(); n > 10 {
		t.Errorf("%d are remembered for ever", n)
	}
}

// TestManyBeginAtOnce: of repositories that begin at once no more begin than may, and what does not begin leaves its place to others.
func TestManyBeginAtOnce(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	var began atomic.Int32
	var giveBack func()
	var g sync.WaitGroup
	for range hosting.NewPerAddress + 50 {
		g.Go(func() {
			back, err := w.host.Begin(from("a", "b"), "c")
			if err == nil && began.Add(1) == 1 {
				giveBack = back
			}
		})
	}
	g.Wait()
	if n := began.Load(); n != hosting.NewPerAddress {
		t.Fatalf("%d begin", n)
	}
	giveBack()
	if _, err := w.host.Begin(from("a", "b"), "c"); err != nil {
		t.Error(err)
	}
	if _, err := w.host.Begin(from("a", "b"), "c"); err == nil {
		t.Error("one more begins")
	}
}

// TestAPushThatEndsInNothingBeginsNothing: what the state forbids by the time that the pack is here does not count as a new repository.
func TestAPushThatEndsInNothingBeginsNothing(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	e, r, pk := w.announce(1, "tool", now), w.newRepo(), key(1)
	tip := r.commit("one")
	for i := range hosting.NewPerOwner - 1 {
		w.host.Begun(from(fmt.Sprint(i), fmt.Sprint(i)), pk.String())
	}
	push := func() []gitwire.Outcome {
		return w.host.Push(t.Context(), githttp.PushCall{
			Of: addressOf(e), From: "192.0.2.1", Network: "192.0.2.1", Pack: strings.NewReader(w.pack(r, tip)), Progress: func(string) {},
			Push: &gitwire.Push{Commands: []gitwire.Command{{Ref: "refs/heads/main", New: ok(gitwire.ParseObjectID([]byte(tip)))}}},
		}).Outcomes
	}
	w.state(1, "tool", now, "refs/heads/main", tip)
	w.copies.whole.Store(new(func(tell func()) {
		tell()
		w.state(1, "tool", now+1, "refs/heads/main", strings.Repeat("1", 40))
	}))
	if got := push(); got[0].Refused == "" {
		t.Fatal("the push is taken")
	}
	giveBack, err := w.host.Begin(from("a", "b"), pk.String())
	if err != nil {
		t.Fatal(err)
	}
	giveBack()
	w.copies.whole.Store(nil)
	w.state(1, "tool", now+2, "refs/heads/main", tip)
	if got := push(); got[0].Refused != "" {
		t.Fatal(got[0].Refused)
	}
	if _, err := w.host.Begin(from("a", "b"), pk.String()); err == nil {
		t.Error("what the push began does not count")
	}
}

// TestWhatComesFromElsewhereBeginsRepositoriesToo: git data of other servers counts for the owner, unless the operator trusts them, and comes later.
func TestWhatComesFromElsewhereBeginsRepositoriesToo(t *testing.T) {
	w := openWorld(t, hosting.Limits{}, false, policy.Archive{}, false, extra{trusts: func(pk nostr.PubKey) bool { return pk == key(9) }})
	r := w.newRepo()
	tip := r.commit("one")
	repo := func(owner byte) *nostr.Event {
		e := w.announce(owner, "tool", now)
		w.state(owner, "tool", now, "refs/heads/main", tip)
		return e
	}
	mine, trusted := repo(1), repo(9)
	for _, owner := range []byte{1, 9} {
		pk := key(owner)
		for i := range hosting.NewPerOwner - 1 {
			w.host.Begun(from(fmt.Sprint(owner, i), fmt.Sprint(owner, i)), pk.String())
		}
	}
	w.take(mine).Close() // nothing came, so nothing counts
	x := w.take(mine)
	if _, err := w.host.Take(t.Context(), w.lacks(mine), "others"); err == nil || !strings.Contains(err.Error(), "this one comes by itself in") {
		t.Errorf("the next one: %v", err)
	}
	x.Close()
	if _, err := w.comes(mine, w.pack(r, tip)); err != nil {
		t.Error(err)
	}
	w.take(trusted)
	w.take(trusted)
}

// TestCopiesBeginRepositoriesToo: a copy that would begin one too many waits, and the push that it follows is in order.
func TestCopiesBeginRepositoriesToo(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	pk, mk := key(2), key(1)
	mine, r := w.announce(1, "tool", now, nostr.Tag{"maintainers", pk.String()}), w.newRepo()
	theirs := w.announce(2, "tool", now, nostr.Tag{"maintainers", mk.String()})
	for i := range hosting.NewPerOwner {
		w.host.Begun(from(fmt.Sprint(i), fmt.Sprint(i)), pk.String())
	}
	w.state(1, "tool", now, "refs/heads/main", r.commit("one"))
	r.must("push", w.cloneURL(mine), "main")
	if got := w.lsRemote(w.cloneURL(theirs)); strings.Contains(got, "refs/heads/main") {
		t.Errorf("it began: %s", got)
	}
	w.pass(time.Hour)
	w.state(1, "tool", now+1, "refs/heads/main", r.commit("two"))
	r.must("push", w.cloneURL(mine), "main")
	w.eventually("it comes when it may", func() bool { return strings.Contains(w.lsRemote(w.cloneURL(theirs)), "refs/heads/main") })
}
