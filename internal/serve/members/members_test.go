package members_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip98"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/members"
	"github.com/graspd/graspd/internal/test/testkit"
)

var now = time.Unix(1_800_000_000, 0)

func keys(n ...int) policy.PubKeys {
	out := policy.PubKeys{}
	for _, i := range n {
		out[testkit.Key(i).PubKey()] = struct{}{}
	}
	return out
}

func service(t *testing.T, domain string) grasp.Service {
	t.Helper()
	s, err := grasp.ParseService(domain)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// signed is the value of an Authorization header by the nth key.
func signed(t *testing.T, n int, u string) string {
	t.Helper()
	h, err := nip98.SignStanding(u, now, func(e *nostr.Event) error {
		*e = *testkit.Sign(testkit.Key(n), e.CreatedAt, e.Kind, e.Content, e.Tags...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestCircle(t *testing.T) {
	c := members.New(keys(1, 2))
	if !c.Has(testkit.Key(1).PubKey()) || !c.Has(testkit.Key(2).PubKey()) || c.Has(testkit.Key(3).PubKey()) || c.Len() != 2 {
		t.Error("not the members")
	}
	c.Set(keys(3))
	if c.Has(testkit.Key(1).PubKey()) || !c.Has(testkit.Key(3).PubKey()) || c.Len() != 1 {
		t.Error("not the members that were set")
	}
	if none := members.New(nil); none.Has(testkit.Key(1).PubKey()) || none.Len() != 0 {
		t.Error("somebody is a member of nothing")
	}
}

// TestSigner: a signature counts for the repository that it names and everything below that, for any method, and elsewhere for the service.
func TestSigner(t *testing.T) {
	owner := nip19.Npub(testkit.Key(9).PubKey())
	const home = "https://git.example.org"
	repo := home + "/" + owner + "/my%20tool.git"
	plain := members.Signer{Circle: members.New(keys(1)), Service: service(t, "git.example.org"), Now: func() time.Time { return now }}
	based := plain
	based.Service = service(t, "git.example.org/base")
	at := strings.TrimPrefix(repo, home)
	for _, tt := range []struct {
		name   string
		by     members.Signer
		path   string
		header string
		want   bool
	}{
		{"the repository", plain, at, signed(t, 1, repo), true},
		{"spelled otherwise", plain, at, signed(t, 1, strings.Replace(repo, "%20", "%2520", 1)), false},
		{"without escapes", plain, at, signed(t, 1, strings.Replace(repo, "my%20tool", "%6dy%20tool", 1)), true},
		{"slash at the end", plain, at + "/", signed(t, 1, repo+"/"), true},
		{"below it", plain, at + "/info/refs?service=git-upload-pack", signed(t, 1, repo), true},
		{"further below", plain, at + "/issues/1?page=2", signed(t, 1, repo), true},
		{"without encryption", plain, at, signed(t, 1, "http"+strings.TrimPrefix(repo, "https")), true},
		{"upper case", plain, at, signed(t, 1, strings.Replace(repo, "git.example.org", "GIT.example.ORG", 1)), true},
		{"with the port", plain, at, signed(t, 1, strings.Replace(repo, "git.example.org", "git.example.org:443", 1)), true},
		{"scheme in lower case", plain, at, "nostr " + strings.TrimPrefix(signed(t, 1, repo), "Nostr "), true},
		{"another port", plain, at, signed(t, 1, strings.Replace(repo, "git.example.org", "git.example.org:444", 1)), false},
		{"a WebSocket", plain, at, signed(t, 1, "wss"+strings.TrimPrefix(repo, "https")), false},
		{"another repository", plain, at, signed(t, 1, strings.Replace(repo, "tool", "tools", 1)), false},
		{"another owner", plain, at, signed(t, 1, strings.Replace(repo, owner, nip19.Npub(testkit.Key(8).PubKey()), 1)), false},
		{"another host", plain, at, signed(t, 1, "https://git.example.com"+at), false},
		{"a user in it", plain, at, signed(t, 1, strings.Replace(repo, "https://", "https://a@", 1)), false},
		{"what is below it", plain, at + "/info/refs", signed(t, 1, repo+"/info/refs"), false},
		{"a query", plain, at, signed(t, 1, repo+"?x"), false},
		{"a fragment", plain, at, signed(t, 1, repo+"#x"), false},
		{"the service for a repository", plain, at, signed(t, 1, home), false},
		{"the repository for the service", plain, "/", signed(t, 1, repo), false},
		{"the service", plain, "/", signed(t, 1, home), true},
		{"the service with a slash", plain, "/?q=x", signed(t, 1, home+"/"), true},
		{"a page of the service", plain, "/feed.atom", signed(t, 1, home), true},
		{"what is no repository", plain, "/a/b/c.git/d", signed(t, 1, home), true},
		{"contributed", plain, "/prs" + at + "/info/refs", signed(t, 1, home+"/prs"+at), true},
		{"the repository for what is contributed", plain, "/prs" + at, signed(t, 1, repo), false},
		{"a path", based, "/base" + at, signed(t, 1, home+"/base"+at), true},
		{"a path that is missing", based, "/base" + at, signed(t, 1, repo), false},
		{"the service below a path", based, "/base", signed(t, 1, home+"/base/"), true},
		{"outside of the path", based, "/", signed(t, 1, home+"/base"), true},
		{"a stranger", plain, at, signed(t, 2, repo), false},
		{"nobody", plain, at, "", false},
		{"no URL", plain, at, signed(t, 1, "::"), false},
	} {
		r := httptest.NewRequest(http.MethodPost, tt.path, strings.NewReader("x"))
		r.Header.Set("Authorization", tt.header)
		pk, ok := tt.by.Signer(r)
		if ok != tt.want || ok && pk != testkit.Key(1).PubKey() || !ok && pk != (nostr.PubKey{}) {
			t.Errorf("%s: %v, %v", tt.name, pk, ok)
		}
	}
}

func TestRootOf(t *testing.T) {
	s := service(t, "git.example.org/base")
	for raw, want := range map[string]string{
		"/base/a/b.git": "/base/a/b.git", "/base/a/b%2Fc.git/x/y": "/base/a/b/c.git", "/base/a/b": "/base", "/base//b.git": "/base//b.git",
		"/other": "/base", "/base/prs/a/b.git/x": "/base/prs/a/b.git", "/base/prs/b.git": "/base", "/base/": "/base",
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := members.RootOf(s, u); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}
