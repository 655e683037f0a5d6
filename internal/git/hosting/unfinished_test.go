package hosting_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// TestAPackThatDoesNotEndGivesWay: where the disk is short, a push that has taken most of it and does not end gives way to another one, and
// hears why; what it had taken is free again.
func TestAPackThatDoesNotEndGivesWay(t *testing.T) {
	var free atomic.Uint64 // above the floor
	free.Store(64 << 20)
	w := openWorld(t, hosting.Limits{}, false, policy.Archive{}, false, extra{space: func() *store.Disk { return &store.Disk{Free: 1<<30 + free.Load(), Floor: 1 << 30} }})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	tip := r.commit("one")
	w.state(1, "tool", now, "refs/heads/main", tip)
	other := w.announce(2, "drip", now)
	w.state(2, "drip", now, "refs/heads/main", tip)

	pack, in := io.Pipe()
	yield := sync.OnceFunc(func() {
		free.Store(64 << 20)
		in.CloseWithError(errors.New("it yields"))
	})
	done := make(chan githttp.PushResult, 1)
	go func() {
		done <- w.host.Push(t.Context(), githttp.PushCall{
			Of: addressOf(other), From: "192.0.2.1", Network: "192.0.2.1", Pack: pack, Yield: yield, Progress: func(string) {},
			Push: &gitwire.Push{Report: gitwire.ReportStatus, Commands: []gitwire.Command{{Ref: "refs/heads/main", New: ok(gitwire.ParseObjectID([]byte(tip)))}}},
		})
	}()
	if _, err := in.Write(append([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x09"), make([]byte, 3<<20)...)); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte{0}); err != nil { // so there is disk for all before
		t.Fatal(err)
	}
	free.Store(0)
	r.must("push", w.cloneURL(repo), "main")
	if got := <-done; !strings.Contains(got.Unpack, "others have brought less or are faster") {
		t.Errorf("the push that does not end hears %q", got.Unpack)
	}
	if left := w.host.Unreturned(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestUnfinishedPacksTakeHalfOfTheDisk: packs that are not taken yet leave half of what is free to events.
func TestUnfinishedPacksTakeHalfOfTheDisk(t *testing.T) {
	var free atomic.Uint64
	free.Store(8 << 20)
	w := openWorld(t, hosting.Limits{}, false, policy.Archive{}, false, extra{space: func() *store.Disk { return &store.Disk{Free: 1<<30 + free.Load(), Floor: 1 << 30} }})
	if room := w.host.RoomForPacks(); room != 4<<20 {
		t.Errorf("room for %d bytes of packs where 8 MiB are free", room)
	}
	// What a pack has taken of the disk is not free any more, and counts for its half.
	free.Store(16 << 20)
	e := w.announce(1, "tool", now)
	tip := w.newRepo().commit("one")
	w.state(1, "tool", now, "refs/heads/main", tip)
	pack, in := io.Pipe()
	done := make(chan githttp.PushResult, 1)
	go func() {
		done <- w.host.Push(t.Context(), githttp.PushCall{
			Of: addressOf(e), From: "192.0.2.1", Network: "192.0.2.1", Pack: pack, Progress: func(string) {},
			Push: &gitwire.Push{Commands: []gitwire.Command{{Ref: "refs/heads/main", New: ok(gitwire.ParseObjectID([]byte(tip)))}}},
		})
	}()
	const written = 3 << 20
	if _, err := in.Write(append([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x09"), make([]byte, written)...)); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte{0}); err != nil { // so there is disk for all before
		t.Fatal(err)
	}
	free.Store(16<<20 - written)
	if room := w.host.RoomForPacks(); 2*written+room > 8<<20 {
		t.Errorf("room for %d bytes more, where %d are to be taken and 16 MiB were free", room, 2*written)
	}
	in.CloseWithError(errors.New("the client leaves"))
	<-done
	free.Store(0)
	if room := w.host.RoomForPacks(); room != 0 {
		t.Errorf("room for %d bytes of packs on a full disk", room)
	}
}

// TestAFetchedPackThatGivesWayIsCutOff: its next bytes may never come.
func TestAFetchedPackThatGivesWayIsCutOff(t *testing.T) {
	t.Parallel()
	var free atomic.Uint64 // above the floor
	free.Store(64 << 20)
	w := openWorld(t, hosting.Limits{}, false, policy.Archive{}, false, extra{space: func() *store.Disk { return &store.Disk{Free: 1<<30 + free.Load(), Floor: 1 << 30} }})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	tip := r.commit("one")
	w.state(1, "tool", now, "refs/heads/main", tip)
	other := w.announce(2, "drip", now)
	w.state(2, "drip", now, "refs/heads/main", tip)
	taking := w.take(other)
	pack, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- taking.Pack(t.Context(), needed(w.lacks(other)), pack, func(why error) {
			free.Store(64 << 20)
			in.CloseWithError(why)
		})
	}()
	if _, err := in.Write(append([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x09"), make([]byte, 3<<20)...)); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte{0}); err != nil { // so there is disk for all before
		t.Fatal(err)
	}
	free.Store(0)
	r.must("push", w.cloneURL(repo), "main")
	if err := <-done; !hosting.GaveWay(err) || hosting.TooMuch(err) {
		t.Error(err)
	}
	taking.Close()
	w.nothingIsLeft()
}

// TestAPackThatWaitsForItsEventKeepsWhatItTakes: what git needed beside it while it worked on the pack is there for others again.
func TestAPackThatWaitsForItsEventKeepsWhatItTakes(t *testing.T) {
	t.Parallel()
	const size = 400_000
	w := openWorld(t, hosting.Limits{}, false, policy.Archive{}, false, extra{space: func() *store.Disk { return &store.Disk{Free: 1 << 30} }})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	if err := os.WriteFile(filepath.Join(r.dir, "noise"), []byte(noise(size)), 0o600); err != nil {
		t.Fatal(err)
	}
	tip := r.commit("one")
	before := w.host.RoomForPacks()
	r.must("push", w.cloneURL(repo), tip+":refs/nostr/"+strings.Repeat("0a", 32))
	if took := before - w.host.RoomForPacks(); took < size/2 || took > size {
		t.Errorf("an upload of about 300 KB takes %d bytes from the account", took)
	}
}

// TestAWholePackDoesNotGiveWay: what is left to do then is this server's work, however long it takes.
func TestAWholePackDoesNotGiveWay(t *testing.T) {
	w := openWorld(t, hosting.Limits{}, false, policy.Archive{}, false, extra{space: func() *store.Disk { return &store.Disk{Free: 1<<30 + 16<<20, Floor: 1 << 30} }})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	if err := os.WriteFile(filepath.Join(r.dir, "noise"), []byte(noise(5<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	tip := r.commit("one")
	w.state(1, "tool", now, "refs/heads/main", tip)
	other := w.announce(2, "drip", now)
	w.state(2, "drip", now, "refs/heads/main", tip)
	whole := 0
	w.copies.whole.Store(new(func(tell func()) {
		if whole++; !w.host.GivesWay() {
			t.Error("a pack on its way does not give way, so this test shows nothing")
		}
		if tell(); w.host.GivesWay() {
			t.Error("a whole pack gives way")
		}
	}))
	pack := w.pack(r, tip)
	got := w.host.Push(t.Context(), githttp.PushCall{
		Of: addressOf(repo), From: "192.0.2.1", Network: "192.0.2.1", Pack: strings.NewReader(pack), Progress: func(string) {},
		Push: &gitwire.Push{Commands: []gitwire.Command{{Ref: "refs/heads/main", New: ok(gitwire.ParseObjectID([]byte(tip)))}}},
	})
	if got.Unpack != "" || whole != 1 {
		t.Errorf("%q; whole %d times", got.Unpack, whole)
	}
	w.pass(20 * time.Second) // so that nobody else wants room
	if _, err := w.comes(other, pack); err != nil || whole != 2 {
		t.Errorf("%v; whole %d times", err, whole)
	}
}

// TestWhatWaitsForEventsLeavesRoomForPushes: uploads take no more than a quarter of the disk above its floor, so that small pushes find room.
func TestWhatWaitsForEventsLeavesRoomForPushes(t *testing.T) {
	var free atomic.Uint64 // above the floor
	free.Store(64 << 20)
	w := openWorld(t, hosting.Limits{}, false, policy.Archive{}, false, extra{space: func() *store.Disk { return &store.Disk{Free: 1<<30 + free.Load(), Floor: 1 << 30} }})
	repo, r, small := w.announce(1, "tool", now), w.newRepo(), w.newRepo()
	if err := os.WriteFile(filepath.Join(r.dir, "noise"), []byte(noise(400_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	large, tip := r.commit("one"), small.commit("two")
	before := w.host.RoomForPacks()
	r.must("push", w.cloneURL(repo), large+":refs/nostr/"+strings.Repeat("0a", 32))
	held := uint64(before - w.host.RoomForPacks())
	free.Store(held * 29 / 10)
	other := w.announce(2, "other", now)
	if out, err := small.git(small.dir, "push", w.cloneURL(other), tip+":refs/nostr/"+strings.Repeat("0b", 32)); err == nil || !strings.Contains(out, "too much waits here for its events") {
		t.Errorf("one more: %v, %s", err, out)
	}
	w.state(2, "other", now, "refs/heads/main", tip)
	small.must("push", w.cloneURL(other), "main")
	free.Store(held * 31 / 10)
	third := w.announce(3, "third", now)
	small.must("push", w.cloneURL(third), tip+":refs/nostr/"+strings.Repeat("0c", 32))
}
