package hosting_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestWhatIsToldIsBounded: twenty of each, the first that wait and the last that failed, and no long texts of strangers.
func TestWhatIsToldIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosting.Limits{})
	r := w.newRepo()
	r.commit("one")
	var last *nostr.Event
	for i := range 25 {
		last = w.announce(1, fmt.Sprint("tool", i), now)
		r.fails("no state event", "push", w.cloneURL(last), "main")
	}
	s, err := w.host.Status()
	if err != nil || s.Waiting != 25 || len(s.Waits) != 20 || !strings.HasSuffix(string(s.Waits[0].Repository), ":tool0") || !strings.HasSuffix(string(s.Waits[19].Repository), ":tool19") {
		t.Fatalf("%v, %+v", err, s)
	}
	if len(s.Refused) != 20 || !strings.HasSuffix(string(s.Refused[0].Repository), ":tool24") || !strings.HasSuffix(string(s.Refused[19].Repository), ":tool5") {
		t.Errorf("%+v", s.Refused)
	}
	if s.Repositories != 0 || s.Pushes != 0 {
		t.Errorf("%+v", s)
	}
	if s.Refused[0].Repository == "" || len(s.Refused[0].Reason) > 300 {
		t.Errorf("%+v", s.Refused[0])
	}
}

func TestWhatEventsWaitFor(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	repo := w.announce(1, "tool", now)
	state := w.state(1, "tool", now, "refs/heads/main", strings.Repeat("a", 40), "refs/tags/v1", strings.Repeat("b", 40))
	lost := w.announce(1, "lost", now)
	never := w.state(1, "lost", now, "refs/heads/main", "no object id")
	pr := w.event(2, now, nip34.KindPullRequest, nostr.Tag{"c", strings.Repeat("c", 40)}, nostr.Tag{"a", repo.Address()})
	long := w.event(2, now, nip34.KindPullRequest, nostr.Tag{"c", strings.Repeat("d", 4000)}, nostr.Tag{"a", repo.Address()})
	for _, e := range []*nostr.Event{pr, long} {
		if v := w.publish(e); !v.OK() {
			t.Fatalf("%+v", v)
		}
	}
	s, err := w.host.Status()
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for _, x := range s.Waits {
		told[x.ID] = fmt.Sprint(x.Kind, " ", x.Repository, " ", x.Why)
	}
	for e, want := range map[*nostr.Event]string{
		repo:  "30617 " + repo.Address() + " until a state of it, or a pull request, has its git data here",
		state: "30618 " + repo.Address() + " until 2 branches and tags are complete here",
		never: "30618 " + lost.Address() + " for ever, as no repository can be as it says",
		pr:    "1618 " + repo.Address() + " until commit " + strings.Repeat("c", 40) + " is complete here",
	} {
		if told[e.ID.String()] != want {
			t.Errorf("%s\nand not\n%s", told[e.ID.String()], want)
		}
	}
	if x, ok := told[long.ID.String()]; ok && len(x) > 1000 {
		t.Errorf("%d bytes are told of what a stranger wrote", len(x))
	}
}

// TestTheLastPushedToComeFirst: of many rows as many as were asked for, and none of what has no data or is gone.
func TestTheLastPushedToComeFirst(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	put := func(rows ...refdb.Repository) {
		err := w.door.Exclusively(t.Context(), "", func(turn *ingest.Exclusive) error {
			for _, r := range rows {
				if err := turn.SetRow(refdb.RowName(r.Of), r.Append(nil)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	row := func(d string, moved, gone int64, dir byte) refdb.Repository {
		return refdb.Repository{Of: nip34.Address{Kind: nip34.KindRepository, PubKey: key(1), D: d}, Dir: refdb.Dir{dir}, Bytes: 9, Moved: moved, Gone: gone}
	}
	told := func(most int) string {
		var names []string
		for _, x := range ok(w.host.Moved(most)) {
			names = append(names, x.Of.D)
		}
		return strings.Join(names, " ")
	}
	if got := told(3); got != "" {
		t.Errorf("of nothing: %s", got)
	}
	put(row("b", 20, 0, 1), row("empty", 50, 0, 0), row("gone", 60, 61, 1), row("c", 10, 0, 1), row("a", 20, 0, 1))
	if got := told(9); got != "a b c" {
		t.Errorf("told %s", got)
	}
	for i := range 50 {
		put(row(fmt.Sprint("many", i), int64(100+i), 0, 1))
	}
	if got := told(3); got != "many49 many48 many47" {
		t.Errorf("told %s", got)
	}
}
