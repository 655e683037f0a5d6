package corpus_test

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/corpus"
)

const (
	since = 1_700_000_000
	until = 1_760_000_000
)

// quick signs with a hash, which costs next to nothing.
func quick(_ nostr.SecretKey, pk nostr.PubKey, e *nostr.Event) {
	e.PubKey = pk
	e.ID = e.ComputeID()
	h := sha256.Sum256(e.ID[:])
	e.Sig = nostr.Sig(append(h[:], h[:]...))
}

func options(repositories, roots, others, noise int) corpus.Options {
	return corpus.Options{
		Seed: 1, Repositories: repositories, Roots: roots, Others: others, Noise: noise, Since: since, Until: until, Sign: quick,
		Service: "wss://grasp.example", Relays: []string{"wss://a.example", "wss://b.example", "wss://c.example/nostr", "ws://d.example:7777"}, RelaysEach: 2,
	}
}

func digest(c *corpus.Corpus) string {
	h := sha256.New()
	for _, it := range c.Items {
		h.Write(it.Event.AppendJSON(nil))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func TestCounts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		o     corpus.Options
		older bool
	}{
		{"nothing", options(0, 0, 0, 0), false},
		{"noise only", options(0, 50, 50, 7), false},
		{"one repository", options(1, 0, 0, 0), false},
		{"announcements only", options(30, 0, 0, 0), true},
		{"no others", options(30, 200, 0, 0), true},
		{"one other", options(30, 200, 1, 0), true},
		{"no roots", options(30, 0, 200, 0), true},
		{"fewer roots than repositories", options(100, 40, 300, 10), false},
		{"uneven", options(60, 500, 1500, 100), false},
		{"with older versions", options(60, 500, 1500, 100), true},
		{"negative", options(-1, -1, -1, -1), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for seed := range uint64(5) {
				tt.o.Seed, tt.o.Older = seed, tt.older
				c := corpus.Generate(tt.o)
				var repositories, roots, noise int
				for _, it := range c.Items {
					switch {
					case it.What == corpus.Noise:
						noise++
					case it.What == corpus.Announcement && it.Fate != corpus.Replaced:
						repositories++
					case nip34.Is(it.Event.Kind, nip34.Root) && len(nip34.Repositories(it.Event)) > 0:
						roots++
					}
				}
				want := []int{max(tt.o.Repositories, 0), max(tt.o.Roots, 0), max(tt.o.Others, 0), max(tt.o.Noise, 0)}
				if tt.o.Repositories <= 0 {
					want[1], want[2] = 0, 0
				}
				if got := []int{repositories, roots, len(c.Items) - repositories - roots - noise, noise}; !slices.Equal(got, want) {
					t.Errorf("seed %d: %v, want %v", seed, got, want)
				}
				if len(c.Repositories) != want[0] {
					t.Errorf("describes %d repositories", len(c.Repositories))
				}
			}
		})
	}
}

func TestSameOptionsSameBytes(t *testing.T) {
	o := options(40, 300, 900, 50)
	o.Older = true
	first := digest(corpus.Generate(o))
	if got := digest(corpus.Generate(o)); got != first {
		t.Errorf("%s, then %s", first, got)
	}
	const golden = "4d439938bce221c0" // on every machine and with every release of Go; a changed generator changes it
	if first != golden {
		t.Errorf("digest %s, want %s", first, golden)
	}
	o.Seed++
	if got := digest(corpus.Generate(o)); got == first {
		t.Error("another seed gives the same")
	}
}

func TestStreamIsTheSameCorpus(t *testing.T) {
	o := options(40, 300, 900, 50)
	o.Older = true
	whole := map[nostr.ID]corpus.Item{}
	for _, it := range corpus.Generate(o).Items {
		whole[it.Event.ID] = it
	}
	for it := range corpus.Stream(o) {
		same, ok := whole[it.Event.ID]
		if !ok || same.What != it.What || same.Fate != it.Fate || !slices.Equal(same.Repositories, it.Repositories) {
			t.Fatalf("%s is %v in the stream and %v in the corpus", it.Event.ID, it, same)
		}
		delete(whole, it.Event.ID)
		for _, id := range nip34.References(it.Event).IDs {
			if _, later := whole[id]; later {
				t.Errorf("a %v comes before what it names", it.What)
			}
		}
	}
	if len(whole) > 0 {
		t.Errorf("%d are not in the stream", len(whole))
	}
}

func TestStreamStops(t *testing.T) {
	for _, n := range []int{1, 2, 30, 400, 1100} {
		seen := 0
		for range corpus.Stream(options(30, 300, 700, 100)) {
			if seen++; seen == n {
				break
			}
		}
		if seen != n {
			t.Errorf("%d of %d", seen, n)
		}
	}
}

func TestEventsAreGenuine(t *testing.T) {
	o := options(6, 25, 60, 10)
	o.Sign, o.Older = nil, true
	c := corpus.Generate(o)
	for _, it := range c.Items {
		e, err := nostr.ParseEvent(it.Event.AppendJSON(nil))
		if err != nil {
			t.Fatal(err)
		}
		if err := nostr.Check(e, nostr.Schnorr{}); err != nil {
			t.Errorf("%v %s: %v", it.What, it.Event.ID, err)
		}
	}
	if again := corpus.Generate(o); digest(again) != digest(c) {
		t.Error("signed differently the next time")
	}
}

func TestEventsAreWellFormed(t *testing.T) {
	o := options(80, 600, 2000, 200)
	o.Older = true
	c := corpus.Generate(o)
	parse := map[nostr.Kind]func(*nostr.Event) error{
		nip34.KindRepository: func(e *nostr.Event) error { _, err := nip34.ParseAnnouncement(e); return err },
		nip34.KindState:      func(e *nostr.Event) error { _, err := nip34.ParseState(e); return err },
	}
	ids, index := map[nostr.ID]bool{}, map[nostr.ID]int{}
	for i, it := range c.Items {
		index[it.Event.ID] = i
	}
	for i, it := range c.Items {
		e := it.Event
		if ids[e.ID] {
			t.Errorf("%s stands twice", e.ID)
		}
		ids[e.ID] = true
		if e.CreatedAt < since || e.CreatedAt > until {
			t.Errorf("created at %d", e.CreatedAt)
		}
		if p := parse[e.Kind]; p != nil {
			if err := p(e); err != nil {
				t.Errorf("%v: %v", it.What, err)
			}
		}
		for _, id := range nip34.References(e).IDs {
			if j, ok := index[id]; ok && j >= i {
				t.Errorf("%v at %d names %v at %d", it.What, i, c.Items[j].What, j)
			}
		}
		if i > 0 && c.Items[i-1].Event.CreatedAt > e.CreatedAt {
			t.Errorf("%d is older than the one before", i)
		}
	}
}

func TestTimesStayWithinBounds(t *testing.T) {
	o := options(50, 500, 1500, 100)
	o.Older, o.Until = true, 0 // a thousand seconds, the least there is
	times := map[int64]int{}
	for it := range corpus.Stream(o) {
		times[it.Event.CreatedAt]++
	}
	for at := range times {
		if at < since || at > since+1000 {
			t.Errorf("created at since + %d", at-since)
		}
	}
	if len(times) < 300 {
		t.Errorf("%d times", len(times))
	}
}

func TestEventsOfSomeFates(t *testing.T) {
	c := corpus.Generate(options(60, 200, 600, 20))
	want := map[nostr.ID]bool{}
	for _, it := range c.Items {
		if it.Fate == corpus.Served || it.Fate == corpus.Refused {
			want[it.Event.ID] = true
		}
	}
	n := 0
	for e := range c.Events(corpus.Refused, corpus.Served) {
		if n++; !want[e.ID] {
			t.Errorf("%s is of another fate", e.ID)
		}
	}
	if n != len(want) || n == len(c.Items) {
		t.Errorf("%d of %d in %d", n, len(want), len(c.Items))
	}
}

func TestStandings(t *testing.T) {
	o := options(120, 400, 1500, 0)
	o.Older = true
	t.Run("several relays", func(t *testing.T) { standings(t, corpus.Generate(o)) })
	o.Relays = nil
	t.Run("the service only", func(t *testing.T) { standings(t, corpus.Generate(o)) })
}

func standings(t *testing.T, c *corpus.Corpus) {
	t.Helper()
	service, err := grasp.ParseService("grasp.example")
	if err != nil {
		t.Fatal(err)
	}
	byD := map[string][]*nip34.Announcement{}
	for _, it := range c.Items {
		if it.Event.Kind == nip34.KindRepository && it.Fate != corpus.Replaced {
			a, err := nip34.ParseAnnouncement(it.Event)
			if err != nil {
				t.Fatal(err)
			}
			byD[a.Address.D] = append(byD[a.Address.D], a)
		}
	}
	sets := make([]grasp.Set, len(c.Repositories))
	members, invited, silent := 0, 0, 0
	for i, r := range c.Repositories {
		same := byD[r.Address.D]
		var listings []grasp.Listing
		for _, a := range same {
			listings = append(listings, grasp.ListingOf(a))
		}
		sets[i] = grasp.FamilyOf(listings).Maintainers(r.Address.PubKey)
		members, invited = members+len(sets[i].Members)-1, invited+len(sets[i].Invited)
		for _, a := range same {
			if has := sets[i].HasInvited(a.Address.PubKey); has && service.Lists(a) {
				t.Errorf("%s is only invited and lists the service", a.Address)
			} else if has {
				silent--
			}
		}
	}
	if silent += invited; members < 20 || invited-silent < 3 || silent < 3 {
		t.Errorf("%d members, %d invited of which %d have announced nothing", members, invited, silent)
	}
	for _, it := range c.Items {
		if len(it.Repositories) == 0 {
			continue
		}
		i := it.Repositories[0]
		if it.What == corpus.State && !sets[i].Has(it.Event.PubKey) {
			t.Errorf("a state of repository %d by somebody who is no member", i)
		}
		if it.What == corpus.Issue && len(it.Repositories) == 1 {
			if got := nip34.Repositories(it.Event); len(got) != len(sets[i].Members) {
				t.Errorf("an issue of repository %d names %d of %d members", i, len(got), len(sets[i].Members))
			}
		}
	}
}

func TestWhoeverDeletesStaysKnown(t *testing.T) {
	c := corpus.Generate(options(100, 1000, 4000, 0))
	held := map[nostr.PubKey]map[int]int{}
	for _, it := range c.Items {
		if it.Fate == corpus.Served && it.What != corpus.Deletion {
			if held[it.Event.PubKey] == nil {
				held[it.Event.PubKey] = map[int]int{}
			}
			held[it.Event.PubKey][it.Repositories[0]]++
		}
	}
	deletions := 0
	for _, it := range c.Items {
		if it.What == corpus.Deletion && it.Fate == corpus.Served {
			if deletions++; held[it.Event.PubKey][it.Repositories[0]] == 0 {
				t.Errorf("the author of a deletion in repository %d has nothing else there", it.Repositories[0])
			}
		}
	}
	if deletions < 20 {
		t.Errorf("%d deletions", deletions)
	}
}

func TestEverythingOccurs(t *testing.T) {
	o := options(200, 2000, 6000, 100)
	o.Older = true
	c := corpus.Generate(o)
	what, fate, kinds := map[string]int{}, map[string]int{}, map[nostr.Kind]int{}
	depth, both, idless, revisions := map[nostr.ID]int{}, 0, 0, 0
	for _, it := range c.Items {
		what[it.What.String()]++
		fate[it.Fate.String()]++
		kinds[it.Event.Kind]++
		if len(it.Repositories) == 2 {
			both++
		}
		if it.What == corpus.PullRequestUpdate && len(nip34.Repositories(it.Event)) == 0 {
			idless++
		}
		if it.What == corpus.Patch && slices.ContainsFunc(it.Event.Tags, func(tag nostr.Tag) bool { return tag.Value() == "root-revision" }) {
			revisions++
		}
		if it.What == corpus.Comment {
			hex, _ := it.Event.Tags.First("e")
			parent, _ := nostr.ParseID(hex) // none of a comment on a repository
			depth[it.Event.ID] = depth[parent] + 1
		}
	}
	for w := corpus.Announcement; w <= corpus.Noise; w++ {
		if what[w.String()] == 0 {
			t.Errorf("no %v", w)
		}
	}
	for f := corpus.Served; f <= corpus.Loose; f++ {
		if fate[f.String()] == 0 {
			t.Errorf("nothing is %v", f)
		}
	}
	if want := 17; len(kinds) < want {
		t.Errorf("%d kinds: %v", len(kinds), kinds)
	}
	if deepest := slices.Max(slices.Collect(maps.Values(depth))); deepest != 3 {
		t.Errorf("comments %d deep", deepest)
	}
	if both == 0 || idless == 0 || revisions == 0 {
		t.Errorf("%d about two repositories, %d updates without one, %d revisions", both, idless, revisions)
	}
	t.Log(what, fate, kinds)
}

func TestSizes(t *testing.T) {
	c := corpus.Generate(options(150, 7500, 15000, 0))
	sum, patches, huge, largest := 0, 0, 0, 0
	for _, it := range c.Items {
		n := it.Event.Size()
		sum, largest = sum+n, max(largest, n)
		if it.What == corpus.Patch {
			patches++
			if len(it.Event.Content) < 1000 || len(it.Event.Content) > 41000 {
				t.Errorf("a patch of %d bytes", len(it.Event.Content))
			}
			if len(it.Event.Content) > 16000 {
				huge++
			}
		}
	}
	if mean := sum / len(c.Items); mean < 1250 || mean > 1550 {
		t.Errorf("%d bytes on average", mean)
	}
	for _, it := range c.Items {
		if len(it.Repositories) == 2 && c.Repositories[it.Repositories[1]].Deleted {
			t.Errorf("a %v names a repository that will be deleted", it.What)
		}
	}
	if largest > 60_000 || huge == 0 || huge > patches/20 {
		t.Errorf("the largest has %d bytes; %d of %d patches are above 16 kB", largest, huge, patches)
	}
}

func TestAFewRepositoriesHoldMost(t *testing.T) {
	c := corpus.Generate(options(300, 6000, 3000, 0))
	roots := make([]int, len(c.Repositories))
	for _, it := range c.Items {
		if nip34.Is(it.Event.Kind, nip34.Root) && len(nip34.Repositories(it.Event)) > 0 {
			roots[it.Repositories[0]]++
		}
	}
	top := 0
	for i, r := range c.Repositories {
		if r.Roots != roots[i] {
			t.Errorf("repository %d has %d roots, and says %d", i, roots[i], r.Roots)
		}
		if i < 30 {
			top += roots[i]
		}
	}
	if roots[0] < 600 || top < 3000 || slices.Min(roots) == 0 {
		t.Errorf("the first has %d, the first tenth %d, the last %d of 6000", roots[0], top, roots[299])
	}
}

func TestRepositoriesAndOwners(t *testing.T) {
	o := options(2000, 0, 0, 0)
	c := corpus.Generate(o)
	addresses, owners, ds := map[nip34.Address]bool{}, map[nostr.PubKey]int{}, map[string]int{}
	for i, r := range c.Repositories {
		addresses[r.Address] = true
		owners[r.Address.PubKey]++
		ds[r.Address.D]++
		a, err := nip34.ParseAnnouncement(itemOf(t, c, i))
		if err != nil || a.Address != r.Address {
			t.Fatalf("repository %d: %v, %v", i, a, err)
		}
		got := grasp.Relays(a, 100)
		if len(got) != 3 || got[0] != "wss://grasp.example" || got[1] == got[2] {
			t.Errorf("repository %d lists %v", i, a.Relays)
		}
		var said []grasp.RelayURL
		for _, raw := range r.Relays {
			u, err := grasp.NormalizeRelay(raw)
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, u)
		}
		if !slices.Equal(got, said) {
			t.Errorf("repository %d lists %v and says %v", i, got, said)
		}
	}
	if len(addresses) != 2000 {
		t.Errorf("%d addresses", len(addresses))
	}
	if most := slices.Max(slices.Collect(maps.Values(owners))); most < 5 || most > 60 {
		t.Errorf("one owner has %d repositories", most)
	}
	if ds["dotfiles"] < 5 || ds[""] < 1 {
		t.Errorf("%d dotfiles, %d without a name", ds["dotfiles"], ds[""])
	}
}

// itemOf is the newest announcement of repository i by its owner.
func itemOf(t *testing.T, c *corpus.Corpus, i int) *nostr.Event {
	t.Helper()
	for _, it := range c.Items {
		if it.What == corpus.Announcement && it.Fate != corpus.Replaced && it.Repositories[0] == i {
			return it.Event
		}
	}
	t.Fatalf("no announcement of repository %d", i)
	return nil
}

func TestNPub(t *testing.T) { // the example of NIP-34
	pk, err := nostr.ParsePubKey("a008def15796fba9a0d6fab04e8fd57089285d9fd505da5a83fe8aad57a3564d")
	if err != nil {
		t.Fatal(err)
	}
	if got := corpus.NPub(pk); got != "npub15qydau2hjma6ngxkl2cyar74wzyjshvl65za5k5rl69264ar2exs5cyejr" {
		t.Error(got)
	}
}

func BenchmarkGenerate(b *testing.B) {
	for name, sign := range map[string]func(nostr.SecretKey, nostr.PubKey, *nostr.Event){"signed": nil, "quick": quick} {
		b.Run(name, func(b *testing.B) {
			o := options(50, 500, 1000, 50)
			o.Sign = sign
			events := 0
			b.ReportAllocs()
			for b.Loop() {
				for range corpus.Stream(o) {
					events++
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
		})
	}
}
