package grasp_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestServiceClones(t *testing.T) {
	owner := nostr.PubKey{1}
	npub, other := nip19.Npub(owner), nip19.Npub(nostr.PubKey{2})
	for _, tc := range []struct {
		name, domain, d, listed string
		want                    bool
	}{
		{"https", "example.com", "x", "https://example.com/" + npub + "/x.git", true},
		{"http", "127.0.0.1:7334", "x", "http://127.0.0.1:7334/" + npub + "/x.git", true},
		{"case, port, blanks and slash", "example.com", "x", " HTTPS://Example.com:443/" + npub + "/x.git/ ", true},
		{"escaped", "example.com", "a b/c", "https://example.com/" + npub + "/a%20b%2fc.git", true},
		{"not escaped where it need not be", "example.com", "a:b", "https://example.com/" + npub + "/a:b.git", true},
		{"base path", "example.com/base", "x", "https://example.com/base/" + npub + "/x.git", true},
		{"base path missing", "example.com/base", "x", "https://example.com/" + npub + "/x.git", false},
		{"another base path", "example.com", "x", "https://example.com/base/" + npub + "/x.git", false},
		{"no repository", "example.com", "x", "https://example.com/", false},
		{"no name", "example.com", "", "https://example.com/" + npub + "/.git", false},
		{"another name", "example.com", "x", "https://example.com/" + npub + "/y.git", false},
		{"another's", "example.com", "x", "https://example.com/" + other + "/x.git", false},
		{"no npub", "example.com", "x", "https://example.com/alice/x.git", false},
		{"an npub in capitals", "example.com", "x", "https://example.com/" + strings.ToUpper(npub) + "/x.git", false},
		{"not .git", "example.com", "x", "https://example.com/" + npub + "/x", false},
		{"a long name", "example.com", strings.Repeat("é", 4000), "https://example.com/" + npub + "/" + strings.Repeat("%C3%A9", 4000) + ".git", true},
		{"with a query", "example.com", "x", "https://example.com/" + npub + "/x.git?y", false},
		{"below it", "example.com", "x", "https://example.com/" + npub + "/x.git/info/refs", false},
		{"another host", "example.com", "x", "https://example.com.evil.example/" + npub + "/x.git", false},
		{"the host as a user", "example.com", "x", "https://example.com@evil.example/" + npub + "/x.git", false},
		{"another port", "example.com", "x", "https://example.com:8443/" + npub + "/x.git", false},
		{"a relay", "example.com", "x", "wss://example.com/" + npub + "/x.git", false},
		{"ssh", "example.com", "x", "ssh://example.com/" + npub + "/x.git", false},
		{"nostr", "example.com", "x", "nostr://" + npub + "/x", false},
		{"no scheme", "example.com", "x", "example.com/" + npub + "/x.git", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := &nip34.Announcement{
				Address: nip34.Address{Kind: nip34.KindRepository, PubKey: owner, D: tc.d},
				Clone:   []string{"", "https://elsewhere.example/x.git", tc.listed},
			}
			if got := service(t, tc.domain).Clones(a); got != tc.want {
				t.Errorf("Clones(%q) = %v", tc.listed, got)
			}
		})
	}
	if u := service(t, "git.example.com/base").CloneURL(owner, "a b:c 9%"); u != "https://git.example.com/base/"+npub+"/a%20b%3Ac%209%25.git" {
		t.Error(u)
	}
}

func TestRepositoryPath(t *testing.T) {
	npub := nip19.Npub(nostr.PubKey{1})
	for _, tc := range []struct{ path, identifier, rest string }{
		{"/" + npub + "/x.git", "x", ""},
		{"/" + npub + "/x.git/", "x", "/"},
		{"/" + npub + "/x.git/info/refs", "x", "/info/refs"},
		{"/" + npub + "/x.git.git/info/refs", "x.git", "/info/refs"},
		{"/" + npub + "/%2e%2e%2Fx.git/git-upload-pack", "../x", "/git-upload-pack"},
		{"/" + npub + "/a%00b.git", "a\x00b", ""},
		{"/" + npub + "/100%2525.git", "100%25", ""},
	} {
		owner, identifier, rest, err := grasp.ParseRepositoryPath(tc.path)
		if err != nil || owner != (nostr.PubKey{1}) || identifier != tc.identifier || rest != tc.rest {
			t.Errorf("%s: %q %q, %v", tc.path, identifier, rest, err)
		}
	}
	for _, bad := range []string{
		"", "/", "/" + npub, "/" + npub + "/", "/" + npub + "/x", "/" + npub + "/.git", npub + "/x.git", "//" + npub + "/x.git", "/prs/" + npub + "/x.git",
		"/" + strings.ToUpper(npub) + "/x.git", "/" + npub + "0/x.git", "/" + npub + "/x%2", "/" + npub + "/x%zz.git", "/" + npub + "/" + strings.Repeat("a", nip34.MaxIdentifier+1) + ".git",
	} {
		if _, _, _, err := grasp.ParseRepositoryPath(bad); !errors.Is(err, grasp.ErrRepositoryPath) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// FuzzCloneURL: the URL of any identifier leads back to it, and to nothing else.
func FuzzCloneURL(f *testing.F) {
	for _, identifier := range []string{"x", "a b", "a/b", "a:b", "100%", "%2F", "é", "a.git", "..", ".", "a\nb", "?q#f", "\x00\xff", " ", "+", "a;b=c&d"} {
		f.Add(identifier)
	}
	f.Fuzz(func(t *testing.T, identifier string) {
		s, owner := service(t, "git.example.com/base"), nostr.PubKey{7}
		raw := s.CloneURL(owner, identifier)
		a := &nip34.Announcement{Address: nip34.Address{PubKey: owner, D: identifier}, Clone: []string{raw}}
		u, err := url.Parse(raw)
		if err != nil || u.Host != "git.example.com" || u.RawQuery != "" || u.Fragment != "" {
			t.Fatalf("%q: %+v, %v", identifier, u, err)
		}
		path, _ := strings.CutPrefix(u.EscapedPath(), "/base")
		got, name, rest, err := grasp.ParseRepositoryPath(path)
		if identifier == "" || len(identifier) > nip34.MaxIdentifier {
			if err == nil {
				t.Errorf("%q is taken", identifier)
			}
			return
		}
		if err != nil || got != owner || name != identifier || rest != "" {
			t.Errorf("%q: %q %q, %v", identifier, name, rest, err)
		}
		if !s.Clones(a) {
			t.Errorf("%s is not taken for what it is", raw)
		}
		a.Address.D += "x"
		if s.Clones(a) {
			t.Errorf("%s is taken for another", raw)
		}
	})
}
