package ingest_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// shelf is what is on disk: commits by directory.
type shelf map[refdb.Dir]map[gitwire.ObjectID]bool

func (s shelf) Missing(_ refdb.Rows, dir refdb.Dir, ids []gitwire.ObjectID) ([]gitwire.ObjectID, error) {
	var out []gitwire.ObjectID
	for _, id := range ids {
		if !s[dir][id] {
			out = append(out, id)
		}
	}
	return out, nil
}

func (s shelf) put(dir refdb.Dir, ids ...gitwire.ObjectID) {
	if s[dir] == nil {
		s[dir] = map[gitwire.ObjectID]bool{}
	}
	for _, id := range ids {
		s[dir][id] = true
	}
}

// host is a world that hosts repositories.
type host struct {
	*world
	shelf   shelf
	ledger  *refdb.Ledger
	dirs    byte
	found   []refdb.Outcome
	dropped []uint64
}

func newHost(t *testing.T, s setup) *host {
	h := &host{shelf: shelf{}}
	var objects refdb.Objects = h.shelf
	if s.objects != nil {
		objects = s.objects
	}
	s.git = func(st *store.Store) *refdb.Ledger {
		h.ledger = refdb.New(refdb.Config{
			Objects: objects, Service: mustService(t), Store: st,
		})
		return h.ledger
	}
	h.world = newWorld(t, s)
	return h
}

// hear notes what has become of uploads.
func (h *host) hear() {
	for _, x := range h.ledger.Outcomes() {
		if x.Event == (nostr.ID{}) {
			h.dropped = append(h.dropped, x.Upload)
		} else {
			h.found = append(h.found, x)
		}
	}
}

func commitID(n int) gitwire.ObjectID {
	return gitwire.ObjectIDOf([20]byte{1, byte(n >> 8), byte(n)})
}

// hostedBy is an announcement that lists this relay with a clone URL of its own.
func hostedBy(t *testing.T, author int, d string, at time.Time, more ...nostr.Tag) *nostr.Event {
	return event(author, at, nip34.KindRepository, "", append(nostr.Tags{{"d", d}, {"name", d},
		{"clone", mustService(t).CloneURL(key(author), d)}, {"relays", "wss://" + domain}}, more...)...)
}

// stateOf has branches at commits: "main=1 dev=2".
func stateOf(author int, d string, at time.Time, branches string) *nostr.Event {
	tags := nostr.Tags{{"d", d}}
	for b := range strings.FieldsSeq(branches) {
		name, n, _ := strings.Cut(b, "=")
		tags = append(tags, nostr.Tag{"refs/heads/" + name, commitID(int(n[0] - '0')).String()})
	}
	return event(author, at, nip34.KindState, "", append(tags, nostr.Tag{"HEAD", "ref: refs/heads/main"})...)
}

func pullRequest(author int, at time.Time, commit int, repos ...*nostr.Event) *nostr.Event {
	tags := nostr.Tags{{"c", commitID(commit).String()}}
	for _, r := range repos {
		tags = append(tags, nostr.Tag{"a", r.Address()})
	}
	return event(author, at, nip34.KindPullRequest, "", tags...)
}

func addressOf(e *nostr.Event) nip34.Address {
	a, _ := nip34.AddressOf(e)
	return a
}

func command(ref string, old, to int) gitwire.Command {
	c := gitwire.Command{Ref: ref}
	if old > 0 {
		c.Old = commitID(old)
	}
	if to > 0 {
		c.New = commitID(to)
	}
	return c
}

// push brings commits to a repository, as a client does.
func (h *host) push(of nip34.Address, commands ...gitwire.Command) refs.Verdict {
	h.Helper()
	p := refs.Push{Commands: commands, From: refs.From{Address: "198.51.100.7"}}
	opened := h.open(of, &p)
	if opened.Refused() || !opened.Changes() {
		return opened.Verdict
	}
	return h.arrive(of, &p)
}

func (h *host) open(of nip34.Address, p *refs.Push) (opened refdb.Opened) {
	h.Helper()
	err := h.door.Exclusively(context.Background(), "", func(t *ingest.Exclusive) (err error) {
		opened, err = h.ledger.Open(t.Turn, of, *p)
		return err
	})
	if err != nil || !opened.Known {
		h.Fatalf("open: %v, known %v", err, opened.Known)
	}
	p.Upload = opened.Upload
	return opened
}

func (h *host) arrive(of nip34.Address, p *refs.Push) refs.Verdict {
	h.Helper()
	h.dirs++
	var arrived refdb.Arrived
	err := h.door.Exclusively(context.Background(), "", func(t *ingest.Exclusive) (err error) {
		arrived, err = h.ledger.Arrive(t.Turn, refdb.Arrival{Of: of, Push: p, Dir: refdb.Dir{h.dirs}, Admit: func(dir refdb.Dir) error {
			for _, c := range p.Commands {
				h.shelf.put(dir, c.New)
			}
			return nil
		}})
		if err != nil {
			return err
		}
		return t.Serve(arrived.Release)
	})
	if err != nil {
		h.Fatal(err)
	}
	return arrived.Verdict
}

// repository is what is kept of one, durably.
func (h *host) repository(of nip34.Address) refdb.Repository {
	h.Helper()
	v := h.store.View()
	defer v.Close()
	r, err := refdb.Read(v, of)
	if err != nil {
		h.Fatal(err)
	}
	return r
}

// refs are a repository's, as "main=1 dev=2".
func (h *host) refs(of nip34.Address) string {
	h.Helper()
	var out []string
	for _, r := range h.repository(of).Refs.All() {
		name := strings.TrimPrefix(r.Name, "refs/heads/")
		if id, ok := strings.CutPrefix(name, "refs/nostr/"); ok {
			name = "pr:" + id[:4]
		}
		raw := r.ID.AppendRaw(nil)
		out = append(out, name+"="+string('0'+raw[2]))
	}
	return strings.Join(out, " ")
}

func (h *host) waits(events ...*nostr.Event) {
	h.Helper()
	for _, e := range events {
		if k := h.known(e); k.State != store.InWaiting || h.get(e.ID) != nil {
			h.Fatalf("kind %d does not wait: %+v, served %v", e.Kind, k, h.get(e.ID) != nil)
		}
	}
}

func (h *host) served(events ...*nostr.Event) {
	h.Helper()
	for _, e := range events {
		if h.get(e.ID) == nil {
			h.Fatalf("kind %d is not served: %+v", e.Kind, h.known(e))
		}
	}
}

const inPurgatory = "purgatory: won't be served until git data arrives"

func TestWhatIsPushedIsServed(t *testing.T) {
	h := newHost(t, setup{})
	defer h.end()
	now := time.Now()
	client := h.client()
	repo := hostedBy(t, 1, "tool", now)
	if v := h.publish(client, repo); v.Outcome != policy.Wait || !v.OK() || !v.New() || v.Reason != inPurgatory {
		t.Fatalf("%+v", v)
	}
	if v := h.publish(client, repo); v.Outcome != policy.Wait || v.New() || v.Reason != "duplicate: in purgatory" {
		t.Fatalf("again: %+v", v)
	}
	asked := issue(2, repo, now, "why")
	h.want(h.publish(client, asked), policy.Unrelated)
	first := stateOf(1, "tool", now, "main=1")
	h.want(h.publish(client, first), policy.Wait)
	h.waits(repo, first)
	of := addressOf(repo)
	if v := h.push(of, command("refs/heads/main", 0, 2)); !v.Refused() || v.Results[0].Cause != refs.OtherState {
		t.Fatalf("another commit: %+v", v)
	}
	h.waits(repo, first)
	if v := h.push(of, command("refs/heads/main", 0, 1)); v.Refused() {
		t.Fatalf("%+v", v)
	}
	h.served(repo, first)
	if got := h.refs(of); got != "main=1" {
		t.Errorf("refs %s", got)
	}
	if r := h.repository(of); r.Dir.IsZero() || r.Refs.Head != "refs/heads/main" || r.Refs.Generation != 1 {
		t.Errorf("%+v", r)
	}
	if s := h.door.Stats(); s.Released[store.Direct] != 2 || s.Lapsed != 0 {
		t.Errorf("released %d, lapsed %d", s.Released, s.Lapsed)
	}
	h.want(h.publish(client, first), policy.Duplicate)
	second := stateOf(1, "tool", now.Add(time.Second), "main=1 dev=1")
	if h.want(h.publish(client, second), policy.Accept); h.refs(of) != "dev=1 main=1" {
		t.Errorf("a state whose objects are here: refs %s", h.refs(of))
	}
	h.publish(client, asked)
	h.served(asked)
}

func TestAStateOfAnEmptyRepositoryEndsTheWait(t *testing.T) {
	h := newHost(t, setup{})
	defer h.end()
	repo := hostedBy(t, 1, "tool", time.Now())
	h.want(h.publish(h.client(), repo), policy.Wait)
	h.want(h.publish(h.client(), stateOf(1, "tool", time.Now(), "")), policy.Accept)
	h.served(repo)
}

func TestWhatComesFromRelaysWaitsToo(t *testing.T) {
	h := newHost(t, setup{})
	defer h.end()
	repo, now := hostedBy(t, 1, "tool", time.Now()), time.Now()
	peer := h.peer("wss://other")
	h.want(h.fetch(peer, repo), policy.Wait)
	pr, asked := pullRequest(2, now, 3, repo), issue(2, repo, now, "why")
	h.want(h.fetch(peer, pr), policy.Wait)
	h.want(h.fetch(peer, asked), policy.Unrelated)
	h.want(h.fetch(peer, stateOf(3, "tool", now, "main=1")), policy.NoMaintainer)
	h.waits(repo, pr)
	if v := h.push(addressOf(repo), command("refs/nostr/"+pr.ID.String(), 0, 3)); v.Refused() {
		t.Fatalf("%+v", v)
	}
	h.served(repo, pr)
	if n := h.door.Stats().Released; n[store.Catchup] != 2 || n[store.Direct] != 0 {
		t.Errorf("released %v", n)
	}
	synctestWait(h, asked)
	if got := h.refs(addressOf(repo)); got != "pr:"+pr.ID.String()[:4]+"=3" {
		t.Errorf("refs %s", got)
	}
}

// synctestWait waits until an orphan was decided again, which a turn of the writer comes after.
func synctestWait(h *host, e *nostr.Event) {
	h.Helper()
	for range 100 {
		if h.get(e.ID) != nil {
			return
		}
		if err := h.door.Exclusively(context.Background(), "", func(*ingest.Exclusive) error { return nil }); err != nil {
			h.Fatal(err)
		}
	}
	h.served(e)
}

func TestAPullRequestWithoutATipOfWhatWaitsIsAnOrphan(t *testing.T) {
	h := newHost(t, setup{})
	defer h.end()
	repo := hostedBy(t, 1, "tool", time.Now())
	h.want(h.publish(h.client(), repo), policy.Wait)
	h.want(h.publish(h.client(), event(2, time.Now(), nip34.KindPullRequest, "", nostr.Tag{"a", repo.Address()})), policy.Unrelated)
}

func TestANewVersionTakesThePlaceOfOneThatWaits(t *testing.T) {
	h := newHost(t, setup{})
	defer h.end()
	now := time.Now()
	old, newer := hostedBy(t, 1, "tool", now), hostedBy(t, 1, "tool", now.Add(time.Second))
	h.want(h.publish(h.client(), old), policy.Wait)
	h.want(h.publish(h.client(), newer), policy.Wait)
	if h.waits(newer); h.known(old).State == store.InWaiting {
		t.Error("both wait")
	}
	h.want(h.publish(h.client(), old), policy.Superseded)
	h.want(h.publish(h.client(), stateOf(1, "tool", now, "main=1")), policy.Wait)
	h.push(addressOf(newer), command("refs/heads/main", 0, 1))
	h.served(newer)
	newest := hostedBy(t, 1, "tool", now.Add(2*time.Second), nostr.Tag{"web", "https://example.org"})
	h.want(h.publish(h.client(), newest), policy.Accept)
}

func TestMembersAreThoseOfTheCommit(t *testing.T) {
	h := newHost(t, setup{})
	defer h.end()
	now, client := time.Now(), h.client()
	mine, theirs := hostedBy(t, 1, "tool", now, maintainers(2)), hostedBy(t, 2, "tool", now, maintainers(1))
	h.publish(client, mine)
	h.publish(client, theirs)
	h.want(h.publish(client, stateOf(2, "tool", now, "main=1")), policy.Wait)
	of := addressOf(mine)
	if v := h.push(of, command("refs/heads/main", 0, 1)); v.Refused() {
		t.Fatalf("%+v", v)
	}
	h.served(mine, theirs)
	own := stateOf(1, "tool", now.Add(-time.Minute), "main=1")
	h.want(h.publish(client, own), policy.Accept)
	if r := h.repository(of); r.Refs.Author != key(2) {
		t.Fatalf("an older state rules: %+v", r.Refs.Ruling)
	}
	alone := hostedBy(t, 1, "tool", now.Add(time.Second))
	h.want(h.publish(client, alone), policy.Accept)
	if r := h.repository(of); r.Refs.Author != key(1) || r.Refs.Generation != 2 {
		t.Errorf("who is no maintainer any more rules: %+v", r.Refs.Ruling)
	}
}

func TestARepositoryGoesWithItsAnnouncement(t *testing.T) {
	h := newHost(t, setup{})
	defer h.end()
	now, client := time.Now(), h.client()
	repo, first := hostedBy(t, 1, "tool", now), stateOf(1, "tool", now, "main=1")
	h.publish(client, repo)
	h.publish(client, first)
	of := addressOf(repo)
	h.push(of, command("refs/heads/main", 0, 1))
	h.want(h.publish(client, deletion(1, now.Add(time.Second), first)), policy.Accept)
	if h.get(first.ID) != nil || h.refs(of) != "main=1" || h.repository(of).Gone != 0 {
		t.Errorf("without its state: %s", h.refs(of))
	}
	h.want(h.publish(client, deletion(1, now.Add(time.Second), repo)), policy.Accept)
	if r := h.repository(of); r.Gone == 0 {
		t.Errorf("%+v", r)
	}
	h.publish(client, hostedBy(t, 1, "tool", now.Add(time.Minute)))
	h.want(h.publish(client, stateOf(1, "tool", now.Add(time.Minute), "main=1")), policy.Accept)
	if r := h.repository(of); r.Gone != 0 {
		t.Errorf("it came back: %+v", r)
	}
}

func TestAPullRequestThatGoesTakesItsRef(t *testing.T) {
	h := newHost(t, setup{})
	defer h.end()
	now, client := time.Now(), h.client()
	repo := hostedBy(t, 1, "tool", now)
	h.publish(client, repo)
	h.publish(client, stateOf(1, "tool", now, "main=1"))
	of := addressOf(repo)
	h.push(of, command("refs/heads/main", 0, 1))
	pr := pullRequest(2, now, 3, repo)
	h.want(h.publish(client, pr), policy.Wait)
	if v := h.push(of, command("refs/nostr/"+pr.ID.String(), 0, 4)); v.Results[0].Cause != refs.OtherTip {
		t.Errorf("another tip: %+v", v)
	}
	h.push(of, command("refs/nostr/"+pr.ID.String(), 0, 3))
	if h.served(pr); !strings.Contains(h.refs(of), "=3") {
		t.Fatalf("refs %s", h.refs(of))
	}
	h.want(h.publish(client, deletion(2, now.Add(time.Second), pr)), policy.Accept)
	if h.refs(of) != "main=1" {
		t.Errorf("refs %s", h.refs(of))
	}
}

func TestUploadsWaitForTheirEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, setup{})
		defer h.end()
		now, client := time.Now(), h.client()
		repo := hostedBy(t, 1, "tool", now)
		h.publish(client, repo)
		of := addressOf(repo)
		pr, other := pullRequest(2, now, 3, repo), pullRequest(2, now, 5, repo)
		for _, e := range []*nostr.Event{pr, other} {
			if v := h.push(of, command("refs/nostr/"+e.ID.String(), 0, 3)); v.Refused() || len(v.Uploads) != 1 {
				t.Fatalf("%+v", v)
			}
		}
		if v := h.push(of, command("refs/nostr/"+pr.ID.String(), 0, 4)); v.Results[0].Cause != refs.PendingOther {
			t.Errorf("another commit: %+v", v)
		}
		if len(h.shelf) != 0 {
			t.Fatal("an upload that nobody signed for is in the repository")
		}
		heard := h.submit(client, pr, store.Direct)
		synctest.Wait()
		h.hear()
		if len(h.found) != 1 || h.found[0].Upload != 1 || !slices.Equal(h.dropped, []uint64{1}) {
			t.Fatalf("found %v, dropped %v", h.found, h.dropped)
		}
		h.want(h.publish(h.client(), other), policy.Wait)
		h.hear()
		if len(h.found) != 1 || !slices.Equal(h.dropped, []uint64{1, 2}) {
			t.Fatalf("another tip: found %v, dropped %v", h.found, h.dropped)
		}
		behind := h.submit(client, issue(2, repo, now, "behind"), store.Direct)
		time.Sleep(time.Second)
		if len(heard) > 0 || len(behind) > 0 {
			t.Error("a pull request is answered before it is served, or a later event before it")
		}
		h.lands(of, pr, 3)
		h.want(<-heard, policy.Accept)
		h.served(repo, pr)
		<-behind
		h.waits(other)
		if s := h.door.Stats(); s.Released[store.Direct] != 2 || s.Decided[store.Direct][policy.Accept] != 0 {
			t.Errorf("released %d, accepted %d", s.Released, s.Decided[store.Direct][policy.Accept])
		}
	})
}

// lands moves the commit of an upload into the repository, as hosting does when it has heard of the event.
func (h *host) lands(of nip34.Address, pr *nostr.Event, commit int) {
	h.Helper()
	err := h.door.Exclusively(context.Background(), "", func(turn *ingest.Exclusive) error {
		a, err := h.ledger.Arrive(turn.Turn, refdb.Arrival{Of: of, Tips: []nostr.ID{pr.ID}, Dir: refdb.Dir{9}, Admit: func(dir refdb.Dir) error {
			h.shelf.put(dir, commitID(commit))
			return nil
		}})
		return errors.Join(err, turn.Serve(a.Release))
	})
	if err != nil {
		h.Fatal(err)
	}
}

// TestAnUploadThatDoesNotLand: the client hears after five seconds that the event waits, or when the door closes; a relay hears it at once.
func TestAnUploadThatDoesNotLand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, setup{})
		defer h.end()
		now, client := time.Now(), h.client()
		repo := hostedBy(t, 1, "tool", now)
		h.publish(client, repo)
		var prs []*nostr.Event
		for i := range 3 {
			prs = append(prs, pullRequest(2, now.Add(time.Duration(i)*time.Second), 3, repo))
			if v := h.push(addressOf(repo), command("refs/nostr/"+prs[i].ID.String(), 0, 3)); v.Refused() {
				t.Fatalf("%+v", v)
			}
		}
		before := time.Now()
		if v := h.publish(client, prs[0]); v.Outcome != policy.Wait || !strings.HasPrefix(v.Reason, inPurgatory) || time.Since(before) != 5*time.Second {
			t.Errorf("%+v after %v", v, time.Since(before))
		}
		before = time.Now()
		if h.want(h.fetch(h.peer("a"), prs[1]), policy.Wait); time.Since(before) > time.Second {
			t.Error("a relay waits")
		}
		heard := h.submit(client, prs[2], store.Direct)
		time.Sleep(time.Second)
		h.end()
		h.want(<-heard, policy.Wait)
	})
}

func TestAWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, setup{})
		defer h.end()
		time.Sleep(11 * time.Minute) // the clock is believed from then on
		client := h.client()
		lost, kept := hostedBy(t, 1, "lost", time.Now()), hostedBy(t, 1, "kept", time.Now())
		h.publish(client, lost)
		h.publish(client, kept)
		time.Sleep(20 * time.Minute)
		first := stateOf(1, "kept", time.Now(), "main=1")
		h.want(h.publish(client, first), policy.Wait)
		time.Sleep(15 * time.Minute)
		if k := h.known(lost); k.State != store.Remembered || k.Why != policy.Lapsed {
			t.Errorf("%+v", k)
		}
		if s := h.door.Stats(); s.Lapsed != 1 || s.Released != [ingest.Sources]uint64{} {
			t.Errorf("released %d, lapsed %d", s.Released, s.Lapsed)
		}
		h.waits(kept, first)
		of := addressOf(kept)
		p := refs.Push{Commands: []gitwire.Command{command("refs/heads/main", 0, 1)}}
		h.open(of, &p)
		time.Sleep(25 * time.Minute)
		h.waits(kept, first)
		h.arrive(of, &p)
		h.served(kept, first)
		h.want(h.publish(client, lost), policy.Wait)
	})
}

func TestATurnThatFailsChangesNothing(t *testing.T) {
	h := newHost(t, setup{})
	defer h.end()
	client := h.client()
	repo, now := hostedBy(t, 1, "tool", time.Now()), time.Now()
	h.publish(client, repo)
	first := stateOf(1, "tool", now, "main=1")
	h.publish(client, first)
	of, broken := addressOf(repo), errors.New("the disk broke")
	p := refs.Push{Commands: []gitwire.Command{command("refs/heads/main", 0, 1)}}
	err := h.door.Exclusively(context.Background(), "", func(turn *ingest.Exclusive) error {
		a, err := h.ledger.Arrive(turn.Turn, refdb.Arrival{Of: of, Push: &p, Dir: refdb.Dir{9}, Admit: func(dir refdb.Dir) error {
			h.shelf.put(dir, commitID(1))
			return nil
		}})
		return errors.Join(err, turn.Serve(a.Release), broken)
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	h.waits(repo, first)
	if r := h.repository(of); !r.Dir.IsZero() {
		t.Errorf("%+v", r)
	}
	if s := h.door.Stats(); s.Released != [ingest.Sources]uint64{} {
		t.Errorf("released %d", s.Released)
	}
	h.push(of, command("refs/heads/main", 0, 1))
	h.served(repo, first)
	if err := h.door.Exclusively(context.Background(), "", func(turn *ingest.Exclusive) error { return turn.Serve([]nostr.ID{repo.ID}) }); err != nil || h.door.Stats().Faults != 1 {
		t.Errorf("what does not wait: %v, %d faults", err, h.door.Stats().Faults)
	}
}

func TestTurnsEndWithTheDoor(t *testing.T) {
	h := newHost(t, setup{})
	h.end()
	if err := h.door.Exclusively(context.Background(), "", func(*ingest.Exclusive) error { return nil }); !errors.Is(err, ingest.ErrStopped) {
		t.Error(err)
	}
}

func TestWhatWaitsHasBounds(t *testing.T) {
	h := newHost(t, setup{})
	defer h.end()
	client, at := h.client(), time.Now()
	var first []*nostr.Event
	for i := range refdb.MaxAnnouncements + 2 {
		e := hostedBy(t, 1, "tool"+string(rune('a'+i)), at)
		h.want(h.publish(client, e), policy.Wait)
		first = append(first, e)
	}
	for i, e := range first {
		if k := h.known(e); i < 2 != (k.State == store.Remembered && k.Why == policy.Lapsed) || i >= 2 != (k.State == store.InWaiting) {
			t.Errorf("%d: %+v", i, k)
		}
	}
	h.want(h.publish(client, first[0]), policy.Wait)
	if k := h.known(first[2]); k.State != store.Remembered {
		t.Errorf("the oldest still waits: %+v", k)
	}
	crowd := h.door.Source(ingest.SourceConfig{Label: "crowd", Direct: true})
	var verdicts []<-chan policy.Verdict
	for i := range refdb.MaxOfSource + 1 {
		verdicts = append(verdicts, h.submit(crowd, hostedBy(t, 1000+i, "tool"+string(rune('a'+i%40)), at), store.Direct))
	}
	for _, v := range verdicts {
		h.want(<-v, policy.Wait)
	}
	if n := h.store.Stats().Waiting; n != refdb.MaxAnnouncements+refdb.MaxOfSource {
		t.Errorf("%d wait", n)
	}
	h.waits(first[0])
}

func TestWhatWaitsEndsWithoutHosting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := newMem()
		h := newHost(t, setup{fs: fs})
		repo := hostedBy(t, 1, "tool", time.Now())
		h.want(h.publish(h.client(), repo), policy.Wait)
		h.end()
		w := newWorld(t, setup{fs: fs})
		defer w.end()
		time.Sleep(45 * time.Minute)
		if k := w.known(repo); k.State == store.InWaiting || w.store.Stats().Waiting != 0 {
			t.Errorf("%+v", k)
		}
		w.want(w.publish(w.client(), repo), policy.Accept)
	})
}

// TestAnAuthorTakesBackWhatWaits although nothing of theirs is served: by id, by address or as a whole. Nobody else does it for them, and
// who has nothing that waits is refused as ever.
func TestAnAuthorTakesBackWhatWaits(t *testing.T) {
	h := newHost(t, setup{})
	defer h.end()
	now := time.Now()
	client := h.client()
	repo, other := hostedBy(t, 1, "tool", now), hostedBy(t, 2, "other", now)
	byID := func(author int, of *nostr.Event) *nostr.Event {
		return event(author, now.Add(time.Second), nostr.KindDeletion, "", nostr.Tag{"e", of.ID.String()})
	}
	byAddress := func(author int, of *nostr.Event) *nostr.Event {
		return event(author, now.Add(time.Second), nostr.KindDeletion, "no more", nostr.Tag{"e"}, nostr.Tag{"a", of.Address()})
	}
	h.want(h.publish(client, repo), policy.Wait)
	h.want(h.publish(client, other), policy.Wait)
	for _, e := range []*nostr.Event{
		byID(3, repo), byAddress(3, repo), byID(2, repo), byAddress(2, repo),
		event(1, now, nostr.KindDeletion, "", nostr.Tag{"e", other.ID.String()}, nostr.Tag{"a", "30617:nonsense"}),
		event(3, now, nostr.KindVanish, "", nostr.Tag{"relay", "wss://" + domain}),
		event(1, now, nostr.KindNote, "hello", nostr.Tag{"e", repo.ID.String()}),
	} {
		h.want(h.publish(client, e), policy.Unrelated)
	}
	h.waits(repo, other)
	h.want(h.publish(client, byID(1, repo)), policy.Accept)
	if k := h.known(repo); k.State == store.InWaiting {
		t.Errorf("deleted by id: %+v", k)
	}
	h.want(h.publish(client, repo), policy.Deleted)
	again := hostedBy(t, 1, "tool", now.Add(5*time.Second))
	h.want(h.publish(client, again), policy.Wait)
	h.want(h.publish(client, event(1, now.Add(6*time.Second), nostr.KindDeletion, "", nostr.Tag{"a", again.Address()})), policy.Accept)
	if k := h.known(again); k.State == store.InWaiting {
		t.Errorf("deleted by address: %+v", k)
	}
	h.want(h.publish(client, event(2, now.Add(7*time.Second), nostr.KindVanish, "", nostr.Tag{"relay", "wss://" + domain})), policy.Accept)
	if k := h.known(other); k.State == store.InWaiting {
		t.Errorf("vanished: %+v", k)
	}
}

// TestWhatHasLapsedComesBack: by whoever sends it again, and by relays once a state comes that lacks it, or a day later. What lapsed or was
// refused for want of an announcement waits with it again.
func TestWhatHasLapsedComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, setup{})
		defer h.end()
		time.Sleep(11 * time.Minute) // the clock is believed from then on
		client, peer := h.client(), h.peer("wss://other")
		lapse := func(events ...*nostr.Event) {
			t.Helper()
			time.Sleep(45 * time.Minute)
			for _, e := range events {
				if k := h.known(e); k.State != store.Remembered || k.Why != policy.Lapsed {
					t.Fatalf("kind %d: %+v", e.Kind, k)
				}
			}
		}
		mine, others := hostedBy(t, 1, "tool", time.Now()), hostedBy(t, 2, "tool", time.Now())
		first := stateOf(1, "tool", time.Now(), "main=1")
		for _, e := range []*nostr.Event{mine, others, first} {
			h.want(h.publish(client, e), policy.Wait)
		}
		lapse(mine, others, first)
		if told := h.door.LastRefused(); len(told) != 3 || told[0].Why == "" { // the operator can say why it is not here
			t.Errorf("%+v", told)
		}

		// Their author sends them, in either order.
		h.want(h.publish(client, mine), policy.Wait)
		h.want(h.publish(client, first), policy.Wait)
		lapse(mine, first)
		h.want(h.publish(client, first), policy.NoMaintainer)
		h.want(h.publish(client, mine), policy.Wait)
		h.waits(mine, first) // which was still in the buffer
		lapse(mine, others, first)

		// Relays bring them.
		h.want(h.fetch(peer, mine), policy.Lapsed) // they had their time
		second := stateOf(1, "tool", time.Now(), "main=1")
		h.want(h.fetch(peer, second), policy.NoMaintainer)
		if k := h.known(mine); k.State != store.Unknown {
			t.Errorf("the announcement of a state that came: %+v", k)
		}
		if k := h.known(others); k.Why != policy.Lapsed {
			t.Errorf("that of somebody else: %+v", k)
		}
		h.want(h.fetch(peer, mine), policy.Wait)
		h.waits(mine, second)
		if k := h.known(first); k.State != store.Unknown {
			t.Errorf("a state of an announcement that came: %+v", k)
		}
		lapse(mine, second)
		time.Sleep(26 * time.Hour)
		h.want(h.publish(client, hostedBy(t, 3, "tool", time.Now())), policy.Wait) // any commit forgets what is due
		h.want(h.fetch(peer, mine), policy.Wait)
		h.want(h.fetch(peer, second), policy.Wait)
		if v := h.push(addressOf(mine), command("refs/heads/main", 0, 1)); v.Refused() {
			t.Fatalf("%+v", v)
		}
		h.served(mine, second)
	})
}

// TestShortWorkWaitsForOneLongWork, however many want the writer for long.
func TestShortWorkWaitsForOneLongWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		var order []string // the writer alone appends
		var all sync.WaitGroup
		wants := func(what string, turn func(context.Context, string, func(*ingest.Exclusive) error) error, party string, takes time.Duration) {
			all.Go(func() {
				if err := turn(t.Context(), party, func(*ingest.Exclusive) error {
					order = append(order, what)
					time.Sleep(takes)
					return nil
				}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		for range 5 {
			wants("long", w.door.AtLength, "", time.Second)
		}
		wants("short", w.door.Exclusively, "", 0)
		wants("short", w.door.Exclusively, "", 0)
		all.Wait()
		if got, want := strings.Join(order, " "), "long short long short long long long"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// TestPartiesTakeTurnsAtTheWriter: who wants the writer for much keeps nobody waiting who wants it once. What nobody waits for any more is not done,
// and takes no turn.
func TestPartiesTakeTurnsAtTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		defer w.end()
		var order []string // the writer alone appends
		var all sync.WaitGroup
		wants := func(ctx context.Context, party string, want error) {
			all.Go(func() {
				if err := w.door.Exclusively(ctx, party, func(*ingest.Exclusive) error {
					order = append(order, party)
					time.Sleep(time.Second)
					return nil
				}); !errors.Is(err, want) {
					t.Errorf("%s: %v", party, err)
				}
			})
			synctest.Wait()
		}
		began := time.Now()
		impatient, leave := context.WithTimeoutCause(t.Context(), 500*time.Millisecond, io.EOF)
		defer leave()
		wants(impatient, "a", nil) // the writer has it at once
		for _, party := range []string{"a", "a", "b", "a", "", "b"} {
			wants(t.Context(), party, nil)
		}
		wants(impatient, "c", io.EOF)
		wants(impatient, "c", io.EOF)
		all.Wait()
		if got, want := strings.Join(order, " "), "a b  a b a a"; got != want || time.Since(began) != 7*time.Second {
			t.Errorf("%q after %s, want %q", got, time.Since(began), want)
		}
		ended, end := context.WithCancelCause(t.Context())
		end(io.ErrClosedPipe)
		wants(ended, "d", io.ErrClosedPipe)
	})
}

// TestWorkThatWaitsHearsThatTheDoorCloses.
func TestWorkThatWaitsHearsThatTheDoorCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		var all sync.WaitGroup
		for n := range 3 {
			all.Go(func() {
				err := w.door.Exclusively(t.Context(), "", func(*ingest.Exclusive) error { time.Sleep(time.Second); return nil })
				if n == 0 && err != nil || n > 0 && !errors.Is(err, ingest.ErrStopped) {
					t.Errorf("%d: %v", n, err)
				}
			})
			synctest.Wait()
		}
		w.end()
		all.Wait()
	})
}
