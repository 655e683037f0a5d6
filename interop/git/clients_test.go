package git

import (
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// try runs a client and gives what it shows.
func (c client) try(t *testing.T, verb, url, dir string, arguments ...string) (shown string, err error) {
	t.Helper()
	args := c.program(verb, url, dir, arguments)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = environment()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// does requires that a client does something, and reports whether it has a way to.
func (c client) does(t *testing.T, verb, url, dir string, arguments ...string) bool {
	t.Helper()
	if c.lacks[verb] != "" {
		return false
	}
	if out, err := c.try(t, verb, url, dir, arguments...); err != nil {
		t.Fatalf("%s %s %v: %v\n%s", c.name, verb, arguments, err, out)
	}
	return true
}

// TestClients has each client live the life of a repository.
func TestClients(t *testing.T) {
	s, origin := serve(t), seed(t)
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			url, announcement := s.announce(t, c.name)
			at := func(name string) string { return filepath.Join(t.TempDir(), name) }
			t.Run("a clone of nothing", func(t *testing.T) { c.cloneOfNothing(t, url, at("nothing")) })
			owner := repo{t, at("owner")}
			repo{t, origin.dir}.git("", "clone", "-q", "--mirror", origin.dir, owner.dir)
			t.Run("a push before its state", func(t *testing.T) {
				r := repo{t, at("mine")}
				origin.git("", "clone", "-q", origin.dir, r.dir)
				c.isRefused(t, url, r, "no state event for this push",
					"publish your repository state (kind 30618) to wss://grasp.example.org first, then push again")
			})
			first := s.state(t, c.name, owner.refs())
			owner.git("", "push", "-q", "--mirror", url)
			s.served(t, announcement)
			s.served(t, first)
			t.Run("clones", func(t *testing.T) { c.clones(t, url, owner) })
			t.Run("a fetch by id", func(t *testing.T) { c.byID(t, url, owner) })
			t.Run("a fetch of what is new", func(t *testing.T) { c.fetches(t, s, url, owner) })
			t.Run("a push", func(t *testing.T) { c.pushes(t, s, url) })
			t.Run("a push of many commits", func(t *testing.T) { c.pushesMuch(t, s, url) })
			t.Run("a push that deletes", func(t *testing.T) { c.deletes(t, s, url) })
			t.Run("a pull request", func(t *testing.T) { c.opens(t, s, url, announcement) })
			t.Run("a push that is refused", func(t *testing.T) {
				r := work(t, url)
				r.commit("signed", "the state names this")
				s.state(t, c.name, r.refs("refs/heads", "refs/tags"))
				r.commit("unsigned", "nobody has signed for this")
				c.isRefused(t, url, r, "not as the state", "push what it says, or publish a state that has this")
			})
		})
	}
}

func (c client) cloneOfNothing(t *testing.T, url, dir string) {
	if out, err := c.try(t, "clone", url, dir); (err != nil) != (c.nothing != "") || !strings.Contains(out, c.nothing) {
		t.Fatalf("%v:\n%s", err, out)
	}
	if c.nothing != "" {
		return
	}
	r := repo{t, dir}
	if refs := r.refs(); refs != "" {
		t.Errorf("the clone has\n%s", refs)
	}
}

func (c client) clones(t *testing.T, url string, owner repo) {
	for _, verb := range []string{"clone", "shallow", "filter"} {
		t.Run(verb, func(t *testing.T) {
			r := repo{t, filepath.Join(t.TempDir(), verb)}
			if !c.does(t, verb, url, r.dir) {
				t.Skip(c.name, c.lacks[verb])
			}
			if got, want := r.id("HEAD"), owner.id("main"); got != want || r.git("", "symbolic-ref", "HEAD") != "refs/heads/main" {
				t.Errorf("HEAD is %s, not %s", got, want)
			}
			if verb != "filter" {
				r.whole()
				if got := r.git("", "status", "--porcelain"); got != "" {
					t.Errorf("checked out is not what was committed:\n%s", got)
				}
			}
			switch verb {
			case "clone":
				if got, want := r.id("origin/dev"), owner.id("dev"); got != want {
					t.Errorf("dev is %s, not %s", got, want)
				}
				if got, want := r.id("v1"), owner.id("v1"); got != want {
					t.Errorf("the tag is %s, not %s", got, want)
				}
				if got, want := r.commits("HEAD"), owner.commits("main"); got != want {
					t.Errorf("%s commits, not %s", got, want)
				}
			case "shallow":
				if got := r.commits("HEAD"); got != "1" {
					t.Errorf("%s commits in a clone of depth 1", got)
				}
				t.Run("deepened", func(t *testing.T) { c.deepens(t, url, r, owner) })
			case "filter":
				r.git("", "rev-list", "--quiet", "--objects", "--missing=allow-any", "--filter=blob:none", "HEAD")
				if got := r.git("", "rev-list", "--objects", "--missing=print", "HEAD"); !strings.Contains(got, "\n?"+owner.id("main:run")) {
					t.Error("the files are there too")
				}
				if c.does(t, "lazily", url, r.dir, "HEAD:run") {
					if out := r.git("", "rev-list", "--objects", "--missing=print", "--no-walk", "HEAD"); strings.Contains(out, "\n?"+owner.id("main:run")) {
						t.Error("what was asked for is still not there")
					}
				}
			}
		})
	}
}

// deepens fetches what is behind the end of a shallow clone.
func (c client) deepens(t *testing.T, url string, shallow, owner repo) {
	r := repo{t, shallow.dir}
	if !c.does(t, "deepen", url, r.dir) {
		t.Skip(c.name, c.lacks["deepen"])
	}
	if got, want := r.commits("HEAD"), owner.commits("main"); got != want {
		t.Errorf("%s commits, not %s", got, want)
	}
	r.whole()
}

func (c client) byID(t *testing.T, url string, owner repo) {
	dir := t.TempDir()
	r := repo{t, dir}
	r.git("", "init", "-q")
	r.git("", "remote", "add", "origin", url)
	id := owner.id("main~5")
	if !c.does(t, "id", url, dir, id) {
		t.Skip(c.name, c.lacks["id"])
	}
	if got, want := r.commits(id), owner.commits(id); got != want {
		t.Errorf("%s commits, not %s", got, want)
	}
	r.git("", "rev-list", "--quiet", "--objects", id)
	if out, err := c.try(t, "id", url, dir, strings.Repeat("9", 40)); (err == nil) != c.deaf {
		t.Errorf("fetched what is not there: %v\n%s", err, out)
	}
}

// work is a clone of the machine's git.
func work(t *testing.T, url string) repo {
	t.Helper()
	r := repo{t, filepath.Join(t.TempDir(), "work")}
	repo{t, filepath.Dir(r.dir)}.git("", "clone", "-q", url, r.dir)
	for _, branch := range strings.Fields(r.git("", "for-each-ref", "--format=%(refname:lstrip=3)", "refs/remotes/origin")) {
		if branch != "HEAD" && branch != "main" {
			r.git("", "branch", "-q", branch, "origin/"+branch)
		}
	}
	return r
}

func (c client) fetches(t *testing.T, s *server, url string, owner repo) {
	mine, theirs := work(t, url), work(t, url)
	tip := theirs.commit("new", "something new")
	s.state(t, c.name, theirs.refs("refs/heads", "refs/tags"))
	theirs.git("", "push", "-q", url, "main")
	c.does(t, "fetch", url, mine.dir)
	if got := mine.id("origin/main"); got != tip {
		t.Errorf("main is %s, not %s", got, tip)
	}
	mine.whole()
	c.does(t, "fetch", url, mine.dir) // nothing new
}

// taken requires that a push has made what is served as it is here, and the state of it too.
func taken(t *testing.T, s *server, url string, r repo, state *nostr.Event) {
	t.Helper()
	if got, want := r.refsAt(url), r.refs("refs/heads", "refs/tags"); got != want {
		t.Errorf("served are\n%s\nnot\n%s", got, want)
	}
	s.served(t, state)
	work(t, url).whole()
}

func (c client) pushes(t *testing.T, s *server, url string) {
	r := work(t, url)
	r.commit("pushed", "by the client")
	state := s.state(t, c.name, r.refs("refs/heads", "refs/tags"))
	c.does(t, "push", url, r.dir, "refs/heads/main:refs/heads/main")
	taken(t, s, url, r, state)
	r.git("", "tag", "-a", "-m", "two", "v2")
	state = s.state(t, c.name, r.refs("refs/heads", "refs/tags"))
	c.does(t, "push", url, r.dir, "refs/tags/v2:refs/tags/v2")
	taken(t, s, url, r, state)
	r.git("", "branch", "-q", "topic", "main~3")
	state = s.state(t, c.name, r.refs("refs/heads", "refs/tags")) // nothing of it is missing here
	s.served(t, state)
	c.does(t, "push", url, r.dir, "refs/heads/topic:refs/heads/topic")
	taken(t, s, url, r, state)
}

// pushesMuch pushes what is too long for one buffer: git sends it in chunks, after a question whether it may.
func (c client) pushesMuch(t *testing.T, s *server, url string) {
	r := work(t, url)
	long := make([]byte, 3<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(long) // it never fails
	for range 50 {
		long = append(long, long[:100]...)
		r.commit("long", string(long[:len(long)/50]))
	}
	r.commit("long", string(long))
	state := s.state(t, c.name, r.refs("refs/heads", "refs/tags"))
	c.does(t, "push", url, r.dir, "refs/heads/main:refs/heads/main")
	taken(t, s, url, r, state)
}

func (c client) deletes(t *testing.T, s *server, url string) {
	if why := c.lacks["several"]; why != "" {
		t.Skip(c.name, why)
	}
	r := work(t, url)
	r.git("", "branch", "-q", "-D", "dev")
	r.commit("without", "the branch is gone")
	state := s.state(t, c.name, r.refs("refs/heads", "refs/tags"))
	c.does(t, "push", url, r.dir, "refs/heads/main:refs/heads/main", ":refs/heads/dev")
	taken(t, s, url, r, state)
}

// opens pushes a commit for a pull request, and publishes the pull request.
func (c client) opens(t *testing.T, s *server, url string, announcement *nostr.Event) {
	r := work(t, url)
	tip := r.commit("fix", "of a contributor")
	e := s.sign(t, nip34.KindPullRequest, nostr.Tag{"a", announcement.Address()}, nostr.Tag{"c", tip})
	name := "refs/nostr/" + e.ID.String()
	c.does(t, "push", url, r.dir, "refs/heads/main:"+name)
	s.publish(t, e)
	s.awaits(t, e)
	if got := r.git("", "ls-remote", url, name); got != tip+"\t"+name {
		t.Errorf("served is %q", got)
	}
}

// isRefused has the client push to main what no state names.
func (c client) isRefused(t *testing.T, url string, r repo, report, band string) {
	before := r.refsAt(url)
	out, err := c.try(t, "push", url, r.dir, "refs/heads/main:refs/heads/main")
	if err == nil {
		t.Errorf("a push that nobody signed for succeeds:\n%s", out)
	}
	if strings.Contains(out, report) != c.report || strings.Contains(out, band) != c.band {
		t.Errorf("of %q and %q the client shows:\n%s", report, band, out)
	}
	if got := r.refsAt(url); got != before {
		t.Errorf("refs are\n%s\nnot\n%s", got, before)
	}
}
