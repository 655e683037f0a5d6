package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nip98"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// dialAs connects and authenticates, and says what comes of that.
func dialAs(t *testing.T, u grasp.RelayURL, key nostr.SecretKey) (*client, nostr.OK) {
	t.Helper()
	c := dial(t, u)
	b, err := c.read()
	if err != nil {
		t.Fatal(err)
	}
	m, err := nostr.ParseRelay(b)
	challenge, is := m.(nostr.AuthChallenge)
	if err != nil || !is {
		t.Fatalf("%s: %v", b, err)
	}
	c.send(nostr.AppendAuth(nil, testkit.Sign(key, time.Now().Unix(), nostr.KindAuth, "", nostr.Tag{"relay", string(u)}, nostr.Tag{"challenge", challenge.Challenge})))
	ok, _ := c.next().(nostr.OK)
	return c, ok
}

// credential is the header by which somebody uses a repository of a private service.
func credential(t *testing.T, url string, key nostr.SecretKey) string {
	t.Helper()
	h, err := nip98.SignStanding(url, time.Now(), func(e *nostr.Event) error {
		*e = *testkit.Sign(key, e.CreatedAt, e.Kind, e.Content, e.Tags...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestAPrivateService: a member publishes, pushes and clones with git and one header, a stranger does nothing of it, and another member
// who is taken off the list is sent away.
func TestAPrivateService(t *testing.T) {
	owner, other, stranger := testkit.Key(1), testkit.Key(2), testkit.Key(3)
	list := file(t, nip19.Npub(owner.PubKey())+" # who owns it\n"+other.PubKey().String()+"\n")
	us := serve(t, "--git", "--data", t.TempDir(), "--sync=false", "--admin-listen", "127.0.0.1:0", "--private", "--members", "@"+list)
	us.out.await(t, `(this service is private)`)
	base := us.out.await(t, `at (http://\S+)/status.json\n`)
	url, dir, now := cloneURL(t, us.url, owner.PubKey(), "tool"), t.TempDir(), time.Now().Unix()
	as := func(key nostr.SecretKey, args ...string) []string {
		return append([]string{"-c", "http.http" + strings.TrimPrefix(string(us.url), "ws") + "/.extraHeader=Authorization: " + credential(t, url, key)}, args...)
	}
	git(t, dir, "init", "-q", "-b", "main")
	tip := commitIn(t, dir, "one")
	c, ok := dialAs(t, us.url, owner)
	if !ok.OK {
		t.Fatalf("%+v", ok)
	}
	c.publish(testkit.Sign(owner, now, nip34.KindRepository, "", nostr.Tag{"d", "tool"}, nostr.Tag{"private", "true"}, nostr.Tag{"clone", url}, nostr.Tag{"relays", string(us.url)}))
	c.publish(testkit.Sign(owner, now, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", tip}, nostr.Tag{"HEAD", "ref: refs/heads/main"}))

	for _, args := range [][]string{{"push", url, "main"}, {"clone", "-q", url, t.TempDir()}, as(stranger, "ls-remote", url), as(stranger, "push", url, "main")} {
		if out, err := gitIn(t, dir, args...); err == nil || strings.Contains(out, tip) {
			t.Errorf("a stranger's git %v: %s", args, out)
		}
	}
	if _, ok := dialAs(t, us.url, stranger); ok.OK || !strings.HasPrefix(ok.Reason, "restricted: ") {
		t.Errorf("a stranger authenticates: %+v", ok)
	}
	git(t, dir, as(owner, "push", "-q", url, "main")...)
	into := t.TempDir()
	git(t, into, as(other, "clone", "-q", url, "copy")...)
	if got := git(t, into+"/copy", "rev-parse", "HEAD"); got != tip {
		t.Errorf("cloned %s, want %s", got, tip)
	}
	// Who may push is what it was: another member has no say.
	next := commitIn(t, dir, "two")
	if out, err := gitIn(t, dir, as(other, "push", url, "main")...); err == nil {
		t.Errorf("a member pushes what nobody has signed: %s", out)
	}
	c.publish(testkit.Sign(owner, now+1, nip34.KindState, "", nostr.Tag{"d", "tool"}, nostr.Tag{"refs/heads/main", next}, nostr.Tag{"HEAD", "ref: refs/heads/main"}))
	git(t, dir, as(other, "push", "-q", url, "main")...)

	// The operator's own listener is as ever.
	if code, body := fetch(t, base+"/metrics"); code != http.StatusOK || !strings.Contains(string(body), "graspd_") {
		t.Errorf("metrics: %d", code)
	}
	if d := document(t, us); !slices.Contains(d.SupportedGRASPs, "GRASP-08") || !d.Limitation.AuthRequired {
		t.Errorf("%+v", d)
	}

	leaves, ok := dialAs(t, us.url, other)
	if !ok.OK {
		t.Fatalf("%+v", ok)
	}
	leaves.send(nostr.AppendReq(nil, "live", nostr.Filter{Limit: new(0)}))
	overwrite(t, list, "# nobody, for a moment\n")
	hangUp(t)
	us.logs.await(t, `a setting cannot be read again.*nobody is a member`)
	overwrite(t, list, owner.PubKey().String()+"\n")
	hangUp(t)
	us.logs.await(t, `settings reread.* members=1`)
	for {
		if _, err := leaves.read(); err != nil {
			if !strings.Contains(err.Error(), "no member's any more") {
				t.Errorf("the connection ends with %v", err)
			}
			break
		}
	}
	if out, err := gitIn(t, dir, as(other, "ls-remote", url)...); err == nil {
		t.Errorf("who is no member any more still reads: %s", out)
	}
	git(t, dir, as(owner, "ls-remote", url)...)
	c.publish(testkit.Issue(owner, now, testkit.RepositoryAddress(owner, "tool"), "who stays goes on"))
}

func TestPrivateServicesThatCannotBe(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--private"}, "--private: nobody is a member"},
		{[]string{"--private", "--members", "@" + file(t, "# nobody\n")}, "--private: nobody is a member"},
		{[]string{"--members", someNpub}, "--members: of no effect without --private"},
		{[]string{"--private", "--members", "bob"}, `--members: "bob" is not allowed: want a public key`},
		{[]string{"--private", "--members", someNsec}, "--members: an entry is not allowed"},
		{[]string{"--private", "--members", "@/nonexistent/list"}, "--members: open /nonexistent/list: no such file"},
	} {
		code, _, errs := call(t, "", nil, append([]string{"serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0"}, tc.args...)...)
		if code != exitUsage || !strings.Contains(errs, tc.want) || strings.Count(errs, "\n") != 1 || strings.Contains(errs, someNsec) {
			t.Errorf("%v: code %d, no %q in %s", tc.args, code, tc.want, errs)
		}
	}
}

// TestMembershipStaysWhileTheServiceIsStillPrivate: a configuration that will make it public after a restart sends nobody away until then.
func TestMembershipStaysWhileTheServiceIsStillPrivate(t *testing.T) {
	key := testkit.Key(1)
	conf := written(t, "private = true\nmembers = [\""+key.PubKey().String()+"\"]\n")
	us := serve(t, "--data", t.TempDir(), "--sync=false", "--config", conf)
	overwrite(t, conf, "")
	hangUp(t)
	us.logs.await(t, `after a restart.*setting=private`)
	us.logs.await(t, `settings reread.*members=1`)
	if _, ok := dialAs(t, us.url, key); !ok.OK {
		t.Errorf("%+v", ok)
	}
	if code, _ := fetch(t, "http"+strings.TrimPrefix(string(us.url), "ws")); code != http.StatusUnauthorized {
		t.Errorf("the page: %d", code)
	}
}
