package hosting_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Of pushes that are under way at once, which all found room when they began, no more come in than there is room for; and what
// did not come in does not count.
func TestPushesAtOnceKeepToTheBounds(t *testing.T) {
	for name, limits := range map[string]hosting.Limits{
		"may have no more": {Repositories: 1}, "and may have 2 KiB here": {Author: 2000}, "as much git data as it may": {Total: 2000},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, limits)
			r := w.newRepo()
			tip := r.commit("one")
			r.must("repack", "-adq")
			packs, err := filepath.Glob(filepath.Join(r.dir, ".git/objects/pack/*.pack"))
			if err != nil || len(packs) != 1 {
				t.Fatal(packs, err)
			}
			pack := string(ok(os.ReadFile(packs[0])))
			push := func(e *nostr.Event, progress func(string)) githttp.PushResult {
				return w.host.Push(t.Context(), githttp.PushCall{
					Of:       nip34.Address{Kind: nip34.KindRepository, PubKey: e.PubKey, D: e.Tags.D()},
					Push:     &gitwire.Push{Commands: []gitwire.Command{{Ref: "refs/heads/main", New: ok(gitwire.ParseObjectID([]byte(tip)))}}},
					Pack:     strings.NewReader(pack),
					Progress: progress,
				})
			}
			var repos []*nostr.Event
			for _, d := range []string{"one", "two"} {
				repos = append(repos, w.announce(1, d, now))
				w.state(1, d, now, "refs/heads/main", tip)
			}
			got := push(repos[0], func(string) { // all is proven
				if got := push(repos[1], func(string) {}); got.Unpack != "" || got.Outcomes[0].Refused != "" {
					t.Errorf("the one that is faster: %+v", got)
				}
			})
			if !strings.Contains(got.Unpack, name) {
				t.Errorf("the one that is slower: %+v", got)
			}
			w.served(repos[1])
			w.waits(repos[0])
			if n, bytes, err := w.host.Kept(); n != 1 || bytes <= 0 || bytes > 2000 || err != nil {
				t.Errorf("%d repositories with %d bytes, %v", n, bytes, err)
			}
			if heads := ok(filepath.Glob(filepath.Join(w.dir, "??/??/*/HEAD"))); len(heads) != 1 {
				t.Errorf("directories of repositories: %q", heads)
			}
		})
	}
}

// A pack that its client does not send to its end is no fault of this server, whatever the transport says of it.
func TestAPackThatBreaksOnItsWay(t *testing.T) {
	for _, broken := range []error{errors.New("malformed chunked encoding"), io.ErrUnexpectedEOF, io.ErrClosedPipe} {
		w := newWorld(t, hosting.Limits{})
		e := w.announce(1, "tool", now)
		tip := w.newRepo().commit("one")
		w.state(1, "tool", now, "refs/heads/main", tip)
		got := w.host.Push(t.Context(), githttp.PushCall{
			Of:       nip34.Address{Kind: nip34.KindRepository, PubKey: e.PubKey, D: "tool"},
			Push:     &gitwire.Push{Commands: []gitwire.Command{{Ref: "refs/heads/main", New: ok(gitwire.ParseObjectID([]byte(tip)))}}},
			Pack:     io.MultiReader(strings.NewReader("PACK\x00\x00\x00\x02\x00\x00\x00\x01"), iotest.ErrReader(broken)),
			Progress: func(string) {},
		})
		if s := w.host.Stats(); got.Unpack == "" || s.Failures[hosting.Left] != 1 || s.Failures[hosting.Fault] != 0 {
			t.Errorf("%v: %+v, %v", broken, got, s.Failures)
		}
	}
}

// Long pushes are judged in turns, short ones at once.
func TestLongPushesAreJudgedInTurns(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	e := w.announce(1, "tool", now)
	tip := ok(gitwire.ParseObjectID([]byte(strings.Repeat("1", 40))))
	push := func(ctx context.Context, commands int) githttp.PushResult {
		p := &gitwire.Push{}
		for i := range commands {
			p.Commands = append(p.Commands, gitwire.Command{Ref: fmt.Sprint("refs/heads/", i), New: tip})
		}
		return w.host.Push(ctx, githttp.PushCall{
			Of: nip34.Address{Kind: nip34.KindRepository, PubKey: e.PubKey, D: "tool"}, Push: p, Pack: strings.NewReader(""), Progress: func(string) {},
		})
	}
	judged := func(got githttp.PushResult) bool {
		return len(got.Outcomes) > 0 && strings.Contains(got.Outcomes[0].Refused, "no state event")
	}
	release := ok(w.host.HoldLong(t.Context()))
	soon, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if got := push(soon, 64); !judged(got) {
		t.Errorf("a short one: %+v", got)
	}
	left, cancel := context.WithCancel(t.Context())
	cancel()
	if got := push(left, 65); judged(got) {
		t.Error("a long one is judged without a turn")
	}
	release()
	if got := push(t.Context(), 65); !judged(got) {
		t.Errorf("a long one: %+v", got.Unpack)
	}
	ok(w.host.HoldLong(t.Context()))() // every turn is given back
}

// A long push whose pack lacks something gives its turn back.
func TestALongPushThatCannotBeProven(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	r := w.newRepo()
	sent, tip := r.commit("one"), r.commit("two")
	e := w.announce(1, "tool", now)
	var refs []string
	p := &gitwire.Push{}
	for i := range 65 {
		c := gitwire.Command{Ref: fmt.Sprint("refs/heads/", i), New: ok(gitwire.ParseObjectID([]byte(tip)))}
		p.Commands, refs = append(p.Commands, c), append(refs, c.Ref, tip)
	}
	w.state(1, "tool", now, refs...)
	got := w.host.Push(t.Context(), githttp.PushCall{
		Of: nip34.Address{Kind: nip34.KindRepository, PubKey: e.PubKey, D: "tool"}, Push: p,
		Pack: strings.NewReader(w.pack(r, sent)), Progress: func(string) {},
	})
	if !strings.Contains(got.Unpack, "were not sent") {
		t.Errorf("%+v", got)
	}
	if left := w.host.Unreturned(); len(left) > 0 {
		t.Errorf("not given back: %q", left)
	}
}

// reading calls a function before each read.
type reading struct {
	io.Reader
	before func()
}

func (r reading) Read(b []byte) (int, error) { r.before(); return r.Reader.Read(b) }

// Long pushes are proven and brought in in turns, and have no turn while their clients send.
func TestLongPushesAreProvenInTurns(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	r := w.newRepo()
	tip := r.commit("one")
	e := w.announce(1, "tool", now)
	var refs []string
	p := &gitwire.Push{}
	for i := range 65 {
		c := gitwire.Command{Ref: fmt.Sprint("refs/heads/", i), New: ok(gitwire.ParseObjectID([]byte(tip)))}
		p.Commands, refs = append(p.Commands, c), append(refs, c.Ref, tip)
	}
	w.state(1, "tool", now, refs...)
	all, sends, proven := w.host.LongLeft(), int64(0), int64(0)
	got := w.host.Push(t.Context(), githttp.PushCall{
		Of: nip34.Address{Kind: nip34.KindRepository, PubKey: e.PubKey, D: "tool"}, Push: p,
		Pack:     reading{strings.NewReader(w.pack(r, tip)), func() { sends = w.host.LongLeft() }},
		Progress: func(string) { proven = w.host.LongLeft() },
	})
	if got.Unpack != "" || got.Outcomes[64].Refused != "" || sends != all || proven != all-1 || w.host.LongLeft() != all {
		t.Errorf("of %d turns %d are left while it is sent, %d when it is proven, %d then; %+v", all, sends, proven, w.host.LongLeft(), got.Unpack)
	}
}
