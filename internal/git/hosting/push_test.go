package hosting_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const now = 1_700_000_000

func TestAStoryOfARepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosting.Limits{})
	repo := w.announce(1, "tool", now)
	w.waits(repo)
	if _, refs := w.clone(w.cloneURL(repo)); refs != "" {
		t.Errorf("an empty clone has %s", refs)
	}
	r := w.newRepo()
	first := r.commit("one")
	r.fails("no state event for this push: publish your repository state (kind 30618) to", "push", w.cloneURL(repo), "main")
	state := w.state(1, "tool", now, "refs/heads/main", first)
	w.waits(repo, state)
	out := r.must("push", w.cloneURL(repo), "main")
	w.served(repo, state)
	if !strings.Contains(out, "[new branch]") {
		t.Error(out)
	}
	if got := w.lsRemote(w.cloneURL(repo)); got != lines(first, "HEAD", first, "refs/heads/main") {
		t.Errorf("refs\n%s", got)
	}
	clone, _ := w.clone(w.cloneURL(repo))
	if got := clone.must("log", "--format=%H %s"); got != first+" one" {
		t.Errorf("log %s", got)
	}

	second := r.commit("two")
	r.must("tag", "-a", "v1", "-m", "the first")
	tag := r.must("rev-parse", "v1")
	state = w.state(1, "tool", now+1, "refs/heads/main", second, "refs/tags/v1", tag, "refs/tags/v1^{}", second)
	r.fails("also has refs/tags/v1 at", "push", w.cloneURL(repo), "main")
	w.waits(state)
	r.must("push", w.cloneURL(repo), "main", "v1")
	w.served(state)
	want := lines(second, "HEAD", second, "refs/heads/main", tag, "refs/tags/v1", second, "refs/tags/v1^{}")
	if got := w.lsRemote(w.cloneURL(repo)); got != want {
		t.Errorf("refs\n%s", got)
	}
	clone.must("pull", "-q", "--tags")
	if got := clone.must("rev-parse", "HEAD", "v1"); got != second+"\n"+tag {
		t.Errorf("pulled %s", got)
	}
	if got := r.must("push", w.cloneURL(repo), "main"); !strings.Contains(got, "up-to-date") {
		t.Error(got)
	}
	state = w.state(1, "tool", now+2, "refs/heads/main", first)
	w.served(state)
	if got := w.lsRemote(w.cloneURL(repo)); got != lines(first, "HEAD", first, "refs/heads/main") {
		t.Errorf("after a state whose commits are here:\n%s", got)
	}
}

func TestPullRequestsBothWaysRound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosting.Limits{})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	base := r.commit("base")
	w.state(1, "tool", now, "refs/heads/main", base)
	r.must("push", w.cloneURL(repo), "main")
	pr := func(commit string) *nostr.Event {
		return w.event(2, now, nip34.KindPullRequest, nostr.Tag{"c", commit}, nostr.Tag{"a", repo.Address()})
	}
	name := func(e *nostr.Event) string { return "refs/nostr/" + e.ID.String() }
	// The event first.
	tip := r.commit("fix")
	e := pr(tip)
	if v := w.publish(e); !v.OK() || v.Reason != "purgatory: won't be served until git data arrives (commit "+tip+")" {
		t.Fatalf("%+v", v)
	}
	w.waits(e)
	r.fails("", "push", w.cloneURL(repo), base+":"+name(e))
	r.must("push", w.cloneURL(repo), tip+":"+name(e))
	w.served(e)
	// The commit first.
	other := r.commit("another fix")
	e2 := pr(other)
	r.must("push", w.cloneURL(repo), other+":"+name(e2))
	if got := w.lsRemote(w.cloneURL(repo)); strings.Contains(got, other) {
		t.Errorf("nobody has signed for it:\n%s", got)
	}
	r.fails("", "push", w.cloneURL(repo), base+":"+name(e2))
	if s := w.host.Stats(); s.Uploads != 1 || s.UploadBytes <= 0 {
		t.Errorf("%+v", s)
	}
	stranger, _ := w.clone(w.cloneURL(repo))
	if out, err := w.git(stranger.dir, "fetch", w.cloneURL(repo), other); err == nil {
		t.Errorf("what nobody signed for is served by id:\n%s", out)
	}
	if v := w.publish(e2); v.Outcome != policy.Accept {
		t.Fatalf("%+v", v)
	}
	w.served(e2)
	if got := w.lsRemote(w.cloneURL(repo)); !strings.Contains(got, other+" "+name(e2)) {
		t.Errorf("the OK has come, and the tip is not served:\n%s", got)
	}
	r.must("fetch", "-q", w.cloneURL(repo), name(e2))
}

// packFiles are the files of packs on the disk, each once, however many names it has.
func (w *world) packFiles() (files []os.FileInfo) {
	w.Helper()
	paths := ok(filepath.Glob(filepath.Join(w.dir, "*/*/*/objects/pack/*.pack")))
	for _, path := range paths {
		info := ok(os.Stat(path))
		if !slices.ContainsFunc(files, func(other os.FileInfo) bool { return os.SameFile(info, other) }) {
			files = append(files, info)
		}
	}
	return files
}

// TestCopiesThatTakeWorkAreMadeInTheBackground: a push waits for copies that are links. Others are made after it, for the account of who pushed.
func TestCopiesThatTakeWorkAreMadeInTheBackground(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	mine, r := w.announce(1, "tool", now), w.newRepo()
	for i := range int64(2) {
		w.state(1, "tool", now+i, "refs/heads/main", r.commit(fmt.Sprint(i)))
		r.must("push", w.cloneURL(mine), "main")
	}
	pk, mk := key(2), key(1)
	mine = w.announce(1, "tool", now+5, nostr.Tag{"maintainers", pk.String()})
	theirs := w.announce(2, "tool", now+5, nostr.Tag{"maintainers", mk.String()})
	w.state(2, "tool", now+5, "refs/heads/main", r.commit("last"))
	r.must("push", w.cloneURL(mine), "main")
	w.eventually("who follows has all", func() bool { return strings.Contains(w.lsRemote(w.cloneURL(theirs)), "refs/heads/main") })
	by := w.copies.all()
	if !slices.Contains(by, "127.0.0.1 true") || !slices.Contains(by, "127.0.0.1 false") {
		t.Errorf("copied for %q", by)
	}
}

func TestAllWhoAreRuledByAStateFollow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosting.Limits{})
	both := func(author, other byte) *nostr.Event {
		pk := key(other)
		return w.announce(author, "tool", now, nostr.Tag{"maintainers", pk.String()})
	}
	mine, theirs := both(1, 2), both(2, 1)
	r := w.newRepo()
	tip := r.commit("one")
	w.state(2, "tool", now, "refs/heads/main", tip)
	r.must("push", w.cloneURL(mine), "main")
	w.served(mine, theirs)
	if files := w.packFiles(); len(files) != 1 {
		t.Errorf("one push for two owners takes %d packs on the disk", len(files))
	}
	for _, e := range []*nostr.Event{mine, theirs} {
		if got := w.lsRemote(w.cloneURL(e)); got != lines(tip, "HEAD", tip, "refs/heads/main") {
			t.Errorf("refs\n%s", got)
		}
		w.clone(w.cloneURL(e))
	}
	late := w.announce(1, "tool", now+1) // 2 decides for it no more
	w.served(late)
	next := r.commit("two")
	w.state(2, "tool", now+1, "refs/heads/main", next)
	r.fails("is not a confirmed maintainer of", "push", w.cloneURL(mine), "main")
	r.must("push", w.cloneURL(theirs), "main")
	if got := w.lsRemote(w.cloneURL(mine)); got != lines(tip, "HEAD", tip, "refs/heads/main") {
		t.Errorf("refs\n%s", got)
	}
}

func TestRefusedPushesChangeNothing(t *testing.T) {
	w := newWorld(t, hosting.Limits{Push: 4000, Repository: 1 << 20, Repositories: 1})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	tip := r.commit("one")
	w.state(1, "tool", now, "refs/heads/main", tip)
	r.must("push", w.cloneURL(repo), "main")
	r.fails("refs/notes/commits", "push", w.cloneURL(repo), "main:refs/notes/commits")
	big, chance := make([]byte, 20000), rand.New(rand.NewPCG(1, 2))
	for i := range big {
		big[i] = "0123456789abcdef"[chance.IntN(16)]
	}
	large := r.commit(string(big))
	state := w.state(1, "tool", now+1, "refs/heads/main", large)
	r.fails("larger than", "push", w.cloneURL(repo), "main")
	w.waits(state)
	other := w.announce(1, "other", now)
	w.state(1, "other", now, "refs/heads/main", tip)
	r.fails("1 repositories with data here", "push", w.cloneURL(other), tip+":refs/heads/main")
	if got := w.lsRemote(w.cloneURL(repo)); got != lines(tip, "HEAD", tip, "refs/heads/main") {
		t.Errorf("refs\n%s", got)
	}
	if n, bytes, err := w.host.Kept(); n != 1 || bytes <= 0 || err != nil {
		t.Errorf("%d repositories with %d bytes, %v", n, bytes, err)
	}
	told, err := w.host.Status()
	if err != nil || told.Repositories != 1 || told.Bytes <= 0 || told.Waiting != 3 || len(told.Waits) != 3 || len(told.Refused) != 3 {
		t.Fatalf("%v, %+v", err, told)
	}
	if x := told.Waits[0]; x.ID != state.ID.String() || x.Kind != nip34.KindState || string(x.Repository) != repo.Address() || x.Why != "until 1 branches and tags are complete here" {
		t.Errorf("%+v", x)
	}
	if left := time.Until(told.Waits[0].Until.Time); left < 29*time.Minute || left > 30*time.Minute {
		t.Errorf("the wait is over in %v", left)
	}
	if x := told.Waits[1]; x.ID != other.ID.String() || x.Why != "until a state of it, or a pull request, has its git data here" {
		t.Errorf("%+v", x)
	}
	for i, says := range []string{"1 repositories with data here", "larger than", "only refs/heads/, refs/tags/"} {
		if x := told.Refused[i]; !strings.Contains(string(x.Reason), says) || time.Since(x.At.Time) > time.Minute || strings.Contains(string(x.Reason), "127.0.0.1") {
			t.Errorf("%+v, and not %s", x, says)
		}
	}
	s := w.host.Stats()
	if s.Pushing != 0 || s.Pushed != 1 || s.Failures != failures(hosting.LargePack, hosting.OwnerFull) || s.Uploads != 0 {
		t.Errorf("%+v", s)
	}
}

// failures are one of each.
func failures(which ...hosting.Failure) (n [hosting.Failures]uint64) {
	for _, f := range which {
		n[f]++
	}
	return n
}

// What a tag is about stays known when others are pushed beside it.
func TestTagsThatWereHereBefore(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	now := time.Now().Unix()
	a := w.announce(1, "tool", now)
	url := w.cloneURL(a)
	r := w.newRepo()
	first := r.commit("one")
	r.must("tag", "-a", "-m", "v1", "v1")
	r.must("tag", "light")
	tags := []string{"refs/tags/v1", r.must("rev-parse", "v1"), "refs/tags/light", first}
	w.state(1, "tool", now, append(tags, "refs/heads/main", first)...)
	r.must("push", "-q", url, "main", "v1", "light")
	second := r.commit("two")
	r.must("tag", "-a", "-m", "v2", "v2")
	w.state(1, "tool", now+1, append(tags, "refs/heads/main", second, "refs/tags/v2", r.must("rev-parse", "v2"))...)
	r.must("push", "-q", url, "main", "v2")
	if got, want := w.lsRemote(url), strings.ReplaceAll(r.must("ls-remote", "."), "\t", " "); got != want {
		t.Errorf("shown is\n%s\nand not\n%s", got, want)
	}
}

// TestTenThousandRefs: the largest state that there may be is pushed, served, cloned and shown; a push that moves one of its refs, and
// one with a ref too few, are told apart.
func TestTenThousandRefs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosting.Limits{})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	tip := r.commit("one")
	const long = 250 - len("refs/heads/")
	var refs, names []string
	var commands strings.Builder
	add := func(name string) {
		refs = append(refs, name, tip)
		names = append(names, tip+"\t"+name)
		command := strings.Repeat("0", 40) + " " + tip + " " + name
		if commands.Len() == 0 {
			command += "\x00report-status"
		}
		fmt.Fprintf(&commands, "%04x%s", 4+len(command), command)
	}
	for i := range nip34.MaxRefs - 1 {
		add(fmt.Sprintf("refs/heads/%0*d", long, i))
	}
	add("refs/heads/main")
	state := w.state(1, "tool", now, refs...)
	w.waits(repo, state)
	r.fails("also has refs/heads/", "push", w.cloneURL(repo), "main")
	// By hand: a client of git takes a minute to find out which refs it pushes.
	pack := w.pack(r, tip)
	answer := w.post(w.cloneURL(repo)+"/git-receive-pack", "application/x-git-receive-pack-request", commands.String()+"0000"+pack)
	if got := strings.Count(answer, "ok refs/heads/"); got != nip34.MaxRefs || !strings.Contains(answer, "unpack ok") {
		t.Fatalf("%d refs are ok: %.300s", got, answer)
	}
	w.served(repo, state)
	want := tip + "\tHEAD\n" + strings.Join(names, "\n")
	if got := r.must("ls-remote", w.cloneURL(repo)); got != want {
		t.Errorf("refs: %d bytes, want %d", len(got), len(want))
	}
	clone, _ := w.clone(w.cloneURL(repo))
	if got := strings.Count(clone.must("branch", "-r"), "\n"); got != nip34.MaxRefs {
		t.Errorf("a clone has %d lines of branches", got)
	}
	second := r.commit("two")
	refs[len(refs)-1] = second
	w.state(1, "tool", now+1, refs...)
	if out := r.must("push", w.cloneURL(repo), "main"); !strings.Contains(out, "main -> main") {
		t.Error(out)
	}
	if got := r.must("ls-remote", w.cloneURL(repo), "HEAD"); got != second+"\tHEAD" {
		t.Error(got)
	}
	w.state(1, "tool", now+2, "refs/heads/main", second)
	if got := w.lsRemote(w.cloneURL(repo)); got != lines(second, "HEAD", second, "refs/heads/main") {
		t.Errorf("after a state without them: %.300s", got)
	}
}

// pack is a pack of all that a commit leads to.
func (w *world) pack(r *repo, tip string) string {
	w.Helper()
	c := exec.Command("git", "pack-objects", "-q", "--revs", "--stdout")
	c.Dir, c.Stdin = r.dir, strings.NewReader(tip+"\n")
	out, err := c.Output()
	if err != nil {
		w.Fatal(err)
	}
	return string(out)
}

func (w *world) post(url, kind, body string) string {
	w.Helper()
	answer, err := http.Post(url, kind, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		w.Fatal(err)
	}
	return string(b)
}
