package hosting_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// prints runs git, which is to fail, and gives each of these lines to read, from their beginning to their end.
func (r *repo) prints(lines []string, args ...string) {
	r.Helper()
	out, err := r.git(r.dir, args...)
	if err == nil {
		r.Errorf("git %s is done:\n%s", strings.Join(args, " "), out)
		return
	}
	said := "\n"
	for line := range strings.Lines(out) {
		said += strings.TrimSpace(line) + "\n"
	}
	for _, line := range lines {
		if !strings.Contains(said, "\n"+line+"\n") {
			r.Errorf("git %s prints\n%s\nand not\n%s", strings.Join(args, " "), out, line)
		}
	}
	for _, bad := range []string{"RPC failed", "hung up", "bad band", "protocol error"} {
		if strings.Contains(out, bad) {
			r.Errorf("git %s prints\n%s", strings.Join(args, " "), out)
		}
	}
}

// rejected is the line of a ref that was refused, as git prints it.
func rejected(what, ref, why string) string {
	return fmt.Sprintf("! [remote rejected] %s -> %s (%s)", what, ref, why)
}

// cut is an id as people are told it.
func cut(id string) string { return id[:8] + "…" }

// stateOf is how a sentence names a state.
func stateOf(e *nostr.Event) string {
	t := time.Unix(e.CreatedAt, 0).UTC()
	return fmt.Sprintf("the state of %s (%s)", t.Format("2006-01-02 15:04:05 UTC"), cut(e.ID.String()))
}

// before has something done between what git is shown of the refs and its push.
func (r *repo) before(do string) {
	r.Helper()
	script := "#!/bin/sh\nunset GIT_DIR GIT_PREFIX\n" + do + " >/dev/null 2>&1\n"
	if err := os.WriteFile(filepath.Join(r.dir, ".git", "hooks", "pre-push"), []byte(script), 0o700); err != nil {
		r.Fatal(err)
	}
}

// TestGitPrintsWhatAStateSays: whoever pushes something else than a state says reads what to do, ref by ref.
func TestGitPrintsWhatAStateSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosting.Limits{})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	url := w.cloneURL(repo)
	first := r.commit("one")
	second := r.commit("two")
	r.must("branch", "dev", first)
	r.must("branch", "extra", first)
	r.prints([]string{
		"remote: no state event for this push: publish your repository state (kind 30618) to " + w.service.RelayURL().String() + " first, then push again",
		"remote: with ngit: git remote set-url origin " + w.service.NostrURL(repo.PubKey, "tool") + ", then git push origin: that publishes the state first",
		"remote: if you do not maintain the repository: do the same with a branch pr/<name>, which opens a pull request",
		rejected("main", "main", "no state event for this push"),
	}, "push", url, "main")

	at := int64(now)
	state := func(refs ...string) *nostr.Event { at++; return w.state(1, "tool", at, refs...) }
	s := state("refs/heads/main", second, "refs/heads/dev", first)
	not := "not as the state " + cut(s.ID.String()) + " says"
	r.prints([]string{
		"remote: " + stateOf(s) + " also has refs/heads/dev at " + cut(first) + ", which is not here: push it too", rejected("main", "main", not),
	}, "push", url, "main")
	r.prints([]string{
		"remote: " + stateOf(s) + " has refs/heads/main at " + cut(second) + ", not at " + cut(first) + ": push what it says, or publish a state that has this",
		rejected("dev", "dev", not), rejected("dev", "main", not),
	}, "push", url, "dev:main", "dev")
	r.prints([]string{
		"remote: " + stateOf(s) + " does not have refs/heads/extra: do not push it, or publish a state that has it at " + cut(first), rejected("extra", "extra", not),
	}, "push", url, "main", "dev", "extra")
	r.must("push", url, "main", "dev")

	third := r.commit("three")
	s = state("refs/heads/main", third)
	r.prints([]string{
		"remote: " + stateOf(s) + " does not have refs/heads/dev, which is here at " + cut(first) + ": delete it with this push too",
	}, "push", url, "main")
	s = state("refs/heads/main", third, "refs/heads/dev", first)
	r.prints([]string{
		"remote: " + stateOf(s) + " has refs/heads/dev at " + cut(first) + ", which this push deletes: leave it, or publish a state without it",
	}, "push", url, "main", ":dev")
	s = state("refs/heads/main", third, "refs/heads/dev", third)
	r.prints([]string{
		"remote: " + stateOf(s) + " has refs/heads/dev at " + cut(third) + ", which is at " + cut(first) + " here: push it too",
	}, "push", url, "main")

	named := []string{"refs/heads/main", third}
	for i := range 11 {
		named = append(named, fmt.Sprintf("refs/heads/b%02d", i), third)
	}
	state(named[:2*12]...)
	r.prints([]string{"remote: and so 2 more refs"}, "push", url, "main") // dev is here besides
	state(append(named[:2*11], "refs/heads/dev", first)...)
	r.must("push", url, third+":refs/heads/b00", third+":refs/heads/b01", third+":refs/heads/b02", third+":refs/heads/b03", third+":refs/heads/b04",
		third+":refs/heads/b05", third+":refs/heads/b06", third+":refs/heads/b07", third+":refs/heads/b08", third+":refs/heads/b09", "main")
	fourth := r.commit("four")
	state("refs/heads/main", fourth)
	r.prints([]string{"remote: and so one more ref"}, "push", url, "main")

	s = state("refs/heads/main", fourth, "refs/heads/x", "abc123")
	r.prints([]string{
		"remote: no repository can be as " + stateOf(s) + " says: it has refs/heads/x at 'abc123', which is the id of no object here (40 lower-case hex digits): publish a state without that, then push again",
		rejected("extra", "x", "no repository can be as the state "+cut(s.ID.String())+" says"),
	}, "push", url, "extra:x")
}

// TestGitPrintsWhoDecides: of who may say what refs are, and of what rules already.
func TestGitPrintsWhoDecides(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	both := func(author, other byte) *nostr.Event {
		pk := key(other)
		return w.announce(author, "tool", now, nostr.Tag{"maintainers", pk.String()})
	}
	invites := key(3)
	repo := w.announce(1, "tool", now, nostr.Tag{"maintainers", func() string { pk := key(2); return pk.String() }(), invites.String()})
	both(2, 1)
	url, r := w.cloneURL(repo), w.newRepo()
	name := strings.TrimSuffix(url[strings.LastIndex(url, "npub1"):], "/tool.git")[:len("npub1")+8] + "…/tool"
	first := r.commit("one")
	second := r.commit("two")
	older := w.state(2, "tool", now, "refs/heads/main", second)
	ruling := w.state(1, "tool", now+7, "refs/heads/main", first)
	r.must("push", url, first+":refs/heads/main")
	at := func(e *nostr.Event) string { return time.Unix(e.CreatedAt, 0).UTC().Format("2006-01-02 15:04:05 UTC") }
	rules := fmt.Sprintf("remote: a newer state (%s, %s) rules this repository, not that of %s (%s): fetch, publish a state made after it, then push again",
		cut(ruling.ID.String()), at(ruling), at(older), cut(older.ID.String()))
	r.prints([]string{
		rules,
		rejected("main", "main", "a newer state ("+cut(ruling.ID.String())+") rules"),
	}, "push", url, "main")

	third := r.commit("three")
	r.prints([]string{ // what waits from before may have nothing to do with this push
		"remote: no state event for this push: publish your repository state (kind 30618) to " + w.service.RelayURL().String() + " first, then push again",
		rules,
		rejected("main", "main", "no state event for this push"),
	}, "push", url, "main")
	w.announce(3, "tool", now) // invited, and lists nobody back
	w.state(3, "tool", now+8, "refs/heads/main", third)
	npub := func(n byte) string { return strings.Split(w.service.CloneURL(key(n), "x"), "/")[3] }
	r.prints([]string{
		"remote: " + npub(3) + " is not a confirmed maintainer of " + name + ": their announcement must list a maintainer back",
		rejected("main", "main", "the state for this push is not by a confirmed maintainer"),
	}, "push", url, "main")
	fourth := r.commit("four")
	w.announce(4, "tool", now)
	w.state(4, "tool", now+8, "refs/heads/main", fourth)
	r.prints([]string{
		"remote: " + npub(4) + " is not a confirmed maintainer of " + name + ": a maintainer's announcement must list them, and theirs must list a maintainer back",
	}, "push", url, "main")
}

// TestGitPrintsWhatHasMoved: another push comes between what git is shown and what it sends.
func TestGitPrintsWhatHasMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosting.Limits{})
	repo, r, other := w.announce(1, "tool", now), w.newRepo(), w.newRepo()
	url := w.cloneURL(repo)
	first := r.commit("one")
	r.commit("two")
	other.must("pull", "-q", r.dir, "main")
	theirs := other.commit("theirs")
	push := func(refs string) string {
		return "git -C '" + other.dir + "' push -q --no-verify '" + url + "' " + refs
	}

	w.state(1, "tool", now, "refs/heads/main", first)
	r.before(push(first + ":refs/heads/main"))
	r.prints([]string{
		"remote: refs/heads/main is here already, at " + cut(first) + ": fetch, then push again", rejected("main", "main", "fetch first: it is at "+cut(first)+" here"),
		rejected("main", "dev", "refused with the others of this push"),
	}, "push", url, "main", "main:dev")
	w.state(1, "tool", now+1, "refs/heads/main", theirs)
	r.before(push("main"))
	r.prints([]string{
		"remote: refs/heads/main is at " + cut(theirs) + " here, though your git takes it to be at " + cut(first) + ": fetch, then push again",
		rejected("main", "main", "fetch first: it is at "+cut(theirs)+" here"),
	}, "push", url, "main")
	w.state(1, "tool", now+2, "refs/heads/other", other.commit("theirs again"))
	r.before(push("main:other :main"))
	r.prints([]string{
		"remote: refs/heads/main is not here, though your git takes it to be at " + cut(theirs) + ": fetch, then push again",
		rejected("main", "main", "fetch first: it is not here"),
	}, "push", "--force", url, "main")
}

// TestGitPrintsWhatTipsMayNot: of refs/nostr/ and of all that is no branch and no tag.
func TestGitPrintsWhatTipsMayNot(t *testing.T) {
	t.Parallel()
	w := forContributors(t)
	repo, other, r := w.announce(1, "tool", now), w.announce(1, "other", now), w.newRepo()
	url := w.cloneURL(repo)
	base := r.commit("base")
	w.state(1, "tool", now, "refs/heads/main", base)
	r.must("push", url, "main")
	w.state(1, "other", now, "refs/heads/main", base)
	r.must("push", w.cloneURL(other), "main")
	tip := r.commit("fix")
	event := func(kind nostr.Kind, a, commit string) *nostr.Event {
		e := w.event(2, now, kind, nostr.Tag{"a", a}, nostr.Tag{"p", strings.Split(a, ":")[1]}, nostr.Tag{"subject", "a fix"}, nostr.Tag{"c", commit})
		if v := w.publish(e); !v.OK() {
			t.Fatalf("%+v", v)
		}
		return e
	}
	name := func(e *nostr.Event) string { return refs.TipName(e.ID) }
	refused := func(want, url string, args ...string) {
		t.Helper()
		what, ref, _ := strings.Cut(args[len(args)-1], ":")
		if what == "" {
			what = ref
		}
		r.prints([]string{rejected(what, ref, want)}, append([]string{"push", url}, args...)...)
	}
	issue := event(nip34.KindIssue, repo.Address(), "")
	refused(fmt.Sprintf("the event with this id is no pull request (kind %d) and has no tip", nip34.KindIssue), url, tip+":"+name(issue))
	pr := event(nip34.KindPullRequest, repo.Address(), tip)
	refused(fmt.Sprintf("event %s names commit %s, not %s", pr.ID, tip, base), url, base+":"+name(pr))
	elsewhere := event(nip34.KindPullRequest, other.Address(), tip)
	refused("the event with this id does not name this repository", url, tip+":"+name(elsewhere))
	vain := event(nip34.KindPullRequest, repo.Address(), "abc123")
	refused("event "+vain.ID.String()+" names no commit that could be pushed", url, tip+":"+name(vain))
	r.must("push", url, tip+":"+name(pr))
	r.prints([]string{"! [remote rejected] " + name(pr) + " (event " + pr.ID.String() + " has its tip " + tip + " here: delete the event (kind 5) instead)"},
		"push", url, ":"+name(pr))
	refused("refs/nostr/ takes event ids only: 64 lower-case hex digits", url, tip+":refs/nostr/"+strings.Repeat("A", 64))
	for _, ref := range []string{"refs/notes/commits", "refs/pull/1/head"} {
		refused("only refs/heads/, refs/tags/ and refs/nostr/<event id> are kept here", url, tip+":"+ref)
	}
	r.prints([]string{rejected(tip, "main", "only refs/nostr/<id of a pull request's event> is taken here: branches and tags are pushed to the repository itself")},
		"push", w.prs(2, "tool"), tip+":refs/heads/main")
	unknown := func(n int) string { return fmt.Sprintf("refs/nostr/%064x", n) }
	r.prints([]string{rejected(base, name(pr), fmt.Sprintf("event %s names commit %s, not %s", pr.ID, tip, base)), rejected(tip, unknown(1), "atomic push failed")},
		"push", "--atomic", "--force", url, base+":"+name(pr), tip+":"+unknown(1))
	r.must("push", url, tip+":"+unknown(1))
	refused(fmt.Sprintf("commit %s was pushed here before and waits for its event, so not %s: publish the event first", tip, base), url, base+":"+unknown(1))
	r.must("tag", "-a", "-m", "x", "v1", tip)
	tag := strings.TrimSpace(r.must("rev-parse", "v1"))
	wrong := fmt.Sprintf("%s is a tag, and must be a commit, as %s is at the commit that its event names: push %[1]s^{commit}", tag, unknown(2))
	r.prints([]string{"error: remote unpack failed: " + wrong, rejected("v1", unknown(2), wrong)}, "push", url, "v1:"+unknown(2))
	many := []string{"push", url}
	for n := range refs.MaxPushTips + 1 {
		many = append(many, tip+":"+unknown(100+n))
	}
	r.prints([]string{rejected(tip, unknown(100+refs.MaxPushTips), "refused: "+
		fmt.Sprintf("more than %d tips of unknown pull requests in one push, publish the pull request's event first", refs.MaxPushTips))}, many...)
}

// TestGitPrintsWhatIsTooMuch: bounds, packs that are not whole, and what is not there at all.
func TestGitPrintsWhatIsTooMuch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limits hosting.Limits
		want   string
		counts hosting.Failure
	}{
		{hosting.Limits{Push: 20_000}, "the pack is larger than the 20000 bytes that one push may have", hosting.LargePack},
		{hosting.Limits{Objects: 2}, "the pack has 3 objects, and one push may have 2", hosting.LargePack},
		{hosting.Limits{Repository: 20_000}, "the repository would have %d KiB, and may have 20 KiB here", hosting.RepositoryFull},
		{hosting.Limits{Author: 20_000}, "its owner's repositories would have %d KiB, and may have 20 KiB here", hosting.OwnerFull},
		{hosting.Limits{Total: 20_000}, "this server has as much git data as it may: push to another one, or tell its operator", hosting.ServerFull},
	} {
		w := newWorld(t, c.limits)
		repo, r := w.announce(1, "tool", now), w.newRepo()
		w.state(1, "tool", now, "refs/heads/main", r.commit(noise(80_000)))
		out, err := r.git(r.dir, "push", w.cloneURL(repo), "main")
		before, after, _ := strings.Cut(c.want, "%d")
		if err == nil || !strings.Contains(out, "remote unpack failed: "+before) || !strings.Contains(out, after+")") {
			t.Errorf("%+v: %v\n%s", c.limits, err, out)
		}
		if got := w.host.Stats().Failures; got != failures(c.counts) {
			t.Errorf("%+v counts as %v", c.limits, got)
		}
	}
	w := newWorld(t, hosting.Limits{})
	announced, r := w.announce(1, "tool", now), w.newRepo()
	w.state(1, "tool", now, "refs/heads/main", r.commit("one"))
	for _, c := range []struct{ url, want string }{
		{w.service.CloneURL(key(9), "tool"), "remote: 404 there is no such repository here: its announcement (kind 30617) has to be published first"},
		{strings.Replace(w.cloneURL(announced), "npub1", "npub1b", 1), "remote: 400 "},
	} {
		for _, args := range [][]string{{"push", c.url, "main"}, {"fetch", c.url}, {"clone", c.url}} {
			r.fails(c.want, args...)
		}
	}
}

// TestGitPrintsWhatToDoWithAShallowClone: what comes before it may be here, and is enough then; where it is not, git prints what to do.
func TestGitPrintsWhatToDoWithAShallowClone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosting.Limits{})
	announced, r := w.announce(1, "tool", now), w.newRepo()
	first := r.commit("one")
	w.state(1, "tool", now, "refs/heads/main", r.commit("two"))
	shallow := &repo{w, filepath.Join(t.TempDir(), "shallow")}
	r.must("clone", "-q", "--depth", "1", "file://"+r.dir, shallow.dir)
	why := "the clone that you push from is shallow, and what comes before it is not here (such as " + first + "): run git fetch --unshallow in it, then push again"
	shallow.prints([]string{"error: remote unpack failed: " + why, rejected("main", "main", why)}, "push", w.cloneURL(announced), "main")
	if got := w.host.Stats().Failures; got != failures(hosting.ShallowClone) {
		t.Errorf("%v", got)
	}
	shallow.must("fetch", "-q", "--unshallow")
	shallow.must("push", "-q", w.cloneURL(announced), "main")

	top := &repo{w, filepath.Join(t.TempDir(), "top")}
	r.must("clone", "-q", "--depth", "1", w.cloneURL(announced), top.dir)
	next := top.commit("three")
	state := w.state(1, "tool", now+1, "refs/heads/main", next)
	top.must("push", "-q", w.cloneURL(announced), "main")
	w.served(state)

	// Not every client says that its clone is shallow.
	between, last := r.commit("four"), r.commit("five")
	w.state(1, "tool", now+2, "refs/heads/main", last)
	command := next + " " + last + " refs/heads/main\x00report-status"
	beside := ok(w.gitIn(r.dir, last+"\n", "rev-list", "--objects", "--no-object-names", "--stdin", "-1"))
	pack := ok(w.gitIn(r.dir, beside, "pack-objects", "-q", "--stdout"))
	answer := w.post(w.cloneURL(announced)+"/git-receive-pack", "application/x-git-receive-pack-request", fmt.Sprintf("%04x%s0000%s", 4+len(command), command, pack))
	if !strings.Contains(answer, "are not here: "+between+"; if your clone is shallow or partial, fetch the rest into it first") {
		t.Error(answer)
	}
	if got := w.host.Stats().Failures; got != failures(hosting.ShallowClone, hosting.IncompletePack) {
		t.Errorf("%v", got)
	}
}

// The disk of the git data may be another one than that of the events: where it is full nothing is begun there.
func TestTheDiskOfTheGitDataIsFull(t *testing.T) {
	var full atomic.Bool
	w := openWorld(t, hosting.Limits{}, false, policy.Archive{}, false, extra{room: func() error {
		if full.Load() {
			return store.ErrNoInodes
		}
		return nil
	}})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	tip := r.commit("one")
	state := w.state(1, "tool", now, "refs/heads/main", tip)
	full.Store(true)
	r.fails("the storage of this server is full", "push", w.cloneURL(repo), "main")
	w.waits(repo, state)
	lack := ok(w.host.Lacks(t.Context(), nip34.Address{Kind: nip34.KindRepository, PubKey: repo.PubKey, D: "tool"}))
	if _, err := w.host.Take(t.Context(), lack, ""); !errors.Is(err, store.ErrFull) {
		t.Errorf("a fetch: %v", err)
	}
	if got := w.host.Stats().Failures; got != failures(hosting.ServerFull) {
		t.Errorf("%v", got)
	}
	full.Store(false)
	r.must("push", w.cloneURL(repo), "main")
	w.served(state)
}

// TestGitPrintsHowLongToWait: a pack that was too much work for git is not the address's last one, and it reads when the next is taken.
func TestGitPrintsHowLongToWait(t *testing.T) {
	t.Parallel()
	w := openWorld(t, hosting.Limits{}, false, policy.Archive{}, false,
		extra{processes: gitproc.Limits{Memory: 16 << 20}, proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	w.state(1, "tool", now, "refs/heads/main", r.commit(strings.Repeat("0", 15<<20)))
	const why = "the pack takes more to unpack than is given for one here: git ran out of memory"
	push := []string{"-c", "http.extraHeader=X-Forwarded-For: 198.51.100.7", "push", w.cloneURL(repo), "main"}
	r.prints([]string{"error: remote unpack failed: " + why, rejected("main", "main", why), "remote: the next pack from your address is taken in 60 s"}, push...)
	r.fails("(the last pack from your address was more work than one may be here: try again in ", push...)
	push[1] = "http.extraHeader=X-Forwarded-For: 198.51.100.8"
	r.prints([]string{rejected("main", "main", why)}, push...)
	if got := w.host.Stats().Failures; got != failures(hosting.CostlyPack, hosting.CostlyPack) {
		t.Errorf("%v", got)
	}
}
