package refdb_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// desk is a writer of one event after the other, without policy: whatever comes is acceptable.
type desk struct {
	*testing.T
	store   *store.Store
	ledger  *refdb.Ledger
	rules   policy.Rules
	mirrors []grasp.RelayURL
	prs     bool      // contributed repositories are taken
	broken  refdb.Dir // cannot be read
	private bool
	shelf   map[refdb.Dir]map[gitwire.ObjectID]bool
	now     time.Time
	changed []string // rows
	heard   uint64   // of the changes of rows
	found   []string
	dropped []uint64
	stirred []string
	asked   int // for all announcements with an identifier
	looked  int // for objects
	turns   int // pushes that were opened in a turn of the writer
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	service, err := grasp.ParseService("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(store.Options{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{T: t, store: s, rules: policy.Rules{Service: service, Git: true}, shelf: map[refdb.Dir]map[gitwire.ObjectID]bool{}, now: time.Unix(1_700_000_000, 0)}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	_, d.heard, _, _ = s.Changes(0)
	d.restart()
	return d
}

// restart forgets all that is in memory alone.
func (d *desk) restart() {
	d.ledger = refdb.New(refdb.Config{
		Objects: d, Service: d.rules.Service, Mirrors: d.mirrors, Private: d.private, Store: d.store, Contributors: d.prs,
	})
}

// Missing looks.
func (d *desk) Missing(_ refdb.Rows, dir refdb.Dir, ids []gitwire.ObjectID) (missing []gitwire.ObjectID, err error) {
	if dir == d.broken && !dir.IsZero() {
		return nil, errDisk
	}
	d.looked += len(ids)
	for _, id := range ids {
		if !d.shelf[dir][id] {
			missing = append(missing, id)
		}
	}
	return missing, nil
}

func (d *desk) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// turn gives work a batch of its own, and commits it unless the work fails.
func (d *desk) turn(work func(t refdb.Turn) error) error {
	d.Helper()
	b, err := d.store.Begin()
	d.must(err)
	t := refdb.Turn{Batch: b, Now: d.now, Announced: func(id string) (*policy.Announced, error) {
		d.asked++
		events, err := b.Announcements(id)
		return d.rules.Gather(events), err
	}, Serves: d.rules.Serves}
	if err := work(t); err != nil {
		b.Discard()
		d.ledger.Undone()
		return err
	}
	d.must(d.ledger.Settle(t))
	_, err = b.Commit()
	d.must(err)
	d.ledger.Committed(d.now)
	for _, x := range d.ledger.Outcomes() {
		if x.Event == (nostr.ID{}) {
			d.dropped = append(d.dropped, x.Upload)
		} else {
			d.found = append(d.found, fmt.Sprint(x.Upload, " ", x.Event))
		}
	}
	names, at, _, _ := d.store.Changes(d.heard)
	d.changed, d.heard = append(d.changed, names...), at
	for _, n := range names {
		if id, is := strings.CutPrefix(n, refdb.LacksPrefix); is {
			d.stirred = append(d.stirred, id)
		}
	}
	return nil
}

// reader reads what is durable now.
func (d *desk) reader() *refdb.Reader {
	v := d.store.View()
	d.Cleanup(v.Close)
	return d.ledger.Reader(v, d.rules, d.now)
}

// add stores an event in the batch.
func (d *desk) add(t refdb.Turn, e *nostr.Event) {
	d.Helper()
	if out, err := t.Add(e, store.Direct); err != nil || out != policy.Accept {
		d.Fatalf("add kind %d: %v %v", e.Kind, out, err)
	}
	d.must(d.ledger.Served(t, e))
}

// serve stores what waits.
func (d *desk) serve(t refdb.Turn, ids []nostr.ID) {
	d.Helper()
	for _, id := range ids {
		w, err := t.Waiting(id)
		d.must(err)
		if w.Event == nil {
			d.Fatalf("%s does not wait", id)
		}
		d.add(t, w.Event)
	}
}

// come is an event that is acceptable, from somebody. It gives the decision.
func (d *desk) come(e *nostr.Event, from ...string) (decision refs.Decision) {
	d.Helper()
	d.must(d.turn(func(t refdb.Turn) (err error) {
		decision, err = d.ledger.Decide(t, e)
		d.must(err)
		switch decision.Outcome {
		case refs.Wait:
			_, err = t.Wait(e, store.Wait{Came: d.now.Unix(), Until: d.now.Add(refdb.WaitFor).Unix(), From: strings.Join(from, "")})
			d.must(err)
			return d.ledger.Waits(t, e, strings.Join(from, ""))
		case refs.Store:
			d.release(t, e)
		}
		return nil
	}))
	return decision
}

func (d *desk) release(t refdb.Turn, e *nostr.Event) {
	d.Helper()
	ids, err := d.ledger.Release(t, e)
	d.must(err)
	for _, id := range ids {
		if id == e.ID {
			d.add(t, e)
		} else {
			d.serve(t, []nostr.ID{id})
		}
	}
}

// wants is come with the outcome that is to be.
func (d *desk) wants(o refs.Outcome, events ...*nostr.Event) {
	d.Helper()
	for _, e := range events {
		if got := d.come(e); got.Outcome != o {
			d.Fatalf("kind %d by %d: %+v", e.Kind, e.PubKey[1], got)
		}
	}
}

// push is one whose objects come with it. The repository has that directory if it has none.
func (d *desk) push(repo *nostr.Event, dir byte, commands ...gitwire.Command) refs.Verdict {
	d.Helper()
	return d.pushTo(addressOf(repo), dir, commands...)
}

func (d *desk) pushTo(of nip34.Address, dir byte, commands ...gitwire.Command) refs.Verdict {
	d.Helper()
	p := refs.Push{Commands: commands}
	d.named(&p)
	opened := d.open(of, p)
	if opened.Refused() || !opened.Changes() {
		return opened.Verdict
	}
	p.Upload = opened.Upload
	return d.arrive(refdb.Arrival{Of: of, Push: &p, Dir: refdb.Dir{dir}}, opened.Needs(p)...).Verdict
}

// open opens a push in a turn. Where a Reader says that it takes none, the Reader has the same verdict, and the turn has nothing to write.
func (d *desk) open(of nip34.Address, p refs.Push) (opened refdb.Opened) {
	d.Helper()
	v := d.store.View()
	defer v.Close()
	read, done, err := d.ledger.Reader(v, d.rules, d.now).Open(of, p)
	d.must(err)
	d.must(d.turn(func(t refdb.Turn) (err error) {
		if opened, err = d.ledger.Open(t, of, p); done && (t.Len() > 0 || opened.Upload != 0) {
			d.Errorf("a turn of a push that takes none has written something, or begun upload %d", opened.Upload)
		}
		return err
	}))
	if done && !reflect.DeepEqual(read, opened) {
		d.Errorf("beside the writer\n%+v\nand in the turn\n%+v", read, opened)
	}
	if !done {
		d.turns++
	}
	return opened
}

// named looks up the events of a push, as they are.
func (d *desk) named(p *refs.Push) {
	d.Helper()
	v := d.store.View()
	defer v.Close()
	var err error
	p.Named, err = d.ledger.Named(v, *p)
	d.must(err)
}

func (d *desk) arrive(a refdb.Arrival, objects ...gitwire.ObjectID) (arrived refdb.Arrived) {
	d.Helper()
	a.Admit = func(dir refdb.Dir) error { d.put(dir, objects...); return nil }
	d.must(d.turn(func(t refdb.Turn) (err error) {
		arrived, err = d.ledger.Arrive(t, a)
		d.must(err)
		d.serve(t, arrived.Release)
		return nil
	}))
	return arrived
}

func (d *desk) put(dir refdb.Dir, ids ...gitwire.ObjectID) {
	if d.shelf[dir] == nil {
		d.shelf[dir] = map[gitwire.ObjectID]bool{}
	}
	for _, id := range ids {
		d.shelf[dir][id] = true
	}
}

func (d *desk) kept(repo *nostr.Event) refdb.Repository {
	d.Helper()
	v := d.store.View()
	defer v.Close()
	r, err := refdb.Read(v, addressOf(repo))
	d.must(err)
	return r
}

// shows compares refs: "main=1 pr=2".
func (d *desk) shows(repo *nostr.Event, want string) {
	d.Helper()
	var got []string
	for _, r := range d.kept(repo).Refs.All() {
		name := r.Name[strings.LastIndexByte(r.Name, '/')+1:]
		if strings.HasPrefix(r.Name, "refs/nostr/") {
			name = "pr"
		}
		got = append(got, fmt.Sprint(name, "=", r.ID.AppendRaw(nil)[0]))
	}
	if g := strings.Join(got, " "); g != want {
		d.Errorf("refs %q, want %q", g, want)
	}
}

// state is "served", "waits" or what else became of an event.
func (d *desk) state(e *nostr.Event) string {
	d.Helper()
	v := d.store.View()
	defer v.Close()
	k, err := v.Known(e.ID)
	d.must(err)
	switch k.State {
	case store.Stored:
		return "served"
	case store.InWaiting:
		return "waits"
	case store.Remembered:
		return k.Why.String()
	}
	return "unknown"
}

func (d *desk) are(state string, events ...*nostr.Event) {
	d.Helper()
	for _, e := range events {
		if got := d.state(e); got != state {
			d.Errorf("kind %d by %d: %s, want %s", e.Kind, e.PubKey[1], got, state)
		}
	}
}

// until is the deadline of what waits, from now on.
func (d *desk) until(e *nostr.Event) time.Duration {
	d.Helper()
	v := d.store.View()
	defer v.Close()
	w, err := v.Waiting(e.ID)
	d.must(err)
	return time.Unix(w.Until, 0).Sub(d.now)
}

func author(n byte) nostr.PubKey { return nostr.PubKey{1, n} }

func (d *desk) event(by byte, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	d.now = d.now.Add(time.Second)
	e := &nostr.Event{PubKey: author(by), CreatedAt: d.now.Unix(), Kind: kind, Tags: tags}
	e.ID = e.ComputeID()
	return e
}

// announcement names this service, and maintainers.
func (d *desk) announcement(by byte, id string, others ...byte) *nostr.Event {
	tags := nostr.Tags{{"d", id}, {"relays", d.rules.Service.RelayURL().String()}, {"clone", d.rules.Service.CloneURL(author(by), id)}}
	m := nostr.Tag{"maintainers"}
	for _, n := range others {
		pk := author(n)
		m = append(m, pk.String())
	}
	return d.event(by, nip34.KindRepository, append(tags, m)...)
}

// stateOf has branches: "main=1 dev=2".
func (d *desk) stateOf(by byte, ident, branches string) *nostr.Event {
	tags := nostr.Tags{{"d", ident}}
	for b := range strings.FieldsSeq(branches) {
		name, n, _ := strings.Cut(b, "=")
		tags = append(tags, nostr.Tag{"refs/heads/" + name, id(n[0] - '0').String()})
	}
	return d.event(by, nip34.KindState, tags...)
}

func (d *desk) pullRequest(by, commit byte, repos ...*nostr.Event) *nostr.Event {
	tags := nostr.Tags{{"c", id(commit).String()}}
	for _, r := range repos {
		tags = append(tags, nostr.Tag{"a", r.Address()})
	}
	return d.event(by, nip34.KindPullRequest, tags...)
}

func addressOf(e *nostr.Event) nip34.Address {
	a, _ := nip34.AddressOf(e)
	return a
}

func branch(name string, old, to byte) gitwire.Command {
	return command("refs/heads/"+name, old, to)
}

func command(ref string, old, to byte) gitwire.Command {
	c := gitwire.Command{Ref: ref}
	if old > 0 {
		c.Old = id(old)
	}
	if to > 0 {
		c.New = id(to)
	}
	return c
}

func (d *desk) told(of *nostr.Event) bool {
	told := slices.Contains(d.changed, refdb.RowName(addressOf(of)))
	d.changed = nil
	return told
}
