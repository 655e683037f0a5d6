package policy_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// authors and repositories are lists of people by name, and of entries.
func authors(names ...string) policy.PubKeys {
	var p policy.PubKeys
	for _, n := range names {
		if err := p.AddAuthor(key(n).String()); err != nil {
			panic(err)
		}
	}
	return p
}

func repositories(entries ...string) (r policy.Repositories) {
	for _, e := range entries {
		if err := r.AddRepository(e); err != nil {
			panic(err)
		}
	}
	return r
}

func listing(t testing.TB, l policy.Lists) policy.Rules {
	r := rules(t)
	r.Lists = l
	return r
}

// settled is a view with alice's repository, to which she invites carol, carol's part in it, and dave's own of that name;
// an issue by bob, and a state by dave.
func settled() *memory {
	v := &memory{}
	v.add(inviting(announce(9, "alice", "d", ours), "carol"), announce(9, "carol", "d", "wss://c.example"), announce(9, "dave", "d", ours),
		event("bob", nip34.KindIssue, tag("a", repo("alice"))), event("dave", nip34.KindState, tag("d", "d")))
	return v
}

func TestLists(t *testing.T) {
	issue := event("bob", nip34.KindIssue, tag("a", repo("alice")))
	elsewhere := tag("relays", "wss://elsewhere.example")
	daveState := nip34.Address{Kind: nip34.KindState, PubKey: key("dave"), D: "d"}.String()
	no := policy.Lists{}
	denyBob, denyAlice := policy.Lists{DenyPubKeys: authors("bob")}, policy.Lists{DenyPubKeys: authors("alice")}
	onlyAlice := policy.Lists{AllowPubKeys: authors("alice")}
	denyRepo := policy.Lists{DenyRepositories: repositories(repo("alice"))}
	denyAll := policy.Lists{DenyRepositories: repositories(key("alice").String())}
	onlyRepo := policy.Lists{AllowRepositories: repositories(repo("alice"))}
	onlyHers := policy.Lists{AllowRepositories: repositories(key("alice").String())}
	const author, repository = "blocked: this relay does not take events by", "blocked: this relay does not carry"
	for _, tc := range []struct {
		name  string
		lists policy.Lists
		e     *nostr.Event
		want  policy.Outcome
		text  string
	}{
		{"issue by a denied author", denyBob, event("bob", nip34.KindIssue, tag("a", repo("alice")), tag("n", "2")), policy.Refuse, author},
		{"issue by another", denyBob, event("erin", nip34.KindIssue, tag("a", repo("alice"))), policy.Accept, ""},
		{"announcement by a denied author", denyBob, announce(1, "bob", "x", ours), policy.Refuse, author},
		{"answer to what a denied author wrote before", denyBob, event("erin", nostr.KindComment, tag("e", issue.ID.String())), policy.Accept, ""},
		{"issue in the repository of a denied author", denyAlice, event("erin", nip34.KindIssue, tag("a", repo("alice"))), policy.Unrelated, "blocked: this event names no"},
		{"state by a denied author", policy.Lists{DenyPubKeys: authors("dave")}, event("dave", nip34.KindState, tag("d", "d"), tag("n", "2")), policy.Refuse, author},
		{"denied and allowed", policy.Lists{AllowPubKeys: authors("bob"), DenyPubKeys: authors("bob")}, event("bob", 1, tag("a", repo("alice"))), policy.Refuse, author},

		{"deletion of his own by a denied author", denyBob, event("bob", nostr.KindDeletion, tag("e", nth(1).String()), tag("e", issue.ID.String())), policy.Accept, ""},
		{"deletion of his own address by a denied author", denyAlice, event("alice", nostr.KindDeletion, tag("a", repo("alice"))), policy.Accept, ""},
		{"deletion of another's by a denied author", denyAlice, event("alice", nostr.KindDeletion, tag("e", issue.ID.String())), policy.Refuse, author},
		{"deletion of another's address by a denied author", denyBob, event("bob", nostr.KindDeletion, tag("a", repo("alice"))), policy.Refuse, author},
		{"deletion of nothing by a denied author", denyBob, event("bob", nostr.KindDeletion), policy.Refuse, author},
		{"request to vanish by a denied author", denyBob, event("bob", nostr.KindVanish, tag("relay", ours)), policy.Accept, ""},
		{"request to vanish from elsewhere by a denied author", denyBob, event("bob", nostr.KindVanish, tag("relay", "wss://x.example")), policy.Refuse, "blocked: this request"},
		{"request to vanish by a denied author of whom nothing is here", policy.Lists{DenyPubKeys: authors("erin")}, event("erin", nostr.KindVanish, tag("relay", ours)), policy.Unrelated, "blocked: this relay has nothing"},
		{"a denied author's announcement leaves", denyAlice, event("alice", nip34.KindRepository, tag("d", "d"), elsewhere), policy.Withdraw, "blocked: this version"},
		{"a denied author's announcement stays", denyAlice, announce(1, "alice", "d", ours), policy.Refuse, author},

		{"allowed author", onlyAlice, event("alice", nip34.KindIssue, tag("a", repo("alice"))), policy.Accept, ""},
		{"author who is not allowed", onlyAlice, event("erin", nip34.KindIssue, tag("a", repo("alice"))), policy.Refuse, author},
		{"maintainer who is not allowed", onlyAlice, announce(1, "carol", "d", "wss://c.example"), policy.Refuse, author},

		{"denied repository", denyRepo, announce(1, "alice", "d", ours), policy.Refuse, repository},
		{"another of the same author", denyRepo, announce(1, "alice", "x", ours), policy.Accept, ""},
		{"denied repository leaves", denyRepo, event("alice", nip34.KindRepository, tag("d", "d"), elsewhere), policy.Withdraw, "blocked: this version"},
		{"state of a denied repository", denyRepo, event("alice", nip34.KindState, tag("d", "d")), policy.Refuse, repository},
		{"issue in a denied repository", denyRepo, event("erin", nip34.KindIssue, tag("a", repo("alice"))), policy.Unrelated, "blocked: this event names no"},
		{"issue in a denied one and another", denyRepo, event("erin", nip34.KindIssue, tag("a", repo("alice")), tag("a", repo("dave"))), policy.Accept, ""},
		{"comment in a denied repository", denyRepo, event("erin", nostr.KindComment, tag("A", repo("alice"))), policy.Unrelated, "blocked: this event names no"},
		{"comment on the state of a denied repository", policy.Lists{DenyRepositories: repositories(repo("dave"))}, event("erin", nostr.KindComment, tag("A", daveState)), policy.Unrelated, "blocked: this event names no"},
		{"comment on the state of another", denyRepo, event("erin", nostr.KindComment, tag("A", daveState)), policy.Accept, ""},
		{"comment on an issue of a denied repository", denyRepo, event("erin", nostr.KindComment, tag("E", issue.ID.String())), policy.Accept, ""},
		{"what a denied author writes elsewhere", denyRepo, event("alice", nip34.KindIssue, tag("a", repo("dave"))), policy.Accept, ""},
		{"who is invited by a denied repository only", denyRepo, announce(1, "carol", "d", "wss://c.example"), policy.NoMaintainer, repository},
		{"issue in the part of who is invited by a denied repository only", denyRepo, event("erin", nip34.KindIssue, tag("a", repo("carol"))), policy.Unrelated, "blocked: this event names no"},
		{"issue in the part of who is invited by a denied author only", denyAlice, event("erin", nip34.KindIssue, tag("a", repo("carol"))), policy.Unrelated, "blocked: this event names no"},
		{"all repositories of an author denied", denyAll, announce(1, "alice", "x", ours), policy.Refuse, repository},
		{"allowed one by one and denied with all", policy.Lists{AllowRepositories: repositories(repo("alice")), DenyRepositories: repositories(key("alice").String())}, announce(1, "alice", "d", ours), policy.Refuse, repository},

		{"allowed repository", onlyRepo, announce(1, "alice", "d", ours), policy.Accept, ""},
		{"another of its author", onlyRepo, announce(1, "alice", "x", ours), policy.NoMaintainer, repository},
		{"repository that is not allowed", onlyRepo, announce(1, "erin", "d", ours), policy.NoMaintainer, repository},
		{"all repositories of an author allowed", onlyHers, announce(1, "alice", "x", ours), policy.Accept, ""},
		{"maintainer of an allowed repository", onlyRepo, announce(1, "carol", "d", "wss://c.example"), policy.Accept, ""},
		{"maintainer of an allowed repository who lists us too", onlyRepo, announce(1, "carol", "d", ours), policy.Accept, ""},
		{"state by a maintainer of an allowed repository", onlyRepo, event("carol", nip34.KindState, tag("d", "d")), policy.Accept, ""},
		{"state of what was here before", onlyRepo, event("dave", nip34.KindState, tag("d", "d"), tag("n", "2")), policy.NoMaintainer, "blocked: you maintain no"},
		{"issue in an allowed repository", onlyRepo, event("erin", nip34.KindIssue, tag("a", repo("alice"))), policy.Accept, ""},
		{"issue in a maintainer's part of it", onlyRepo, event("erin", nip34.KindIssue, tag("a", repo("carol"))), policy.Accept, ""},
		{"issue in what was here before", onlyRepo, event("erin", nip34.KindIssue, tag("a", repo("dave"))), policy.Unrelated, "blocked: this event names no"},
		{"what is no repository leaves", onlyRepo, event("dave", nip34.KindRepository, tag("d", "d"), elsewhere), policy.Withdraw, "blocked: this version"},
		{"a newer version of what was here before", onlyRepo, announce(1, "dave", "d", ours), policy.NoMaintainer, repository},
		{"no lists", no, announce(1, "erin", "d", ours), policy.Accept, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := decideBy(t, listing(t, tc.lists), policy.Stranger, settled(), tc.e)
			if got.Outcome != tc.want || !strings.HasPrefix(got.Reason, tc.text) {
				t.Errorf("got %v %q", got.Outcome, got.Reason)
			}
			if plain := decide(t, settled(), tc.e); strings.HasPrefix(plain.Reason, author) || strings.HasPrefix(plain.Reason, repository) {
				t.Errorf("without lists: %v %q", plain.Outcome, plain.Reason)
			}
		})
	}
}

// Nothing that is stored goes because of a list.
func TestListsMakeNothingUnwelcome(t *testing.T) {
	for _, l := range []policy.Lists{
		{DenyPubKeys: authors("alice", "carol", "dave")}, {AllowPubKeys: authors("erin")},
		{DenyRepositories: repositories(repo("alice"))}, {AllowRepositories: repositories(repo("dave"))},
	} {
		if ids, err := listing(t, l).Unwelcome("d", settled()); err != nil || len(ids) != 0 {
			t.Errorf("%v, %v", ids, err)
		}
	}
}

func TestListsWithoutAView(t *testing.T) {
	elsewhere := tag("relays", "wss://elsewhere.example")
	for name, tc := range map[string]struct {
		l policy.Lists
		e *nostr.Event
	}{
		"deletion":      {policy.Lists{DenyPubKeys: authors("bob")}, event("bob", nostr.KindDeletion, tag("e", nth(1).String()), tag("a", repo("bob")))},
		"vanish":        {policy.Lists{DenyPubKeys: authors("bob")}, event("bob", nostr.KindVanish, tag("relay", ours))},
		"announcement":  {policy.Lists{DenyPubKeys: authors("alice")}, event("alice", nip34.KindRepository, tag("d", "d"), elsewhere)},
		"not allowed":   {policy.Lists{AllowRepositories: repositories(repo("erin"))}, announce(1, "dave", "d", ours)},
		"names a part":  {policy.Lists{AllowRepositories: repositories(repo("alice"))}, event("erin", 1, tag("a", repo("carol")))},
		"state of part": {policy.Lists{AllowRepositories: repositories(repo("alice"))}, event("carol", nip34.KindState, tag("d", "d"))},
	} {
		counting := &failing{View: settled()}
		decideBy(t, listing(t, tc.l), policy.Stranger, counting, tc.e)
		if counting.calls == 0 {
			t.Fatalf("%s: the view was not asked", name)
		}
		for last := 1; last <= counting.calls; last++ {
			for _, said := range []bool{false, true} {
				got, err := listing(t, tc.l).Decide(tc.e, policy.Stranger, &failing{View: settled(), last: last, said: said}, now)
				if !errors.Is(err, errDisk) || got != (policy.Verdict{}) {
					t.Errorf("%s, call %d: %v, %v", name, last, got, err)
				}
			}
		}
	}
}

// However many addresses of what is not carried an event names, who is invited is worked out once for each d.
func TestManyAddressesOfWhatIsNotCarried(t *testing.T) {
	v := settled()
	var tags nostr.Tags
	for i := range 200 {
		v.add(announce(9, fmt.Sprint(i), "d", ours))
		tags = append(tags, tag("a", repo(fmt.Sprint(i))))
	}
	counting := &asking{View: v}
	l := policy.Lists{AllowRepositories: repositories(repo("alice"))}
	if got := decideBy(t, listing(t, l), policy.Stranger, counting, event("erin", 1, tags...)); got.Outcome != policy.Unrelated || counting.lists != 1 {
		t.Errorf("%v, asked for announcements %d times", got, counting.lists)
	}
}

type asking struct {
	policy.View
	lists int
}

func (a *asking) Announcements(d string, r policy.Rules) (*policy.Announced, error) {
	a.lists++
	return a.View.Announcements(d, r)
}

// randomLists are lists over four people.
func randomLists(r *rand.Rand) policy.Lists {
	pick := func() (out []string) {
		for i := range 4 {
			if r.IntN(3) == 0 {
				out = append(out, fmt.Sprint(i))
			}
		}
		return out
	}
	repos := func() (out policy.Repositories) {
		for _, n := range pick() {
			_ = out.AddRepository([]string{repo(n), key(n).String()}[r.IntN(2)])
		}
		return out
	}
	var l policy.Lists
	for _, add := range []func(){
		func() { l.AllowPubKeys = authors(pick()...) }, func() { l.DenyPubKeys = authors(pick()...) },
		func() { l.AllowRepositories = repos() }, func() { l.DenyRepositories = repos() },
	} {
		if r.IntN(2) == 0 {
			add()
		}
	}
	return l
}

// Lists that loosen nothing accept nothing that those before refused: what was refused need not be asked for again. And no
// lists accept more than none.
func TestLoosens(t *testing.T) {
	accepted, tightened, loosened, lost := 0, 0, 0, 0
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 3))
		v := &memory{}
		v.add(announcements(r, 4, 1)...)
		v.add(event("1", nip34.KindIssue, tag("a", repo("2"))))
		old, l := randomLists(r), randomLists(r)
		if r.IntN(4) == 0 {
			old = policy.Lists{}
		}
		if l.Loosens(l) || l.Loosens(policy.Lists{}) || listing(t, l).Fingerprint() == listing(t, old).Fingerprint() && (l.Loosens(old) || old.Loosens(l)) {
			t.Fatalf("seed %d: %+v loosens %+v", seed, l, old)
		}
		name := func() string { return fmt.Sprint(r.IntN(4)) }
		for _, e := range append(announcements(r, 4, 1),
			event(name(), nip34.KindState, tag("d", "d")), event(name(), 1, tag("a", repo(name()))), event(name(), 1, tag("e", v.events[0].ID.String())),
			event(name(), nostr.KindDeletion, tag("e", v.events[len(v.events)-1].ID.String())), event(name(), nostr.KindVanish, tag("relay", ours)),
		) {
			before, now := decideBy(t, listing(t, old), policy.Stranger, v, e), decideBy(t, listing(t, l), policy.Stranger, v, e)
			if now.OK() && !before.OK() {
				loosened++
				if !l.Loosens(old) {
					t.Fatalf("seed %d: kind %d by %s was refused (%s) under %+v and is not under %+v", seed, e.Kind, e.PubKey, before.Reason, old, l)
				}
			}
			if now.OK() && !decide(t, v, e).OK() {
				t.Fatalf("seed %d: kind %d is accepted because of lists", seed, e.Kind)
			}
			if before.OK() && !now.OK() {
				lost++
			}
			if now.OK() {
				accepted++
			}
		}
		if !l.Loosens(old) {
			tightened++
		}
	}
	if accepted < 500 || tightened < 50 || loosened < 250 || lost < 250 {
		t.Fatalf("dull: %d accepted, %d tightened, %d loosened, %d lost", accepted, tightened, loosened, lost)
	}
}

func TestRulesLoosen(t *testing.T) {
	r := rules(t)
	hard, elsewhere, strict := r, r, r
	hard.MinPoW, elsewhere.Service, strict.Lists = 8, service(t, "elsewhere.example"), policy.Lists{DenyPubKeys: authors("a")}
	for _, tc := range []struct {
		name      string
		then, now policy.Rules
		want      bool
	}{
		{"the same", r, r, false}, {"more work", r, hard, false}, {"less work", hard, r, true},
		{"another domain", r, elsewhere, true}, {"a list more", r, strict, false}, {"a list less", strict, r, true},
	} {
		if got := tc.now.Loosens(tc.then); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

func TestListFingerprint(t *testing.T) {
	seen := map[string]string{}
	for name, l := range map[string]policy.Lists{
		"none": {}, "allow a": {AllowPubKeys: authors("a")}, "deny a": {DenyPubKeys: authors("a")}, "deny a, b": {DenyPubKeys: authors("a", "b")},
		"allow repository": {AllowRepositories: repositories(repo("a"))}, "deny repository": {DenyRepositories: repositories(repo("a"))},
		"allow all of a": {AllowRepositories: repositories(key("a").String())}, "deny all of a": {DenyRepositories: repositories(key("a").String())},
		"d with a line end": {DenyRepositories: repositories(repo("a")+"\n", repo("b"))},
	} {
		f := listing(t, l).Fingerprint()
		if other := seen[f]; other != "" {
			t.Errorf("%s is %s", name, other)
		}
		seen[f] = name
	}
	if a, b := (policy.Lists{DenyPubKeys: authors("a", "b")}), (policy.Lists{DenyPubKeys: authors("b", "a", "a")}); listing(t, a).Fingerprint() != listing(t, b).Fingerprint() {
		t.Error("the order counts")
	}
	if f := rules(t).Fingerprint(); f != "3 relay.example.org pow 0" {
		t.Errorf("no lists: %q: a store of before forgets what was refused", f)
	}
}

const (
	npub = "npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6"
	hex  = "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d"
)

func TestListEntries(t *testing.T) {
	pk, err := nostr.ParsePubKey(hex)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{npub, hex, strings.ToUpper(npub)} {
		var p policy.PubKeys
		var r policy.Repositories
		if err := errors.Join(p.AddAuthor(s), r.AddRepository(s)); err != nil || len(p) != 1 || r.Len() != 1 {
			t.Errorf("%s: %v, %v, %v", s, p, r, err)
		}
		if _, ok := p[pk]; !ok {
			t.Errorf("%s: %v", s, p)
		}
		if _, ok := r.Owners[pk]; !ok {
			t.Errorf("%s: %v", s, r)
		}
	}
	for s, d := range map[string]string{
		"nostr:" + npub + "/proj": "proj", "https://git.example/" + npub + "/proj.git": "proj", "30617:" + hex + ":proj": "proj", "30617:" + hex + ":a:b/c": "a:b/c", "30617:" + hex + ":": "", "30617:" + hex + ":é 😀": "é 😀",
		npub + "/proj": "proj", hex + "/proj": "proj", npub + "/a/b:c": "a/b:c", npub + "/": "",
		"naddr1qqz8qun0dgpzqwlsccluhy6xxsr6l9a9uhhxf75g85g8a709tprjcn4e42h053vaqvzqqqrhnync6ctk": "proj",
	} {
		var r policy.Repositories
		err := r.AddRepository(s)
		if _, ok := r.Addresses[nip34.Address{Kind: 30617, PubKey: pk, D: d}]; !ok || err != nil || r.Len() != 1 {
			t.Errorf("%s: %v, %v", s, r, err)
		}
	}
	var p policy.PubKeys
	var r policy.Repositories
	for _, s := range []string{"", " ", "alice", hex[1:], strings.ToUpper(hex), "0x" + hex, npub[:62] + "x", "nostr:" + npub + "x", "30617:" + hex + ":proj", npub + "/x", "nsec1" + npub[5:], "*"} {
		if err := p.AddAuthor(s); err == nil || p != nil {
			t.Errorf("author %q: %v, %v", s, p, err)
		}
	}
	for _, s := range []string{"", "proj", "/proj", "alice/proj", "30618:" + hex + ":proj", "30617:" + npub + ":proj", "30617:" + hex, "naddr1" + npub[5:],
		"nsec1" + npub[5:], npub[:62] + "x/proj", hex + ":proj", npub + "/" + strings.Repeat("d", nip34.MaxIdentifier+1)} {
		if err := r.AddRepository(s); err == nil || r.Len() != 0 {
			t.Errorf("repository %q: %v, %v", s, r, err)
		}
	}
	for _, s := range []string{"nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5", "NSEC1x"} {
		if err := errors.Join(p.AddAuthor(s), r.AddRepository(s)); !errors.Is(err, grasp.ErrSecret) || strings.Contains(err.Error(), s) {
			t.Errorf("secret key: %v", err)
		}
	}
	if errors.Is(p.AddAuthor("alice"), grasp.ErrSecret) {
		t.Error("everything is secret")
	}
}

// Whatever is written in a list is one entry or an error, and says the same when it is written as an address.
func FuzzListEntry(f *testing.F) {
	for _, s := range []string{npub, hex, "30617:" + hex + ":a:b", npub + "/x", "naddr1qqzkjurnw4ksz9thwden5te0wfjkccte9ehx7um5wghx7un8qgs2d90kkcq3nk2jry62dyf50k0h36rhpdtd594my40w9pkal876jxgrqsqqqa28pccpzu", "nsec1x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var p policy.PubKeys
		if err := p.AddAuthor(s); (err == nil) != (len(p) == 1) {
			t.Errorf("%q: %v, %v", s, p, err)
		}
		var r policy.Repositories
		if err := r.AddRepository(s); (err == nil) != (r.Len() == 1) || err == nil && len(p) != len(r.Owners) {
			t.Errorf("%q: %v, %v", s, r, err)
		}
		for a := range r.Addresses {
			var again policy.Repositories
			if err := again.AddRepository(a.String()); err != nil || !slices.Equal(keysOf(again.Addresses), []nip34.Address{a}) {
				t.Errorf("%q is %v, which is %v, %v", s, a, again, err)
			}
		}
	})
}

func keysOf(m map[nip34.Address]struct{}) (out []nip34.Address) {
	for a := range m {
		out = append(out, a)
	}
	return out
}
