package hosting_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/gitrepo/gitfake"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var errKilled = errors.New("killed")

// mortal is a relay that can be killed before any call of its disk, and started again with what it had.
type mortal struct {
	*testing.T
	gitfake.History
	disk    *gitfake.Fake
	fs      *vfs.MemFS
	service grasp.Service
	left    int          // calls until it is killed
	failing bool         // its disk may fail otherwise
	packs   atomic.Int64 // that each repository has beside its own
	full    atomic.Bool  // the store's disk fails each write

	mu    sync.Mutex
	after *vfs.MemFS // what a kill leaves

	store  *store.Store
	door   *ingest.Door
	host   *hosting.Host
	client *ingest.Source
	end    func()
}

func newMortal(t *testing.T) *mortal {
	return &mortal{T: t, disk: gitfake.New(), fs: vfs.NewCrashableMem(), service: ok(grasp.ParseService("relay.example.org")), left: 1 << 30}
}

func (m *mortal) start() {
	m.Helper()
	ctx, cancel := context.WithCancel(m.Context())
	rules := policy.Rules{Service: m.service, Git: true}
	m.store = ok(store.Open(store.Options{Dir: "data", FS: m.watched(), Rules: rules.Fingerprint()}))
	c := hosting.Config{Disk: crowd{m.disk, &m.packs}, Store: m.store, Service: m.service}
	c.Ledger = hosting.NewLedger(c)
	m.door = ingest.New(ingest.Config{Store: m.store, Rules: rules, Verifier: anything{}, Ledger: c.Ledger})
	c.Door = m.door
	m.host = hosting.New(c)
	m.client = m.door.Source(ingest.SourceConfig{Label: "client", Direct: true})
	var g sync.WaitGroup
	g.Go(func() { _ = m.door.Run(ctx) })
	hosted, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	g.Go(func() { defer close(ended); _ = m.host.Run(hosted) })
	m.end = func() {
		stop()
		<-ended
		cancel()
		g.Wait()
		if err := m.store.Close(); err != nil {
			m.Error(err)
		}
	}
}

// crowd is a disk whose repositories have more packs than came.
type crowd struct {
	*gitfake.Fake
	more *atomic.Int64
}

func (c crowd) Size(repo gitrepo.ID) (bytes, packs int64, err error) {
	bytes, packs, err = c.Fake.Size(repo)
	return bytes, packs + c.more.Load(), err
}

// watched is the store's disk.
func (m *mortal) watched() vfs.FS {
	return errorfs.Wrap(m.fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if m.full.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return errKilled
		}
		return nil
	}))
}

// fail is what the disk does when the relay is killed: nothing, from then on.
func (m *mortal) fail(string, gitrepo.ID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left--; m.left >= 0 {
		return nil
	}
	if m.after == nil {
		m.after = m.fs.CrashClone(vfs.CrashCloneCfg{})
	}
	return errKilled
}

func (m *mortal) killed() bool { m.mu.Lock(); defer m.mu.Unlock(); return m.after != nil }

// spare reports whether it was killed, and has it live on from now on.
func (m *mortal) spare() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.after == nil {
		m.left = 1 << 30
	}
	return m.after != nil
}

// restart starts it again after the kill.
func (m *mortal) restart() {
	m.Helper()
	m.end()
	m.fs, m.after, m.left = m.after, nil, 1<<30
	m.start()
}

func (m *mortal) event(author byte, kind nostr.Kind, at int64, tags ...nostr.Tag) *nostr.Event {
	e := &nostr.Event{PubKey: key(author), CreatedAt: at, Kind: kind, Tags: tags}
	e.ID = e.ComputeID()
	return e
}

// publish publishes an event and reports whether it heard OK.
func (m *mortal) publish(e *nostr.Event) bool {
	m.Helper()
	c := make(chan policy.Verdict, 1)
	if err := m.client.Submit(m.Context(), e, store.Direct, func(v policy.Verdict) { c <- v }); err != nil {
		m.Fatal(err)
	}
	v := <-c
	if !v.OK() && !m.killed() {
		m.Errorf("kind %d is answered %+v", e.Kind, v)
	}
	return v.OK()
}

func (m *mortal) row(of nip34.Address) refdb.Repository {
	v := m.store.View()
	defer v.Close()
	return ok(refdb.Read(v, of))
}

// push pushes what refs are to be, with the pack that this takes, and reports whether it heard ok.
func (m *mortal) push(of nip34.Address, want map[string]gitwire.ObjectID) bool {
	m.Helper()
	return m.pushFrom("", of, want)
}

// pushFrom pushes from a network.
func (m *mortal) pushFrom(network string, of nip34.Address, want map[string]gitwire.ObjectID) bool {
	m.Helper()
	has := m.row(of).Refs.All()
	p := &gitwire.Push{}
	var tips, haves []gitwire.ObjectID
	for _, r := range has {
		haves = append(haves, r.ID)
		if _, stays := want[r.Name]; !stays && want["refs/heads/main"] != (gitwire.ObjectID{}) && !strings.HasPrefix(r.Name, "refs/nostr/") {
			p.Commands = append(p.Commands, gitwire.Command{Ref: r.Name, Old: r.ID})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if old := has.Get(name); old != want[name] {
			p.Commands = append(p.Commands, gitwire.Command{Ref: name, Old: old, New: want[name]})
			tips = append(tips, want[name])
		}
	}
	if len(p.Commands) == 0 {
		return true
	}
	result := m.host.Push(m.Context(), githttp.PushCall{Of: of, From: "192.0.2.1", Network: network, Push: p, Progress: func(string) {},
		Pack: bytes.NewReader(m.Pack(m.All(tips, haves)))})
	refused := result.Unpack
	for _, o := range result.Outcomes {
		refused += o.Refused
	}
	if refused != "" && !m.killed() && !m.failing {
		m.Errorf("a push is refused: %s %q", refused, result.Lines)
	}
	return refused == "" && !m.killed()
}

// story is two who maintain a repository together, what they do, and what others see of it.
type story struct {
	*mortal
	first, second nip34.Address
	announced     []*nostr.Event
	states        []*nostr.Event
	pulls         []*nostr.Event
	tips          []gitwire.ObjectID
	wants         []map[string]gitwire.ObjectID
}

// toldStory starts a relay, and tells it the story. fail says which calls of its disk fail, by their names; nil fails none.
func toldStory(t *testing.T, fail func(of string) error) *story {
	t.Helper()
	s := newStory(newMortal(t))
	if fail != nil {
		s.disk.Fail = func(of string, _ gitrepo.ID) error { return fail(of) }
	}
	s.start()
	if done := s.tell(0); done != len(s.steps()) {
		t.Fatal(done)
	}
	return s
}

func newStory(m *mortal) *story {
	at := time.Now().Unix()
	of := func(author byte) nip34.Address {
		return nip34.Address{Kind: nip34.KindRepository, PubKey: key(author), D: "tool"}
	}
	s := &story{mortal: m, first: of(1), second: of(2)}
	for author := byte(1); author <= 2; author++ {
		s.announced = append(s.announced, m.event(author, nip34.KindRepository, at, nostr.Tag{"d", "tool"}, nostr.Tag{"maintainers", key(3 - author).String()},
			nostr.Tag{"clone", m.service.CloneURL(key(author), "tool")}, nostr.Tag{"relays", m.service.RelayURL().String()}))
	}
	one := m.Commit("one")
	two := m.Commit("two", one)
	three := m.Commit("three", two)
	tag := m.Tag("v1", one)
	s.wants = []map[string]gitwire.ObjectID{
		{"refs/heads/main": one},
		{"refs/heads/main": two, "refs/tags/v1": tag},
		{"refs/heads/main": three, "refs/heads/side": two, "refs/tags/v1": tag},
	}
	for i, want := range s.wants {
		tags := nostr.Tags{{"d", "tool"}, {"HEAD", "ref: refs/heads/main"}}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			tags = append(tags, nostr.Tag{name, want[name].String()})
		}
		s.states = append(s.states, m.event(1, nip34.KindState, at+int64(i), tags...))
	}
	for i, name := range []string{"early", "late"} {
		s.tips = append(s.tips, m.Commit(name, one))
		s.pulls = append(s.pulls, m.event(9, nip34.KindPullRequest, at+int64(i), nostr.Tag{"a", s.first.String()}, nostr.Tag{"c", s.tips[i].String()}))
	}
	return s
}

// steps are what they do. Each reports whether it heard that it is done, and may be done again.
func (s *story) steps() []func() bool {
	state := func(i int) func() bool {
		return func() bool { return s.publish(s.states[i]) && s.push(s.first, s.wants[i]) }
	}
	tip := func(i int) bool {
		return s.push(s.first, map[string]gitwire.ObjectID{refs.TipName(s.pulls[i].ID): s.tips[i]})
	}
	return []func() bool{
		func() bool { return s.publish(s.announced[0]) && s.publish(s.announced[1]) },
		state(0),
		func() bool { // its tip comes first
			done := tip(0) && s.publish(s.pulls[0])
			synctest.Wait()
			return done && s.served(s.pulls[0]) && !s.killed()
		},
		state(1),
		func() bool { return s.publish(s.pulls[1]) && tip(1) },
		func() bool { time.Sleep(2 * time.Second); return !s.killed() }, // the log learns what was written
		state(2),
	}
}

func (s *story) served(e *nostr.Event) bool {
	v := s.store.View()
	defer v.Close()
	_, is, err := v.Get(e.ID)
	return err == nil && is
}

// require requires what is so whenever a relay has come to rest: all that was done in so many steps, and everything as the log says.
func (s *story) require(done int) {
	s.Helper()
	for _, of := range []nip34.Address{s.first, s.second} {
		r := s.row(of)
		shown := r.Shown()
		found, err := s.disk.Check(s.Context(), gitrepo.ID(r.Dir), shown)
		if err != nil || len(found.All()) > 0 {
			s.Errorf("%s: %v (%v)", of, found.All(), err)
		}
		v := s.store.View()
		due, err := v.Row(refdb.DueName(of))
		if v.Close(); err != nil || due != nil {
			s.Errorf("%s: its files are due (%v)", of, err)
		}
	}
	first, second := s.row(s.first), s.row(s.second)
	if !slices.Equal(first.Refs.Refs, second.Refs.Refs) {
		s.Errorf("the second shows\n%v\nand the first\n%v", second.Refs.Refs, first.Refs.Refs)
	}
	for i, e := range s.states {
		steps := []int{1, 3, 6, 1 << 30}
		if rules := first.Refs.ID == e.ID; rules != s.served(e) {
			s.Errorf("state %d rules: %v, and it is served: %v", i, rules, !rules)
		}
		if done > steps[i] && first.Refs.CreatedAt < e.CreatedAt {
			s.Errorf("state %d was acknowledged, and an older one rules", i)
		}
	}
	for i, e := range s.pulls {
		has := first.Refs.PullRequests.Get(refs.TipName(e.ID)) == s.tips[i]
		if has != s.served(e) || !has && done > []int{2, 4}[i] {
			s.Errorf("after %d steps pull request %d is shown: %v, and served: %v", done, i, has, s.served(e))
		}
	}
}

// tell goes through the steps from one on, and returns the first one that did not come to its end.
func (s *story) tell(from int) (done int) {
	steps := s.steps()
	for done = from; done < len(steps) && steps[done](); done++ {
	}
	return done
}

// rest lets everything come to rest that follows from what was done.
func (s *story) rest() {
	synctest.Wait()
	time.Sleep(2 * time.Second)
	synctest.Wait()
}

// A relay that is killed anywhere shows what it has acknowledged, and what it shows is whole and as the log says; nobody's push
// is refused because of it.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	step := 1
	if raceDetector {
		step = 7 // each takes ten times as long
	}
	for n := 0; ; n += step {
		killed := false
		t.Run(fmt.Sprint("before call ", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMortal(t)
				m.left = n
				m.disk.Fail = m.fail
				s := newStory(m)
				m.start()
				done := s.tell(0)
				s.rest()
				if killed = m.spare(); killed {
					m.restart()
					s.rest()
					s.require(done)
					if done = s.tell(done); done < len(s.steps()) {
						t.Errorf("step %d cannot be done again", done)
					}
					s.rest()
				}
				s.require(done)
				m.end()
			})
		})
		if t.Failed() || !killed {
			if n < 50 {
				t.Errorf("there were only %d moments", n)
			}
			return
		}
	}
}

// A kill between the link of a pack and the commit of the log leaves a complete state waiting. The next start serves it, without another push.
func TestAKillBetweenTheLinkAndTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMortal(t)
		s := newStory(m)
		m.start()
		for _, e := range []*nostr.Event{s.announced[0], s.announced[1], s.states[0]} {
			m.publish(e)
		}
		m.push(s.first, s.wants[0])
		m.publish(s.states[1])
		s.rest()
		before := m.fs.CrashClone(vfs.CrashCloneCfg{})
		m.push(s.first, s.wants[1])
		s.rest()
		m.end()
		m.fs = before
		m.start()
		defer m.end()
		s.rest()
		if got := m.row(s.first).Refs.All().Get("refs/heads/main"); !s.served(s.states[1]) || got != s.wants[1]["refs/heads/main"] {
			t.Errorf("served %v, main at %s", s.served(s.states[1]), got)
		}
	})
}

// What could not follow a commit is seen to by the next start, also after a stop in good order.
func TestWhatFailedIsDoneByTheNextStart(t *testing.T) {
	for _, x := range []struct {
		method string
		err    error
	}{{"CopyInto", errKilled}, {"CopyInto", context.Canceled}, {"CopyInto", gitproc.ErrBusy}, {"Project", errKilled}} {
		synctest.Test(t, func(t *testing.T) {
			var fails atomic.Bool
			s := toldStory(t, func(of string) error {
				if of == x.method && fails.Load() {
					return x.err
				}
				return nil
			})
			m := s.mortal
			m.failing = true
			one := m.Commit("after")
			s.wants = append(s.wants, map[string]gitwire.ObjectID{"refs/heads/main": one})
			s.states = append(s.states, m.event(1, nip34.KindState, s.states[2].CreatedAt+1, nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", one.String()}))
			m.publish(s.states[3])
			fails.Store(true)
			m.push(s.first, s.wants[3])
			time.Sleep(2 * time.Second)
			m.end()
			fails.Store(false)
			m.start()
			s.rest()
			if first, second := s.row(s.first), s.row(s.second); first.Refs.ID != s.states[3].ID || !slices.Equal(first.Refs.Refs, second.Refs.Refs) {
				t.Errorf("after %s failed with %v the second shows\n%v\nand the first\n%v", x.method, x.err, second.Refs.Refs, first.Refs.Refs)
			}
			s.require(0)
			m.end()
		})
	}
}

// uploads pushes the tips of two pull requests, whose events have yet to come, in one push. It returns the events, and the tips by ref.
func (s *story) uploads() (pulls []*nostr.Event, tips map[string]gitwire.ObjectID) {
	return s.uploadsFrom("", "")
}

// uploadsFrom pushes from a network commits whose names begin so.
func (s *story) uploadsFrom(network, name string) (pulls []*nostr.Event, tips map[string]gitwire.ObjectID) {
	tips = map[string]gitwire.ObjectID{}
	for _, which := range []string{"this", "that"} {
		tip := s.Commit(name + which)
		e := s.event(9, nip34.KindPullRequest, s.states[2].CreatedAt, nostr.Tag{"a", s.first.String()}, nostr.Tag{"c", tip.String()})
		pulls, tips[refs.TipName(e.ID)] = append(pulls, e), tip
	}
	s.pushFrom(network, s.first, tips)
	return pulls, tips
}

// An upload whose event has come is taken in later where that could not be done at once, though it waits for nothing else.
func TestAnUploadIsNotDroppedBeforeItWasTaken(t *testing.T) {
	for _, method := range []string{"Part", "Admit"} {
		synctest.Test(t, func(t *testing.T) {
			var fails atomic.Bool
			s := toldStory(t, func(of string) error {
				if of == method && fails.Load() {
					return fmt.Errorf("packing: %w", gitproc.ErrBusy)
				}
				return nil
			})
			m := s.mortal
			pulls, tips := s.uploads()
			fails.Store(true)
			for _, e := range pulls {
				m.publish(e)
			}
			synctest.Wait()
			if s.served(pulls[0]) || s.served(pulls[1]) {
				t.Fatal("nothing failed")
			}
			fails.Store(false)
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			shown := s.row(s.first).Refs.PullRequests
			for _, e := range pulls {
				if name := refs.TipName(e.ID); !s.served(e) || shown.Get(name) != tips[name] {
					t.Errorf("after %s failed the tip of a pull request is not here: %v", method, shown)
				}
			}
			if n := m.disk.Open(); n != 0 {
				t.Errorf("%d quarantines are left", n)
			}
			m.end()
		})
	}
}

// Nothing more comes to a repository with too many packs until these are combined, and then what came meanwhile is taken.
func TestTooManyPacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := toldStory(t, nil)
		m := s.mortal
		m.failing = true
		pulls, _ := s.uploads()
		next := m.Commit("more")
		want := map[string]gitwire.ObjectID{"refs/heads/main": next}
		state := m.event(1, nip34.KindState, s.states[2].CreatedAt+1, nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", next.String()})
		m.publish(state)
		m.packs.Store(1000)
		if m.push(s.first, want) || m.host.Stats().Failures[hosting.ManyPacks] != 1 {
			t.Errorf("a push: %v", m.host.Stats().Failures)
		}
		if _, err := m.host.Take(t.Context(), refdb.Lack{Repository: m.row(s.first)}, ""); !hosting.GaveWay(err) || hosting.TooMuch(err) {
			t.Errorf("from another server: %v", err)
		}
		for _, e := range pulls {
			m.publish(e)
		}
		time.Sleep(3 * time.Minute)
		if s.served(pulls[0]) || s.served(pulls[1]) || s.served(state) {
			t.Error("packs have come")
		}
		m.packs.Store(0)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if !s.served(pulls[0]) || !s.served(pulls[1]) || !m.push(s.first, want) || !s.served(state) {
			t.Error("something is not taken when there is room again")
		}
		m.end()
	})
}

// Repositories that are crowded and those from which clients fetched are looked at in turns.
func TestWhoIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Pointer[[]gitrepo.ID]
		s := newStory(newMortal(t))
		s.disk.Fail = func(of string, repo gitrepo.ID) error {
			if of != "Maintain" {
				return nil
			}
			if all := looks.Load(); all != nil {
				*all = append(*all, repo)
			}
			return errKilled
		}
		s.start()
		s.tell(0)
		m := s.mortal
		time.Sleep(time.Minute)
		m.packs.Store(100)
		first, second := m.row(s.first).Dir, m.row(s.second).Dir
		looks.Store(new([]gitrepo.ID))
		if err := errors.Join(m.host.Crowded(s.first, first), m.host.Crowded(s.second, second)); err != nil {
			t.Error(err)
		}
		m.host.Visit(s.first)
		m.host.Visit(s.second)
		time.Sleep(time.Minute)
		m.end()
		one, two := gitrepo.ID(first), gitrepo.ID(second)
		if got := *looks.Load(); !slices.Equal(got, []gitrepo.ID{one, one, two, two}) {
			t.Errorf("%v, of %s and %s", got, one, two)
		}
	})
}

// TestAnUploadWhoseTimeIsOverIsTakenFirst: the event of one of its tips came in time, though the tip could not be taken in at once.
func TestAnUploadWhoseTimeIsOverIsTakenFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fails atomic.Bool
		s := toldStory(t, func(of string) error {
			if of == "Part" && fails.Load() {
				return fmt.Errorf("packing: %w", gitproc.ErrBusy)
			}
			return nil
		})
		m := s.mortal
		pulls, _ := s.uploads()
		time.Sleep(refs.PendingFor - time.Minute)
		fails.Store(true)
		m.publish(pulls[0])
		time.Sleep(3 * time.Minute)
		if n := m.disk.Open(); n != 1 || s.served(pulls[0]) {
			t.Errorf("%d quarantines wait", n)
		}
		fails.Store(false)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if !s.served(pulls[0]) {
			t.Error("the tip of a pull request that came in time is lost")
		}
		if n := m.disk.Open(); n != 0 {
			t.Errorf("%d quarantines are left", n)
		}
		m.end()
	})
}

// slowly starts a relay that has been told the story, and takes in so many tips of uploads for ten minutes each.
func slowly(t *testing.T) (s *story, slow *atomic.Int64) {
	slow = new(atomic.Int64)
	s = toldStory(t, func(of string) error {
		if of == "Part" && slow.Add(-1) >= 0 {
			time.Sleep(10 * time.Minute)
		}
		return nil
	})
	return s, slow
}

// TestUploadsOfOthersAreTakenMeanwhile: while uploads of one network are taken in for long, those of others are served, one network does not have
// all places, and what waits for no event any more goes.
func TestUploadsOfOthersAreTakenMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, slow := slowly(t)
		m := s.mortal
		s.uploadsFrom("never", "never") // whose events do not come
		time.Sleep(refs.PendingFor - 5*time.Minute)
		var many []*nostr.Event
		for i := range 4 {
			pulls, _ := s.uploadsFrom("many", fmt.Sprint(i))
			many = append(many, pulls...)
		}
		few, _ := s.uploadsFrom("few", "few")
		quarantines := m.disk.Open()
		slow.Store(1)
		for _, e := range many {
			m.publish(e)
		}
		synctest.Wait()
		for _, e := range few {
			m.publish(e)
		}
		synctest.Wait()
		if !s.served(few[0]) || !s.served(few[1]) || s.served(many[0]) || s.served(many[7]) {
			t.Error("a pull request waits for those of another network")
		}
		if n := m.disk.Open(); n != quarantines-1 {
			t.Errorf("%d quarantines of %d", n, quarantines)
		}
		time.Sleep(7 * time.Minute)
		if n := m.disk.Open(); n != quarantines-2 {
			t.Errorf("%d quarantines of %d when the time is over", n, quarantines)
		}
		time.Sleep(7 * time.Minute)
		synctest.Wait()
		if !s.served(many[0]) || !s.served(many[7]) || m.disk.Open() != 0 {
			t.Errorf("the others are not served, %d quarantines are left", m.disk.Open())
		}
		m.end()
	})
}

// TestAnEventThatCameInTimeIsHeardFirst: all who take in uploads are busy when an event comes and until the time of its upload is over.
func TestAnEventThatCameInTimeIsHeardFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, slow := slowly(t)
		m := s.mortal
		late, _ := s.uploadsFrom("late", "late")
		time.Sleep(refs.PendingFor - 5*time.Minute)
		var others []*nostr.Event
		for i := range 4 {
			pulls, _ := s.uploadsFrom(fmt.Sprint(i), fmt.Sprint(i))
			others = append(others, pulls[0])
		}
		slow.Store(4)
		for _, e := range others {
			m.publish(e)
		}
		time.Sleep(4 * time.Minute)
		m.publish(late[0])
		time.Sleep(3 * time.Minute)
		if s.served(late[0]) || s.served(others[3]) {
			t.Error("nobody is busy")
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if !s.served(late[0]) || s.served(late[1]) {
			t.Error("the pull request whose event came in time is lost")
		}
		if n := m.disk.Open(); n != 4 {
			t.Errorf("%d quarantines, for four that wait for their other tips", n)
		}
		time.Sleep(refs.PendingFor)
		m.end()
	})
}

// While much is copied for one who follows, everything else goes on.
func TestCopyingHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		letGo := make(chan struct{})
		s := toldStory(t, func(of string) error {
			if of == "CopyInto" && slow.Load() {
				<-letGo
			}
			return nil
		})
		m := s.mortal
		tip, after := m.Commit("tip"), m.Commit("after")
		pull := m.event(9, nip34.KindPullRequest, s.states[2].CreatedAt, nostr.Tag{"a", s.first.String()}, nostr.Tag{"c", tip.String()})
		m.push(s.first, map[string]gitwire.ObjectID{refs.TipName(pull.ID): tip})
		slow.Store(true)
		m.publish(m.event(1, nip34.KindState, s.states[2].CreatedAt+1, nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", after.String()}))
		go m.push(s.first, map[string]gitwire.ObjectID{"refs/heads/main": after})
		synctest.Wait()
		m.publish(pull)
		synctest.Wait()
		if !s.served(pull) {
			t.Error("a pull request waits for the copy of another repository")
		}
		close(letGo)
		s.rest()
		if first, second := s.row(s.first), s.row(s.second); !slices.Equal(first.Refs.Refs, second.Refs.Refs) {
			t.Errorf("the second shows\n%v\nand the first\n%v", second.Refs.Refs, first.Refs.Refs)
		}
		m.end()
	})
}

// TestWhatComesWhilePacksAreCombinedCountsOnce: the bytes of all repositories are those in their rows, also after a push at that time.
func TestWhatComesWhilePacksAreCombinedCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, letGo := make(chan struct{}), make(chan struct{})
		s := toldStory(t, func(of string) error {
			if of == "Maintain" {
				begun <- struct{}{}
				<-letGo
			}
			return nil
		})
		m := s.mortal
		s.rest()
		if _, _, err := m.host.Kept(); err != nil { // which counts from now on
			t.Fatal(err)
		}
		if err := m.host.AwaitFiles(t.Context(), s.first, 1); err != nil {
			t.Fatal(err)
		}
		<-begun
		tip := m.Commit("meanwhile")
		m.publish(m.event(1, nip34.KindState, s.states[2].CreatedAt+1, nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", tip.String()}))
		m.push(s.first, map[string]gitwire.ObjectID{"refs/heads/main": tip})
		for range 2 {
			if err := m.disk.Pack(t.Context(), gitrepo.ID(s.row(s.first).Dir), &gitwire.Fetch{Wants: []gitwire.ObjectID{tip}}, "", io.Discard); err != nil {
				t.Fatal(err)
			}
		}
		close(letGo)
		s.rest()
		if n := m.host.Stats().Combined; n != 1 {
			t.Errorf("combined %d times", n)
		}
		want := s.row(s.first).Bytes + s.row(s.second).Bytes
		if n, bytes, err := m.host.Kept(); n != 2 || bytes != want || err != nil {
			t.Errorf("%d repositories with %d bytes (%v), and their rows have %d", n, bytes, err, want)
		}
		m.end()
	})
}

// After a stop in good order the next start has nothing to do.
func TestAStopLeavesNothingDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := toldStory(t, nil)
		m := s.mortal
		synctest.Wait()
		m.end()
		projected := m.disk.Calls("Project")
		m.start()
		synctest.Wait()
		s.require(len(s.steps()))
		if n := m.disk.Calls("Project") - projected; n > 0 {
			t.Errorf("the next start has written the files of %d repositories", n)
		}
		m.end()
	})
}

// The directory of a repository is made before the writer's turn, and once.
func TestARepositoryIsPreparedForItsFirstData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := toldStory(t, nil)
		s.rest()
		prepared, begun := s.disk.Calls("Prepare"), map[gitrepo.ID]bool{}
		for _, of := range []nip34.Address{s.first, s.second} {
			begun[gitrepo.ID(s.row(of).Dir)] = true
		}
		if prepared != len(begun) || s.disk.Calls("Admit") <= prepared || s.disk.Calls("Unneeded") > 0 {
			t.Errorf("%d prepared, %d of them not needed, for %d repositories that packs came to %d times", prepared, s.disk.Calls("Unneeded"), len(begun), s.disk.Calls("Admit"))
		}
		s.end()
	})
}

// Nobody waits for the disk in the writer's turn: packs are there before.
func TestPacksAreThereBeforeTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(newMortal(t))
		var within, beside atomic.Int64
		s.disk.Fail = func(of string, _ gitrepo.ID) error {
			if of != "Admit" {
				return nil
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			if s.door.Exclusively(ctx, "another", func(*ingest.Exclusive) error { return nil }) == nil {
				beside.Add(1)
			} else {
				within.Add(1)
			}
			return nil
		}
		s.start()
		s.tell(0)
		s.rest()
		if prepared := int64(s.disk.Calls("Prepare")); within.Load() > 0 || beside.Load() <= prepared {
			t.Errorf("packs came %d times in a turn and %d times beside; %d repositories were prepared", within.Load(), beside.Load(), prepared)
		}
		s.end()
	})
}

// A commit that fails may be on disk all the same, so what it names stays. Where nothing can name a directory it goes at once.
func TestDirectoriesOfPushesThatFail(t *testing.T) {
	for unneeded, fails := range []func(s *story){
		func(s *story) { s.full.Store(true) },
		func(s *story) { s.publish(s.states[1]) }, // the turn refuses the push, as another state is in force
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStory(newMortal(t))
			s.failing = true
			s.start()
			s.steps()[0]()
			s.publish(s.states[0])
			s.disk.Fail = func(of string, _ gitrepo.ID) error {
				if of == "Admit" {
					fails(s)
				}
				return nil
			}
			done := s.push(s.first, s.wants[0])
			if n := s.disk.Calls("Unneeded"); done || n != unneeded || s.disk.Calls("Admit") == 0 {
				t.Errorf("done: %v; %d directories are removed, and not %d", done, n, unneeded)
			}
			if n, bytes, err := s.host.Kept(); n != 0 || bytes != 0 || err != nil {
				t.Errorf("%d repositories with %d bytes are counted (%v)", n, bytes, err)
			}
			s.full.Store(false)
			s.end()
		})
	}
}
