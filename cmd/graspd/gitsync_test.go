package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// ports counts those that freeAddress has tried, from somewhere on, as other processes look for some too.
var ports atomic.Uint32

func init() { ports.Store(rand.Uint32()) }

// freeAddress is for who listens later, or again: no system takes ports below 30,000 for connections or for those who listen at any port. No two
// callers get the same.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 10_000+ports.Add(1)%20_000))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

func cloneURL(t *testing.T, r grasp.RelayURL, owner nostr.PubKey, d string) string {
	t.Helper()
	s, err := grasp.ParseService(strings.TrimPrefix(string(r), "ws://"))
	if err != nil {
		t.Fatal(err)
	}
	return s.CloneURL(owner, d)
}

// eventually waits until is, tells how long that took, and fails where it does not come within minutes.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	begun := time.Now()
	for !is() {
		if time.Since(begun) > 3*time.Minute {
			t.Fatalf("not within three minutes: %s", what)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("%s, after %v", what, time.Since(begun).Round(time.Millisecond))
}

// pair is two relays that one announcement names, and a contributor's clone.
type pair struct {
	t     *testing.T
	us    [2]*running
	data  [2]string
	at    [2]string // addresses that they listen on
	url   [2]string // of the repository
	owner nostr.SecretKey
	dir   string
	now   int64 // of the last state
}

func newPair(t *testing.T) *pair {
	p := &pair{t: t, owner: testkit.Key(1), dir: t.TempDir(), now: time.Now().Unix()}
	tags := []nostr.Tag{{"d", "tool"}, {"name", "a tool"}, {"clone"}, {"relays"}}
	for i := range p.us {
		p.data[i], p.at[i] = t.TempDir(), freeAddress(t)
		p.start(i)
		p.url[i] = cloneURL(t, p.us[i].url, p.owner.PubKey(), "tool")
		tags[2], tags[3] = append(tags[2], p.url[i]), append(tags[3], string(p.us[i].url))
	}
	announcement := testkit.Sign(p.owner, p.now, nip34.KindRepository, "", tags...)
	for i := range p.us {
		dial(t, p.us[i].url).publish(announcement)
	}
	git(t, p.dir, "init", "-q", "-b", "main")
	return p
}

// start starts one, and gives where its status is.
func (p *pair) start(i int) (base string) {
	p.t.Helper()
	p.us[i] = serve(p.t, "--git", "--listen", p.at[i], "--data", p.data[i], "--sync-base-backoff=200ms", "--sync-max-backoff=1s", "--admin-listen=127.0.0.1:0")
	return p.us[i].out.await(p.t, `at (http://\S+)/status.json\n`)
}

func (p *pair) stop(i int) {
	p.t.Helper()
	if code := p.us[i].stop(); code != exitOK {
		p.t.Fatalf("exit code %d", code)
	}
}

// push pushes a new commit to one, as a contributor does, and gives its id.
func (p *pair) push(i int) (tip string) {
	p.t.Helper()
	p.now++
	tip = commitIn(p.t, p.dir, time.Unix(p.now, 0).String())
	dial(p.t, p.us[i].url).publish(testkit.Sign(p.owner, p.now, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", tip},
		nostr.Tag{"HEAD", "ref: refs/heads/main"}))
	git(p.t, p.dir, "push", "-q", p.url[i], "main")
	return tip
}

// follows waits until a clone of one has a commit as its HEAD, and all that it reaches.
func (p *pair) follows(what string, i int, tip string) {
	p.t.Helper()
	var into string
	eventually(p.t, what, func() bool {
		out, _ := exec.Command("git", "ls-remote", p.url[i], "refs/heads/main").Output()
		into = filepath.Join(p.t.TempDir(), "copy")
		return strings.HasPrefix(string(out), tip+"\t") && exec.Command("git", "clone", "-q", p.url[i], into).Run() == nil
	})
	git(p.t, into, "fsck", "--full", "--strict")
	if head := git(p.t, into, "rev-parse", "HEAD"); head != tip {
		p.t.Errorf("%s: a clone has %s", what, head)
	}
}

// TestAPushToOneRelayIsClonedFromTheOther: two relays that one announcement names complete each other.
func TestAPushToOneRelayIsClonedFromTheOther(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.follows("the other relay has what was pushed", 1, p.push(0))
	p.follows("the other relay follows", 1, p.push(0))
	p.follows("what is pushed to the other one comes here", 0, p.push(1))
	p.stop(1)
	tip := p.push(0)
	p.start(1)
	p.follows("one that was away catches up", 1, tip)
	p.heals(tip)
	p.stop(1)
	if code, out, errs := call(t, "", nil, "check", "--git", "--data", p.data[1]); code != exitOK {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

// heals lets one lose its git data while nobody has it, and has it all again once the other one is there.
func (p *pair) heals(tip string) {
	p.t.Helper()
	p.stop(0)
	p.stop(1)
	if err := os.RemoveAll(filepath.Join(p.data[1], "git")); err != nil {
		p.t.Fatal(err)
	}
	base := p.start(1)
	told := func(how string) func() bool {
		return func() bool {
			_, out, _ := call(p.t, "", nil, "status", "--repositories", "--admin", base)
			return regexp.MustCompile(how).MatchString(out)
		}
	}
	server := regexp.QuoteMeta(strings.TrimSuffix(p.url[0], ".git"))
	eventually(p.t, "it is told what is lacked and why", told(`tool +1 event +`+server+`\S* +.*refused`))
	if out, err := gitIn(p.t, p.t.TempDir(), "clone", p.url[1], "copy"); err == nil || !strings.Contains(out, "it has been lost here") {
		p.t.Errorf("who clones hears: %s", out)
	}
	p.start(0)
	p.follows("one that lost its git data has it again", 1, tip)
	eventually(p.t, "it is told that nothing is lacked", told(`tool +- +`+server+`\S* +as here`))
}

// TestMovingFromABootstrapRelay: a new relay that has the old one as bootstrap holds its repositories whole, events and git data, though
// nothing but that flag leads there, and private addresses are refused to announcements.
func TestMovingFromABootstrapRelay(t *testing.T) {
	t.Parallel()
	domain := "git.example.org"
	old := serve(t, "--git", "--domain", domain, "--data", t.TempDir(), "--sync=false", "--admin-listen=")
	owner, now := testkit.Key(1), time.Now().Unix()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	tip := commitIn(t, dir, "one")
	c := dial(t, old.url)
	service, err := grasp.ParseService(domain)
	if err != nil {
		t.Fatal(err)
	}
	announcement := testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"clone", service.CloneURL(owner.PubKey(), "tool")},
		nostr.Tag{"relays", string(service.RelayURL())})
	c.publish(announcement)
	c.publish(testkit.Sign(owner, now, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", tip}, nostr.Tag{"HEAD", "ref: refs/heads/main"}))
	git(t, dir, "push", "-q", cloneURL(t, old.url, owner.PubKey(), "tool"), "main")
	c.publish(testkit.Sign(testkit.Key(2), now, nip34.KindIssue, "it does not build", nostr.Tag{"a", announcement.Address()}))
	fresh := serve(t, "--git", "--domain", domain, "--data", t.TempDir(), "--bootstrap", string(old.url), "--admin-listen=127.0.0.1:0")
	base := fresh.out.await(t, `at (http://\S+)/status.json\n`)
	at := cloneURL(t, fresh.url, owner.PubKey(), "tool")
	eventually(t, "the new relay has the git data", func() bool {
		out, _ := exec.Command("git", "ls-remote", at, "refs/heads/main").Output()
		return strings.HasPrefix(string(out), tip)
	})
	eventually(t, "the new relay has the issue", func() bool {
		return dial(t, fresh.url).count(nostr.Filter{Kinds: []nostr.Kind{nip34.KindIssue}}) == 1
	})
	eventually(t, "the status tells of all three events", func() bool { // it may be as it was a second before
		_, b := fetch(t, base+"/status.json")
		return strings.Contains(string(b), `"events":{"live":0,"catchup":3,"daily":0}`)
	})
}

// TestGitDataComesFromAnyGitServer: from git's own server, once the push that was expected has failed.
func TestGitDataComesFromAnyGitServer(t *testing.T) {
	t.Parallel()
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	server := httptest.NewServer(&cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull},
	})
	defer server.Close()
	work := t.TempDir()
	git(t, work, "init", "-q", "-b", "main")
	tip := commitIn(t, work, "one")
	git(t, work, "tag", "-a", "-m", "the first", "v1")
	tag := git(t, work, "rev-parse", "v1")
	git(t, work, "clone", "-q", "--bare", ".", filepath.Join(root, "tool.git"))
	us := serve(t, "--git", "--data", t.TempDir(), "--sync-allow-private", "--admin-listen", "127.0.0.1:0")
	base := us.out.await(t, `at (http://\S+)/status.json\n`)
	owner, now := testkit.Key(1), time.Now().Unix()
	url := cloneURL(t, us.url, owner.PubKey(), "tool")
	c := dial(t, us.url)
	c.publish(testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"clone", url, "http://127.0.0.1:1/nobody.git", server.URL + "/tool.git"},
		nostr.Tag{"relays", string(us.url)}))
	c.publish(testkit.Sign(owner, now, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", tip}, nostr.Tag{"refs/tags/v1", tag}))
	eventually(t, "it is told what is lacked", func() bool {
		_, out, _ := call(t, "", nil, "status", "--repositories", "--admin", base)
		return regexp.MustCompile(`tool +1 event +` + server.URL + `/tool.git +not asked yet`).MatchString(out)
	})
	other := t.TempDir()
	git(t, other, "init", "-q", "-b", "main")
	commitIn(t, other, "another one")
	if out, err := gitIn(t, other, "push", url, "main"); err == nil {
		t.Errorf("not refused: %s", out)
	}
	eventually(t, "what was to be pushed comes from elsewhere", func() bool {
		out, _ := exec.Command("git", "ls-remote", url).Output()
		return strings.Contains(string(out), tip+"\trefs/heads/main\n"+tag+"\trefs/tags/v1\n"+tip+"\trefs/tags/v1^{}")
	})
	eventually(t, "the figures say so", func() bool { // they are counted once everything is served
		return strings.Contains(read(t, base+"/metrics"), "\ngraspd_git_sync_events_total 1\n")
	})
}
