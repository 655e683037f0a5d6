package ingest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestAnInvitedMaintainerAccepts is the usual way in which people join a project: their announcement waits, and its next version lists
// the owner of a served repository back.
func TestAnInvitedMaintainerAccepts(t *testing.T) {
	h := newHost(t, setup{})
	defer h.end()
	now, client := time.Now(), h.client()
	mine := hostedBy(t, 1, "tool", now, maintainers(1, 3))
	h.want(h.publish(client, mine), policy.Wait)
	h.want(h.publish(client, stateOf(1, "tool", now, "main=1")), policy.Wait)
	of := addressOf(mine)
	h.push(of, command("refs/heads/main", 0, 1))
	h.served(mine)
	first, back := hostedBy(t, 3, "tool", now), hostedBy(t, 3, "tool", now.Add(time.Second), maintainers(1))
	h.want(h.publish(client, first), policy.Wait)
	h.want(h.publish(client, back), policy.Accept)
	h.served(back)
	if k := h.known(first); k.State != store.Remembered || k.Why != policy.Superseded {
		t.Errorf("the first version: %+v", k)
	}
	h.want(h.publish(client, stateOf(3, "tool", now.Add(2*time.Second), "main=1 dev=1")), policy.Accept)
	if got := h.refs(of); got != "dev=1 main=1" {
		t.Errorf("refs %s", got)
	}
	if s := h.door.Stats(); s.Failures != 0 || s.Faults != 0 {
		t.Errorf("%d batches failed, and %d events", s.Failures, s.Faults)
	}
}

// joining is one life of a project: what people publish and push, in some order.
type joining struct {
	events []*nostr.Event // nil stands for a push
	pushes []nip34.Address
}

func joiningAt(t *testing.T, r *rand.Rand, now time.Time) joining {
	at := func() time.Time { return now.Add(time.Duration(r.IntN(8)) * time.Second) }
	own := func(author int, more ...nostr.Tag) *nostr.Event {
		if r.IntN(6) == 0 {
			return elsewhere(author, "tool", at(), more...)
		}
		return hostedBy(t, author, "tool", at(), more...)
	}
	mine, theirs := hostedBy(t, 1, "tool", now), hostedBy(t, 3, "tool", now)
	all := []*nostr.Event{
		own(1, maintainers(1, 3)), own(1), own(3), own(3, maintainers(1)), own(3, maintainers(1, 4)), own(4, maintainers(3)),
		stateOf(1, "tool", at(), "main=1"), stateOf(3, "tool", at(), "main=1"), stateOf(3, "tool", at(), "main=1 dev=2"), stateOf(4, "tool", at(), "dev=2"),
		pullRequest(5, at(), 1, mine), pullRequest(5, at(), 3, theirs, mine),
		event(3, at(), nostr.KindDeletion, "", nostr.Tag{"a", theirs.Address()}),
		event(3, at(), nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"expiration", fmt.Sprint(now.Unix() + 1)},
			nostr.Tag{"refs/heads/main", commitID(1).String()}),
	}
	j := joining{}
	for _, i := range r.Perm(len(all)) {
		if r.IntN(5) > 0 {
			j.events = append(j.events, all[i])
		}
		if r.IntN(4) == 0 {
			j.events = append(j.events, nil)
			j.pushes = append(j.pushes, addressOf([]*nostr.Event{mine, theirs}[r.IntN(2)]))
		}
	}
	return j
}

// live lets people do all that. Together, what they publish between two pushes comes in one batch.
func (h *host) live(j joining, together bool) {
	h.Helper()
	client := h.peer("everybody")
	if !together {
		client = h.client()
	}
	var verdicts []<-chan policy.Verdict
	wait := func() {
		for _, c := range verdicts {
			if v := <-c; v.Outcome == policy.Failed {
				h.Errorf("%s", v.Reason)
			}
		}
		verdicts = nil
		time.Sleep(time.Second) // orphans
	}
	pushes := j.pushes
	for _, e := range j.events {
		if e != nil {
			verdicts = append(verdicts, h.submit(client, e, store.Direct))
		}
		if e == nil || !together {
			wait()
		}
		if e == nil {
			h.pushAll(pushes[0])
			pushes = pushes[1:]
		}
	}
	wait()
	if s := h.door.Stats(); s.Failures != 0 || s.Faults != 0 {
		h.Errorf("%d batches failed, and %d events", s.Failures, s.Faults)
	}
}

// pushAll brings all commits of the lives to a repository, otherwise than by a push.
func (h *host) pushAll(of nip34.Address) {
	h.Helper()
	h.dirs++
	err := h.door.Exclusively(context.Background(), "", func(t *ingest.Exclusive) error {
		a, err := h.ledger.Arrive(t.Turn, refdb.Arrival{Of: of, Dir: refdb.Dir{h.dirs}, Admit: func(dir refdb.Dir) error {
			h.shelf.put(dir, commitID(1), commitID(2), commitID(3))
			return nil
		}})
		if err != nil {
			return err
		}
		return t.Serve(a.Release)
	})
	if err != nil {
		h.Error(err)
	}
}

// TestPeopleJoinInAnyOrder: whatever the order of announcements and their versions, states, pushes, invitations, deletions and what has
// expired, nothing fails, whether they come in one batch or in several.
func TestPeopleJoinInAnyOrder(t *testing.T) {
	for seed := range uint64(scaled(150, 40)) {
		synctest.Test(t, func(t *testing.T) {
			j := joiningAt(t, rand.New(rand.NewPCG(seed, 29)), time.Now())
			time.Sleep(2 * time.Second) // so that some of it has expired
			for _, together := range []bool{false, true} {
				h := newHost(t, setup{})
				h.live(j, together)
				h.end()
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestWhatExpiredIsNotReleased: an event that expires while it waits is not served when its git data comes, nor does it say who decides.
func TestWhatExpiredIsNotReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, setup{})
		defer h.end()
		client, now := h.client(), time.Now()
		soon := nostr.Tag{"expiration", fmt.Sprint(now.Unix() + 60)}
		repo, back := hostedBy(t, 1, "tool", now, maintainers(3)), hostedBy(t, 3, "tool", now, maintainers(1), soon)
		old := event(1, now, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", commitID(1).String()}, soon)
		theirs := stateOf(3, "tool", now.Add(time.Second), "main=1")
		for _, e := range []*nostr.Event{repo, back, old, theirs} {
			h.want(h.publish(client, e), policy.Wait)
		}
		time.Sleep(2 * time.Minute) // the clock is not believed yet, so nothing has lapsed
		h.waits(old, back)
		of := addressOf(repo)
		h.pushAll(of)
		if h.get(old.ID) != nil || h.get(back.ID) != nil || h.get(theirs.ID) != nil || h.refs(of) != "" {
			t.Errorf("what has expired is served: %s", h.refs(of))
		}
		h.want(h.publish(client, stateOf(1, "tool", now.Add(time.Minute), "main=1")), policy.Accept)
		if h.served(repo); h.refs(of) != "main=1" {
			t.Errorf("refs %s", h.refs(of))
		}
		if v := h.push(of, command("refs/heads/main", 1, 2)); !v.Refused() {
			t.Errorf("%+v", v)
		}
	})
}
