package refdb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// lacks is what a repository lacks, each need by its objects.
func (d *desk) lacks(repo *nostr.Event) refdb.Lack {
	d.Helper()
	return d.lacksAt(addressOf(repo))
}

func (d *desk) lacksAt(of nip34.Address) refdb.Lack {
	d.Helper()
	l, err := d.reader().Lacks(d.Context(), of)
	d.must(err)
	return l
}

// lacking compares the needs: "1 2 | tip 3".
func (d *desk) lacking(repo *nostr.Event, want string) refdb.Lack {
	d.Helper()
	l := d.lacks(repo)
	var needs []string
	for _, n := range l.Needs {
		var ids []string
		for _, x := range n.IDs {
			ids = append(ids, fmt.Sprint(x.AppendRaw(nil)[0]))
		}
		text := strings.Join(ids, " ")
		if n.Tip {
			text = "tip " + text
		}
		needs = append(needs, text)
	}
	slices.Sort(needs)
	if got := strings.Join(needs, " | "); got != want {
		d.Errorf("lacks %q, want %q", got, want)
	}
	return l
}

func (d *desk) cloned(by byte, ident string, clone ...string) *nostr.Event {
	return d.event(by, nip34.KindRepository, nostr.Tag{"d", ident}, nostr.Tag{"relays", d.rules.Service.RelayURL().String()},
		append(nostr.Tag{"clone", d.rules.Service.CloneURL(author(by), ident)}, clone...))
}

func TestWhatARepositoryLacks(t *testing.T) {
	d := newDesk(t)
	repo := d.cloned(1, "d", "https://a.example.org/d.git", "ssh://a.example.org/d", "https://A.example.org/d.git/")
	d.wants(refs.Wait, repo)
	if l := d.lacking(repo, ""); !l.Hosted || fmt.Sprint(l.Sources) != "[https://a.example.org/d.git]" {
		t.Errorf("%v %v", l.Hosted, l.Sources)
	}
	state := d.stateOf(1, "d", "main=1 dev=2 old=1")
	d.stirred = nil
	d.wants(refs.Wait, state)
	if !slices.Equal(d.stirred, []string{"d"}) {
		t.Errorf("stirred: %q", d.stirred)
	}
	l := d.lacking(repo, "2 1")
	if n := l.Needs[0]; n.Event != state.ID || n.Came != d.now.Unix() || !n.Pushed || n.Author != author(1) {
		t.Errorf("%+v", n)
	}
	pr := d.pullRequest(3, 5, repo)
	pr.Tags = append(pr.Tags, nostr.Tag{"clone", "https://fork.example.org/x", d.rules.Service.CloneURL(author(3), "x")})
	pr.ID = pr.ComputeID()
	d.wants(refs.Wait, pr)
	l = d.lacking(repo, "2 1 | tip 5")
	if i := slices.IndexFunc(l.Needs, func(n refdb.Need) bool { return n.Tip }); fmt.Sprint(l.Needs[i].Sources) != "[https://fork.example.org/x]" || l.Needs[i].Event != pr.ID {
		t.Errorf("%+v", l.Needs)
	}
	d.arrive(refdb.Arrival{Of: addressOf(repo), Dir: refdb.Dir{1}}, id(1), id(2))
	d.are("served", repo, state)
	d.lacking(repo, "tip 5")
	d.arrive(refdb.Arrival{Of: addressOf(repo), Tips: []nostr.ID{pr.ID}}, id(5))
	d.are("served", pr)
	d.shows(repo, "dev=2 main=1 old=1 pr=5")
	d.lacking(repo, "")
	delete(d.shelf, refdb.Dir{1})
	if l := d.lacking(repo, "2 1 | tip 5"); l.Needs[0].Came != 0 || l.Needs[0].Pushed {
		t.Errorf("of what is served somebody is expected to push: %+v", l.Needs)
	}
}

// The relays that are filled from count as named by every repository, however many servers its announcement names.
func TestMirrorsAreSourcesOfEveryRepository(t *testing.T) {
	d := newDesk(t)
	d.mirrors = []grasp.RelayURL{"wss://old.example.org", d.rules.Service.RelayURL(), "wss://query.example.org/?a=b"}
	d.restart()
	mirror := "https://old.example.org/" + nip19.Npub(author(1)) + "/d.git"
	var many []string
	for n := range 70 {
		many = append(many, fmt.Sprintf("https://a%d.example.org/d.git", n))
	}
	crowded, plain, named := d.cloned(1, "d", many...), d.cloned(2, "d"), d.cloned(1, "e", "https://old.example.org/"+nip19.Npub(author(1))+"/e.git")
	d.wants(refs.Wait, crowded, plain, named)
	if s := d.lacks(crowded).Sources; len(s) != 65 || string(s[64]) != mirror {
		t.Errorf("%v", s)
	}
	if s := d.lacks(plain).Sources; fmt.Sprint(s) != "[https://old.example.org/"+nip19.Npub(author(2))+"/d.git]" {
		t.Errorf("%v", s)
	}
	if s := d.lacks(named).Sources; len(s) != 1 {
		t.Errorf("%v", s)
	}
}

// But where the service is private they are no sources of a repository that some announcement of it says is private.
func TestMirrorsAreNoSourcesOfPrivateRepositories(t *testing.T) {
	for _, private := range []bool{true, false} {
		d := newDesk(t)
		d.mirrors, d.private = []grasp.RelayURL{"wss://old.example.org"}, private
		d.restart()
		with := func(by byte, ident string, tags ...nostr.Tag) *nostr.Event {
			return d.event(by, nip34.KindRepository, append(tags, nostr.Tag{"d", ident}, nostr.Tag{"relays", d.rules.Service.RelayURL().String()},
				nostr.Tag{"clone", d.rules.Service.CloneURL(author(by), ident), "https://named.example.org/r.git"})...)
		}
		open, hidden := with(1, "open"), with(1, "hidden", nostr.Tag{"private", "true"})
		led, mate := with(1, "led", nostr.Tag{"maintainers", author(2).String()}), with(2, "led", nostr.Tag{"maintainers", author(1).String()}, nostr.Tag{"private", "true"})
		d.wants(refs.Wait, open, hidden, led, mate)
		for _, tt := range []struct {
			of   *nostr.Event
			want int
		}{{open, 2}, {hidden, map[bool]int{true: 1, false: 2}[private]}, {led, map[bool]int{true: 1, false: 2}[private]}} {
			if s := d.lacks(tt.of).Sources; len(s) != tt.want || string(s[0]) != "https://named.example.org/r.git" {
				t.Errorf("private %v: %v", private, s)
			}
		}
	}
}

func TestNothingIsLookedForElsewhereThatIsNotAnnouncedHere(t *testing.T) {
	d := newDesk(t)
	other := d.event(1, nip34.KindRepository, nostr.Tag{"d", "d"}, nostr.Tag{"relays", "wss://other.example.org"}, nostr.Tag{"clone", "https://a.example.org/d"})
	d.must(d.turn(func(t refdb.Turn) error { d.add(t, other); return nil }))
	d.must(d.turn(func(t refdb.Turn) error { d.add(t, d.stateOf(1, "d", "main=1")); return nil }))
	if l := d.lacking(other, ""); l.Hosted {
		t.Error("a repository of elsewhere is looked for")
	}
}

func TestWhichStatesAreLookedFor(t *testing.T) {
	d := newDesk(t)
	mine, theirs := d.cloned(1, "d", "https://a.example.org/d"), d.cloned(2, "d", "https://b.example.org/d")
	for _, x := range []struct {
		e  *nostr.Event
		by byte
	}{{mine, 2}, {theirs, 1}} {
		pk := author(x.by)
		x.e.Tags = append(x.e.Tags, nostr.Tag{"maintainers", pk.String()})
		x.e.ID = x.e.ComputeID()
	}
	stranger := d.cloned(3, "d")
	d.wants(refs.Wait, mine, theirs, stranger)
	old := d.stateOf(1, "d", "main=1")
	d.wants(refs.Wait, old)
	l := d.lacking(mine, "1")
	if fmt.Sprint(l.Sources) != "[https://a.example.org/d https://b.example.org/d]" {
		t.Errorf("%v", l.Sources)
	}
	d.lacking(theirs, "") // it is completed in its author's repository first
	d.lacking(stranger, "")
	d.arrive(refdb.Arrival{Of: addressOf(mine), Dir: refdb.Dir{1}}, id(1))
	d.are("served", old, mine, theirs)
	d.lacking(theirs, "1") // and is to rule the other one, too
	newer := d.stateOf(2, "d", "main=2")
	d.wants(refs.Wait, newer)
	d.lacking(mine, "")
	d.lacking(theirs, "1 | 2")
	d.arrive(refdb.Arrival{Of: addressOf(theirs), Dir: refdb.Dir{2}}, id(2))
	d.are("served", newer)
	d.lacking(theirs, "") // the older one would not rule
	d.lacking(mine, "2")
	flawed := d.event(1, nip34.KindState, nostr.Tag{"d", "d"}, nostr.Tag{"refs/heads/main", "abc"})
	d.come(flawed)
	d.lacking(mine, "2")
	d.wants(refs.Wait, d.stateOf(2, "d", "main=4"))
	d.lacking(mine, "2") // what waits is completed elsewhere, and hides nothing that is served
}

func TestWhatIsLookedForAtATimeIsBounded(t *testing.T) {
	d := newDesk(t)
	repo, other := d.cloned(1, "d", "https://a.example.org/d"), d.cloned(2, "d")
	d.wants(refs.Wait, repo, other)
	for i := range 300 {
		d.wants(refs.Wait, d.pullRequest(byte(2+i%200), byte(1+i/200), repo))
	}
	if l := d.lacks(repo); len(l.Needs) != 160 {
		t.Errorf("%d are looked for", len(l.Needs))
	}
	d.lacking(other, "")
}

func TestNobodyKeepsOthersTipsFromBeingLookedFor(t *testing.T) {
	d := newDesk(t)
	repo := d.cloned(1, "d", "https://a.example.org/d")
	d.wants(refs.Wait, repo)
	var others []*nostr.Event
	for i := range 300 {
		d.wants(refs.Wait, d.pullRequest(2, byte(1+i%250), repo))
		if i%100 == 0 {
			others = append(others, d.pullRequest(byte(3+i/100), 251, repo))
			d.wants(refs.Wait, others[len(others)-1])
		}
	}
	needs := d.lacks(repo).Needs
	for _, e := range others {
		if !slices.ContainsFunc(needs, func(n refdb.Need) bool { return n.Event == e.ID }) {
			t.Errorf("the pull request by %d is not looked for", e.PubKey[1])
		}
	}
}

// What is served and to be had nowhere any more leaves a turn to what is older.
func TestServedTipsTakeTurns(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	d.must(d.turn(func(t refdb.Turn) error {
		for i := range 600 {
			e := d.event(byte(2+i%200), nip34.KindPullRequest, nostr.Tag{"a", addressOf(repo).String()}, nostr.Tag{"c", id(byte(2 + i%200)).String()}, nostr.Tag{"n", fmt.Sprint(i)})
			if out, err := t.Add(e, store.Direct); err != nil || out != policy.Accept {
				return fmt.Errorf("%v: %w", out, err)
			}
		}
		return nil
	}))
	looked := map[nostr.ID]bool{}
	for range 3 {
		needs := d.lacks(repo).Needs
		if len(needs) > 256 || len(needs) < 88 {
			t.Errorf("%d are looked for", len(needs))
		}
		for _, n := range needs {
			looked[n.Event] = true
		}
		d.now = d.now.Add(time.Hour)
	}
	if len(looked) != 600 {
		t.Errorf("%d of 600 were looked for in three hours", len(looked))
	}
}

func TestAFetchThatGoesOnKeepsWhatWaits(t *testing.T) {
	d := newDesk(t)
	repo := d.cloned(1, "d", "https://a.example.org/d")
	state := d.stateOf(1, "d", "main=1")
	d.wants(refs.Wait, repo, state)
	l := d.lacks(repo)
	d.now = d.now.Add(20 * time.Minute)
	d.must(d.turn(func(t refdb.Turn) error { return d.ledger.Prolong(t, l.Of, l.Needs) }))
	for _, e := range []*nostr.Event{repo, state} {
		if got := d.until(e); got != refdb.WaitFor {
			t.Errorf("kind %d waits for another %v", e.Kind, got)
		}
	}
}

func TestWhomAnEventFromARelayConcerns(t *testing.T) {
	d := newDesk(t)
	repo := d.cloned(1, "d", "https://a.example.org/d")
	d.wants(refs.Wait, repo)
	state := d.stateOf(1, "d", "main=1")
	d.must(d.turn(func(t refdb.Turn) error {
		_, err := t.Wait(state, store.Wait{Source: store.Live, Came: d.now.Unix(), Until: d.now.Add(time.Hour).Unix()})
		d.must(err)
		return d.ledger.Waits(t, state, "wss://x.example.org")
	}))
	if l := d.lacks(repo); len(l.Needs) != 1 || l.Needs[0].Pushed {
		t.Errorf("a push is expected by nobody: %+v", l.Needs)
	}
}

// An update of a pull request that is served and names no repository is of those that the pull request names.
func TestServedUpdatesWithoutARepository(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	add := func(e *nostr.Event) *nostr.Event {
		t.Helper()
		d.must(d.turn(func(t refdb.Turn) error {
			if out, err := t.Add(e, store.Direct); err != nil || out != policy.Accept {
				return fmt.Errorf("%v: %w", out, err)
			}
			return nil
		}))
		return e
	}
	of, elsewhere := nostr.Tag{"a", addressOf(repo).String()}, nostr.Tag{"a", "30617:" + d.event(9, 1).PubKey.String() + ":other"}
	var updates []*nostr.Event
	for i := range 201 { // more than are asked for at a time
		root := add(d.event(2, nip34.KindPullRequest, of, nostr.Tag{"c", id(200).String()}, nostr.Tag{"n", fmt.Sprint(i)}))
		if i%100 == 0 {
			updates = append(updates, add(d.event(2, nip34.KindPullRequestUpdate, nostr.Tag{"E", root.ID.String()}, nostr.Tag{"c", id(byte(201 + i/100)).String()})))
			add(d.event(2, nip34.KindPullRequestUpdate, elsewhere, nostr.Tag{"E", root.ID.String()}, nostr.Tag{"c", id(byte(211 + i/100)).String()}))
		}
	}
	root := add(d.event(2, nip34.KindPullRequest, elsewhere, nostr.Tag{"c", id(220).String()}))
	add(d.event(2, nip34.KindPullRequestUpdate, nostr.Tag{"E", root.ID.String()}, nostr.Tag{"c", id(221).String()}))
	var looked []nostr.ID
	for _, n := range d.lacks(repo).Needs {
		looked = append(looked, n.Event)
	}
	for _, e := range updates {
		if !slices.Contains(looked, e.ID) {
			t.Errorf("the update of %s is not looked for", e.Tags[0][1])
		}
	}
	if len(looked) != 201+len(updates) {
		t.Errorf("%d are looked for", len(looked))
	}
}
