package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// pushed is a data directory with a repository that somebody has pushed to, and that somebody.
type pushed struct {
	*testing.T
	data, dir, host, url string
	state                *nostr.Event
}

func newPushed(t *testing.T) *pushed {
	t.Helper()
	p := &pushed{T: t, data: t.TempDir(), dir: t.TempDir(), host: "127.0.0.1:0"}
	us := p.serve()
	p.host = strings.TrimPrefix(string(us.url), "ws://")
	service, err := grasp.ParseService(p.host)
	if err != nil {
		t.Fatal(err)
	}
	now, owner := time.Now().Unix(), testkit.Key(1)
	p.url = service.CloneURL(owner.PubKey(), "proj")
	git(t, p.dir, "init", "-q", "-b", "main")
	p.state = testkit.Sign(owner, now, nip34.KindState, "", nostr.Tag{"d", "proj"}, nostr.Tag{"refs/heads/main", commitIn(t, p.dir, "one")})
	c := dial(t, us.url)
	c.publish(testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "proj"}, nostr.Tag{"clone", p.url}, nostr.Tag{"relays", string(us.url)}))
	c.publish(p.state)
	git(t, p.dir, "push", p.url, "main")
	us.stop()
	return p
}

func (p *pushed) serve() *running {
	p.Helper()
	return serve(p.T, "--git", "--data", p.data, "--sync=false", "--listen", p.host)
}

func (p *pushed) check(args ...string) (code int, out, errs string) {
	p.Helper()
	return call(p.T, "", map[string]string{"GRASPD_GIT": "true"}, append([]string{"check", "--data", p.data, "--disk-floor", "0"}, args...)...)
}

// sound requires that nothing is wrong, and says what check printed.
func (p *pushed) sound() string {
	p.Helper()
	code, out, errs := p.check()
	if code != exitOK || !strings.HasSuffix(out, "\nsound\n") || errs != "" {
		p.Errorf("%d %s%s", code, out, errs)
	}
	return out
}

// only is the one file that a pattern finds in the repository.
func (p *pushed) only(pattern string) string {
	p.Helper()
	found, err := filepath.Glob(filepath.Join(p.data, "git/??/??/*", pattern))
	if err != nil || len(found) != 1 {
		p.Fatalf("%s: %q (%v)", pattern, found, err)
	}
	return found[0]
}

// TestCheckOfGitData: refs' files that somebody has edited are found, and made anew.
func TestCheckOfGitData(t *testing.T) {
	t.Parallel()
	p := newPushed(t)
	if out := p.sound(); !strings.Contains(out, "\n1 repository with 1 ref and 1 MiB of packs\n") {
		t.Error(out)
	}
	for name, harm := range map[string]func(string) error{
		"packed-refs": func(file string) error { return os.WriteFile(file, []byte("x"), 0o600) },
		"HEAD":        os.Remove,
	} {
		if err := harm(p.only(name)); err != nil {
			t.Fatal(err)
		}
		code, out, errs := p.check()
		if code != exitFail || !strings.Contains(errs, ":proj: "+name+" is not") || !strings.Contains(errs, "graspd check --repair --data "+p.data) ||
			strings.Contains(out, "sound") {
			t.Errorf("%s: %d %s%s", name, code, out, errs)
		}
		if code, out, errs := p.check("--git=false"); code != exitOK || strings.Contains(out, "repositories") {
			t.Errorf("of events alone: %d %s%s", code, out, errs)
		}
		if code, out, errs := p.check("--repair"); code != exitOK || !strings.Contains(out, "the files of 1 repository were made anew\n") {
			t.Errorf("%s: %d %s%s", name, code, out, errs)
		}
		p.sound()
	}
	under := filepath.Join(p.data, "git", "incoming", "somebody's")
	if err := os.Mkdir(under, 0o700); err != nil {
		t.Fatal(err)
	}
	p.sound()
	if _, err := os.Stat(under); err != nil {
		t.Errorf("a check has changed something: %v", err)
	}
	if code, _, errs := p.check("--git-program", "/nonexistent/git"); code != exitUsage || !strings.Contains(errs, "/nonexistent/git") {
		t.Errorf("without git: %d %s", code, errs)
	}
}

// TestRepairOfLostGitData: what is lost is told, is shown no more, and is there again when it was pushed again.
func TestRepairOfLostGitData(t *testing.T) {
	t.Parallel()
	p := newPushed(t)
	if err := os.Remove(p.only("objects/pack/*.pack")); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := p.check(); code != exitFail || !strings.Contains(errs, "is damaged or not there") {
		t.Errorf("%d %s", code, errs)
	}
	code, _, errs := p.check("--repair")
	if code != exitFail || !strings.Contains(errs, "git data is lost") || !strings.Contains(errs, "that the state "+p.state.ID.String()[:8]+" names") {
		t.Errorf("%d %s", code, errs)
	}
	p.sound()
	us := p.serve()
	if out := git(t, p.dir, "ls-remote", p.url); out != "" {
		t.Errorf("what is lost is shown: %s", out)
	}
	c := dial(t, us.url)
	if !c.stored(p.state) {
		t.Error("the state is gone")
	}
	git(t, p.dir, "push", p.url, "main")
	git(t, t.TempDir(), "clone", "-q", p.url, "clone")
	us.stop()
	p.sound()
}

// TestCheckWithoutGitData: where there is none, nobody looks for git.
func TestCheckWithoutGitData(t *testing.T) {
	dir, _ := filled(t, 1)
	p := &pushed{T: t, data: dir}
	for _, args := range [][]string{nil, {"--repair"}} {
		code, out, errs := p.check(append(args, "--git-program", "/nonexistent/git")...)
		if code != exitOK || strings.Contains(out, "repositories") {
			t.Errorf("%d %s%s", code, out, errs)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "git")); err == nil {
		t.Error("there is git data now")
	}
}

// TestASiblingsDataIsCopied: what another repository has that the same state rules is copied by the next start.
func TestASiblingsDataIsCopied(t *testing.T) {
	t.Parallel()
	p := newPushed(t)
	us := p.serve()
	service, err := grasp.ParseService(p.host)
	if err != nil {
		t.Fatal(err)
	}
	now, first, second := time.Now().Unix(), testkit.Key(1), testkit.Key(2)
	c := dial(t, us.url)
	for _, x := range []struct{ by, with nostr.SecretKey }{{first, second}, {second, first}} {
		c.publish(testkit.Sign(x.by, now+1, nip34.KindRepository, "", nostr.Tag{"d", "proj"}, nostr.Tag{"maintainers", x.with.PubKey().String()},
			nostr.Tag{"clone", service.CloneURL(x.by.PubKey(), "proj")}, nostr.Tag{"relays", string(us.url)}))
	}
	of := func(key nostr.SecretKey) string { return service.CloneURL(key.PubKey(), "proj") }
	c.publish(testkit.Sign(second, now+2, nip34.KindState, "", nostr.Tag{"d", "proj"}, nostr.Tag{"refs/heads/main", commitIn(t, p.dir, "two")}))
	git(t, p.dir, "push", of(second), "main")
	refs := git(t, p.dir, "ls-remote", of(first))
	if refs == "" || refs != git(t, p.dir, "ls-remote", of(second)) {
		t.Fatalf("the first has %q", refs)
	}
	us.stop()
	packs, err := filepath.Glob(filepath.Join(p.data, "git/??/??/*/objects/pack/*.pack"))
	if err != nil || len(packs) < 2 {
		t.Fatal(packs, err)
	}
	lost := filepath.Dir(filepath.Dir(filepath.Dir(packs[0])))
	if err := os.RemoveAll(lost); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := p.check("--repair"); code != exitFail || !strings.Contains(errs, "git data is lost") {
		t.Errorf("%d %s", code, errs)
	}
	us = p.serve()
	for deadline := time.After(patience); ; {
		if git(t, p.dir, "ls-remote", of(first)) == refs && git(t, p.dir, "ls-remote", of(second)) == refs {
			break
		}
		select {
		case <-deadline:
			t.Fatalf("it does not come back: %s", us.logs)
		case <-time.After(20 * time.Millisecond):
		}
	}
	us.stop()
	if out := p.sound(); !strings.Contains(out, "\n2 repositories with 2 refs") {
		t.Error(out)
	}
}

// TestRepairShowsPullRequests: one that has lost its ref has it again, and git gets it, when a relay serves the data.
func TestRepairShowsPullRequests(t *testing.T) {
	t.Parallel()
	p := newPushed(t)
	service, err := grasp.ParseService(p.host)
	if err != nil {
		t.Fatal(err)
	}
	of, owner := service.CloneURL(testkit.Key(1).PubKey(), "proj"), testkit.Key(1).PubKey()
	us := p.serve()
	tip := commitIn(t, p.dir, "proposed")
	pr := testkit.Sign(testkit.Key(2), time.Now().Unix(), nip34.KindPullRequest, "", nostr.Tag{"a", "30617:" + owner.String() + ":proj"}, nostr.Tag{"c", tip})
	c := dial(t, us.url)
	c.publish(pr)
	git(t, p.dir, "push", of, "main:refs/nostr/"+pr.ID.String())
	want := git(t, p.dir, "ls-remote", of)
	us.stop()
	p.sound()

	s, err := node.OpenStore(p.data, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := s.View()
	r, err := refdb.Read(v, nip34.Address{Kind: nip34.KindRepository, PubKey: owner, D: "proj"})
	v.Close()
	if err != nil || len(r.Refs.PullRequests) != 1 {
		t.Fatalf("%+v, %v", r.Refs, err)
	}
	r.Refs.PullRequests = nil
	r.Refs.Generation++
	b, err := s.Begin()
	if err == nil {
		err = r.Write(b, true)
	}
	if err == nil {
		_, err = b.Commit()
	}
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if out := p.sound(); !strings.Contains(out, "1 pull request has no ref though the commits are here: graspd check --repair adds it\n") {
		t.Error(out)
	}
	if code, out, errs := p.check("--repair"); code != exitOK || !strings.Contains(out, "the refs of 1 pull request were made anew\n") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if out := p.sound(); strings.Contains(out, "pull request") {
		t.Error(out)
	}
	us = p.serve()
	if got := git(t, p.dir, "ls-remote", of); got != want || !strings.Contains(got, tip+"\trefs/nostr/"+pr.ID.String()) {
		t.Errorf("%s, want %s", got, want)
	}
	us.stop()
	p.sound()
}
